"""What waits on the first screen."""

from __future__ import annotations

from tests.cli.test_terminal_small_answers import run, space

from session_memory.testing.workspace import Workspace

__all__ = ["space"]


def test_rules_that_nobody_looked_at_yet_wait_on_the_first_screen(space: Workspace) -> None:
    assert "1 rule awaits your decision" in run(space).stdout
    run(space, "rules")
    assert "1 rule awaits your decision" in run(space).stdout


def test_rules_with_too_little_evidence_do_not_wait(space: Workspace) -> None:
    gate = "curate.gate"
    strict = (
        *("--set", f"{gate}.promote_min_sessions=9"),
        *("--set", f"{gate}.distribute_min_sessions=9"),
    )
    alone = run(space, *strict)
    assert alone.returncode == 0 and "awaits your decision" not in alone.stdout
    assert "No rule awaits" in run(space, *strict, "rules").stderr
