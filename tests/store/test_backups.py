"""`session-memory store backup` as a user runs it: a checked copy, complete or absent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from session_memory.errors import SessionMemoryError
from session_memory.store import backups
from session_memory.store.lock import exclusive
from session_memory.store.maintenance import check_backup
from session_memory.testing.faults import failing_disk, second_faults_pass
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    write_samples(space.claude)
    space.sweep()
    return space


@pytest.fixture
def target(space: Workspace) -> Path:
    return space.root / "copies" / "today"


def back_up(space: Workspace, target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return space.run(
        "--config", str(space.write_config()), "store", "backup", str(target), *options
    )


def refusal(done: subprocess.CompletedProcess[str], code: int) -> str:
    """What was said, on one line, by a command that must not have worked."""
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def names(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def is_whole(target: Path) -> bool:
    return check_backup(str(target), backups.unseen).manifest is not None


def dump_of(space: Workspace, target: Path) -> list[dict[str, Any]]:
    other = space.with_store("unused")
    other.store_directory = target
    return other.dump()


@pytest.mark.rows("BAK-03")
def test_a_backup_is_checked_and_holds_everything(space: Workspace, target: Path) -> None:
    done = back_up(space, target, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["checked"] is True
    listed = {file.name for file in backups.read_manifest(str(target)).files}  # type: ignore[union-attr]
    assert listed == names(target) - {backups.MANIFEST}
    assert "forget-marks.json" in listed
    assert said["bytes"] == sum((target / name).stat().st_size for name in listed)
    assert is_whole(target)
    assert dump_of(space, target) == space.dump()
    assert os.listdir(target.parent) == ["today"]


@pytest.mark.rows("BAK-03")
@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_store_with_a_damaged_segment_is_not_copied(
    space: Workspace, target: Path, damage: str
) -> None:
    segment = sorted(space.store_directory.rglob("*.seg"))[0]
    if damage == "missing":
        segment.unlink()
    else:
        segment.write_bytes(segment.read_bytes()[:-1])
    said = refusal(back_up(space, target), 1)
    assert f"segment {segment.name}" in said and "no backup was made" in said
    assert "session-memory store repair" in said
    assert os.listdir(target.parent) == []


@pytest.mark.rows("BAK-03")
def test_every_damaged_file_of_a_backup_is_found(space: Workspace, target: Path) -> None:
    (space.store_directory / "catalog").mkdir()
    (space.store_directory / "catalog" / "one.toml").write_text("x = 1", encoding="utf-8")
    assert back_up(space, target).returncode == 0
    for name in sorted(names(target)):
        path = target / name
        whole = path.read_bytes()
        for wrong in (None, whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1])):
            path.unlink() if wrong is None else path.write_bytes(wrong)
            if name == backups.MANIFEST and wrong is None:
                assert not is_whole(target)  # it passes for a store without a manifest
            else:
                with pytest.raises(Exception, match=r"damaged|no backup"):
                    is_whole(target)
            path.write_bytes(whole)
    assert is_whole(target)


# where it may go


def test_a_target_that_holds_something_else_is_refused(space: Workspace, target: Path) -> None:
    target.mkdir(parents=True)
    (target / "mine.txt").write_text("x", encoding="utf-8")
    assert "not a backup" in refusal(back_up(space, target, "--replace"), 8)
    assert names(target) == {"mine.txt"}


def test_an_empty_directory_is_a_target(space: Workspace, target: Path) -> None:
    target.mkdir(parents=True)
    assert back_up(space, target).returncode == 0
    assert is_whole(target)


def test_a_file_or_a_link_is_no_target(space: Workspace, target: Path, tmp_path: Path) -> None:
    target.parent.mkdir()
    target.write_text("x", encoding="utf-8")
    assert "is a file" in refusal(back_up(space, target), 8)
    target.unlink()
    (tmp_path / "real").mkdir()
    target.symlink_to(tmp_path / "real")
    assert "symbolic link" in refusal(back_up(space, target), 8)


@pytest.mark.parametrize("inside", [".", "backups/today"])
def test_a_target_inside_the_store_is_refused(space: Workspace, inside: str) -> None:
    before = names(space.store_directory)
    said = refusal(back_up(space, space.store_directory / inside), 8)
    assert "inside the store" in said
    assert names(space.store_directory) == before


@pytest.mark.rows("BAK-03")
def test_an_older_backup_is_replaced_only_when_asked(space: Workspace, target: Path) -> None:
    assert back_up(space, target).returncode == 0
    before = backups.read_manifest(str(target))
    said = refusal(back_up(space, target), 8)
    assert "--replace" in said
    assert backups.read_manifest(str(target)) == before
    assert back_up(space, target, "--replace").returncode == 0
    assert backups.read_manifest(str(target)) != before
    assert is_whole(target)
    assert os.listdir(target.parent) == ["today"]


@pytest.mark.rows("BAK-03")
def test_an_older_backup_stays_when_the_new_one_fails(space: Workspace, target: Path) -> None:
    assert back_up(space, target).returncode == 0
    before = backups.read_manifest(str(target))
    next(space.store_directory.rglob("*.seg")).unlink()
    refusal(back_up(space, target, "--replace"), 1)
    assert backups.read_manifest(str(target)) == before
    assert is_whole(target)
    assert os.listdir(target.parent) == ["today"]


def test_what_a_killed_backup_left_is_removed_by_the_next(space: Workspace, target: Path) -> None:
    left = target.with_name("today.partial-backup")
    (left / "segments").mkdir(parents=True)
    (left / backups.OURS).touch()
    (left / "segments" / "half").write_text("x", encoding="utf-8")
    assert back_up(space, target).returncode == 0
    assert os.listdir(target.parent) == ["today"]
    assert names(target).isdisjoint({backups.OURS, "segments/half"})


def test_a_directory_of_that_name_that_is_not_ours_stays(space: Workspace, target: Path) -> None:
    left = target.with_name("today.partial-backup")
    left.mkdir(parents=True)
    (left / "thesis.txt").write_text("x", encoding="utf-8")
    assert "is no backup of ours" in refusal(back_up(space, target), 8)
    assert names(left) == {"thesis.txt"}


def test_a_read_only_place_is_reported(space: Workspace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")  # the same for every user, also root
    said = refusal(back_up(space, tmp_path / "file" / "copy"), 1)
    assert "cannot write the backup" in said


def test_another_file_system_is_a_target(space: Workspace) -> None:
    here = space.root.stat().st_dev
    disks = [Path(name) for name in ("/dev/shm", "/var/tmp")]
    other = next((disk for disk in disks if disk.is_dir() and disk.stat().st_dev != here), None)
    if other is None:
        pytest.skip("no second file system here")
    place = other / f"backup-{os.getpid()}"
    try:
        assert back_up(space, place / "copy").returncode == 0
        assert is_whole(place / "copy")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_a_backup_that_does_not_fit_is_refused_at_once(
    space: Workspace, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(space.root)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=100))
    with space.store() as store, pytest.raises(Exception, match="MiB free"):
        store.backup(str(target))
    assert not target.parent.exists()


@pytest.mark.rows("BAK-03")
@pytest.mark.parametrize("kind", ["disk full", "I/O error", "failed fsync", "failed rename"])
def test_a_disk_that_fails_leaves_no_half_target(space: Workspace, target: Path, kind: str) -> None:
    before = space.dump()
    target.parent.mkdir()
    with failing_disk(kind, 0) as counter, space.store() as store:
        store.backup(str(target))
    shutil.rmtree(target)
    failed = 0
    for nth in range(1, counter.done + 1, max(1, counter.done // 6)):
        try:
            with (
                second_faults_pass(),
                failing_disk(kind, nth, stays=bool(nth % 2)),
                space.store() as store,
            ):
                store.backup(str(target))
        except (SessionMemoryError, OSError, apsw.Error):
            failed += 1
        if target.exists():
            assert is_whole(target)
            shutil.rmtree(target)
        assert os.listdir(target.parent) == []
    assert failed
    assert space.dump() == before
    assert space.findings() == []


# beside other work


def test_a_store_that_is_being_swept_is_not_copied(space: Workspace, target: Path) -> None:
    with exclusive(str(space.store_directory / "sweep.lock"), "a sweep"):
        said = refusal(back_up(space, target), 6)
    assert "already running" in said
    assert not target.parent.exists()


def test_two_backups_to_one_place_do_not_meet(space: Workspace, target: Path) -> None:
    partial = target.with_name("today.partial-backup")
    partial.mkdir(parents=True)
    (partial / backups.OURS).touch()
    with exclusive(str(partial), "a backup"):
        said = refusal(back_up(space, target), 6)
    assert "another backup" in said
    assert back_up(space, target).returncode == 0


def test_a_backup_of_a_newer_program_is_refused(space: Workspace, target: Path) -> None:
    assert back_up(space, target).returncode == 0
    path = target / backups.MANIFEST
    newer = json.loads(path.read_bytes()) | {"format": backups.FORMAT + 1, "version": "99.0"}
    path.write_bytes(msgspec.json.encode(newer))
    with pytest.raises(Exception, match=r"newer session-memory \(99.0\)"):
        is_whole(target)
