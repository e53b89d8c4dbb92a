"""When capture was paused: a file next to the store, and a copy of it among the forget marks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.pauses import Pause, Pauses, merge_pauses
from session_memory.errors import Refused
from session_memory.paths import private_dir
from session_memory.store.marks import Marks, add_marks, read_marks

NAME = "pauses.json"


def read_pauses(directory: str) -> Pauses:
    """Every pause there was. A file that cannot be read stops the sweep: it may say 'do not'."""
    marks = read_marks(directory)
    path = Path(directory) / NAME
    try:
        own = msgspec.json.decode(path.read_bytes(), type=tuple[Pause, ...])
    except FileNotFoundError:
        own = ()
    except (OSError, msgspec.DecodeError) as error:
        raise Refused(
            f"cannot read when capture was paused: {path}: {error}",
            hint="repair or delete that file; nothing is captured until then",
        ) from None
    return merge_pauses(own, marks.marks.pauses if marks else ())


def write_pauses(directory: str, pauses: Pauses) -> None:
    """Remember the pauses."""
    private_dir(directory)
    add_marks(directory, Marks(pauses=pauses))
    replace_file(Path(directory) / NAME, msgspec.json.encode(pauses))


def keep_pauses(directory: str) -> None:
    """Copy the pauses of a store that had no file of marks yet."""
    if pauses := read_pauses(directory):
        add_marks(directory, Marks(pauses=pauses))
