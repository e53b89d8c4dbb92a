"""Only regular files are read; whatever else has their name is refused at once."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from session_memory.plain_files import UnfitFile, open_plain, read_plain

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs pipes and devices")


def test_a_regular_file_is_read_up_to_its_cap(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_plain(path, 5) == b"12345"
    with pytest.raises(UnfitFile, match="larger than 4 bytes"):
        read_plain(path, 4)
    with open_plain(path) as file:
        assert file.read() == b"12345"


def test_a_link_is_followed_only_where_that_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_plain(tmp_path / "link", 10) == b"12345"
    with pytest.raises(UnfitFile, match="symbolic link"):
        read_plain(tmp_path / "link", 10, follow=False)


@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "endless device", "link to a pipe"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd"
    if kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif kind == "endless device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to("pipe")
    with pytest.raises(UnfitFile, match="not a regular file"):
        read_plain(path, 10)


def test_what_is_swapped_after_the_look_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    real = os.stat
    monkeypatch.setattr(os, "stat", lambda *_, **__: real(tmp_path / "file"))
    with pytest.raises(UnfitFile):
        read_plain(tmp_path / "pipe", 10)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path / "gone", 10)
