"""From what recurs to a line in a file, without a dead end."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

RULE = "e27ec571fd43"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    write_samples(space.claude)
    space.run("--config", str(space.write_config()), "sweep")
    return space


def rules(space: Workspace, *words: str, code: int = 0) -> str:
    done = space.run("--config", str(space.write_config()), "rules", *words)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.mark.rows("CLI-04")
def test_rules_alone_lists_what_detection_finds_by_number(space: Workspace) -> None:
    listed = rules(space)
    assert "  1. Run `pytest` as `PYTHONPATH=src pytest`" in listed
    assert "worked in 3 of 3 sessions" in listed and "1 of 1 rules await" in listed
    assert rules(space, "show", "1").startswith(RULE)
    assert "no number 9" in rules(space, "show", "9", code=1)
    assert rules(space, "show", RULE[:6]).startswith(RULE)


@pytest.mark.rows("CLI-04")
def test_the_gate_explains_itself_where_it_stops_a_rule(space: Workspace) -> None:
    rules(space)
    output = rules(space, "approve", "1")
    assert "not given to agents yet: 3 of 5 occurrences" in output
    assert "session-memory rules add TEXT" in output and "help gate" in output
    output = rules(space, "distribute")
    assert f"not written: {RULE} is provisional: 3 of 5 occurrences" in output
    assert "1 rule is not given to agents yet" in output
    assert "a yes" not in rules(space, "list", "--all")


@pytest.mark.rows("CLI-04")
def test_a_review_without_a_terminal_says_how_to_decide_by_id(space: Workspace) -> None:
    output = rules(space, "review", code=8)
    assert "`rules approve ID`" in output


@pytest.mark.rows("CLI-05")
def test_a_rule_of_ones_own_is_approved_and_names_its_files(space: Workspace) -> None:
    output = rules(space, "add", "Never push.", "--project", "shop")
    assert "candidate -> approved, version 1" in output
    assert "the repository is gone" in output  # the samples come from another machine
    (row,) = json.loads(rules(space, "list", "--status", "approved", "--json"))["patterns"]
    assert row["distribution_ready"] and row["snapshot"]["repos"] == ["shop"]
    assert "on their own word" in rules(space, "explain", row["id"])
    assert "says this already" in rules(space, "add", "Never push.", "--project", "shop", code=8)
    assert "no project nowhere" in rules(space, "add", "x", "--project", "nowhere", code=8)
    assert "approved -> candidate" in rules(space, "undo")


@pytest.mark.rows("CLI-05")
def test_only_projects_that_a_rule_is_for_are_named_as_not_reached(space: Workspace) -> None:
    rules(space, "add", "Never push.", "--project", "shop-site")
    output = rules(space, "add", "Ask first.", "--project", "shop")
    assert "does not reach" in output and "/shop: " in output and "/shop-site" not in output


@pytest.mark.rows("CLI-05")
def test_a_rule_of_ones_own_is_written_on_a_yes(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    repo = tmp_path / "shop"
    (repo / ".git").mkdir(parents=True)
    log = ClaudeLog(cwd=str(repo))
    log.prompt("Hello.")
    space.write(log)
    space.run("--config", str(space.write_config()), "sweep")
    output = rules(space, "add", "Never push.", "--project", "shop", "--distribute")
    assert f"would create {repo}/CLAUDE.md" in output and f"created {repo}/CLAUDE.md" in output
    assert "- Never push. [sm-" in (repo / "CLAUDE.md").read_text()
    (row,) = json.loads(rules(space, "list", "--all", "--json"))["patterns"]
    again = rules(space, "approve", row["id"])
    assert "every file that should have it has it" in again and "next:" not in again
    undone = rules(space, "undo")
    undone = rules(space, "undo")
    assert "Never push." in undone and f"{repo}/CLAUDE.md" in undone
    assert f"session-memory rules withdraw --rule {row['id']}" in undone
    rules(space, "withdraw", "--rule", row["id"])
    assert not (repo / "CLAUDE.md").exists()


@pytest.mark.rows("CLI-04")
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
def test_a_review_at_a_terminal_shows_quotes_and_takes_a_no(space: Workspace) -> None:
    status, seen = at_terminal(
        space, (b"[q]uit: ", b"n\n"), (b"[no use]: ", b"a one-off\n"), last=b"rejected"
    )
    assert status == 0
    assert b"2026-03-03  claude:" in seen and b"PYTHONPATH=src pytest -q" in seen
    assert b"agents are not given it yet: 3 of 5 occurrences" in seen


@pytest.mark.rows("CLI-04")
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
def test_a_no_can_be_taken_back_before_its_reason(space: Workspace) -> None:
    question = b"[q]uit: "
    status, seen = at_terminal(
        space,
        (question, b"?\n"),
        (question, b"n\n"),
        (b"[no use]: ", b"q\n"),
        (question, b"q\n"),
        last=b"q\r\n",
    )
    assert status == 0 and b"s  skip" in seen and b"rejected" not in seen
    assert "1 of 1 rules await" in rules(space)


@pytest.mark.rows("CLI-04")
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
def test_a_yes_below_the_gate_says_what_is_missing_and_how_to_go_on(space: Workspace) -> None:
    status, seen = at_terminal(space, (b"[q]uit: ", b"y\n"), last=b"help gate)")
    assert status == 0
    assert b"not given to agents yet: 3 of 5 occurrences" in seen
    assert b"session-memory rules add TEXT" in seen


@pytest.mark.rows("CLI-04")
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
def test_a_review_leaves_out_what_it_could_not_approve(space: Workspace) -> None:
    high = ("--set", "curate.gate.promote_min_frequency=4")
    status, seen = at_terminal(space, last=b"list --all`", options=high)
    assert status == 0 and b"[y]es" not in seen
    assert b"No rule awaits your decision; 1 with too little evidence for a yes" in seen


@pytest.mark.rows("CLI-04")
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
def test_saving_a_text_unchanged_in_the_editor_decides_nothing(space: Workspace) -> None:
    question = b"[q]uit: "
    status, _ = at_terminal(
        space, (question, b"e\n"), (question, b"q\n"), last=b"q\r\n", editor="touch -d tomorrow"
    )
    assert status == 0
    assert "there is no decision to undo" in rules(space, "undo", code=1)


@pytest.mark.rows("CLI-04")
def test_rules_and_detect_count_the_same_in_the_same_order(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    for number in range(3):
        log = ClaudeLog(number)
        log.prompt("Make the tests pass.")
        for _ in range(5):  # the gate counts two of a session
            log.run("pytest -q", "1 passed")
        log.prompt("Thanks, that works.")
        space.write(log)
    space.run("--config", str(space.write_config()), "sweep")
    detected = json.loads(rules(space, "detect", "--json"))
    listed = json.loads(rules(space, "list", "--json"))["patterns"]
    assert [row["id"] for row in listed] == [row["id"] for row in detected] != []
    assert [row["seen"] for row in listed] == [row["frequency"] for row in detected]
    assert listed[0]["seen"] > listed[0]["snapshot"]["frequency"]
    times = f"{detected[0]['frequency']} times in 3 sessions"
    assert times in rules(space) and times in rules(space, "detect")


def at_terminal(
    space: Workspace,
    *answers: tuple[bytes, bytes],
    last: bytes,
    options: tuple[str, ...] = (),
    editor: str = "",
) -> tuple[int, bytes]:
    """`rules review` at a terminal, with these answers to these prompts."""
    import pty

    words = ["--config", str(space.write_config()), *options, "rules", "review"]
    child, terminal = pty.fork()
    if child == 0:
        program = [sys.executable, "-m", "session_memory", *words]
        os.execve(sys.executable, program, {**space.environ(), "EDITOR": editor})
    seen, unread = b"", b""
    for prompt, answer in (*answers, (last, b"")):
        while prompt not in unread:
            unread += os.read(terminal, 65536)
        end = unread.index(prompt) + len(prompt)
        seen, unread = seen + unread[:end], unread[end:]
        os.write(terminal, answer)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return status, seen
