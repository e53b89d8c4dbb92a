"""The file that remembers pauses; it lies beside the store, so that a copy of it goes along."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.core.pauses import Pause, Pauses
from session_memory.errors import Refused
from session_memory.paths import private_dir, write_private

NAME = "pauses.json"


def read_pauses(directory: str) -> Pauses:
    """Every pause there was. A file that cannot be read stops the sweep: it may say 'do not'."""
    path = Path(directory) / NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[Pause, ...])
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.DecodeError) as error:
        raise Refused(
            f"cannot read when capture was paused: {path}: {error}",
            hint="repair or delete that file; nothing is captured until then",
        ) from None


def write_pauses(directory: str, pauses: Pauses) -> None:
    """Remember the pauses."""
    private_dir(directory)
    write_private(Path(directory) / NAME, msgspec.json.encode(pauses))
