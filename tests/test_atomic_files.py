"""A file is replaced whole: on disk before it takes the old one's place, private, and tidy."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from session_memory.atomic_files import drop_unfinished, replace_file

posix = pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX systems")


def test_a_replaced_file_is_on_disk_before_it_takes_the_old_one_s_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "small.json"
    target.write_bytes(b"old")
    seen: list[list[bytes]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        seen.append(sorted(path.read_bytes() for path in tmp_path.iterdir() if path.is_file()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(target, b"new")
    assert seen[0] == [b"new", b"old"]
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["small.json"]


@posix
def test_the_directory_is_flushed_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    flushed: list[tuple[bool, list[str]]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        flushed.append((is_folder, sorted(path.name for path in folder.iterdir())))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(folder / "small.json", b"new")
    assert flushed == [(False, [f"small.json.{os.getpid()}.new"]), (True, ["small.json"])]


@posix
def test_a_file_is_private_unless_a_mode_is_given(tmp_path: Path) -> None:
    (tmp_path / "old").touch(0o666)
    replace_file(tmp_path / "old", b"x")
    replace_file(tmp_path / "program", b"x", 0o700)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("old", "program")]
    assert modes == [0o600, 0o700]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a.json.77.new", "b.json.77.new", "a.json"):
        (folder / name).touch()
    drop_unfinished(folder / "a.json")
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "b.json.77.new"]
