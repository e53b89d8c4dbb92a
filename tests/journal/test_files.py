"""Small files are whole or as before, and a damaged one is kept aside and told of."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from tests.journal.flush_journal import NOON, Bench

from session_memory import atomic_files
from session_memory.journal import files, flush_records
from session_memory.journal.files import atomic_write_text, load_json_with_recovery
from session_memory.testing.faults import Counter, CountingOs


@pytest.mark.rows("FLU-07")
@pytest.mark.parametrize("operation", ["fsync", "open"])
def test_a_write_that_fails_leaves_the_old_state_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    old = flush_records.FlushRecord("old", "0", 1.0)
    flush_records.save_flush_record(bench.journal, old, [])
    before = bench.journal.flushed.read_bytes()
    counter = Counter(1, (operation,))
    monkeypatch.setattr(atomic_files, "os", CountingOs(counter, errno.EIO))
    with pytest.raises(OSError, match="error"):
        flush_records.save_flush_record(
            bench.journal, flush_records.FlushRecord("new", "1", 2.0), [old]
        )
    assert counter.failed
    assert bench.journal.flushed.read_bytes() == before


@pytest.mark.rows("FLU-07")
def test_the_state_names_the_last_session_and_its_time(bench: Bench) -> None:
    bench.says("text")
    bench.flush(bench.excerpt(), "s-9")
    state = json.loads(bench.journal.flushed.read_text())
    assert (state["session_id"], state["timestamp"]) == ("s-9", NOON / 1000)


def test_the_state_keeps_a_bounded_number_of_flushes(bench: Bench) -> None:
    for number in range(flush_records.MAX_RECORDS + 10):
        known = flush_records.read_flush_records(bench.journal, bench.now, print)
        flush_records.save_flush_record(
            bench.journal, flush_records.FlushRecord(f"s{number}", "c", float(number)), known
        )
    known = flush_records.read_flush_records(bench.journal, bench.now, print)
    assert (
        len(known) == flush_records.MAX_RECORDS
        and known[0].session_id == f"s{flush_records.MAX_RECORDS + 9}"
    )


@pytest.mark.rows("FLU-08")
@pytest.mark.parametrize("bad", [b"{not json", b"[1, 2]", b"\xff\xfe", b""])
def test_a_damaged_state_is_kept_under_the_time_and_the_flush_goes_on(
    bench: Bench, bad: bytes
) -> None:
    bench.journal.work.mkdir(parents=True)
    bench.journal.flushed.write_bytes(bad)
    bench.says("text")
    assert bench.flush(bench.excerpt()) == "saved"
    (backup,) = bench.journal.work.glob("last-flush.json.corrupt-*")
    assert backup.name == "last-flush.json.corrupt-20260302-174500"
    assert backup.read_bytes() == bad
    assert json.loads(bench.journal.flushed.read_text())["session_id"] == "s1"
    assert any("WARNING last-flush.json is damaged" in line for line in bench.log())


def test_a_second_damage_in_the_same_second_keeps_both(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    for bad in ("one", "two"):
        path.write_text(bad)
        assert load_json_with_recovery(path, {"a": 1}, NOON, lambda _text: None) == {"a": 1}
    assert {p.read_text() for p in tmp_path.glob("state.json.corrupt-*")} == {"one", "two"}


def test_rows_that_make_no_sense_are_skipped(bench: Bench) -> None:
    bench.journal.work.mkdir(parents=True)
    rows = [{"session_id": 5}, "x", {"session_id": "s", "content": "c", "timestamp": 1}]
    bench.journal.flushed.write_text(json.dumps({"recent": rows}))
    assert [
        one.session_id for one in flush_records.read_flush_records(bench.journal, NOON, print)
    ] == ["s"]


def test_only_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    for name in ("2026-03-02.md.17.new", "state.json.17.new", "mine.new", "2026-03-02.md"):
        (tmp_path / name).write_text("x")
    files.remove_leftovers(tmp_path, tmp_path / "absent")
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["2026-03-02.md", "mine.new"]


def test_a_file_of_the_users_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("old")
    os.chmod(path, 0o644)
    atomic_write_text(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o644)
    atomic_write_text(tmp_path / "fresh.md", "x")
    assert (tmp_path / "fresh.md").stat().st_mode & 0o777 == 0o600
