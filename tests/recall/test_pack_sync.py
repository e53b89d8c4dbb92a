"""`pack --sync`: a pack between its lines in somebody's file, or a record of why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recall.store_builder import HOUR, Memory

from session_memory.core.text.own_text import PACK_BEGIN, PACK_END, without_own_text
from session_memory.core.text.seal import Seal
from session_memory.errors import Refused
from session_memory.recall import pack_sync as syncing
from session_memory.recall.context_pack import ContextPack, context_pack
from session_memory.recall.pack_block import find_packs, put_pack, take_pack
from session_memory.recall.pack_sync import sync_pack
from session_memory.recall.recent_changes import recent_changes
from session_memory.recall.requests import PackRequest, ScopeRequest

PACK = "<session-memory-pack>\nA line.\n</session-memory-pack>"
SEAL, OTHER = Seal(b"ours"), Seal(b"theirs")


def talkative(memory: Memory) -> None:
    """A project with more to say than a pack holds."""
    for number in range(8):
        summary = f"Summary {number} " + "of much that was done " * 15
        memory.session(
            f"s{number}",
            ("pending_item", f"item {number}"),
            ("session_summary", summary),
            at=number * HOUR,
        )


@pytest.mark.rows("DIS-04")
def test_a_pack_that_is_not_smaller_leaves_the_file_and_a_record(
    memory: Memory, tmp_path: Path
) -> None:
    memory.session("a", ("pending_item", "buy tiles"))
    file = tmp_path / "AGENTS.md"
    file.write_text("# Ours\n")
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    record = sync_pack(memory.context, PackRequest("shop"), str(file))
    assert (record.skipped, record.reason) == (True, "context_pack_not_smaller_than_source")
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    rows = memory.select("SELECT path, skipped, reason FROM context_sync")
    assert rows == [(str(file), 1, "context_pack_not_smaller_than_source")]
    changes = recent_changes(memory.context, ScopeRequest("shop"))
    assert changes.baseline_source == "project_start"


@pytest.mark.rows("DIS-04")
def test_a_pack_that_saves_something_is_written_between_its_lines(
    memory: Memory, tmp_path: Path
) -> None:
    talkative(memory)
    file = tmp_path / "AGENTS.md"
    file.write_bytes(b"# Ours\r\n\r\nKeep this.")
    file.chmod(0o640)
    record = sync_pack(memory.context, PackRequest("shop"), str(file))
    pack = context_pack(memory.context, PackRequest("shop"))
    assert isinstance(pack, ContextPack)
    assert (record.skipped, record.pack_hash) == (False, pack.pack_hash)
    text = file.read_bytes()
    assert text.startswith(b"# Ours\r\n\r\nKeep this.\r\n")
    inside = pack.text.partition("\n")[2]  # in the file the first line names the store
    assert inside.replace("\n", "\r\n").encode() in text
    assert file.stat().st_mode & 0o777 == 0o640
    assert without_own_text(text.decode()).strip() == "# Ours\r\n\r\nKeep this."
    again = sync_pack(memory.context, PackRequest("shop"), str(file))
    assert (again.skipped, again.reason) == (False, "unchanged")
    assert file.read_bytes() == text
    memory.session("new", ("blocker", "the crane is broken"), at=100 * HOUR)
    sync_pack(memory.context, PackRequest("shop"), str(file))
    assert file.read_bytes().count(PACK_BEGIN.encode()) == 1
    assert b"the crane is broken" in file.read_bytes()


def test_an_override_beside_the_file_is_written_instead(memory: Memory, tmp_path: Path) -> None:
    talkative(memory)
    (tmp_path / "AGENTS.md").write_text("base")
    (tmp_path / "AGENTS.override.md").write_text("override")
    record = sync_pack(memory.context, PackRequest("shop"), str(tmp_path / "AGENTS.md"))
    assert record.path == str(tmp_path / "AGENTS.override.md")
    assert (tmp_path / "AGENTS.md").read_text() == "base"
    assert PACK_BEGIN in (tmp_path / "AGENTS.override.md").read_text()


def test_a_dry_run_writes_neither_file_nor_record(memory: Memory, tmp_path: Path) -> None:
    talkative(memory)
    record = sync_pack(
        memory.context, PackRequest("shop"), str(tmp_path / "AGENTS.md"), dry_run=True
    )
    assert record.reason is None
    assert list(tmp_path.glob("AGENTS*")) == []
    assert memory.select("SELECT count(*) FROM context_sync") == [(0,)]


def test_a_file_somebody_changed_meanwhile_is_left(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talkative(memory)
    file = tmp_path / "AGENTS.md"
    file.write_text("before")
    real = os.chmod

    def chmod(path: str, mode: int) -> None:
        real(path, mode)
        file.write_text("changed by somebody")

    monkeypatch.setattr(syncing.os, "chmod", chmod)
    with pytest.raises(Refused, match="changed meanwhile"):
        sync_pack(memory.context, PackRequest("shop"), str(file))
    assert file.read_text() == "changed by somebody"
    assert [path.name for path in tmp_path.iterdir() if "session-memory" in path.name] == []
    assert memory.select("SELECT count(*) FROM context_sync") == [(0,)]


def test_a_full_disk_leaves_the_file_as_it_was(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talkative(memory)
    file = tmp_path / "AGENTS.md"
    file.write_text("before")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(syncing.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        sync_pack(memory.context, PackRequest("shop"), str(file))
    assert file.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if "session-memory" in path.name] == []


def with_pack(data: bytes, pack: str, seal: Seal = SEAL) -> bytes:
    """The file with our pack in it."""
    return put_pack(data, find_packs(data, seal).ours, pack, seal)


PLAIN = st.binary(max_size=200).filter(lambda data: b"session-memory" not in data)


@pytest.mark.rows("DIS-09")
@given(before=PLAIN, behind=PLAIN)
def test_bytes_outside_the_lines_never_change(before: bytes, behind: bytes) -> None:
    first = with_pack(before, PACK)
    assert first.startswith(before)
    known = find_packs(first, SEAL)
    assert known.ours is not None and not known.is_edited
    assert take_pack(first, known.ours) == before
    whole = first + behind
    changed = with_pack(whole, PACK.replace("A line", "Another line"))
    assert changed.startswith(before) and changed.endswith(behind)
    assert b"Another line" in changed
    assert b"A line" not in changed or b"A line" in before + behind


@pytest.mark.rows("DIS-09")
@given(before=PLAIN)
def test_a_pack_of_another_store_stays_to_the_byte(before: bytes) -> None:
    shared = with_pack(before, PACK, OTHER)
    both = with_pack(shared, PACK)
    assert both.startswith(shared) and len(find_packs(both, SEAL).others) == 1
    ours = find_packs(both, SEAL).ours
    assert ours is not None and take_pack(both, ours) == shared


@pytest.mark.parametrize("text", ["<session-memory-pack>\nopen", "</session-memory-pack>\n"])
def test_lines_that_do_not_pair_up_are_refused(text: str) -> None:
    with pytest.raises(Refused, match="pair up"):
        with_pack(text.encode(), PACK)


@pytest.mark.rows("DIS-09")
@pytest.mark.parametrize("by", ["", " by=0a0b0c0d gap=1 seal=0123456789abcdef"])
def test_a_pack_that_this_store_did_not_write_is_left_and_reported(
    memory: Memory, tmp_path: Path, by: str
) -> None:
    talkative(memory)
    file = tmp_path / "AGENTS.md"
    theirs = f"# Ours\n\n{PACK}\n".replace("pack>\nA", f"pack{by}>\nA")
    file.write_text(theirs)
    plans: list[syncing.SyncPlan] = []
    sync_pack(memory.context, PackRequest("shop"), str(file), before_write=plans.append)
    assert file.read_text().startswith(theirs) and file.read_text().count(PACK_BEGIN) == 2
    assert "lines 3 to 5 is left alone" in plans[0].left_alone[0]


@pytest.mark.rows("DIS-09")
def test_a_pack_that_somebody_edited_is_left_with_what_to_do(
    memory: Memory, tmp_path: Path
) -> None:
    talkative(memory)
    file = tmp_path / "AGENTS.md"
    sync_pack(memory.context, PackRequest("shop"), str(file))
    file.write_text(file.read_text().replace("item 7", "item 7, but not before May"))
    edited = file.read_text()
    memory.session("new", ("blocker", "the crane is broken"), at=100 * HOUR)
    with pytest.raises(Refused, match="was edited") as refused:
        sync_pack(memory.context, PackRequest("shop"), str(file))
    assert "delete those lines" in (refused.value.hint or "") and file.read_text() == edited


@pytest.mark.rows("DIS-09")
def test_a_file_full_of_markers_is_read_in_one_pass() -> None:
    """Looking for the partner of each marker, this would take hours."""
    begin, end = f"{PACK_BEGIN} by=0a0b>\n".encode(), f"{PACK_END}\n".encode()
    with pytest.raises(Refused, match="do not pair up"):
        find_packs(begin * 50_000, SEAL)
    others = find_packs((begin + end) * 50_000, SEAL).others
    assert (others[0].lines, others[-1].lines) == ((1, 2), (99_999, 100_000))
