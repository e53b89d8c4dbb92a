"""`pack --sync`: a pack between its lines in somebody's file, or a record of why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.recall.store_builder import HOUR, Memory

from session_memory.core.text.own_text import PACK_BEGIN, without_own_text
from session_memory.errors import Refused
from session_memory.recall import pack_sync as syncing
from session_memory.recall.context_pack import ContextPack, context_pack
from session_memory.recall.pack_sync import sync_pack
from session_memory.recall.recent_changes import recent_changes
from session_memory.recall.requests import PackRequest, ScopeRequest

PACK = "<session-memory-pack>\nA line.\n</session-memory-pack>"


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
