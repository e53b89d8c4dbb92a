"""pi sessions through the whole sweep: growth, branches, forks and rewrites, in any order."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters.pi.log_builder import PiLog, spent
from session_memory.core.schema import Session, SessionEvent
from session_memory.testing.workspace import Workspace


def home(space: Workspace) -> Path:
    return space.home / ".pi" / "agent"


def canonical(space: Workspace) -> list[dict[str, Any]]:
    """The dump without the number of events ever captured: a branch left later counts twice."""
    entries = space.dump()
    for entry in entries:
        del entry["session"]["event_count"]
    return entries


def talk(seed: int = 1) -> PiLog:
    log = PiLog(seed)
    start = log.prompt("fix the test")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.answer("That way.", usage=spent(100, 20, read=40, usd=0.25))
    log.shell("git stash", "saved")
    log.back_to(start, "stashed")
    log.tool("edit", {"path": "/work/shop/cart.py", "oldText": "-", "newText": "+"}, "ok")
    log.run("pytest -q", "1 passed")
    log.compact("fixed the test")
    log.prompt("thanks")
    log.answer("Done.", usage=spent(50, 10, usd=0.5))
    return log


def swept(log: PiLog, *, cuts: list[int]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        for cut in [*sorted(cuts), len(log.rows)]:
            log.write(home(space), cut)
            space.now += 1000
            space.sweep()
        assert space.findings() == []
        return canonical(space)


@pytest.mark.rows("CAP-01", "CAP-10")
def test_a_pi_session_becomes_values_of_the_common_schema(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = talk()
    log.write(home(space))
    report = space.sweep()
    assert (report.ingested, report.parse_errors, report.failed) == (1, 0, [])
    session, events = space.session(log.session_id), space.events(log.session_id)
    assert type(session) is Session and session.flavor == "pi" and session.cwd == "/work/shop"
    assert {type(event) for event in events} == {SessionEvent}
    calls = [event for event in events if event.kind == "tool_call"]
    assert all(event.paired for event in calls)
    assert session.cost.usd == pytest.approx(0.75, abs=0.01)
    assert [e.text for e in events if e.kind == "user_prompt"] == ["fix the test", "thanks"]
    digest = space.digest(log.session_id)
    assert digest is not None and digest.flavor == "pi" and digest.compactions == 1


WHOLE = swept(talk(), cuts=[])


@settings(max_examples=4)
@given(st.lists(st.integers(1, len(talk().rows)), min_size=1, max_size=3))
def test_a_session_that_grew_is_the_session_read_at_once(cuts: list[int]) -> None:
    assert swept(talk(), cuts=cuts) == WHOLE


@settings(max_examples=4)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=2), st.booleans())
def test_a_file_cut_anywhere_is_whole_once_its_rest_is_there(
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
        assert canonical(space) == WHOLE


@settings(max_examples=4)
@given(st.integers(1, len(talk().rows)), st.integers(2, len(talk().rows)))
def test_a_file_rewritten_from_anywhere_holds_what_it_says_now(read_to: int, keep: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        log = talk()
        log.write(home(space), read_to)
        space.sweep()
        log.rows = log.rows[:keep]
        log.leaf = log.rows[-1]["id"]
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
    log = talk()
    path = log.write(home(space))
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert space.sweep().incomplete_tail == 1
    path.write_bytes(whole)
    space.sweep()
    assert canonical(space) == WHOLE


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_forks_count_their_copies_once_in_any_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    log = talk()
    fork = log.fork(2)
    fork.prompt("and on")
    fork.answer("On.", usage=spent(7, 3, usd=0.125))
    second = fork.fork(3)
    second.prompt("and further")
    space = Workspace(tmp_path / "space")
    for index in order:
        (log, fork, second)[index].write(home(space))
        space.sweep()
    sessions = space.sessions()
    assert sessions[fork.session_id].forked_from == log.session_id
    assert sessions[second.session_id].forked_from == fork.session_id
    inherited = [e.text for e in space.events(fork.session_id) if not e.inherited]
    assert inherited == ["and on", "On."]
    assert sum(s.cost.input for s in sessions.values()) == 100 + 3 * 100 + 50 + 7
    assert sessions[fork.session_id].started_at == fork.opened + 500


def test_an_old_file_that_pi_opened_again_adds_nothing(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    old = PiLog(1, version=1)
    old.prompt("one")
    old.answer("two", usage=spent(5, 1))
    old.shell("ls", "x")
    path = old.write(home(space))
    space.sweep()
    before = [(e.kind, e.text, e.fingerprint) for e in space.events(old.session_id)]
    old.rows[0]["version"] = 3
    for number, row in enumerate(old.rows[1:], 1):
        row |= {"id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number > 1 else None}
    path.write_bytes(old.dump())
    space.sweep()
    after = [(e.kind, e.text, e.fingerprint) for e in space.events(old.session_id)]
    assert after == before
    assert space.superseded(old.session_id) == []
    assert space.session(old.session_id).cost.input == 5


def test_a_session_that_openclaw_put_aside_stays_one(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    space.paths["pi"] = (str(space.root / "claw"),)
    folder = space.root / "claw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    log = talk()
    path = folder / f"{log.session_id}.jsonl"
    path.write_bytes(log.dump())
    space.sweep()
    before = len(space.events(log.session_id))
    path.rename(folder / f"{log.session_id}.jsonl.reset.2026-06-23T00-00-00.000Z")
    space.sweep()
    assert list(space.sessions()) == [log.session_id]
    assert len(space.events(log.session_id)) == before
