"""The kinds of work that change a store, each with where it starts and how it is finished."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec
from tests.invariants.sessions import write_flavors
from tests.invariants.sizes import IS_LARGE

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.forget.rescan import rescan
from session_memory.ingest import capture
from session_memory.redact.engine import Redactor
from session_memory.store import open_store
from session_memory.store.port import SessionQuery
from session_memory.store.sqlite import connection
from session_memory.store.unfinished import marked
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

BLOCK = 6000
SESSIONS = 6 if IS_LARGE else 1
ADDRESS = "zebrawood"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

Work = Callable[[Workspace], None]


class Flow(msgspec.Struct, frozen=True):
    """One kind of work."""

    prepare: Work
    """Writes the logs, and the template that every store starts from, if any."""
    work: Work
    """What is killed or fails; doing it again must be possible at any time."""
    finish: Work
    """What a user does afterwards."""
    gone: tuple[str, ...] = ()
    """Texts of which no trace may be left."""


def start_of(flow: Flow, space: Workspace) -> None:
    """Put the template where the store shall be."""
    template = space.root / "template"
    shutil.rmtree(space.store_directory, ignore_errors=True)
    if template.exists():
        shutil.copytree(template, space.store_directory)


def write_logs(home: Path, sessions: int = 12) -> None:
    """Samples with their fork and sub-agent, and sessions that take several commits each."""
    write_samples(home)
    for seed in range(400, 400 + sessions):
        log = ClaudeLog(seed)
        log.prompt(f"work on task {seed}")
        for step in range(12):
            log.run(
                f"make step-{step}", f"{seed} step {step}: " + "output " * 60, exit_code=step % 3
            )
        log.say("done")
        log.write(home)


def in_pieces(space: Workspace) -> None:
    """Logs of every flavour, read in blocks small enough for several commits a session."""
    write_logs(space.claude, SESSIONS)
    write_flavors(space, count=1)
    space.read_in_blocks(BLOCK)


def sweep(space: Workspace) -> None:
    space.sweep()


def in_pieces_under_cap(space: Workspace) -> None:
    in_pieces(space)
    space.set_retention(raw_soft_cap_bytes=30_000)


def as_template(space: Workspace) -> None:
    """Sweep, and let every later store begin with the result."""
    space.sweep()
    shutil.copytree(space.store_directory, space.root / "template")


def told_an_address(space: Workspace) -> None:
    in_pieces(space)
    log = ClaudeLog(480)
    log.prompt("please remember this")
    log.prompt(f"I moved to {ADDRESS}")
    log.say(f"noted: {ADDRESS}")
    fork = log.fork(481)
    fork.prompt("and now something else")
    space.write(log, fork)
    as_template(space)


def forget_session(space: Workspace) -> None:
    if ClaudeLog(480).session_id in space.sessions():
        space.forget(sessions=(ClaudeLog(480).session_id,))


def forget_text(space: Workspace) -> None:
    space.forget(text=ADDRESS)


def swept_in_pieces(space: Workspace) -> None:
    in_pieces(space)
    as_template(space)


def compact(space: Workspace) -> None:
    with space.store() as store, marked(str(space.store_directory)):
        for session in store.sessions(SessionQuery()):
            store.compact(session.id)


def told_a_token(space: Workspace) -> None:
    in_pieces(space)
    log = ClaudeLog(482)
    log.prompt(f"upload with {TOKEN} please")
    log.run(f"curl -H {TOKEN}", "ok")
    space.write(log)
    rules, capture.make_redactor = capture.make_redactor, no_rules
    try:
        as_template(space)
    finally:
        capture.make_redactor = rules


def no_rules(key: bytes, *_: object) -> Redactor:
    """What an old release made of the configuration, which knew no rule for this token."""
    return Redactor(key, ())


def redact_again(space: Workspace) -> None:
    with space.store() as store, marked(str(space.store_directory)):
        rescan(store, Redactor(store.tag_key))


def first_schema(space: Workspace) -> None:
    """A store that the first release left: its schema, and one session."""
    in_pieces(space)
    template = space.root / "template"
    newest, connection.SCHEMA_VERSION = connection.SCHEMA_VERSION, 1
    try:
        path = str(template / "store.db")
        connection.create(path)
        db = connection.connect(path)
        connection.migrate(db, space.now)
        db.close()
    finally:
        connection.SCHEMA_VERSION = newest


def migrate(space: Workspace) -> None:
    open_store(str(space.store_directory), space.now, create_missing=True).close()


def migrated_then_swept(space: Workspace) -> None:
    """The schema is that of a new store, and a sweep fills it."""
    wanted = space.with_store("schema")
    if not wanted.store_directory.exists():
        migrate(wanted)
    assert schema(space) == schema(wanted)
    space.sweep()


def schema(space: Workspace) -> list[tuple[object, ...]]:
    db = apsw.Connection(str(space.store_directory / "store.db"))
    sql = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
    pragmas = ("user_version", "auto_vacuum", "page_size", "journal_mode")
    found = [*db.execute(sql), *((name, db.pragma(name)) for name in pragmas)]
    db.close()
    return found


FLOWS = {
    "ingest": Flow(in_pieces, sweep, sweep),
    "evict": Flow(in_pieces_under_cap, sweep, sweep),
    "forget session": Flow(told_an_address, forget_session, sweep, (ADDRESS,)),
    "forget text": Flow(told_an_address, forget_text, sweep, (ADDRESS,)),
    "redact again": Flow(told_a_token, redact_again, sweep, (TOKEN,)),
    "compact": Flow(swept_in_pieces, compact, sweep),
    "migrate": Flow(first_schema, migrate, migrated_then_swept),
    "create": Flow(in_pieces, migrate, migrated_then_swept),
}
