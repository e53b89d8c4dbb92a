"""Page checksums: new databases have them, older ones can get them, and damage is found by them."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.errors import DatabaseDamaged, StoreError
from session_memory.store.sqlite import checksums, connection
from session_memory.store.sqlite.connection import PAGE_SIZE
from session_memory.testing.workspace import Workspace

pytestmark = [
    pytest.mark.rows("STO-19"),
    pytest.mark.skipif(not checksums.load(), reason="the installed apsw has no checksum layer"),
]


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    for seed in range(1, 4):
        log = ClaudeLog(seed)
        log.prompt(f"please look at zebrawood {seed}")
        for step in range(30):
            log.run(f"make step-{step}", f"{seed} step {step}: " + "output " * 40)
        log.say("done")
        space.write(log)
    return space


@pytest.fixture
def older(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A store that was made by a version without checksums."""
    with monkeypatch.context() as before:
        before.setattr(checksums, "load", lambda: False)
        space.sweep()
    assert not has_checksums(space.store_directory)
    return space


def run(space: Workspace, *arguments: str) -> CompletedProcess[str]:
    return space.run("--config", str(space.write_config()), *arguments)


def database(space: Workspace) -> Path:
    return space.store_directory / "store.db"


def has_checksums(directory: Path) -> bool:
    """Whether each page ends with its checksum, not only the header says so."""
    content = (directory / "store.db").read_bytes()
    pages = [content[at : at + PAGE_SIZE] for at in range(0, len(content), PAGE_SIZE)]
    fit = [checksums.fit(page) for page in pages if any(page)]
    assert all(fit) or not any(fit), f"{sum(fit)} of {len(fit)} pages have a checksum"
    assert fit[0] == checksums.are_in(content)
    return fit[0]


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 8
    path.write_bytes(content)


def page_of(space: Workspace, text: bytes) -> int:
    """Where some bytes stand in the database."""
    return database(space).read_bytes().index(text)


def test_every_page_of_a_new_store_has_a_checksum(space: Workspace) -> None:
    space.sweep()
    assert has_checksums(space.store_directory)
    assert space.findings() == []
    said = run(space, "doctor", "--quick").stdout
    assert "page checksums" in said
    assert "--layer checksums" not in said


def test_a_changed_letter_is_named_and_not_served(space: Workspace) -> None:
    space.sweep()
    flip(database(space), page_of(space, b"please look at zebrawood 2"))
    dumped = run(space, "store", "dump")
    assert dumped.returncode == 1
    assert "is damaged: a page does not match its checksum" in dumped.stderr
    assert "store repair" in dumped.stderr
    assert run(space, "store", "fsck").returncode in (1, 3)
    with pytest.raises(DatabaseDamaged):
        space.dump()


def test_repair_brings_back_what_stood_on_the_changed_page(space: Workspace) -> None:
    space.sweep()
    before = space.dump()
    flip(database(space), page_of(space, b"please look at zebrawood 2"))
    assert run(space, "store", "repair", "--apply").returncode in (0, 3)
    assert space.dump() == before
    assert has_checksums(space.store_directory)


def test_a_header_that_lost_its_checksums_is_damage(space: Workspace) -> None:
    space.sweep()
    flip(database(space), 20)
    with pytest.raises(DatabaseDamaged, match="header"):
        space.dump()
    assert run(space, "store", "repair", "--apply").returncode in (0, 3)
    assert space.findings() == []


def test_an_older_store_works_as_it_is(older: Workspace) -> None:
    before = older.dump()
    log = ClaudeLog(9)
    log.prompt("one more")
    older.write(log)
    older.sweep()
    assert len(older.dump()) == len(before) + 1
    assert older.findings() == []
    assert not has_checksums(older.store_directory)
    assert "store repair --layer checksums" in run(older, "doctor", "--quick").stdout


def test_repair_gives_checksums_to_an_older_store(older: Workspace) -> None:
    before = older.dump()
    planned = run(older, "store", "repair").stdout
    assert "checksum" in planned
    assert not has_checksums(older.store_directory)
    run(older, "store", "repair", "--layer", "checksums", "--apply")
    assert has_checksums(older.store_directory)
    assert older.dump() == before
    assert older.findings() == []
    assert "checksum" not in run(older, "store", "repair").stdout


def test_forgetting_gives_checksums_to_an_older_store(older: Workspace) -> None:
    older.forget(text="zebrawood")
    assert has_checksums(older.store_directory)
    assert older.findings() == []


@pytest.mark.parametrize("made", ["space", "older"])
def test_a_backup_and_a_restore_keep_pages_as_they_are(
    made: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    space: Workspace = request.getfixturevalue(made)
    space.sweep()
    before, kept = space.dump(), tmp_path / "kept"
    assert run(space, "store", "backup", str(kept)).returncode == 0
    assert has_checksums(kept) == (made == "space")
    assert run(space, "store", "restore", "--yes", str(kept)).returncode == 0
    assert has_checksums(space.store_directory) == (made == "space")
    assert space.dump() == before
    assert space.findings() == []


def test_without_the_layer_a_store_with_checksums_is_left_alone(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    space.sweep()
    content = database(space).read_bytes()
    monkeypatch.setattr(checksums, "load", lambda: False)
    with pytest.raises(StoreError, match="checksums") as refused:
        connection.connect(str(database(space)))
    assert "apsw" in str(refused.value.hint)
    assert database(space).read_bytes() == content
