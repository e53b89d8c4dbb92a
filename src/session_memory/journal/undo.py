"""Several files changed as one: all of them, or none, whatever happens in between.

Before the first file is touched, what all of them hold is written down in one step; taking that
note away is the moment of success. Whoever finds a note puts the old content back first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from session_memory.journal.files import atomic_write_text, remove_leftovers, sync_directory
from session_memory.journal.paths import Place
from session_memory.paths import private_dir

NOTE = "undo.json"


def apply(place: Place, files: Mapping[str, str | None]) -> None:
    """Write files of a journal, named from its root; None removes one. Raises OSError, undone."""
    before = {name: _bytes(place.root / name) for name in files}
    shown = {
        name: None if data is None else data.decode("latin-1") for name, data in before.items()
    }
    atomic_write_text(_note(place), msgspec.json.encode(shown).decode())
    try:
        for name, text in files.items():
            _put(place.root / name, text)
        _note(place).unlink()
    except BaseException:
        recover(place)
        raise
    with contextlib.suppress(OSError):  # at worst a power cut undoes all of it, which is allowed
        sync_directory(place.work)


def recover(place: Place) -> bool:
    """Put back what a run that was cut off had begun to change; False where there was none."""
    data = _bytes(_note(place))
    if data is None:
        return False
    before: object = msgspec.json.decode(data)
    for name, content in cast("dict[str, str | None]", before).items():
        path = place.root / name
        remove_leftovers(path.parent)
        old = None if content is None else content.encode("latin-1")
        if _bytes(path) != old:
            _put(path, None if old is None else old.decode("utf-8", "surrogateescape"))
    _note(place).unlink()
    return True


def _note(place: Place) -> Path:
    private_dir(place.work)
    return place.work / NOTE


def _put(path: Path, text: str | None) -> None:
    if text is not None:
        atomic_write_text(path, text)
    elif path.exists():
        path.unlink()
        sync_directory(path.parent)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
