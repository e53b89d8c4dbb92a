"""Any split of a rollout at line boundaries, with the state carried on, reads the same."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.codex_reading import fold, parse_split

from session_memory.adapters.codex.log_builder import CodexLog, Mode, call, output, tokens


def busy(mode: Mode) -> CodexLog:
    """A log in which nearly every row needs an earlier one."""
    log = CodexLog(1, mode=mode).header().turn().prompt("go").answer("going")
    log.run("make", "boom", 2).spend(tokens(100, 40, 10), record=mode == "paginated")
    log.item(call("bg", "exec_command", {"cmd": "sleep 99"}))
    log.item(output("bg", "Chunk ID: 1\nProcess running with session ID 7\nOutput:\n"))
    log.finished("CommandExecution", id="bg", command=["sleep", "99"], exit_code=1)
    log.turn("other").prompt("go").answer("going").spend(tokens(50, 0, 5))
    log.row("compacted", {"message": "short"})
    log.event("context_compacted")
    return log


LOGS = [busy("legacy"), busy("paginated"), busy("legacy").fork(2), busy("legacy").fork(3).turn()]
LOGS[-1].prompt("own").answer("mine").spend(tokens(9, 0, 1))


@settings(max_examples=60)
@given(st.integers(0, len(LOGS) - 1), st.lists(st.integers(0, 200), max_size=6))
def test_splits_do_not_show(which: int, cuts: list[int]) -> None:
    content, path = LOGS[which].dump(), "/logs/rollout-x.jsonl"
    whole, pieces = parse_split(content, path, []), parse_split(content, path, cuts)
    assert fold(pieces) == fold(whole)
    assert pieces[-1].state == whole[-1].state
    assert sum((piece.ignored for piece in pieces), start=type(whole[0].ignored)()) == (
        whole[0].ignored
    )


def test_the_process_left_running_ends_under_its_first_call() -> None:
    part = fold(parse_split(LOGS[1].dump(), "/logs/x.jsonl", []))
    ends = [(e.exit_code, e.is_error) for e in part.events if e.call_id == "bg"]
    assert ends == [(None, False), (None, False), (1, True)]
