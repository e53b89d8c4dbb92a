"""A command that is said to fail and has worked as well since has no guard that speaks."""

from __future__ import annotations

import pytest
from tests.guards.conftest import User

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.core.loop.guards import Choice, text_hash
from session_memory.core.schema import CommandRun
from session_memory.guards.derive import derive
from session_memory.guards.history import Past, Worked, decided_at, worked_since

RULE = "`make all` fails here; use `make build`."
DAY_MS = 86_400_000


def judged(*runs: CommandRun, after: int = 0) -> Worked | None:
    check = derive(RULE)
    assert check is not None
    return worked_since(check.when, [Past(7, 1, runs)], after)


def run(command: str, at: int, *, failed: bool = False, checks: bool = False) -> CommandRun:
    return CommandRun(command, int(failed), failed, at, verifies=checks)


@pytest.mark.rows("GRD-14")
def test_only_a_success_after_the_first_failure_speaks_against_it() -> None:
    failed = run("make all", 20, failed=True)
    assert judged(failed) is None
    assert judged(run("make all", 10), failed) is None  # it began to fail
    assert judged(failed, run("make all", 30), run("make all", 40, failed=True)) == Worked(7, 30)
    assert judged(run("make all", 10)) == Worked(7, 10)  # no failure on record


@pytest.mark.rows("GRD-14")
def test_the_users_later_word_counts_more_than_an_earlier_success() -> None:
    failed, worked = run("make all", 20, failed=True), run("make all", 30)
    assert judged(failed, worked, after=35) is None
    assert judged(failed, worked, run("make all", 50), after=35) == Worked(7, 50)
    choice = Choice("r", "hint", 35, text_hash(RULE))
    assert (
        decided_at(choice, RULE),
        decided_at(choice, "other words"),
        decided_at(None, RULE),
    ) == (
        35,
        0,
        0,
    )
    assert decided_at(Choice("r", "off", 35, text_hash(RULE)), RULE) == 0


@pytest.mark.rows("GRD-14")
@pytest.mark.parametrize(
    ("command", "tells"),
    [
        ("make all", True),
        ("cd web && CI=1 make all && echo fine\n", True),
        ("make all;", True),
        ("make all || true", False),
        ("make all; echo done", False),
        ("make all &", False),
        ("! make all", False),
        ("if make all; then echo yes; fi", False),
        ("make all | tee log", False),
        ("make all -k", False),
        ("echo make all", False),
        ("make build", False),
        ("make all 'unclosed", False),
    ],
)
def test_a_line_tells_only_what_its_end_says_of_the_command(command: str, tells: bool) -> None:
    assert (judged(run(command, 30)) is not None) is tells


def test_behind_a_pager_a_check_is_judged_by_its_words_and_nothing_else_is() -> None:
    line = "make all 2>&1 | tail -5"
    assert judged(run(line, 30)) is None
    assert judged(run(line, 30, checks=True)) == Worked(7, 30)


@pytest.mark.rows("GRD-14")
def test_a_guard_falls_silent_when_its_command_works_and_says_why(user: User) -> None:
    log = ClaudeLog(3, cwd=str(user.project))
    log.prompt("build it")
    log.run("make all", "make: *** no rule", 1)
    log.run("make build", "ok")
    log.write(user.home / ".claude")
    user.run("init", "--yes", "--agent", "claude")
    user.run("rules", "add", RULE)
    table = user.data / "hooks" / "guards.json"
    assert "make all" in table.read_text()
    (row,) = user.json("rules", "guard", "list")["guards"]
    assert (row["mode"], row["silent_in"]) == ("hint", [])

    log = ClaudeLog(4, cwd=str(user.project), start=START + DAY_MS)
    log.prompt("build all of it")
    log.run("make all", "built")
    log.write(user.home / ".claude")
    user.run("sweep")
    user.run("worker", "run")
    assert not table.exists()
    (row,) = user.json("rules", "guard", "list")["guards"]
    assert row["silent_in"] == row["projects"]
    output = user.run("rules", "guard", "list")
    assert f"{row['id']}  silent  before `make all`" in output
    assert "the command worked there 2026-03-03" in output
    assert "silent in" in user.run("rules", "guard", "test", row["id"], "make all")
    user.run("rules", "guard", "set", row["id"], "hint")
    assert "make all" in table.read_text()
    assert user.json("rules", "guard", "list")["guards"][0]["silent_in"] == []
