"""Copilot sessions through the whole sweep: growth, rewrites, sub-agents, names, old layouts."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.test_copilot_files import TIMELINE, old_session

from session_memory.adapters.common import Block, SourceFile, read_lines
from session_memory.adapters.copilot.log_builder import CopilotLog, spent
from session_memory.core.schema import Session, SessionEvent
from session_memory.testing.workspace import Workspace


def home(space: Workspace) -> Path:
    return space.home / ".copilot"


def talk(seed: int = 1) -> CopilotLog:
    log = CopilotLog(seed)
    log.start()
    log.prompt("fix the test")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.delegate("look for it")
    log.run("grep -rn add", "cart.py:1")
    log.answer("Found.", usage=spent(40, 4))
    log.rejoin("cart.py")
    log.tool("edit", {"path": "/work/shop/cart.py", "old_str": "-", "new_str": "+"}, "ok")
    log.run("pytest -q", "1 passed")
    log.answer("Done.", usage=spent(60, 6, read=20))
    log.shutdown(spent(900, 90))
    log.resume()
    log.prompt("thanks")
    log.row("abort", reason="user_initiated")
    log.compact("fixed the test", spent(30, 5))
    log.shutdown(spent(1000, 100))
    return log


def swept(log: CopilotLog, *, cuts: list[int]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        for cut in [*sorted(cuts), len(log.rows)]:
            log.write(home(space), cut)
            space.now += 1000
            space.sweep()
        assert space.findings() == []
        return space.dump()


WHOLE = swept(talk(), cuts=[])


@pytest.mark.rows("CAP-01", "CAP-10")
def test_a_copilot_session_becomes_values_of_the_common_schema(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = talk()
    log.write(home(space))
    report = space.sweep()
    assert (report.ingested, report.parse_errors, report.failed) == (1, 0, [])
    session, events = space.session(log.session_id), space.events(log.session_id)
    assert type(session) is Session and session.flavor == "copilot"
    assert (session.cwd, session.branch, session.client_version) == (
        *("/work/shop", "main", "1.0.102"),
    )
    assert {type(event) for event in events} == {SessionEvent}
    assert all(event.paired for event in events if event.kind == "tool_call")
    # Five answers of 100 that asked for tools, less the one of the sub-agent, then 60 and 30.
    assert session.cost.input + session.cost.cache_read == 4 * 100 + 60 + 30
    digest = space.digest(log.session_id)
    assert digest is not None
    assert (digest.compactions, digest.interruptions, digest.tests_run) == (1, 1, 2)
    (child,) = [s for s in space.sessions().values() if s.parent_id is not None]
    assert (child.parent_external_id, child.source_kind) == (log.session_id, "subagent")
    assert child.cost.input == 140


@settings(max_examples=4)
@given(st.lists(st.integers(1, len(talk().rows)), min_size=1, max_size=3))
def test_a_session_that_grew_is_the_session_read_at_once(cuts: list[int]) -> None:
    assert swept(talk(), cuts=cuts) == WHOLE


@settings(max_examples=4)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=3), st.booleans())
def test_a_log_cut_anywhere_is_whole_once_its_rest_is_there(
    places: list[float], at_newline: bool
) -> None:
    whole = talk().dump()
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        path = talk().write(home(space))
        for place in sorted(places):
            cut = int(place * len(whole))
            cut = whole.rfind(b"\n", 0, cut) if at_newline else cut  # whole, without its newline
            path.write_bytes(whole[: max(cut, 0)])
            space.sweep()
        path.write_bytes(whole)
        space.sweep()
        assert space.dump() == WHOLE


def test_a_log_read_in_small_blocks_gives_the_same(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")

    def read_small(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
        return read_lines(file.path, offset, block_bytes=700, line_cap=line_cap)

    adapter = msgspec.structs.replace(space.adapters["copilot"], read=read_small)
    space.adapters = {**space.adapters, "copilot": adapter}
    space.set_ingest(commit_bytes=1)
    talk().write(home(space))
    space.sweep()
    assert space.dump() == WHOLE


@settings(max_examples=4)
@given(st.integers(1, len(talk().rows)), st.integers(1, len(talk().rows)))
def test_a_log_rewritten_from_anywhere_holds_what_it_says_now(read_to: int, keep: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        log = talk()
        log.write(home(space), read_to)
        space.sweep()
        log.rows = log.rows[:keep]
        log.prompt("another way")
        log.write(home(space))
        space.sweep()
        live = [(e.kind, e.text, e.label) for e in space.events(log.session_id)]
        fresh = Workspace(Path(folder) / "fresh")
        log.write(home(fresh))
        fresh.sweep()
        assert live == [(e.kind, e.text, e.label) for e in fresh.events(log.session_id)]


@pytest.mark.rows("CAP-14")
def test_half_a_line_is_read_once_it_is_whole(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    path = talk().write(home(space))
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert space.sweep().incomplete_tail == 1
    path.write_bytes(whole)
    space.sweep()
    assert space.dump() == WHOLE


def test_a_session_taken_back_leaves_what_it_no_longer_holds(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = talk()
    log.write(home(space))
    space.sweep()
    log.rows = log.rows[:-6]
    log.prompt("another way")
    log.write(home(space))
    space.sweep()
    prompts = [e.text for e in space.events(log.session_id) if e.kind == "user_prompt"]
    assert prompts == ["fix the test", "another way"]
    assert "thanks" in [event.text for event in space.superseded(log.session_id)]


def test_the_same_session_in_both_layouts_is_one(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = talk()
    folder = log.write(home(space))
    (folder.parent.parent / f"{log.session_id}.jsonl").write_bytes(log.dump())
    space.sweep()
    assert space.dump() == WHOLE


def test_a_new_name_alone_is_noticed_and_adds_nothing_else(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = talk()
    log.name("fix the test")
    path = log.write(home(space))
    space.sweep()
    before = space.events(log.session_id)
    assert space.session(log.session_id).title == "fix the test"
    log.name("The cart", by_user=True)
    beside = path.parent / "workspace.yaml"
    beside.write_bytes(log.side_files["workspace.yaml"])
    later = path.stat().st_mtime_ns + 10**9
    os.utime(beside, ns=(later, later))
    space.sweep()
    assert space.session(log.session_id).title == "The cart"
    assert space.events(log.session_id) == before
    assert space.sweep().ingested == 0


def test_unknown_records_are_named_with_the_version_of_the_client(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = talk()
    log.row("hologram.shown", shape="cube")
    log.write(home(space))
    assert space.sweep().unknown == {"copilot 1.0.102: hologram.shown": 1}


def test_an_old_document_that_grows_or_is_taken_over_adds_only_what_is_new(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    name = CopilotLog(5).session_id
    path = home(space) / "history-session-state" / f"session_{name}_1.json"
    path.parent.mkdir(parents=True)
    for count in (2, 4):
        document = {**old_session(timeline=TIMELINE[:count]), "sessionId": name}
        path.write_text(json.dumps(document, indent=1))
        space.sweep()
    before = [(e.kind, e.text) for e in space.events(name)]
    assert [kind for kind, _ in before] == [
        *("user_prompt", "assistant_text", "tool_call", "tool_result"),
    ]
    log = CopilotLog(5)
    log.row("session.import_legacy", legacySession=document, sourceFile=str(path))
    log.prompt("go on")
    log.write(home(space))
    space.sweep()
    after = [(e.kind, e.text) for e in space.events(name)]
    assert after == [*before, ("user_prompt", "go on")]
