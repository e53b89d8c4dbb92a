"""Repair mends each layer, says so first, and never touches a store that is whole."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace

LAYERS = ("orphans", "segments", "counts", "usage", "index")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    for seed in (1, 2):
        log = ClaudeLog(seed)
        log.prompt(f"please fix number {seed}")
        log.say("done")
        space.write(log)
    space.sweep()
    return space


def repair(space: Workspace, layer: str, *, dry_run: bool = False) -> list[str]:
    with space.store() as store:
        return [entry.detail for entry in store.repair(layer, dry_run=dry_run)]


def spoil(space: Workspace, *statements: str) -> None:
    db = apsw.Connection(str(space.store_directory / "store.db"))
    for statement in statements:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize("layer", LAYERS)
def test_a_whole_store_needs_nothing(space: Workspace, layer: str) -> None:
    before = space.dump()
    assert repair(space, layer) == []
    assert space.dump() == before


def test_the_index_finds_again_after_repair(space: Workspace) -> None:
    for table in ("event_text", "turn_text"):
        spoil(space, f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
    with space.store() as store:
        assert store.search("number") == []
    repair(space, "index")
    with space.store() as store:
        assert len(store.search("number")) >= 2


def segment(space: Workspace) -> Path:
    return sorted(space.store_directory.rglob("*.seg"))[0]


def test_a_damaged_text_is_read_again_from_its_log(space: Workspace) -> None:
    before = space.dump()
    path = segment(space)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert any("segment" in finding for finding in space.findings())
    (told,) = repair(space, "segments")
    assert "2 events to be read again, 0 texts lost" in told
    space.sweep()
    assert space.findings() == []
    assert space.dump() == before


def test_a_text_no_log_holds_is_listed_as_lost(space: Workspace) -> None:
    segment(space).unlink()
    for log in space.files():
        log.unlink()
    (told,) = repair(space, "segments")
    assert "0 events to be read again, 2 texts lost" in told
    space.sweep()
    assert space.findings() == []
    assert len(space.sessions()) == 2


def test_orphans_are_removed(space: Workspace) -> None:
    stray = segment(space).with_name("1_" + "0" * 32 + ".seg")
    stray.write_bytes(b"x")
    assert repair(space, "orphans") == ["1 files without rows removed"]
    assert not stray.exists()
