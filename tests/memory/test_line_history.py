"""What was learnt once stands until something contradicts it; what is retired says why."""

from __future__ import annotations

import json

import pytest
from tests.memory.shell import Shell
from tests.memory.workbench import SHOP, Bench

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.memory.layout import LINES
from session_memory.memory.line_history import (
    LineHistory,
    next_history,
    read_history,
)
from session_memory.memory.statements import Statement

DAY = 86_400_000
TRAP = "`rtk make test` fails here (error: unrecognized subcommand 'make'); use `make test`"
WISH = "never push to the main branch without asking me"


@pytest.fixture
def shell(bench: Bench) -> Shell:
    return Shell(bench)


def lived(bench: Bench, number: int, check: str, *prompts: str, trap: bool = False) -> ClaudeLog:
    """The session of one day, read into memory at its end."""
    log = ClaudeLog(number, start=1_772_442_000_000 + number * DAY)
    log.prompt(f"make the parser of module {number} read empty lines")
    log.edit(f"/work/shop/src/parse{number}.py", "a", "b")
    if trap:
        log.run(f"rtk {check}", "error: unrecognized subcommand 'make'", exit_code=2)
    log.run(check, "3 passed in 0.1s")
    log.say(f"The parser of module {number} reads empty lines now.")
    for prompt in prompts:
        log.prompt(prompt)
        log.say("I will ask before that.")
    bench.space.write(log)
    bench.space.now += DAY
    bench.swept().extract()
    bench.consolidate()
    return log


@pytest.mark.rows("MEM-06")
def test_after_fifteen_sessions_the_first_still_counts_and_what_was_replaced_says_so(
    shell: Shell,
) -> None:
    bench = shell.bench
    first = lived(bench, 101, "make test", WISH, trap=True)
    assert TRAP in bench.page() and WISH in bench.page()
    assert "`make test` verifies tests; passed in 1 session" in bench.page()
    lived(bench, 102, "make test")
    for number in range(103, 116):
        lived(bench, number, "just test")
    page = bench.page()
    assert TRAP in page and f'"{WISH}"; said in 1 session' in page
    answer = shell.json("why", "rtk make test")["evidence"]
    assert first.session_id in {one["session"] for one in answer}
    assert "`just test` verifies tests; passed in 13 sessions" in page
    assert "`make test` verifies" not in page
    (retired,) = [
        one
        for one in shell.json("show", "--project", SHOP, "--all")["retired"]
        if one["key"] == "check `make test`"
    ]
    assert "`just test` took its place" in retired["reason"] and retired["retired"]
    why = shell.run("why", "`make test` verifies tests; passed")
    assert "retired " in why and "took its place" in why and "make test" in why
    assert sum(int(one["retired"] or 0) for one in bench.said("lines_changed")) == 1


@pytest.mark.rows("MEM-06")
def test_a_line_is_created_updated_retired_and_may_come_back() -> None:
    def said(text: str, note: str = "") -> Statement:
        return Statement(text, ("one",), (1,), note=note, key="check x")

    first, changes = next_history(LineHistory(), [said("x: 1 session")], [], [], "2026-01-01")
    assert (changes.created, changes.updated, changes.retired) == (1, 0, 0)
    second, changes = next_history(first, [said("x: 2 sessions")], [], [], "2026-01-02")
    assert (changes.created, changes.updated, changes.retired) == (0, 1, 0)
    assert second.lines[0].since == "2026-01-01"
    third, changes = next_history(second, [], [said("x", "it fails")], [], "2026-01-03")
    assert changes.retired == 1 and not third.lines and not third.left_out
    (line,) = third.retired
    assert (line.since, line.retired, line.reason) == ("2026-01-01", "2026-01-03", "it fails")
    fourth, _ = next_history(third, [said("x: 3 sessions")], [], [], "2026-01-04")
    assert fourth.lines and not fourth.retired


@pytest.mark.rows("MEM-06")
def test_what_the_user_takes_back_is_retired(bench: Bench) -> None:
    lived(bench, 1, "make test", "never use yarn workspaces")
    assert "never use yarn workspaces" in bench.page()
    lived(bench, 2, "make test", "you can use yarn workspaces")
    assert "never use yarn workspaces" not in bench.page()
    (line,) = [one for one in read_history(bench.folder()).retired if one.key.startswith("wish")]
    assert line.reason == "the user has said otherwise since"


@pytest.mark.rows("MEM-07")
def test_what_is_left_out_is_shown_with_the_reason(shell: Shell) -> None:
    lived(shell.bench, 101, "pytest tests/test_a.py")
    plain = shell.run("show", "--project", SHOP)
    everything = shell.run("show", "--project", SHOP, "--all")
    assert "left out: `pytest tests/test_a.py`" not in plain
    assert "left out: `pytest tests/test_a.py`" in everything


@pytest.mark.rows("MEM-06")
def test_forgetting_a_session_takes_the_history_of_its_lines_along(bench: Bench) -> None:
    lived(bench, 1, "make test", WISH, trap=True)
    history = bench.folder() / LINES
    assert WISH in history.read_text() and json.loads(history.read_text())["threads"]
    bench.space.run(
        "--config", str(bench.space.write_config()), "forget", "--session", "1", "--yes"
    )
    assert not history.exists() or WISH not in history.read_text()
