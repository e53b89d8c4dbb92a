"""`python -m session_memory.journal.flush`: one flush by hand or by another's hook."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from session_memory.clock import now_ms
from session_memory.config import load
from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.repository import resolve_repo
from session_memory.errors import SessionMemoryError, StoreError
from session_memory.journal.compile import Report, Wish, chosen, compile_logs, told
from session_memory.journal.context import make_context, turns_of_transcript, write_context
from session_memory.journal.entry_writer import Desk, tools_of
from session_memory.journal.entry_writer import around as around_of
from session_memory.journal.flush import Around, flush
from session_memory.journal.log import FlushLog
from session_memory.journal.paths import place_of
from session_memory.journal.redaction import cleaner, make_redactor
from session_memory.journal.spawn import compile_command, spawn
from session_memory.model.open import open_model
from session_memory.paths import Paths, find_paths
from session_memory.settings import Config
from session_memory.store import open_store, store_exists
from session_memory.store.port import Store

USAGE = "Usage: python -m session_memory.journal.flush <context_file> <session_id>"


def run(arguments: list[str]) -> int:
    """Flush the named context into the journal of the project we are in; returns the exit code."""
    os.umask(0o077)
    root = project_here(os.environ)
    paths = find_paths(os.environ)
    bare = FlushLog(place_of(paths.data, root).flush_log, now_ms, lambda text: text)
    if len(arguments) < 2:
        bare.error(USAGE)
        return 1
    try:
        loaded = load(None, os.environ, None, str(Path.home()))
        store_path = loaded.config.store.path
        paths = paths.with_store(Path(store_path)) if store_path else paths
        with desk(paths, loaded.config) as found:
            around = surroundings(found, root)
            context = context_of(Path(arguments[0]), arguments[1], around)
            flush(context, arguments[1], around)
    except (OSError, SessionMemoryError) as error:
        bare.error(f"Flush failed: {type(error).__name__}", cause=error)
        return 1
    return 0


def run_compile(root: str, wish: Wish) -> int:
    """Compile the journal of a project and say what came of it; returns the exit code."""
    os.umask(0o077)
    try:
        loaded = load(None, os.environ, None, str(Path.home()))
        paths = find_paths(os.environ)
        store_path = loaded.config.store.path
        paths = paths.with_store(Path(store_path)) if store_path else paths
        with desk(paths, loaded.config) as found:
            tools = tools_of(found, found.place(root), print)
            names = chosen(tools, everything=wish.everything, file=wish.file)
            whole = wish.everything
            report = Report() if wish.dry_run else compile_logs(tools, names, whole=whole)
    except (OSError, SessionMemoryError) as error:
        print(f"Compile failed: {type(error).__name__}: {error}")
        return 1
    planned = [f"{name}: would be compiled" for name in names] or ["nothing to compile"]
    print("\n".join(planned if wish.dry_run else told(report)))
    return 1 if report.failed else 0


def context_of(path: Path, session: str, around: Around) -> Path:
    """The context to flush. A transcript is an agent's own file: it is read, never taken away."""
    if path.suffix != ".jsonl" or not path.is_file():
        return path
    with path.open(encoding="utf-8", errors="replace") as lines:
        text = make_context(turns_of_transcript(lines), around.clean)
    return write_context(around.place, session, path.stat().st_mtime_ns, text)


def project_here(environ: Mapping[str, str]) -> str:
    """The root of the repository we are in, or the directory itself."""
    here = os.path.realpath(os.getcwd())
    return resolve_repo(here, DiskTree(), environ.get("HOME")) or here


@contextmanager
def desk(paths: Paths, config: Config) -> Generator[Desk]:
    """Store and model as far as they are there; a flush needs neither."""
    store = _store(paths)
    try:
        model = None
        if store is not None:
            run_name = f"flush-{secrets.token_hex(4)}"
            model = open_model(config.model, os.environ, store.spend, now_ms, run_name)
        key = store.tag_key if store is not None else secrets.token_bytes(32)
        clean = cleaner(make_redactor(key, config.redact))
        yield Desk(paths.data, config, now_ms, store, model, clean)
    finally:
        if store is not None:
            store.close()


def surroundings(desk: Desk, root: str) -> Around:
    """What a flush by hand needs: its compile is a process of its own."""
    place = desk.place(root)
    command = compile_command(root)

    def compile_logs(_files: tuple[str, ...]) -> None:
        spawn(command or [], place)

    return around_of(desk, place, compile_logs if command else None)


def _store(paths: Paths) -> Store | None:
    if not store_exists(paths.data):
        return None
    try:
        return open_store(str(paths.data), now_ms())
    except StoreError:  # a newer or damaged store: the context itself is enough for an entry
        return None
