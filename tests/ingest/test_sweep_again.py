"""What a second sweep does: nothing, or exactly what is new."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from session_memory.adapters.claude.log_builder import START, ClaudeLog, text_block, tokens
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.testing.old_stores import back_to_version_22
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


def stored_bytes(space: Workspace) -> dict[str, str]:
    """Every file below the store directory and the hash of its content."""
    return {
        str(path.relative_to(space.store_directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(space.store_directory.rglob("*"))
        if path.is_file()
    }


def talk(seed: int = 1, turns: int = 3) -> ClaudeLog:
    log = ClaudeLog(seed)
    for turn in range(turns):
        log.prompt(f"question {turn} of {seed}")
        log.run(f"make step-{turn}", f"step {turn} done")
        log.say(f"answer {turn} of {seed}")
    return log


def texts(space: Workspace, log: ClaudeLog) -> list[str | None]:
    return [event.text for event in space.events(log.session_id)]


@pytest.mark.rows("STO-03")
def test_a_second_sweep_skips_every_file_and_writes_nothing(space: Workspace) -> None:
    files = write_samples(space.claude)
    space.sweep()
    before = stored_bytes(space)
    watcher = apsw.Connection(str(space.store_directory / "store.db"))
    version = watcher.pragma("data_version")
    again = space.sweep()
    assert (again.ingested, again.skipped_unchanged) == (0, len(files))
    assert again.analyzed == 0
    assert watcher.pragma("data_version") == version
    watcher.close()
    assert stored_bytes(space) == before


@pytest.mark.rows("STO-03")
def test_data_version_does_move_when_a_sweep_stores_something(space: Workspace) -> None:
    """The watch of the test above is able to see a write."""
    log = talk()
    space.write(log)
    space.sweep()
    watcher = apsw.Connection(str(space.store_directory / "store.db"))
    version = watcher.pragma("data_version")
    log.say("one more")
    space.write(log)
    space.sweep()
    assert watcher.pragma("data_version") != version
    watcher.close()


ROWS = (
    "SELECT * FROM session ORDER BY id",
    "SELECT * FROM event ORDER BY id",
    "SELECT * FROM digest ORDER BY session_id",
    "SELECT * FROM usage ORDER BY key, session_id",
    "SELECT * FROM segment ORDER BY id",
)


def row_sets(space: Workspace) -> list[list[tuple[object, ...]]]:
    db = apsw.Connection(str(space.store_directory / "store.db"))
    try:
        return [list(db.execute(sql)) for sql in ROWS]
    finally:
        db.close()


@pytest.mark.rows("STO-04")
def test_sweeping_twice_gives_the_same_rows(space: Workspace) -> None:
    write_samples(space.claude)
    space.sweep()
    first = row_sets(space)
    assert all(first)
    space.now += 1000
    space.sweep()
    assert row_sets(space) == first


@pytest.mark.rows("STO-04")
def test_a_forced_read_of_unchanged_files_gives_the_same_rows(space: Workspace) -> None:
    files = write_samples(space.claude)
    space.sweep()
    first = row_sets(space)
    for path in files:
        os.utime(path, ns=(1, 1))
    report = space.sweep()
    assert (report.ingested, report.events, report.superseded) == (len(files), 0, 0)
    assert row_sets(space) == first


def test_growth_is_read_from_where_the_last_sweep_ended(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    space.sweep()
    size = path.stat().st_size
    log.prompt("and now?")
    space.write(log)
    report = space.sweep()
    assert report.bytes_read == path.stat().st_size - size
    assert (report.ingested, report.events) == (1, 1)
    assert texts(space, log)[-1] == "and now?"


@pytest.mark.rows("CAP-14")
def test_a_half_written_line_waits_until_it_is_whole(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    log.say("the line that came in two pieces")
    whole = log.dump()
    cut = whole.rindex(b"two pieces")
    path.write_bytes(whole[:cut])
    first = space.sweep()
    assert (first.incomplete_tail, first.parse_errors) == (1, 0)
    held = len(texts(space, log))
    path.write_bytes(whole)
    second = space.sweep()
    assert (second.incomplete_tail, second.events) == (0, 1)
    found = texts(space, log)
    assert len(found) == held + 1
    assert found.count("the line that came in two pieces") == 1


@pytest.mark.rows("CAP-14")
def test_a_whole_last_record_without_newline_is_stored_once(space: Workspace) -> None:
    log = talk()
    log.say("no newline yet")
    (path,) = space.write(log)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    space.sweep()
    assert texts(space, log).count("no newline yet") == 1
    with space.store() as store:
        cursor = store.cursor(str(path))
        assert cursor is not None
        assert cursor.read_to == whole[:-1].rindex(b"\n") + 1
    path.write_bytes(whole)
    report = space.sweep()
    assert report.events == 0
    log.say("the next one")
    space.write(log)
    space.sweep()
    assert texts(space, log)[-2:] == ["no newline yet", "the next one"]
    assert space.findings() == []


def cut_and_rewrite(path: Path, log: ClaudeLog) -> ClaudeLog:
    """The client truncates its file and writes another course of the same session."""
    other = ClaudeLog(log.seed)
    other.prompt("a new start")
    other.say("a new answer")
    path.write_bytes(other.dump())
    return other


def put_other_session(path: Path, log: ClaudeLog) -> ClaudeLog:
    """The file now holds quite another session, longer than the old one."""
    other = talk(seed=77, turns=6)
    path.write_bytes(other.dump())
    return other


def change_in_place(path: Path, log: ClaudeLog) -> ClaudeLog:
    """One letter changes: same size, same inode."""
    before = path.read_bytes()
    path.write_bytes(before.replace(b"question 1", b"questiom 1"))
    assert len(before) == path.stat().st_size
    return log


def replace_file(path: Path, log: ClaudeLog) -> ClaudeLog:
    """Another file is moved into its place: another inode, other content, longer than before."""
    other = talk(seed=log.seed, turns=5)
    other.rows[0]["message"]["content"] = "a changed first question"
    new = path.with_suffix(".new")
    new.write_bytes(other.dump())
    os.replace(new, path)
    return other


def said(space: Workspace) -> list[dict[str, Any]]:
    """The dump without what counts history too: events ever captured, money ever spent."""
    content = space.dump()
    for entry in content:
        del entry["session"]["event_count"], entry["session"]["cost"], entry["digest"]["cost"]
    return content


REWRITES = [cut_and_rewrite, put_other_session, change_in_place, replace_file]


@pytest.mark.rows("STO-09")
@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda change: change.__name__)
def test_a_rewritten_file_reads_as_if_it_were_new(
    space: Workspace, tmp_path: Path, rewrite: Callable[[Path, ClaudeLog], ClaudeLog]
) -> None:
    log = talk()
    (path,) = space.write(log)
    space.sweep()
    old = {event.text for event in space.events(log.session_id)}
    now_there = rewrite(path, log)
    report = space.sweep()
    assert report.superseded > 0
    fresh = Workspace(tmp_path, store="fresh")
    fresh.sweep()
    assert said(space) == said(fresh)
    live = {event.text for event in space.events(now_there.session_id)}
    history = {event.text for event in space.superseded(log.session_id)}
    assert history == old - (live if now_there.session_id == log.session_id else set())
    assert space.findings() == []


@pytest.mark.rows("STO-09")
def test_a_rewrite_that_brings_old_events_back_makes_them_live_again(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    whole = path.read_bytes()
    space.sweep()
    before = said(space)
    cut_and_rewrite(path, log)
    space.sweep()
    assert len(space.superseded(log.session_id)) > 2
    path.write_bytes(whole)
    space.sweep()
    history = [event.text for event in space.superseded(log.session_id)]
    assert history == ["a new start", "a new answer"]
    assert said(space) == before


def test_a_vanished_log_takes_nothing_with_it(space: Workspace) -> None:
    files = write_samples(space.claude)
    space.sweep()
    before = space.dump()
    for path in files:
        path.unlink()
    report = space.sweep()
    assert (report.discovered, report.vanished, report.needs_attention) == (0, len(files), False)
    assert space.dump() == before


def test_a_renamed_log_adds_nothing(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    space.sweep()
    before = space.dump()
    path.rename(path.with_name("moved.jsonl"))
    report = space.sweep()
    assert (report.ingested, report.events) == (1, 0)
    assert space.dump() == before


def test_a_response_over_two_sweeps_counts_once_with_its_final_figures(space: Workspace) -> None:
    log = ClaudeLog(5)
    log.prompt("count this")
    log.reply(text_block("first"), text_block("second"), usage=tokens(10, 400), streamed=True)
    last = log.rows.pop()
    space.write(log)
    space.sweep()
    assert space.session(log.session_id).cost.output == 1
    log.rows.append(last)
    space.write(log)
    space.sweep()
    cost = space.session(log.session_id).cost
    assert (cost.input, cost.output) == (10, 400)


def test_equal_events_in_one_file_stay_apart_over_sweeps(space: Workspace) -> None:
    """Records of equal text and time: each is one event, in however many sweeps they come."""
    log = CodexLog(6).header().turn().answer("again")
    path = log.write(space.flavor_home("codex"))
    *head, line = path.read_bytes().splitlines(keepends=True)
    assert b"again" in line
    for count in (2, 3, 5):
        path.write_bytes(b"".join(head) + line * count)
        space.sweep()
        (session,) = space.sessions()
        assert [event.text for event in space.events(session)] == ["again"] * count


@pytest.mark.rows("CAP-49")
@pytest.mark.parametrize("pieces", [1, 2, 3, 9])
def test_records_that_claude_code_writes_again_count_once(tmp_path: Path, pieces: int) -> None:
    """Version 2.1 does when an editor opens again: the same records, in another folder."""
    log = ClaudeLog(6)
    log.prompt("find the walrus")
    log.reply(text_block("first"), text_block("second"), usage=tokens(10, 400), streamed=True)
    log.run("make walrus", "no rule", exit_code=2)
    once = Workspace(tmp_path / "once")
    log.write(once.claude)
    once.sweep()
    log.rows += [{**row, "cwd": "/elsewhere", "version": "2.1.99"} for row in log.rows]
    log.say("done", tokens(5, 5))
    space = Workspace(tmp_path / "again")
    path = log.write(space.claude)
    lines = path.read_bytes().splitlines(keepends=True)
    for piece in range(1, pieces + 1):
        path.write_bytes(b"".join(lines[: len(lines) * piece // pieces]))
        space.sweep()
    assert texts(space, log) == [*texts(once, log), "done"]
    cost = space.session(log.session_id).cost
    assert cost.output == once.session(log.session_id).cost.output + 5
    assert space.findings() == []
    afresh = space.with_store("afresh")
    afresh.sweep()
    assert afresh.dump() == space.dump()


def test_times_before_the_epoch_or_out_of_order_do_not_disturb_the_order(space: Workspace) -> None:
    log = ClaudeLog(8, start=START)
    log.prompt("first")
    log.now -= 3_600_000
    log.say("second, by a clock that was set back")
    log.prompt("third")["timestamp"] = "1965-01-01T00:00:00.000Z"
    space.write(log)
    space.sweep()
    assert texts(space, log) == ["first", "second, by a clock that was set back", "third"]


@pytest.mark.parametrize("log_is_gone", [False, True])
def test_a_stored_session_that_is_its_own_parent_is_a_session_again(
    space: Workspace, log_is_gone: bool
) -> None:
    log = talk(1)
    (path,) = space.write(log)
    space.sweep()
    wanted = space.dump()
    db = apsw.Connection(str(space.store_directory / "store.db"))
    db.execute("UPDATE session SET parent_external_id = external_id, source_kind = 'subagent'")
    db.execute(
        "INSERT INTO fact SELECT s.id, 'parent', l.source_id, '', json_quote(s.external_id), 0"
        " FROM session s JOIN session_source l ON l.session_id = s.id"
    )
    db.execute("UPDATE fact SET value = '\"subagent\"' WHERE name = 'source_kind'")
    db.close()
    back_to_version_22(space.store_directory)
    if log_is_gone:
        path.unlink()
    assert space.sweep().ingested == (0 if log_is_gone else 1)
    assert space.dump() == wanted
    assert space.findings() == []
