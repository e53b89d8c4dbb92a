"""The history of what was given to which repository, in a file next to the ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.core.loop.givings import Given, Pair, renewed, standing
from session_memory.paths import private_dir
from session_memory.store.json_files import REPAIR, encode_rows, read_json_file

GIVEN = "given.json"


def read_given(data: Path) -> tuple[Given, ...]:
    """All that was ever written into files, oldest first; nothing where there is no file."""
    return read_json_file(data / GIVEN, tuple[Given, ...], REPAIR) or ()


def note_given(data: Path, held: Iterable[Pair], written: Mapping[Pair, int], now_ms: int) -> None:
    """Note what files hold after a run, and which versions it wrote; under the ledger's lock."""
    history = read_given(data)
    after = renewed(history, standing(history, held, written), now_ms)
    if after != history:
        replace_file(private_dir(data) / GIVEN, encode_rows(after))


def forget_given(data: Path, repos: Collection[str]) -> int:
    """Drop the history of repositories that no session is known of any more; returns how many."""
    before = read_given(data)
    left = tuple(giving for giving in before if giving.repo in repos)
    if left != before:
        replace_file(private_dir(data) / GIVEN, encode_rows(left))
    return len(before) - len(left)
