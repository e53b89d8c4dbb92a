"""Calls and tokens between a compaction and the next edit, by what the session was told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.loop.trials import is_given
from session_memory.core.schema import SessionEvent
from session_memory.errors import EXIT_OK
from session_memory.measure.restarts import Restart, compared, lines, restarts
from session_memory.store.values import Injection, ResponseCost

pytestmark = pytest.mark.rows("RCV-07")


def event(at: int, kind: str = "tool_call", **fields: object) -> SessionEvent:
    return SessionEvent(1, at, kind, "agent", at=at, **fields)  # pyright: ignore


def told(at: int, *given: str, held: tuple[str, ...] = ()) -> Injection:
    return Injection("i", at, given, held)


EVENTS = [
    event(5, tool_class="read"),
    event(10, "compaction"),
    event(20, tool_class="read"),
    event(30, tool_class="shell", command="ls"),
    event(40, tool_class="edit"),
    event(50, "compaction"),
    event(60, tool_class="shell", command="sed -i s/a/b/ x.py"),
    event(70, "compaction"),
    event(80, tool_class="read"),
]
COSTS = [ResponseCost(at, 100, None) for at in (5, 15, 25, 35, 45, 55)]


def test_calls_and_tokens_up_to_the_edit_are_counted() -> None:
    assert restarts(EVENTS, COSTS) == [Restart(10, 2, 300), Restart(50, 0, 100)]
    assert restarts([event(1), event(2, tool_class="edit")], COSTS) == []


def test_the_arm_is_what_was_recorded_between_compaction_and_edit() -> None:
    of = [told(15, "memory", "recovery"), told(55, held=("recovery",))]
    early = EVENTS[:5], COSTS, of[:1]
    assert [one.arm for one in restarts(*early)] == ["given"]
    assert [one.arm for one in restarts(EVENTS[:5], COSTS, [told(15, held=("recovery",))])] == [
        "held"
    ]
    assert [one.arm for one in restarts(EVENTS[:5], COSTS, [told(15, "memory")])] == ["neither"]


def test_groups_are_compared_and_an_empty_one_says_nothing() -> None:
    found = [Restart(1, n, 10 * n, "given") for n in (0, 1, 2)]
    found += [Restart(1, n, 10 * n, "held") for n in (7, 8, 9)]
    report = compared(found)
    assert [(one.arm, one.count, one.calls) for one in report.groups] == [
        ("given", 3, 1),
        ("held", 3, 8),
        ("neither", 0, None),
    ]
    assert report.chance is not None and report.chance < 0.2
    assert len(lines(report)) == 4
    assert compared(found[:3]).chance is None
    assert lines(compared([])) == []


def test_the_command_tells_it_and_a_trial_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(logs))
    log = ClaudeLog(1)
    log.prompt("fix the parser")
    log.compact("The user wants the parser fixed.")
    log.read("/work/shop/a.py", "x")
    log.edit("/work/shop/a.py", "x", "y")
    log.write(logs)
    assert main(["sweep", "-q"]) == EXIT_OK
    capsys.readouterr()
    assert main(["rules", "measure", "--json"]) == EXIT_OK
    groups = json.loads(capsys.readouterr().out)["after_compaction"]["groups"]
    assert [(one["arm"], one["count"], one["calls"]) for one in groups][-1] == ("neither", 1, 1)
    assert main(["rules", "measure"]) == EXIT_OK
    assert "neither: 1 calls" in capsys.readouterr().out
    assert main(["rules", "trial", "start", "recovery"]) == EXIT_OK
    assert main(["rules", "trial", "stop", "recovery"]) == EXIT_OK
    assert "recovery" in capsys.readouterr().out
    assert is_given("a", "recovery") in (True, False)
