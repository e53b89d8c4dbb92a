"""Searches that the user kept by name, in a file next to the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.errors import Refused
from session_memory.paths import private_dir
from session_memory.store.json_files import read_json_file

SAVED = "saved-searches.json"
MOST = 100


class SavedSearch(msgspec.Struct, frozen=True):
    """A name, and what the search asks for by the names of its fields."""

    name: str
    fields: dict[str, str]


def read_saved(data: Path) -> tuple[SavedSearch, ...]:
    """All of them, by name; nothing where there is no file."""
    hint = "delete that file; the searches in it are lost"
    return read_json_file(data / SAVED, tuple[SavedSearch, ...], hint) or ()


def save_search(data: Path, search: SavedSearch) -> None:
    """Keep a search; one of the same name is replaced."""
    others = [each for each in read_saved(data) if each.name != search.name]
    if len(others) >= MOST:
        raise Refused(f"{MOST} searches are kept already", hint="drop one first")
    _write(data, [*others, search])


def drop_search(data: Path, name: str) -> None:
    """Delete a saved search."""
    _write(data, [each for each in read_saved(data) if each.name != name])


def drop_searches(data: Path, wanted: Callable[[str], bool]) -> None:
    """Drop every search in which such a word stands."""
    before = read_saved(data)
    left = [each for each in before if not any(map(wanted, _words(each)))]
    if len(left) < len(before):
        _write(data, left)


def is_in_searches(data: Path, wanted: Callable[[str], bool]) -> bool:
    """Whether such a word stands in any of them."""
    return any(wanted(word) for search in read_saved(data) for word in _words(search))


def _words(search: SavedSearch) -> tuple[str, ...]:
    return (search.name, *search.fields.values())


def _write(data: Path, searches: list[SavedSearch]) -> None:
    ordered = sorted(searches, key=lambda search: search.name.casefold())
    replace_file(private_dir(data) / SAVED, msgspec.json.encode(ordered))
