"""Small things a person meets at the terminal: questions, counts, hints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.pseudo_terminal import Seat, Seen, at_terminal

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    write_samples(space.claude)
    space.run("--config", str(space.write_config()), "sweep")
    return space


def seen(space: Workspace, *words: str, answer: tuple[str, str] | None = None) -> Seen:
    line = [sys.executable, "-m", "session_memory", "--config", str(space.write_config()), *words]
    seat = Seat({**space.environ(), "NO_COLOR": "1"}, space.root)
    return at_terminal(seat, line, [answer] if answer else [])


def run(space: Workspace, *words: str) -> subprocess.CompletedProcess[str]:
    return space.run("--config", str(space.write_config()), *words)


def test_a_no_to_forget_says_that_nothing_was_forgotten(space: Workspace) -> None:
    asked = seen(space, "forget", "--project", "shop", answer=("Forget?", "n\n"))
    assert asked.code == 130
    assert asked.screen.rstrip().endswith("nothing was forgotten")
    assert max(map(len, asked.screen.splitlines())) <= 80
    assert "6 sessions" in run(space).stdout


def test_a_store_without_sessions_is_said_in_words(space: Workspace) -> None:
    run(space, "forget", "--since", "2020-01-01", "--yes")
    run(space, "sweep")
    shown = run(space).stdout
    assert "no sessions are stored" in shown
    assert "()" not in shown


def test_a_purge_says_how_many_sessions_are_deleted(space: Workspace) -> None:
    output = run(space, "uninstall", "--purge", "--dry-run").stderr
    assert "6 captured sessions are deleted for good" in output


@pytest.mark.parametrize("limit", ["-1", "0"])
def test_search_refuses_a_limit_below_one(space: Workspace, limit: str) -> None:
    assert run(space, "search", "push", "--limit", limit).returncode == 2


def test_search_without_words_names_the_newest(space: Workspace) -> None:
    assert "the 2 newest;" in run(space, "search", "--limit", "2").stdout
    assert "the 1 best;" in run(space, "search", "tests", "--limit", "1").stdout


def test_a_rule_without_words_is_a_wrong_command_line(space: Workspace) -> None:
    assert run(space, "rules", "add", "", "--project", "shop").returncode == 2


def test_an_edited_file_with_an_unknown_key_is_named_itself(space: Workspace) -> None:
    file = space.root / "mine.toml"
    environ = {**space.environ(), "EDITOR": "sh -c 'echo nosuch.key = 1 >> $0'", "VISUAL": ""}
    line = [sys.executable, "-m", "session_memory", "--config", str(file), "config", "edit"]
    file.write_text("")
    done = subprocess.run(line, env=environ, capture_output=True, text=True, check=False)
    assert f"{file}: unknown key `nosuch.key`" in done.stderr
    assert ".check" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("help", "rule"), "did you mean `help rules`?"),
        (("config", "set", "retention.soft_cap", "5"), "did you mean retention."),
        (("project", "memory", "statsu"), "did you mean `status`?"),
        (("project", "memory", "nothing-like-it"), "no such command `nothing-like-it`\n"),
        (("forget",), "say what: --session 42"),
    ],
)
def test_a_wrong_word_is_answered_with_the_one_that_was_meant(
    words: tuple[str, ...], told: str, space: Workspace
) -> None:
    done = run(space, *words)
    assert done.returncode != 0 and told in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("jobs",), "no background jobs\n"),
        (("usage", "--until", "2020-01-01"), "no tokens were used in that time\n"),
        (("store", "retention", "plan"), "nothing to evict: "),
        (("pause", "--minutes", "5"), "paused; capture begins again in 5 min\n"),
        (("project", "completion-check", "--project", "shop", "--dry-run"), "not done: "),
        (("project", "changes", "--project", "shop"), "since 2026-03-02 "),
    ],
)
def test_an_empty_or_short_answer_is_a_sentence(
    words: tuple[str, ...], told: str, space: Workspace
) -> None:
    done = run(space, *words)
    assert done.returncode == 0 and done.stdout.startswith(told)
    assert "_" not in done.stdout.splitlines()[0]  # no name of a field


def test_groups_list_their_verbs_with_whole_sentences(space: Workspace) -> None:
    output = run(space, "project", "memory", "--help").stdout
    assert "..." not in output.partition("Commands:")[2] and "line by line." in output


@pytest.mark.parametrize("words", [("project", "memory", "status"), ("show", "1", "--digest")])
def test_long_lines_are_folded_at_a_terminal(words: tuple[str, ...], space: Workspace) -> None:
    screen = seen(space, *words).screen
    assert max(map(len, screen.splitlines())) <= 80


def test_a_sweep_at_a_terminal_counts_secrets_and_damaged_lines(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("use the key AKIAZ7Q4MN2PLX5RT8WB")
    (file,) = space.write(log)
    file.write_bytes(file.read_bytes() + b'{"broken\n')
    output = seen(space, "sweep").screen
    assert "redacted   1 secret; -v names the rules" in output
    assert "damaged    1 line: see `store quarantine`" in output
