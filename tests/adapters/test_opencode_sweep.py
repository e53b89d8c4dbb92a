"""OpenCode sessions through a whole sweep: growth, rewrites, a live writer, both storages."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.adapters import opencode_client
from tests.adapters.opencode_client import talk
from tests.adapters.opencode_reading import PLACES, parse_source, part_of

from session_memory.adapters import sqlite_log
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.opencode.log_builder import OpenCodeLog, connect, token_row
from session_memory.adapters.opencode.reader import ADAPTER, discover
from session_memory.core.schema import Cost, Session, SessionEvent
from session_memory.testing.workspace import Workspace


def workspace(root: Path) -> Workspace:
    space = Workspace(root)
    space.paths["opencode"] = (str(data(space)),)
    data(space).mkdir(parents=True)
    return space


def data(space: Workspace) -> Path:
    return space.root / "opencode"


def put(space: Workspace, *logs: OpenCodeLog, place: str = "database") -> None:
    for log in logs:
        PLACES[place](log, data(space))


def texts(space: Workspace, log: OpenCodeLog) -> list[str]:
    return [event.text or "" for event in space.events(log.session_id)]


def canonical(space: Workspace) -> list[dict[str, Any]]:
    """The dump without the number of events ever captured: half-written texts count there."""
    entries = space.dump()
    for entry in entries:
        del entry["session"]["event_count"]
    return entries


@pytest.mark.rows("CAP-01")
def test_an_opencode_session_and_a_claude_session_are_values_of_the_same_types(
    tmp_path: Path,
) -> None:
    space = workspace(tmp_path)
    ours, theirs = talk(), ClaudeLog(2)
    theirs.prompt("fix the test")
    theirs.run("pytest -q", "1 failed", exit_code=1)
    put(space, ours)
    space.write(theirs)
    space.sweep()
    for log in (ours, theirs):
        session = space.session(log.session_id)
        events = space.events(log.session_id)
        assert (type(session), type(session.cost)) == (Session, Cost)
        assert {type(event) for event in events} == {SessionEvent}
        command = next(event for event in events if event.command)
        assert (command.command, command.tool_class) == ("pytest -q", "shell")
        result = next(event for event in events if event.kind == "tool_result")
        assert (result.exit_code, result.is_error, result.paired) == (1, True, True)
    session = space.session(ours.session_id)
    assert (session.cost.input, session.cost.output, session.cost.cache_read) == (280, 55, 180)
    assert (session.title, session.cwd) == ("Session 1", "/work/shop")
    digest = space.digest(ours.session_id)
    assert digest is not None
    assert (digest.compactions, digest.interruptions, digest.files) == (
        1,
        1,
        {"/work/shop/cart.py": 1},
    )
    assert digest.open_items == ("tell",)


@pytest.mark.rows("CAP-01")
@pytest.mark.parametrize("place", PLACES)
def test_what_a_session_says_comes_back_from_the_store_as_it_went_in(
    tmp_path: Path, place: str
) -> None:
    space, log = workspace(tmp_path), talk()
    put(space, log, place=place)
    space.sweep()
    (source,) = discover(str(data(space)))
    part = part_of(parse_source(source))
    names = ("kind", "origin", "at", "tool", "tool_class", "call_id", "is_error", "exit_code")
    names += ("files", "command", "label")
    wanted = [[getattr(raw, name) for name in names] + [raw.text] for raw in part.events]
    stored = space.events(log.session_id)
    found = [[getattr(event, name) for name in names] + [event.text or ""] for event in stored]
    assert found == wanted


@pytest.mark.parametrize("place", PLACES)
@given(cuts=st.lists(st.integers(0, 26), min_size=1, max_size=2), seed=st.integers(0, 9))
@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
def test_a_session_that_grew_is_the_session_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, place: str, cuts: list[int], seed: int
) -> None:
    log = talk(seed)
    space = workspace(tmp_path_factory.mktemp("grown"))
    for cut in sorted(cuts):
        put(space, log.until(cut), place=place)
        space.sweep()
    put(space, log, place=place)
    space.sweep()
    whole = workspace(tmp_path_factory.mktemp("whole"))
    put(whole, log, place=place)
    whole.sweep()
    assert canonical(space) == canonical(whole)
    assert not space.findings()


@given(gone=st.sets(st.integers(0, 7), max_size=4), seed=st.integers(0, 9))
@example(gone={7}, seed=0)
@example(gone={5, 6, 7}, seed=1)
@example(gone={3, 7}, seed=2)
@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
def test_messages_the_client_deleted_become_history_and_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory, gone: set[int], seed: int
) -> None:
    log = talk(seed)
    space = workspace(tmp_path_factory.mktemp("rewritten"))
    put(space, log)
    space.sweep()
    before = texts(space, log)
    # Where only the last are gone the log counts as cut, and what was captured stays as it is.
    kept = len(log.messages) - len(gone)
    is_cut = gone == set(range(kept, len(log.messages)))
    log.messages = [held for at, held in enumerate(log.messages) if at not in gone]
    put(space, log)
    space.sweep()
    live = texts(space, log)
    history = [event.text or "" for event in space.superseded(log.session_id)]
    assert sorted(live + history) == sorted(before)
    fresh = workspace(tmp_path_factory.mktemp("fresh"))
    put(fresh, log)
    fresh.sweep()
    assert live == (before if is_cut else texts(fresh, log))
    assert not space.findings()


def test_an_unchanged_database_is_not_read_and_a_changed_session_alone_is(tmp_path: Path) -> None:
    space, one, two = workspace(tmp_path), talk(1), talk(2)
    put(space, one, two)
    assert space.sweep().ingested == 2
    assert space.sweep().ingested == 0
    two.prompt("one more thing")
    put(space, two)
    report = space.sweep()
    assert (report.ingested, report.skipped_unchanged, report.events) == (1, 1, 1)
    assert report.superseded == 0
    two.info["title"] = "A better title"
    put(space, two)
    assert space.sweep().events == 0
    assert space.session(two.session_id).title == "A better title"


def test_a_new_parser_reads_the_same_rows_again(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), talk()
    put(space, log)
    space.sweep()
    before = space.dump()
    newer = msgspec.structs.replace(ADAPTER, parser_version=ADAPTER.parser_version + 1)
    space.adapters = {**space.adapters, "opencode": newer}
    report = space.sweep()
    assert (report.ingested, report.events, report.superseded) == (1, 0, 0)
    after = space.dump()
    for entry in (*before, *after):
        entry["session"].pop("parser_version", None)
    assert after == before


def test_a_session_larger_than_a_block_is_read_in_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, pieces, log = workspace(tmp_path / "a"), workspace(tmp_path / "b"), talk()
    put(whole, log)
    put(pieces, log)
    whole.sweep()
    monkeypatch.setattr("session_memory.adapters.opencode.files.BLOCK_BYTES", 300)
    (source,) = discover(str(data(pieces)))
    assert len(list(ADAPTER.read(source, 0, 1 << 20))) > 10
    pieces.set_ingest(commit_bytes=1)
    pieces.sweep()
    assert pieces.dump() == whole.dump()


# --- both storages ---


@pytest.mark.parametrize("first", ["database", "storage"])
def test_after_the_upgrade_files_and_rows_are_one_session(tmp_path: Path, first: str) -> None:
    space, log = workspace(tmp_path), talk()
    put(space, log, place=first)
    space.sweep()
    alone = space.dump()
    put(space, log, place="storage")
    put(space, log, place="database")
    report = space.sweep()
    assert (report.events, report.superseded) == (0, 0)
    assert len(space.sessions()) == 1
    assert space.dump() == alone
    log.prompt("only the new client saw this")
    put(space, log)
    space.sweep()
    fresh = workspace(tmp_path / "fresh")
    put(fresh, log)
    fresh.sweep()
    assert texts(space, log) == texts(fresh, log)
    assert space.session(log.session_id).cost.input == 280


@pytest.mark.parametrize("place", ["database", "storage"])
def test_a_session_the_client_deletes_stays_with_us(tmp_path: Path, place: str) -> None:
    space, log, other = workspace(tmp_path), talk(1), talk(2)
    put(space, log, other, place=place)
    space.sweep()
    held = texts(space, log)
    if place == "database":
        db = connect(data(space))
        for table, column in (("session", "id"), ("message", "session_id"), ("part", "session_id")):
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", (log.session_id,))
        db.commit()
        db.close()
    else:
        next(data(space).rglob(f"{log.session_id}.json")).unlink()
    report = space.sweep()
    assert (report.vanished, report.failed, report.superseded) == (1, [], 0)
    assert texts(space, log) == held


# --- the client writes while we read ---


def listing(space: Workspace) -> list[str]:
    return sorted(os.listdir(data(space)))


def test_a_database_nobody_has_open_gets_no_new_files_beside_it(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), talk()
    put(space, log)
    assert listing(space) == ["opencode.db"]
    bytes_before = (data(space) / "opencode.db").read_bytes()
    data(space).chmod(0o500)
    try:
        space.sweep()
    finally:
        data(space).chmod(0o700)
    assert listing(space) == ["opencode.db"]
    assert (data(space) / "opencode.db").read_bytes() == bytes_before
    assert len(texts(space, log)) > 10


def test_what_is_only_in_the_log_of_a_live_client_is_read(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), talk()
    db = connect(data(space))
    try:
        log.until(5).store(db)
        before = listing(space)
        assert "opencode.db-wal" in before
        space.sweep()
        early = texts(space, log)
        log.store(db)
        space.sweep()
        assert listing(space) == before
        assert len(texts(space, log)) > len(early) > 0
        db.execute("BEGIN IMMEDIATE")  # an open write of the client does not stop us, nor we it
        db.execute("UPDATE session SET title = 'not yet', time_updated = time_updated + 1")
        assert space.sweep().failed == []
        db.commit()
    finally:
        db.close()
    space.sweep()
    assert space.session(log.session_id).title == "not yet"


@pytest.mark.rows("CAP-40")
def test_a_log_that_a_client_left_behind_is_read_and_no_file_is_made(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), talk()
    db = connect(tmp_path / "client")
    try:
        log.store(db)
        for name in ("opencode.db", "opencode.db-wal"):
            shutil.copy(tmp_path / "client" / name, data(space) / name)
    finally:
        db.close()
    before = listing(space)
    assert space.sweep().failed == []
    assert (listing(space), len(texts(space, log)) > 10) == (before, True)


def test_sweeps_beside_a_writing_client_end_where_it_ended(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), talk()
    connect(data(space)).close()
    with opencode_client.start(data(space)) as client:
        assert client.stdin is not None
        for _ in range(opencode_client.STEPS // 3):
            client.stdin.write(b"\n" * 3)  # three steps fall into each sweep, or behind it
            client.stdin.flush()
            space.sweep()
        client.stdin.close()
        while client.poll() is None:
            space.sweep()
    assert client.returncode == 0
    space.sweep()
    whole = workspace(tmp_path / "whole")
    put(whole, log)
    whole.sweep()
    assert canonical(space) == canonical(whole)
    assert not space.findings()


def test_a_database_that_changes_under_a_read_without_locks_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space, log = workspace(tmp_path), talk()
    put(space, log)
    sizes = itertools.count()

    def touched(_path: str) -> list[tuple[int, int, int]]:
        return [(next(sizes), 0, 0)]

    monkeypatch.setattr(sqlite_log, "_touched", touched)
    report = space.sweep()
    assert [failure.reason for failure in report.failed] != []
    monkeypatch.undo()
    assert space.sweep().failed == []
    assert len(texts(space, log)) > 10


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"no database, but long enough " * 40, "it is not a SQLite database"),
    ],
)
def test_a_file_that_is_no_database_is_reported_and_the_sweep_goes_on(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    space = workspace(tmp_path)
    (data(space) / "opencode.db").write_bytes(content)
    space.write(ClaudeLog(1))
    report = space.sweep()
    (failure,) = report.failed
    assert failure.path.endswith("opencode.db")
    assert reason in failure.reason
    assert report.discovered == report.ingested + report.skipped_unchanged + len(report.failed)


def test_credentials_of_the_client_are_never_asked_for(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), talk()
    put(space, log)
    db = sqlite3.connect(data(space) / "opencode.db")
    db.execute("CREATE TABLE account (id text, access_token text)")
    db.execute("INSERT INTO account VALUES ('a', 'very-private-token-value')")
    db.commit()
    db.close()
    space.sweep()
    stored = b"".join(p.read_bytes() for p in space.store_directory.rglob("*") if p.is_file())
    assert b"very-private-token-value" not in stored
    (source,) = discover(str(data(space)))
    assert b"very-private-token-value" not in ADAPTER.open(source).read()


# --- relatives ---


def family() -> list[OpenCodeLog]:
    parent = talk(1)
    child = parent.spawn(2, "look around")
    child.say("three files")
    child.end_step(token_row(7, 7))
    parent.end_step(token_row(30, 9))
    fork = parent.fork(3)
    fork.prompt("in the fork")
    fork.say("forked")
    fork.end_step(token_row(5, 5))
    return [parent, child, fork]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_relatives_in_any_order_give_one_family(tmp_path: Path, order: tuple[int, ...]) -> None:
    logs = family()
    space = workspace(tmp_path / "steps")
    for at in order:
        put(space, logs[at])
        space.sweep()
    whole = workspace(tmp_path / "whole")
    put(whole, *logs)
    whole.sweep()
    assert space.dump() == whole.dump()
    parent, child, fork = (space.session(log.session_id) for log in logs)
    assert (child.parent_external_id, child.parent_id) == (parent.external_id, parent.id)
    assert (child.source_kind, child.cost.input) == ("subagent", 7)
    copied = [event for event in space.events(fork.external_id) if event.inherited]
    assert len(copied) == parent.event_count
    assert (fork.cost.input, fork.cost.output) == (5, 5)


def test_redacted_ids_merge_neither_messages_nor_sessions(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    for number in (1, 2):
        log = talk(number)
        log.info["id"] = "REDACTED"
        for info, parts in log.messages:
            for row in (info, *parts):
                row["id"] = "REDACTED"
        log.export(data(space) / f"export-{number}.json")
    space.sweep()
    sessions = space.sessions()
    assert set(sessions) == {"export-1", "export-2"}
    prompts = [e.text for e in space.events("export-1") if e.kind == "user_prompt"]
    assert prompts == ["fix the test", "go on"]


def test_a_part_of_the_last_message_that_changed_alone_is_noticed(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), OpenCodeLog()
    log.prompt("hi")
    part = log.say("half")
    put(space, log, place="storage")
    space.sweep()
    (file,) = data(space).rglob(f"{part['id']}.json")
    file.write_text(file.read_text().replace("half", "half and whole"))
    assert space.sweep().ingested == 1
    assert texts(space, log) == ["hi", "half and whole"]
