"""Our own places, and files nobody else can read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.errors import Refused
from session_memory.paths import find_paths, open_private, private_dir

posix = pytest.mark.skipif(os.name != "posix", reason="modes are a POSIX idea")


@pytest.fixture
def open_umask() -> Iterator[None]:
    """The most careless umask there is."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.rows("STO-02")
def test_one_variable_moves_everything(tmp_path: Path) -> None:
    paths = find_paths({"SESSION_MEMORY_HOME": str(tmp_path / "all")})
    everything = (paths.config_file, paths.data, paths.state, paths.cache)
    assert all(place.is_relative_to(tmp_path / "all") for place in everything)
    assert not (tmp_path / "all").exists()


@pytest.mark.rows("STO-02")
def test_without_the_variable_the_platform_decides(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SESSION_MEMORY_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    paths = find_paths({})
    assert all(
        place.is_relative_to(home) and "session-memory" in place.parts
        for place in (paths.config_file, paths.data, paths.state, paths.cache)
    )


def test_another_store_shares_nothing_with_the_first(tmp_path: Path) -> None:
    one = find_paths({"SESSION_MEMORY_HOME": str(tmp_path)})
    other = one.with_store(tmp_path / "other")
    ours = {one.data, one.state, one.cache}
    assert not ours & {other.data, other.state, other.cache}
    assert other.last_sweep.is_relative_to(tmp_path / "other")


@posix
@pytest.mark.rows("STO-02")
@pytest.mark.usefixtures("open_umask")
def test_directories_are_private_from_the_start(tmp_path: Path) -> None:
    private_dir(tmp_path / "a" / "b")
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700


@posix
@pytest.mark.usefixtures("open_umask")
def test_an_open_directory_of_ours_is_tightened(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(0o777)
    private_dir(tmp_path / "open")
    assert mode(tmp_path / "open") == 0o700


@posix
def test_places_that_others_control_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").touch()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    for name in ("link", "dangling", "file", "shared"):
        with pytest.raises(Refused):
            private_dir(tmp_path / name)
    assert not (tmp_path / "nowhere").exists()
    assert mode(tmp_path / "shared") == 0o777 | stat.S_ISVTX


@posix
def test_a_directory_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(Refused, match="another user"):
        private_dir(tmp_path)


@posix
@pytest.mark.usefixtures("open_umask")
def test_files_are_private_before_the_first_byte(tmp_path: Path) -> None:
    with open_private(tmp_path / "new", "wb") as file:
        assert mode(tmp_path / "new") == 0o600
        file.write(b"x")
    (tmp_path / "old").touch(0o666)
    with open_private(tmp_path / "old", "a") as text:
        assert mode(tmp_path / "old") == 0o600
        text.write("é")
    assert (tmp_path / "old").read_text(encoding="utf-8") == "é"


@posix
def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(OSError, match="link"):
        open_private(tmp_path / "link", "wb").close()
    assert (tmp_path / "target").read_text() == "kept"
