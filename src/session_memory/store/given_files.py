"""The history of what was given to which repository, in a file beside the ledger."""

from __future__ import annotations

from pathlib import Path

from session_memory.core.givings import Given, Standing, decode_givings, encode_givings, renewed
from session_memory.errors import Refused
from session_memory.paths import private_dir, write_private

GIVEN = "given.json"


def read_given(data: Path) -> tuple[Given, ...]:
    """All that was ever written into files, oldest first; nothing where there is no file."""
    path = data / GIVEN
    try:
        return decode_givings(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        hint = "repair that file, or put an older copy of it back"
        raise Refused(f"cannot read {path}: {error}", hint=hint) from None


def note_given(data: Path, standing: Standing, now_ms: int) -> None:
    """Note what stands in files after a run; the caller holds the ledger's lock."""
    known = read_given(data)
    after = renewed(known, standing, now_ms)
    if after != known:
        write_private(private_dir(data) / GIVEN, encode_givings(after))
