"""Small JSON files next to the store: how one is read, and one row a line for readers of diffs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from session_memory.errors import Refused

REPAIR = "repair that file, or put an older copy of it back"
T = TypeVar("T")


def read_json_file(path: Path, kind: type[T], hint: str) -> T | None:
    """What the file holds; None where there is none. One that cannot be read is an error."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"cannot read {path}: {error}", hint=hint) from None


def encode_rows(rows: Iterable[msgspec.Struct]) -> bytes:
    """A JSON list with one row a line."""
    lines = ",\n".join(msgspec.json.encode(row).decode() for row in rows)
    return f"[\n{lines}\n]\n".encode() if lines else b"[]\n"
