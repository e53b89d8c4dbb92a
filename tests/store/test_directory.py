"""A store is only opened where nobody else can read, swap or corrupt it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from session_memory.errors import Refused
from session_memory.store.directory import check_directory, file_system
from session_memory.store.sqlite import open_store


def test_a_linked_store_is_refused(tmp_path: Path) -> None:
    real = tmp_path / "real"
    open_store(str(real), 1, create_missing=True).close()
    (tmp_path / "link").symlink_to(real)
    with pytest.raises(Refused, match="symbolic link") as told:
        open_store(str(tmp_path / "link"), 1)
    assert told.value.exit_code == 8


def test_somebody_elses_store_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(str(tmp_path / "s"), 1, create_missing=True).close()
    monkeypatch.setattr(os, "getuid", lambda: os.lstat(tmp_path).st_uid + 1)
    with pytest.raises(Refused, match="belongs to user"):
        open_store(str(tmp_path / "s"), 1)


def mounts(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "mounts"
    file.write_text("\n".join(lines), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/home/a", "ext4"), ("/net/share/x", "nfs4"), ("/net/my disk/x", "cifs"), ("/netty", "ext4")],
)
def test_the_innermost_mount_tells_the_file_system(tmp_path: Path, path: str, kind: str) -> None:
    table = mounts(
        tmp_path,
        "/dev/a / ext4 rw 0 0",
        "server:/x /net/share nfs4 rw 0 0",
        "//server/y /net/my\\040disk cifs rw 0 0",
        "odd",
    )
    assert file_system(path, table) == kind


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session_memory.store.directory.file_system", lambda _path: "nfs4")
    with pytest.raises(Refused, match="network file system"):
        check_directory(str(tmp_path))


def test_where_the_system_does_not_tell_the_place_is_taken(tmp_path: Path) -> None:
    assert file_system(str(tmp_path), str(tmp_path / "absent")) is None
    check_directory(str(tmp_path / "not there yet"))


def test_a_backup_includes_the_files_next_to_the_database(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "s"), 1, create_missing=True)
    (tmp_path / "s" / "pauses.json").write_text("[]", encoding="utf-8")
    (tmp_path / "s" / "catalog").mkdir()
    (tmp_path / "s" / "catalog" / "a.toml").write_text("x = 1", encoding="utf-8")
    store.backup(str(tmp_path / "copy"))
    store.close()
    assert (tmp_path / "copy" / "pauses.json").read_text(encoding="utf-8") == "[]"
    copied = tmp_path / "copy" / "catalog" / "a.toml"
    assert copied.read_text(encoding="utf-8") == "x = 1"
    assert copied.stat().st_mode & 0o077 == 0
