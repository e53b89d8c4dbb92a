"""Codex rollouts through the whole sweep: moved, grown, forked or migrated, a session stays one."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest
from backports import zstd

from session_memory.adapters.codex.log_builder import CodexLog, call, message, output, tokens, uuid7
from session_memory.core.schema import Cost, Session, SessionEvent
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "space")


def home(space: Workspace) -> Path:
    return space.home / ".codex"


def talk(seed: int = 1) -> CodexLog:
    log = CodexLog(seed).header().turn().prompt(f"question {seed}")
    return log.run("make", "boom", 2).answer("broken").spend(tokens(100, 40, 10, 4))


@pytest.mark.rows("CAP-01", "CAP-06")
def test_a_rollout_becomes_session_events_and_cost_of_the_common_schema(space: Workspace) -> None:
    log = talk()
    log.item(output("stray", "late"))
    log.write(home(space))
    report = space.sweep()
    assert (report.ingested, report.parse_errors, report.failed) == (1, 0, [])
    session = space.session(log.thread)
    assert type(session) is Session and session.flavor == "codex"
    assert session.cwd == "/work/shop" and session.started_at is not None
    assert msgspec.structs.replace(session.cost, usd=None, price_table=None) == Cost(
        input=60, output=10, cache_read=40, reasoning=4
    )
    events = space.events(log.thread)
    assert all(type(event) is SessionEvent for event in events)
    paired = {event.call_id: event.paired for event in events if event.call_id}
    assert paired == {"call_1_1": True, "stray": False}
    assert [e.exit_code for e in events if e.call_id == "call_1_1"] == [None, 2]


@pytest.mark.rows("CAP-06")
@pytest.mark.parametrize("options", [(), ("--events",)], ids=("transcript", "events"))
def test_show_marks_calls_and_outputs_that_found_no_partner(
    space: Workspace, options: tuple[str, ...]
) -> None:
    log = talk()
    log.item(call("lonely", "exec_command", {"cmd": "sleep 9"}))
    log.item(output("stray", ""))
    log.write(home(space))
    space.sweep()
    number = str(space.session(log.thread).id)
    done = space.run("--config", str(space.write_config()), "show", number, *options)
    marked = [line for line in done.stdout.splitlines() if "unpaired" in line]
    assert len(marked) == 2
    if options:
        assert ["sleep 9" in line for line in marked] == [True, False]
    else:
        assert re.search(r"\(unpaired\)  \d+:\d+\n    sleep 9\n", done.stdout)
        assert "<- result (unpaired)" in done.stdout
        assert re.search(r"-> exec_command  \d+:\d+\n    make", done.stdout), "a pair, no mark"


def test_a_rollout_that_grows_is_read_on_with_its_counts(space: Workspace) -> None:
    log = talk()
    log.write(home(space))
    space.sweep()
    log.turn().prompt("and now").answer("done").spend(tokens(50, 0, 5))
    log.write(home(space))
    assert space.sweep().ingested == 1
    assert space.session(log.thread).cost.total_tokens == 165
    texts = [e.text for e in space.events(log.thread) if e.kind == "user_prompt"]
    assert texts == ["question 1", "and now"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_rollout_that_is_archived_or_packed_adds_nothing(space: Workspace, packed: bool) -> None:
    log = talk()
    path = log.write(home(space))
    space.sweep()
    before = space.events(log.thread)
    archive = home(space) / "archived_sessions"
    archive.mkdir()
    path.unlink()
    if packed:
        path.with_name(path.name + ".zst").write_bytes(zstd.compress(log.dump()))
    else:
        (archive / path.name).write_bytes(log.dump())
    assert space.sweep().ingested == 1
    after = space.events(log.thread)
    assert [event.fingerprint for event in after] == [event.fingerprint for event in before]
    assert len(space.sessions()) == 1
    assert space.session(log.thread).cost.total_tokens == 110
    assert space.sweep().ingested == 0
    assert space.findings() == []


def test_a_packed_rollout_that_was_packed_anew_is_read_whole(space: Workspace) -> None:
    log = talk()
    path = log.path(home(space))
    packed = path.with_name(path.name + ".zst")
    packed.parent.mkdir(parents=True)
    packed.write_bytes(zstd.compress(log.dump()))
    space.sweep()
    log.turn().prompt("and now")
    packed.write_bytes(zstd.compress(log.dump()))
    space.sweep()
    texts = [e.text for e in space.events(log.thread) if e.kind == "user_prompt"]
    assert texts == ["question 1", "and now"]


def test_a_fork_and_its_parent_count_once(space: Workspace) -> None:
    parent = talk()
    fork = parent.fork(2).turn().prompt("other way").answer("ok").spend(tokens(7, 0, 1))
    for log in (fork, parent):  # the fork first: order must not matter
        log.write(home(space))
        space.sweep()
    assert space.session(parent.thread).cost.total_tokens == 110
    child = space.session(fork.thread)
    assert (child.cost.total_tokens, child.forked_from) == (8, parent.thread)


def test_a_fork_that_kept_its_times_inherits(space: Workspace) -> None:
    parent = talk()
    fork = parent.fork(2, restamped=False).turn().prompt("other way").answer("ok")
    parent.write(home(space))
    fork.write(home(space))
    space.sweep()
    flags = {event.text: event.inherited for event in space.events(fork.thread)}
    assert flags["question 1"] is True and flags["other way"] is False


def test_a_reverted_thread_joins_its_two_files(space: Workspace) -> None:
    log = CodexLog(1, mode="paginated").header().turn().prompt("first").answer("a")
    first = log.write(home(space))
    again = CodexLog(1, mode="paginated")
    again.at += 90_000
    base = {"thread_id": log.thread, "end_ordinal_exclusive": 2, "end_byte_offset": 9}
    again.header(history_base=base).turn().prompt("second").answer("b")
    assert again.thread == log.thread
    path = first.with_name(f"{first.stem}_{uuid7(again.at, 'r')}.jsonl")
    path.write_bytes(again.dump())
    space.sweep()
    (session,) = space.sessions().values()
    texts = [e.text for e in space.events(session.external_id) if e.kind == "user_prompt"]
    assert texts == ["first", "second"] and session.forked_from is None


def test_a_file_migrated_in_place_is_read_again_without_doubles(space: Workspace) -> None:
    log = talk()
    path = log.write(home(space))
    space.sweep()
    rows = [row for row in log.rows if row["type"] != "event_msg"]
    migrated = CodexLog(1, mode="paginated")
    migrated.rows = [{**row, "ordinal": number} for number, row in enumerate(rows)]
    path.write_bytes(migrated.dump())
    os.utime(path, ns=(1, 1))
    space.sweep()
    live = [(e.kind, e.text) for e in space.events(log.thread) if e.kind == "user_prompt"]
    assert live == [("user_prompt", "question 1")]
    answers = [e for e in space.events(log.thread) if e.kind == "assistant_text"]
    assert len(answers) == 1
    assert len(space.sessions()) == 1


def test_a_document_of_2025_that_is_rewritten_adds_only_what_is_new(space: Workspace) -> None:
    folder = home(space) / "sessions"
    folder.mkdir(parents=True)
    path = folder / "rollout-2025-05-01-x.json"
    document = {"session": {"id": "doc", "timestamp": "2025-05-01T00:00:00.000Z"}}
    items = [message("user", "hi"), message("assistant", "hello"), message("user", "hi")]
    for count in (2, 3):
        path.write_bytes(msgspec.json.encode({**document, "items": items[:count]}))
        space.sweep()
    texts = [event.text for event in space.events("doc")]
    assert texts == ["hi", "hello", "hi"]
