"""Reading the databases of other programs: whatever state they are in, and without a trace."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from session_memory.adapters import sqlite_log, whole_log
from session_memory.adapters.agent import Agent
from session_memory.adapters.common import Adapter, Normalized, SourceFile
from session_memory.adapters.emit_events import EventEmitter
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.sqlite_log import (
    Database,
    SessionRows,
    capped,
    database_source,
    read_database,
    readable,
    sqlite_adapter,
)
from session_memory.adapters.whole_log import Line, Records
from session_memory.plain_files import UnfitFile
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-40")

NEEDS = {"note": ("id", "session", "text")}


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where copies are made; nothing may be left in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert os.listdir(folder) == []


def make(path: Path, mode: str = "delete") -> sqlite3.Connection:
    """A database with one note, still open."""
    path.parent.mkdir(exist_ok=True)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA journal_mode = {mode}")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, session TEXT, text TEXT)")
    add(db, "first")
    return db


def add(db: sqlite3.Connection, text: str, session: str = "s-1") -> None:
    db.execute("INSERT INTO note (session, text) VALUES (?, ?)", (session, text))
    db.commit()


CLIENT = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA wal_autocheckpoint = 0")
for line in sys.stdin:
    db.execute(line).fetchall()
    print("done", flush=True)
"""


class Client:
    """A client with a process of its own: within one process SQLite's locks mean nothing."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", CLIENT, str(path)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, statement: str) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        stdin.write(f"{statement}\n")
        stdin.flush()
        assert stdout.readline() == "done\n"

    def add(self, text: str) -> None:
        self.run(f"INSERT INTO note (session, text) VALUES ('s-1', '{text}')")

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    path = tmp_path / "home" / "notes.db"
    make(path).close()
    with closing(Client(path)) as client:
        yield client


def texts(path: Path) -> list[str]:
    with read_database(str(path), NEEDS) as db:
        return [text for (text,) in db.rows("SELECT text FROM note ORDER BY id")]


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of every file."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def reason(path: Path) -> str:
    with pytest.raises(UnfitFile) as caught:
        texts(path)
    return str(caught.value)


# --- every state a database can be in ---


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_nobody_has_open_is_read_in_a_folder_nobody_may_write(
    tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "home" / "notes.db"
    make(path, mode).close()
    before = files(path.parent)
    path.parent.chmod(0o500)
    try:
        assert texts(path) == ["first"]
    finally:
        path.parent.chmod(0o700)
    assert files(path.parent) == before


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_database_below_a_linked_folder_is_read(tmp_path: Path) -> None:
    make(tmp_path / "real" / "notes.db").close()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert texts(tmp_path / "linked" / "notes.db") == ["first"]


def test_what_is_only_in_the_log_of_a_live_client_is_read_and_no_byte_changes(
    tmp_path: Path, client: Client
) -> None:
    path = tmp_path / "home" / "notes.db"
    client.run("PRAGMA journal_mode = wal")
    client.add("second")
    before = files(path.parent)
    assert sorted(before) == ["notes.db", "notes.db-shm", "notes.db-wal"]
    assert texts(path) == ["first", "second"]
    assert files(path.parent) == before
    client.run("BEGIN IMMEDIATE")
    client.add("not yet")
    assert texts(path) == ["first", "second"]
    client.run("COMMIT")
    assert texts(path) == ["first", "second", "not yet"]


def test_a_view_stays_as_it_is_while_the_client_goes_on(tmp_path: Path, client: Client) -> None:
    path = tmp_path / "home" / "notes.db"
    client.run("PRAGMA journal_mode = wal")
    client.add("second")
    with read_database(str(path), NEEDS) as db:
        client.add("third")
        client.run("PRAGMA wal_checkpoint(PASSIVE)")
        assert len(list(db.rows("SELECT text FROM note"))) == 2
    assert len(texts(path)) == 3


@pytest.mark.parametrize("locked", [False, True], ids=["writable", "read-only"])
def test_a_log_without_shared_memory_is_read_from_a_copy(tmp_path: Path, locked: bool) -> None:
    home, left = tmp_path / "home", tmp_path / "left"
    left.mkdir()
    with closing(make(home / "notes.db", "wal")):
        for name in ("notes.db", "notes.db-wal"):
            shutil.copy(home / name, left / name)
    before = files(left)
    left.chmod(0o500 if locked else 0o700)
    try:
        assert texts(left / "notes.db") == ["first"]
    finally:
        left.chmod(0o700)
    assert files(left) == before


def test_a_copy_that_a_killed_process_left_is_removed_and_a_new_one_is_not(
    tmp_path: Path, client: Client, temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_log, "BUSY_MS", 1)
    old, new = (temporary_folder / f"{sqlite_log.COPY_PREFIX}{name}" for name in ("a", "b"))
    for folder in (old, new):
        folder.mkdir()
        (folder / "copy.db").write_bytes(b"private")
    os.utime(old, (0, 0))
    client.run("BEGIN EXCLUSIVE")
    client.add("not yet")
    assert texts(tmp_path / "home" / "notes.db") == ["first"]
    assert list(temporary_folder.iterdir()) == [new]
    shutil.rmtree(new)


def test_a_database_its_client_has_locked_is_read_from_a_copy(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_log, "BUSY_MS", 1)
    path = tmp_path / "home" / "notes.db"
    client.run("BEGIN EXCLUSIVE")
    client.add("not yet")
    before = files(path.parent)
    assert "notes.db-journal" in before
    assert texts(path) == ["first"]
    assert files(path.parent) == before


KILLED = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN")
for number in range(500):
    db.execute("INSERT INTO note (text) VALUES (?)", ("half done " * 100,))
os._exit(9)
"""


def test_a_write_that_was_killed_half_way_is_not_seen(tmp_path: Path) -> None:
    path = tmp_path / "home" / "notes.db"
    make(path).close()
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    before = files(path.parent)
    assert "notes.db-journal" in before
    assert texts(path) == ["first"]
    assert files(path.parent) == before


def test_a_database_that_changes_all_the_time_is_left_to_the_next_sweep(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_log, "BUSY_MS", 1)
    path = tmp_path / "home" / "notes.db"
    sizes = itertools.count()
    with monkeypatch.context() as patch:

        def touched(_path: str) -> list[tuple[int, int, int]]:
            return [(next(sizes), 0, 0)]

        patch.setattr(sqlite_log, "_touched", touched)
        with pytest.raises(OSError, match="it changed while it was read"):
            texts(path)
        client.run("BEGIN EXCLUSIVE")
        client.add("not yet")
        with pytest.raises(OSError, match="it is being written"):
            texts(path)
    client.run("ROLLBACK")
    assert texts(path) == ["first"]


# --- what is no such database ---


def corrupt(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + b"\xff" * 600 + content[middle + 600 :]


def empty(_content: bytes) -> bytes:
    return b""


def torn(content: bytes) -> bytes:
    return content[:60]


def text(_content: bytes) -> bytes:
    return b"no database, but long enough " * 40


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def shortened(content: bytes) -> bytes:
    return content[:-20]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (shortened, "the database is damaged: its end is missing"),
        (empty, "the file is empty"),
        (torn, "it is not a SQLite database"),
        (text, "it is not a SQLite database"),
        (halved, "the database is damaged"),
        (corrupt, "the database is damaged"),
    ],
)
def test_a_file_that_is_no_whole_database_says_why(
    tmp_path: Path, change: Callable[[bytes], bytes], told: str
) -> None:
    path = tmp_path / "home" / "notes.db"
    with closing(make(path)) as client:
        for number in range(200):
            add(client, f"note {number} " * 50)
    path.write_bytes(change(path.read_bytes()))
    assert told in reason(path)
    assert sorted(files(path.parent)) == ["notes.db"]


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["DROP TABLE note"], "it has no table note"),
        (["ALTER TABLE note DROP COLUMN text"], "its table note has no column text"),
        (
            ["DROP TABLE note", "CREATE VIEW note AS SELECT 1 AS id, 2 AS session, 3 AS text"],
            "note is not a plain table",
        ),
        (
            [
                "DROP TABLE note",
                "CREATE TABLE note (id, session, text AS (hex(zeroblob(100000000))))",
            ],
            "note is not a plain table",
        ),
        (
            ["DROP TABLE note", "CREATE VIRTUAL TABLE note USING fts5(id, session, text)"],
            "note is not a plain table",
        ),
    ],
    ids=["no table", "no column", "view", "computed", "virtual"],
)
def test_a_database_of_another_shape_says_what_is_missing(
    tmp_path: Path, statements: list[str], told: str
) -> None:
    path = tmp_path / "home" / "notes.db"
    with closing(make(path)) as client:
        for statement in statements:
            client.execute(statement)
        client.commit()
    assert reason(path) == told


@pytest.mark.skipif(os.name != "posix", reason="pipes have names only there")
@pytest.mark.parametrize("side", ["", "-wal", "-journal", "-shm"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, side: str) -> None:
    path = tmp_path / "home" / "notes.db"
    make(path).close()
    Path(f"{path}{side}").unlink(missing_ok=True)
    os.mkfifo(f"{path}{side}")
    assert "not a regular file" in reason(path)


def test_reading_ends_after_a_number_of_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home" / "notes.db"
    make(path).close()
    monkeypatch.setattr(sqlite_log, "STEPS_MAX", 20)
    monkeypatch.setattr(sqlite_log, "STEPS_AT_ONCE", 1)
    assert reason(path) == "reading it takes more than 20 steps of SQLite"


# --- what did not change ---


def test_the_stamp_of_a_database_changes_with_every_commit_and_with_nothing_else(
    tmp_path: Path,
) -> None:
    path = tmp_path / "home" / "notes.db"
    with closing(make(path, "wal")) as client:
        stamp = database_source(str(path))
        texts(path)
        assert database_source(str(path)) == stamp
        size, time = path.stat().st_size, path.stat().st_mtime_ns
        add(client, "only in the log")
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (size, time)
        assert database_source(str(path)) != stamp
    stamp = database_source(str(path))
    time = path.stat().st_mtime_ns
    with closing(sqlite3.connect(path)) as client:  # the same size and time, another content
        client.execute("PRAGMA journal_mode = delete")
        client.execute("UPDATE note SET text = 'other' WHERE id = 1")
        client.commit()
    os.utime(path, ns=(time, time))
    assert database_source(str(path)) != stamp


# --- sessions of a database as sources ---

AGENT = Agent(name="notes", title="Notes", homes=(), reader="")


def list_sessions(db: Database) -> Iterator[SessionRows]:
    query = "SELECT session, count(*), sum(octet_length(text)) FROM note GROUP BY session"
    for session, count, size in db.rows(query):
        yield SessionRows(session, None, (count, size), size)


def lines(db: Database, session: str, cap: int) -> Iterator[Line]:
    query = f"SELECT {capped('text')} FROM note WHERE session = ? ORDER BY id"
    found = list(db.rows(query, cap, session))
    yield compact_json({"session": session}).encode()
    for (text,) in found:
        yield None if text is None else compact_json({"text": readable(text)}).encode()


def emit(_source: SourceFile, records: Records, bundle: Normalized) -> None:
    (_, first), *rest = records
    emitter = EventEmitter(PartBuilder(first["session"]), bundle)
    for _, record in rest:
        emitter.prompt(record["text"])
    emitter.finish()


def notes(
    read: Callable[[Database, str, int], Iterator[Line]] | None = None,
) -> Adapter:
    return sqlite_adapter(
        AGENT,
        find=lambda root: iter([os.path.join(root, "notes.db")]),
        needs=NEEDS,
        list_sessions=list_sessions,
        lines=read or lines,
        emit=emit,
    )


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    space.adapters = {"notes": notes()}
    space.paths["notes"] = (str(tmp_path / "home"),)
    return space


def said(space: Workspace, session: str) -> list[str]:
    return [event.text or "" for event in space.events(session)]


def test_a_changed_session_is_read_alone_and_a_deleted_one_stays(
    space: Workspace, tmp_path: Path
) -> None:
    with closing(make(tmp_path / "home" / "notes.db", "wal")) as client:
        add(client, "other", "s-2")
        assert space.sweep().ingested == 2
        assert space.sweep().ingested == 0
        add(client, "second")
        report = space.sweep()
        assert (report.ingested, report.events, report.superseded) == (1, 1, 0)
        client.execute("DELETE FROM note WHERE session = 's-2'")
        client.commit()
        report = space.sweep()
        assert (report.failed, report.superseded) == ([], 0)
    assert said(space, "s-1") == ["first", "second"]
    assert said(space, "s-2") == ["other"]


def test_a_session_that_was_forgotten_does_not_come_back(space: Workspace, tmp_path: Path) -> None:
    with closing(make(tmp_path / "home" / "notes.db")) as client:
        add(client, "other", "s-2")
        space.sweep()
        space.forget(sessions=("s-1",))
        add(client, "more")
        space.sweep()
    assert set(space.sessions()) == {"s-2"}


def test_a_value_over_the_cap_is_counted_and_never_in_memory(
    space: Workspace, tmp_path: Path
) -> None:
    with closing(make(tmp_path / "home" / "notes.db")) as client:
        add(client, "x" * 100_000)
        add(client, "last")
    space.set_ingest(line_cap_bytes=10_000)
    assert space.sweep().too_long == 1
    assert said(space, "s-1") == ["first", "last"]


def test_a_session_that_is_too_large_as_a_whole_is_read_as_far_as_fits(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(make(tmp_path / "home" / "notes.db")) as client:
        for number in range(20):
            add(client, f"note {number} " + "x" * 1000)
    monkeypatch.setattr(whole_log, "WHOLE_CAP", 5000)
    report = space.sweep()
    assert (report.too_long, report.failed, len(said(space, "s-1"))) == (15, [], 6)
    assert space.sweep().ingested == 0


def test_an_error_that_passes_moves_no_cursor(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home" / "notes.db"
    with closing(make(path, "wal")) as client:
        space.sweep()
        add(client, "second")
        whole = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_log, "_connect", busy)
            (failure,) = space.sweep().failed
            assert (failure.path, "BusyError" in failure.reason) == (str(path), True)
        assert path.read_bytes() == whole
        assert space.sweep().ingested == 1
    assert said(space, "s-1") == ["first", "second"]


def busy(_path: str) -> sqlite_log.Database:
    raise sqlite_log.apsw.BusyError("database is locked")


def test_a_database_that_cannot_be_read_costs_nothing_that_was_captured(
    space: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "home" / "notes.db"
    make(path).close()
    space.sweep()
    path.write_bytes(b"")
    (failure,) = space.sweep().failed
    assert (failure.path, failure.reason) == (str(path), "the file is empty")
    assert said(space, "s-1") == ["first"]


# --- a database nobody touched ---


def refuse(*_arguments: object) -> object:
    raise AssertionError("the database was opened")


def test_a_database_nobody_touched_is_not_opened(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(make(tmp_path / "home" / "notes.db", "wal")) as client:
        add(client, "other", "s-2")
        space.sweep()
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_log, "_connect", refuse)
            report = space.sweep()
        found = (report.discovered, report.skipped_unchanged, report.vanished, report.failed)
        assert found == (2, 2, 0, [])
        add(client, "more", "s-2")
        report = space.sweep()
        assert (report.discovered, report.ingested, report.skipped_unchanged) == (2, 1, 1)
    assert said(space, "s-2") == ["other", "more"]


def test_a_session_that_could_not_be_read_is_read_though_nothing_changed(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(make(tmp_path / "home" / "notes.db")) as client:
        add(client, "other", "s-2")

    def failing(db: Database, session: str, cap: int) -> Iterator[Line]:
        if session == "s-2":
            raise OSError("busy")
        return lines(db, session, cap)

    whole = space.adapters["notes"]
    space.adapters = {"notes": notes(failing)}
    report = space.sweep()
    assert (report.ingested, [failure.reason for failure in report.failed]) == (1, ["busy"])
    space.adapters = {"notes": whole}
    assert (space.sweep().ingested, said(space, "s-2")) == (1, ["other"])


def test_a_database_that_is_gone_takes_nothing_with_it(space: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "home" / "notes.db"
    make(path).close()
    space.sweep()
    path.unlink()
    report = space.sweep()
    assert (report.vanished, report.failed) == (1, [])
    assert said(space, "s-1") == ["first"]
    assert space.findings() == []


def test_with_excluded_paths_everything_is_listed_and_nothing_is_called_gone(
    space: Workspace, tmp_path: Path
) -> None:
    make(tmp_path / "home" / "notes.db").close()
    space.sweep()
    space.exclude = ("/work/elsewhere",)
    report = space.sweep()
    assert (report.discovered, report.skipped_unchanged, report.vanished) == (1, 1, 0)


def test_a_newer_parser_reads_a_database_nobody_touched(space: Workspace, tmp_path: Path) -> None:
    make(tmp_path / "home" / "notes.db").close()
    space.sweep()
    newer = msgspec.structs.replace(space.adapters["notes"], parser_version=2)
    space.adapters = {"notes": newer}
    assert (space.sweep().ingested, space.sweep().ingested) == (1, 0)
