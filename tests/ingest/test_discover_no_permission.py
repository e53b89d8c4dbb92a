"""Folders and logs that this user may not look at are named with the reason, once each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from session_memory.adapters.codex import files as codex_files
from session_memory.adapters.common import SourceFile, walk_files
from session_memory.adapters.gemini import files as gemini_files
from session_memory.plain_files import open_plain

pytestmark = [
    pytest.mark.rows("ING-16"),
    pytest.mark.skipif(os.name != "posix", reason="modes are a POSIX idea"),
]
NOBODY = 65534


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder in a place that every user may enter; root gives up its rights for the test."""
    with TemporaryDirectory() as base:
        Path(base).chmod(0o755)
        folder = Path(base, ".agent")
        folder.mkdir()
        root = os.geteuid() == 0
        if root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)


def test_names_without_the_right_to_look_behind_them_are_found(home: Path) -> None:
    (home / "sub").mkdir()
    (home / "a.jsonl").write_text("{}\n")
    home.chmod(0o400)
    found = {os.path.basename(file.path): file.size for file in walk_files(str(home), ".jsonl")}
    assert found == {"a.jsonl": -1, "sub": -1}


@pytest.mark.parametrize("discover", [codex_files.discover, gemini_files.discover])
def test_a_home_that_cannot_be_listed_is_found_once(
    home: Path, discover: Callable[[str], Iterator[SourceFile]]
) -> None:
    home.chmod(0)
    assert [file.path for file in discover(str(home))] == [str(home)]


def test_the_reason_is_the_missing_right(home: Path) -> None:
    home.chmod(0)
    with pytest.raises(PermissionError):
        open_plain(home)
