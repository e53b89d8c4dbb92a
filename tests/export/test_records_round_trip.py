"""Whatever sessions say, and in whatever pieces they are moved, the same store comes out."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.export.export_commands import bring, export
from tests.invariants.broken import difference

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.testing.workspace import Workspace

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
# Few words, so that equal events, which must stay apart, are common.
WORDS = st.sampled_from(["go on", "go on", f"use {SECRET}", "Decision: keep it.", "ü \u2028 🙂"])
STEPS = st.lists(st.tuples(st.sampled_from(["prompt", "say", "run", "again"]), WORDS), max_size=5)
SHAPES = st.lists(st.tuples(st.sampled_from(["plain", "fork", "agent"]), STEPS), max_size=3)


def write_session(log: ClaudeLog, steps: list[tuple[str, str]]) -> None:
    last = log.prompt("begin")
    for what, words in steps:
        match what:
            case "prompt":
                last = log.prompt(words)
            case "say":
                log.say(words)
            case "run":
                log.run("make", words, exit_code=len(words) % 2)
            case _:
                log.raw(dict(last))  # the same record once more


def write_family(space: Workspace, shapes: list[tuple[str, list[tuple[str, str]]]]) -> None:
    parent = ClaudeLog(1)
    write_session(parent, [("say", "first")])
    logs = [parent]
    for number, (kind, steps) in enumerate(shapes, 2):
        log = {
            "plain": lambda n=number: ClaudeLog(n),
            "fork": lambda n=number: parent.fork(n),
            "agent": lambda: parent.subagent("look"),
        }[kind]()
        write_session(log, steps)
        logs.append(log)
    space.write(*logs)


# An example is a dozen commands on real stores: few of them, and a failing one is small already.
@settings(max_examples=4, phases=[Phase.generate])
@given(shapes=SHAPES, own=st.booleans(), data=st.data())
def test_sessions_moved_one_by_one_in_any_order_make_the_same_store(
    shapes: list[tuple[str, list[tuple[str, str]]]], own: bool, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as root:
        here, there = Workspace(Path(root) / "here"), Workspace(Path(root) / "there")
        write_family(here, shapes)
        here.sweep()
        if own:  # then it keeps its own key, and knows nothing by the other store's numbers
            write_session(other := ClaudeLog(99, start=START + 10**9), [("say", "mine")])
            there.write(other)
            there.sweep()
        before = there.dump() if own else []
        mains = [s.external_id for s in here.sessions().values() if s.parent_external_id is None]
        order = data.draw(st.permutations(mains))
        for number, name in enumerate(order):
            bring(there, export(here, f"part{number}", "--session", name))
        came = [entry for entry in there.dump() if entry not in before]
        assert difference(came, here.dump()) == []
        assert len(came) + len(before) == len(there.dump())
        assert bring(there, export(here, "all"))["events"] == 0
        assert there.findings() == []
