"""Changes several files as one: all of them or none, even if the process is killed.

Before the first change the old content of all files is saved in undo.json; removing that file
commits the change. Whoever finds an undo.json restores the old content first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from session_memory.atomic_files import flush_directory
from session_memory.journal.files import atomic_write_text, remove_leftovers
from session_memory.journal.paths import JournalPaths
from session_memory.paths import private_dir

UNDO_FILE = "undo.json"


def write_files(journal: JournalPaths, files: Mapping[str, str | None]) -> None:
    """Write files named relative to the journal's root; None removes one.

    Raises OSError after undoing everything.
    """
    before = {name: _bytes(journal.root / name) for name in files}
    saved = {
        name: None if data is None else data.decode("latin-1") for name, data in before.items()
    }
    atomic_write_text(_undo_file(journal), msgspec.json.encode(saved).decode())
    try:
        for name, text in files.items():
            _write_or_remove(journal.root / name, text)
        _undo_file(journal).unlink()
    except BaseException:
        recover(journal)
        raise
    with contextlib.suppress(OSError):  # at worst a power cut undoes everything, which is fine
        flush_directory(journal.work)


def recover(journal: JournalPaths) -> None:
    """Restore what an interrupted run had begun to change."""
    data = _bytes(_undo_file(journal))
    if data is None:
        return
    before: object = msgspec.json.decode(data)
    for name, content in cast("dict[str, str | None]", before).items():
        path = journal.root / name
        remove_leftovers(path.parent)
        old = None if content is None else content.encode("latin-1")
        if _bytes(path) != old:
            text = None if old is None else old.decode("utf-8", "surrogateescape")
            _write_or_remove(path, text)
    _undo_file(journal).unlink()


def _undo_file(journal: JournalPaths) -> Path:
    private_dir(journal.work)
    return journal.work / UNDO_FILE


def _write_or_remove(path: Path, text: str | None) -> None:
    if text is not None:
        atomic_write_text(path, text)
    elif path.exists():
        path.unlink()
        flush_directory(path.parent)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
