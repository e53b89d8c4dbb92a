"""The catalog on disk: one text file per pattern and an index, for people, git and programs.

A pattern's file is the truth; the index is made from the files and can be lost. `text` at the top
of a file may be edited by hand: it counts once `rules` has recorded it as a version.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.loop.catalog import Catalog, Pattern, Proposal
from session_memory.core.text.safe_text import HIDING
from session_memory.errors import Refused
from session_memory.paths import private_dir
from session_memory.store.json_files import read_json_file
from session_memory.store.lock import exclusive

FOLDER = "catalog"
INDEX = "index.toml"
PROPOSALS = "proposals.json"
HEAD = "# A rule of session-memory. Edit `text` by hand, then `session-memory rules approve` it.\n"
INDEX_HEAD = "# Made from the files beside it; edits here are overwritten.\n"

_PARSED = 1024  # texts, of some kilobytes each
# What a basic string of TOML cannot hold, and what a reader could not see.
_ESCAPED = re.compile(f'[\\x00-\\x1f\\x7f-\\x9f"\\\\{HIDING}]')
_ESCAPED_LINES = re.compile(f'[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f"\\\\{HIDING}]')


def to_text(pattern: Pattern) -> str:
    """A pattern as the text of its file."""
    return HEAD + "\n".join(_table(msgspec.to_builtins(pattern), "")) + "\n"


@lru_cache(maxsize=_PARSED)
def from_text(text: str) -> Pattern:
    """The pattern in the text of a file; raises ValueError where there is none.

    A command reads the files several times, before and after each decision, and parses each text
    once: most of them did not change.
    """
    return msgspec.convert(tomllib.loads(text), Pattern)


def index_text(catalog: Catalog) -> str:
    """Every pattern in a line or two each, by id."""
    rows = [
        {
            "id": pattern.id,
            "status": pattern.current.status,
            "distribution_ready": pattern.current.distribution_ready,
            "version": pattern.current.number,
            "type": pattern.type,
            "locus": pattern.locus,
        }
        for _, pattern in sorted(catalog.patterns.items())
    ]
    table = {"revision": catalog.revision, "patterns": rows}
    return INDEX_HEAD + "\n".join(_table(table, "")) + "\n"


def read_catalog(data: Path) -> Catalog:
    """All patterns and proposals; raises Refused where a file cannot be read."""
    patterns = (_read_pattern(path) for path in _files(data))
    return Catalog({pattern.id: pattern for pattern in patterns}, _read_proposals(data))


def missing(data: Path, catalog: Catalog) -> tuple[str, ...]:
    """Patterns that the index names and that have no file any more."""
    try:
        names = _indexed((data / FOLDER / INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # it is made again with the next decision
        return ()
    return tuple(sorted(names - catalog.patterns.keys()))


@lru_cache(maxsize=1)
def _indexed(text: str) -> frozenset[str]:
    """The patterns that the text of an index names."""
    rows = msgspec.convert(tomllib.loads(text).get("patterns", []), list[dict[str, Any]])
    return frozenset(str(row.get("id")) for row in rows)


@contextmanager
def changing(data: Path) -> Generator[Catalog]:
    """The catalog under a lock: of two decisions at once, one would be lost."""
    private_dir(data)
    with exclusive(str(data / "catalog.lock"), "another review", wait=True):
        yield read_catalog(data)


def write_patterns(data: Path, catalog: Catalog, names: Iterable[str]) -> None:
    """Write the files of those patterns, then the index, which a crash between leaves old."""
    folder = private_dir(data / FOLDER)
    for name in names:
        replace_file(folder / f"{name}.toml", to_text(catalog.patterns[name]).encode())
    replace_file(folder / INDEX, index_text(catalog).encode())


def write_proposals(data: Path, proposals: Mapping[str, Proposal]) -> None:
    """Write the proposals; they lie outside the catalog, which only decisions change."""
    rows = [proposal for _, proposal in sorted(proposals.items())]
    replace_file(private_dir(data) / PROPOSALS, msgspec.json.encode(rows))


def _files(data: Path) -> list[Path]:
    files = (data / FOLDER).glob("*.toml")
    return sorted(path for path in files if path.name != INDEX)


def _read_pattern(path: Path) -> Pattern:
    hint = "repair that file, or put an older copy of it back"
    try:
        pattern = from_text(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"cannot read the rule {path}: {error}", hint=hint) from None
    if pattern.id != path.stem:
        raise Refused(f"{path} holds the rule {pattern.id}", hint="name the file after its id")
    return pattern


def _read_proposals(data: Path) -> dict[str, Proposal]:
    hint = "delete that file; detection makes its proposals again"
    rows = read_json_file(data / PROPOSALS, list[Proposal], hint) or []
    return {row.id: row for row in rows}


# --- TOML: the standard library reads it and does not write it ---------------------------------


Table = dict[str, object]


def _table(table: Mapping[str, object], path: str) -> Iterator[str]:
    """Lines of a table: its own values first, then the tables below it."""
    below = {key: _tables(value) for key, value in table.items()}
    for key, value in table.items():
        if not below[key] and value is not None:
            yield f"{key} = {_value(value)}"
    for key, tables in below.items():
        name = f"{path}.{key}" if path else key
        heading = f"[{name}]" if isinstance(table[key], dict) else f"[[{name}]]"
        for inner in tables:
            yield from ("", heading, *_table(inner, name))


def _tables(value: object) -> list[Table]:
    """The tables that a value consists of, if it does."""
    if isinstance(value, dict):
        return [cast(Table, value)]
    items = cast("list[object]", value) if isinstance(value, list | tuple) else []
    return [cast(Table, item) for item in items if isinstance(item, dict)]


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple():
            return "[" + ", ".join(_value(item) for item in cast("list[object]", value)) + "]"
        case _:
            return _string(str(value))


def _string(text: str) -> str:
    if "\n" in text:  # the line break after the opening quotes is not part of the text
        return '"""\n' + _ESCAPED_LINES.sub(_spell, text) + '"""'
    return '"' + _ESCAPED.sub(_spell, text) + '"'


def _spell(match: re.Match[str]) -> str:
    character = match.group()
    return f"\\{character}" if character in '"\\' else f"\\U{ord(character):08x}"
