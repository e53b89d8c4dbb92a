"""Gemini CLI chats through a whole sweep: growth, rewrites, resumes, relatives, vanished files."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.adapters.gemini_reading import canonical, parse_source, part_of, workspace

from session_memory.adapters.gemini.log_builder import GeminiLog, tokens
from session_memory.adapters.gemini.reader import ADAPTER, discover
from session_memory.store.port import ObservationQuery
from session_memory.testing.workspace import Workspace

SLOW = [HealthCheck.too_slow]


def talk(seed: int = 1) -> GeminiLog:
    log = GeminiLog(seed)
    log.context()
    log.prompt("fix the test")
    log.say("I run it.", tokens(100, 20, cached=40, thoughts=5), thought="which?")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.write_file("/work/shop/cart.py", "a + b")
    wrong = log.prompt("another way")
    log.say("Hm.")
    log.rewind(wrong)
    log.prompt("go on")
    log.say("I run it again.", tokens(10, 2))
    log.run("pytest -q", "1 passed")
    log.resume()
    log.prompt("go on")
    log.compress("fixed")
    log.say("Done.", tokens(7, 3))
    return log


def plain_talk() -> GeminiLog:
    """A conversation as clients that write documents have it."""
    log = GeminiLog()
    log.context()
    for number in range(3):
        log.prompt(f"step {number}")
        log.say("I run it.", tokens(10, number), thought="which?")
        log.run("pytest -q", f"{number} failed", exit_code=number)
    log.message("info", "Request cancelled.")
    return log


def swept(root: Path, *logs: GeminiLog) -> Workspace:
    space = workspace(root, "gemini")
    for log in logs:
        log.write(space.root / "gemini")
    space.sweep()
    return space


@given(words=st.lists(st.text(max_size=12), min_size=1, max_size=4), code=st.integers(0, 255))
@settings(max_examples=7, suppress_health_check=SLOW)
def test_what_a_chat_says_comes_back_from_the_store_as_it_went_in(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], code: int
) -> None:
    log = GeminiLog()
    for word in words:
        log.prompt(f"say {word}")
        log.say(f"said {word}", tokens(code, len(words), cached=code))
        log.run(f"echo {word}", word, exit_code=code)
    space = swept(tmp_path_factory.mktemp("whole"), log)
    (source,) = discover(str(space.root / "gemini"))
    part = part_of(parse_source(ADAPTER, source))
    names = ("kind", "origin", "at", "tool", "tool_class", "call_id", "is_error", "exit_code")
    names += ("files", "command", "label")
    wanted = [[getattr(raw, name) for name in names] + [raw.text] for raw in part.events]
    stored = space.events(log.session_id)
    found = [[getattr(event, name) for name in names] + [event.text or ""] for event in stored]
    assert found == wanted
    cost = space.session(log.session_id).cost
    for name in ("input", "output", "cache_read", "reasoning"):
        assert getattr(cost, name) == sum(getattr(usage, name) for usage in part.usages)


@given(cuts=st.lists(st.integers(0, 10_000), min_size=1, max_size=3), seed=st.integers(0, 9))
@settings(max_examples=7, suppress_health_check=SLOW)
def test_a_chat_that_grew_by_any_bytes_is_the_chat_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], seed: int
) -> None:
    log = talk(seed)
    whole = log.lines()
    space = workspace(tmp_path_factory.mktemp("grown"), "gemini")
    path = log.write(space.root / "gemini")
    for cut in [*sorted(cuts), 10_000]:
        path.write_bytes(whole[: len(whole) * cut // 10_000])
        space.sweep()
    at_once = swept(tmp_path_factory.mktemp("whole"), log)
    assert canonical(space) == canonical(at_once)
    assert not space.findings()


@given(cuts=st.lists(st.integers(1, 25), min_size=1, max_size=3))
@settings(max_examples=5, suppress_health_check=SLOW)
def test_a_document_rewritten_whole_is_the_document_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    log = plain_talk()
    rows, home = log.rows, "gemini"
    grown = workspace(tmp_path_factory.mktemp("grown"), home)
    for cut in [*sorted(cuts), len(rows)]:
        log.rows = rows[:cut]
        log.write_document(grown.root / home)
        grown.sweep()
    at_once = workspace(tmp_path_factory.mktemp("whole"), home)
    log.write_document(at_once.root / home)
    at_once.sweep()
    assert canonical(grown) == canonical(at_once)
    assert not grown.findings()


def test_a_second_sweep_reads_nothing(tmp_path: Path) -> None:
    space = swept(tmp_path, talk(1), talk(2))
    held = space.dump()
    report = space.sweep()
    assert (report.ingested, report.events, report.unknown) == (0, 0, {})
    assert space.dump() == held


def resumed_elsewhere() -> tuple[GeminiLog, GeminiLog]:
    """A chat, and the second file that a resume in a later minute begins."""
    first = GeminiLog(1)
    first.context()
    first.prompt("fix the test")
    first.say("I run it.", tokens(50, 5))
    first.run("pytest -q", "1 failed", exit_code=1)
    second = GeminiLog(1, start=first.start + 120_000)
    copy = GeminiLog(1)
    copy.rows = list(first.rows)
    copy.now = second.now
    copy.resume()
    second.rows = copy.rows[len(first.rows) :]
    second.now = copy.now
    second._made = 100  # ids of its own from here on
    second.prompt("go on")
    second.say("Done.", tokens(7, 3))
    return first, second


@pytest.mark.rows("STO-05", "STO-07")
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 0)])
def test_two_files_of_one_session_are_one_session(tmp_path: Path, order: tuple[int, ...]) -> None:
    logs = resumed_elsewhere()
    assert logs[0].session_id == logs[1].session_id
    space = workspace(tmp_path / "steps", "gemini")
    logs[0].write(space.root / "gemini")  # the client writes the first file first
    for at in order:
        logs[at].write(space.root / "gemini")
        space.sweep()
    whole = swept(tmp_path / "whole", *logs)
    assert canonical(space) == canonical(whole)
    assert list(space.sessions()) == [logs[0].session_id]
    events = space.events(logs[0].session_id)
    assert [e.text for e in events if e.kind in ("user_prompt", "assistant_text")] == [
        "fix the test",
        "I run it.",
        "go on",
        "Done.",
    ]
    assert [e.kind for e in events].count("tool_result") == 1
    cost = space.session(logs[0].session_id).cost
    assert (cost.input, cost.output) == (57, 8)


def test_a_document_continued_as_lines_is_one_session(tmp_path: Path) -> None:
    space, log = workspace(tmp_path, "gemini"), plain_talk()
    log.write_document(space.root / "gemini")
    space.sweep()
    held = canonical(space)
    log.rows = [log.header, *log.messages()]
    log.write(space.root / "gemini")
    space.sweep()
    assert canonical(space)[0]["events"] == held[0]["events"]
    log.prompt("and more")
    log.write(space.root / "gemini")
    assert space.sweep().events == 1


def test_a_chat_the_client_deleted_stays_ours(tmp_path: Path) -> None:
    log = talk()
    log.say("I delegate.")
    child = log.spawn(2, "count", "three files")
    space = swept(tmp_path, log, child)
    held = space.dump()
    for path in (space.root / "gemini").rglob("*.jsonl"):
        path.unlink()
    space.sweep()
    assert space.dump() == held
    assert set(space.sessions()) == {log.session_id, child.session_id}


def family() -> list[GeminiLog]:
    parent = talk(1)
    child = parent.spawn(2, "count the files", "three files")
    return [parent, child, talk(3)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_relatives_in_any_order_give_one_family(tmp_path: Path, order: tuple[int, ...]) -> None:
    logs = family()
    space = workspace(tmp_path / "steps", "gemini")
    for at in order:
        logs[at].write(space.root / "gemini")
        space.sweep()
    whole = swept(tmp_path / "whole", *logs)
    assert space.dump() == whole.dump()
    parent, child, _ = (space.session(log.session_id) for log in logs)
    assert (child.parent_external_id, child.parent_id) == (parent.external_id, parent.id)
    assert (child.source_kind, child.label) == ("subagent", "generalist")
    assert child.cost.input == 100
    assert parent.cost.input == 100 + 100 + 10 + 7


def test_plans_failures_and_costs_reach_digest_and_observations(tmp_path: Path) -> None:
    log = GeminiLog()
    log.prompt("ship the cart")
    log.say("I plan.", tokens(1000, 10, cached=500))
    todos = [
        {"description": "write the cart module", "status": "completed"},
        {"description": "document the cart module", "status": "pending"},
    ]
    log.call("write_todos", {"todos": todos}, "ok")
    log.run("pytest -q", "E   assert 1 == 2\n1 failed", exit_code=1)
    log.run("pytest -q", "1 passed")
    log.say("The tests pass.")
    space = swept(tmp_path, log)
    digest = space.digest(log.session_id)
    assert digest is not None
    assert digest.open_items == ("document the cart module",)
    assert [(run.command, run.exit) for run in digest.commands] == [
        ("pytest -q", 1),
        ("pytest -q", 0),
    ]
    session = space.session(log.session_id)
    assert session.cost.usd is not None
    assert session.cost.usd > 0
    assert session.cwd == "/work/shop"
    with space.store() as store:
        found = {(o.type, o.text) for o in store.observations(ObservationQuery())}
    assert ("pending_item", "document the cart module") in found


@pytest.mark.rows("CAP-13")
def test_damage_costs_only_what_is_damaged(tmp_path: Path) -> None:
    space, log = workspace(tmp_path, "gemini"), talk()
    path = log.write(space.root / "gemini")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b"#### torn\n", *lines[4:], b'{"id": "half']))
    report = space.sweep()
    assert (report.parse_errors, report.incomplete_tail, report.failed) == (1, 1, [])
    whole = swept(tmp_path / "whole", log)
    assert canonical(space) == canonical(whole)
