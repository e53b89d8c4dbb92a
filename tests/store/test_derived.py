"""No table and no folder of the store is unknown to those who must clean it."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest

import session_memory
from session_memory.store.derived import DERIVED, FILES
from session_memory.store.sqlite import SqliteStore
from session_memory.testing.store_drafts import Said, analyze, capture, evict, lived, response, turn

SHADOW = re.compile(r"_(data|idx|content|docsize|config)$")
LIVING_FILES = {"store.db", "store.db-wal", "store.db-shm"}


def tables(directory: Path) -> set[str]:
    """Every table of the schema; those inside a full-text index count as the index."""
    connection = apsw.Connection(str(directory / "store.db"))
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    ).fetchall()
    connection.close()
    indexes = {name for name, sql in found if sql.upper().startswith("CREATE VIRTUAL")}
    parents = {name: SHADOW.sub("", name) for name, _ in found}
    return {parent if parent in indexes else name for name, parent in parents.items()}


@pytest.fixture
def used(store: SqliteStore) -> SqliteStore:
    """A store through which everything went once."""
    said = Said("one", "/logs/one", (turn(0, "magicword"),), lived(0, 1), (response("r"),))
    one, _ = capture(store, said, Said("two", "/logs/two", (turn(9, "other"),)))
    analyze(store, one)
    evict(store, one)
    return store


def test_every_table_is_registered_and_every_entry_is_a_table(
    used: SqliteStore, directory: Path
) -> None:
    folders = {path.name for path in directory.iterdir() if path.is_dir()}
    assert tables(directory) | folders == set(DERIVED)


def test_the_store_makes_no_other_files(used: SqliteStore, directory: Path) -> None:
    assert {path.name for path in directory.iterdir() if path.is_file()} == LIVING_FILES


def test_a_table_nobody_registered_is_noticed(used: SqliteStore, directory: Path) -> None:
    connection = apsw.Connection(str(directory / "store.db"))
    connection.execute("CREATE TABLE secret_copy (body TEXT)")
    connection.execute("CREATE VIRTUAL TABLE more_text USING fts5(body)")
    connection.close()
    assert tables(directory) - set(DERIVED) == {"secret_copy", "more_text"}


def test_text_stands_only_where_the_list_says_so(store: SqliteStore, directory: Path) -> None:
    """A word that is in every field of a session is looked for in every column of every table."""
    word = "xyzzyword"
    said = Said(
        f"s-{word}",
        f"/logs/{word}",
        (turn(0, word, command=word, files=(word,), label=word, call_id=word),),
    )
    capture(store, said)
    connection = apsw.Connection(str(directory / "store.db"))
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    holding = {
        name
        for (name,) in names
        for row in connection.execute(f"SELECT * FROM {name}")
        if any(word in str(column) for column in row)
    }
    connection.close()
    owners = {SHADOW.sub("", name) if name not in DERIVED else name for name in holding}
    assert {"event", "session", "source", "event_text", "turn_text"} <= owners
    assert {name for name in owners if not DERIVED[name].holds_text} == set()


def test_the_page_on_architecture_lists_every_file_as_it_is_registered() -> None:
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith(("| `data/", "| `state/"))]
    registered = [
        f"| `{name}` | {file.holds} | {file.writer} | {file.why_local} | {file.on_forget} |"
        for name, file in FILES.items()
    ]
    assert listed == registered


def test_every_file_is_written_by_a_part_of_the_program() -> None:
    package = Path(session_memory.__file__).parent
    parts = {path.stem for path in package.iterdir()}
    assert {file.writer for file in FILES.values()} - parts == set()
