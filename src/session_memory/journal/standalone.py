"""`python -m session_memory.journal.flush` and `.compile`: run by hand or by another program."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from session_memory.clock import now_ms
from session_memory.core.project.directory import current_root
from session_memory.errors import SessionMemoryError, StoreError
from session_memory.journal.compile import CompileReport, compile_logs, report_lines, select_logs
from session_memory.journal.context import (
    JournalContext,
    compile_context,
    flush_context,
    open_context,
)
from session_memory.journal.excerpt import make_excerpt, turns_of_transcript, write_excerpt
from session_memory.journal.flush import FlushContext, flush
from session_memory.journal.log import FlushLog
from session_memory.journal.paths import JournalPaths, journal_paths
from session_memory.model.open import open_model
from session_memory.paths import Paths, find_paths, open_private, private_dir
from session_memory.settings.load import load
from session_memory.store import open_store, store_exists
from session_memory.store.port import Store

USAGE = "Usage: python -m session_memory.journal.flush <context_file> <session_id>"


def run(arguments: list[str]) -> int:
    """Flush the named excerpt into the journal of the current project; returns the exit code."""
    os.umask(0o077)
    root = current_root(os.environ.get("HOME"))
    data = find_paths(os.environ).data
    # The configured context may fail to open; its log is redacted, this one need not be.
    log = FlushLog(journal_paths(data, root).flush_log, now_ms, lambda text: text)
    if len(arguments) < 2:
        log.error(USAGE)
        return 1
    path, session = Path(arguments[0]), arguments[1]
    try:
        with configured_context() as context:
            flushing = spawning_flush_context(context, root)
            flush(_excerpt_of(path, session, flushing), session, flushing)
    except (OSError, SessionMemoryError) as error:
        log.error(f"Flush failed: {type(error).__name__}", cause=error)
        return 1
    return 0


def run_compile(root: str, *, everything: bool, file: str | None, dry_run: bool) -> int:
    """Compile the journal of a project and print what was done; returns the exit code."""
    os.umask(0o077)
    try:
        with configured_context() as context:
            compiling = compile_context(context, context.journal(root), print)
            names = select_logs(compiling, everything=everything, file=file)
            report = CompileReport()
            if not dry_run:
                report = compile_logs(compiling, names, whole=everything)
    except (OSError, SessionMemoryError) as error:
        print(f"Compile failed: {type(error).__name__}: {error}")
        return 1
    planned = [f"{name}: would be compiled" for name in names] or ["nothing to compile"]
    print("\n".join(planned if dry_run else report_lines(report)))
    return 1 if report.failed else 0


def _excerpt_of(path: Path, session: str, context: FlushContext) -> Path:
    """The excerpt to flush; of a transcript, which is the agent's own file, one is made."""
    if path.suffix != ".jsonl" or not path.is_file():
        return path
    with path.open(encoding="utf-8", errors="replace") as lines:
        text = make_excerpt(turns_of_transcript(lines), context.clean)
    return write_excerpt(context.journal, session, path.stat().st_mtime_ns, text)


@contextmanager
def configured_context() -> Generator[JournalContext]:
    """The configured store and model, as far as they are there; a flush needs neither."""
    config = load(None, os.environ, None, str(Path.home())).config
    paths = find_paths(os.environ)
    paths = paths.with_store(Path(config.store.path)) if config.store.path else paths
    store = _open_store(paths)
    try:
        model = None
        if store is not None:
            run_name = f"flush-{secrets.token_hex(4)}"
            model = open_model(config.model, os.environ, store.spend, now_ms, run_name)
        context = open_context(paths.data, config, now_ms, store, model)
        for text in context.warnings:
            print(f"warning: {text}", file=sys.stderr)
        yield context
    finally:
        if store is not None:
            store.close()


def spawning_flush_context(context: JournalContext, root: str) -> FlushContext:
    """What a flush needs; its compile is started as a process of its own."""
    journal = context.journal(root)
    command = [sys.executable, "-m", "session_memory.journal.compile", "--root", root]

    def spawn_compile(_files: tuple[str, ...]) -> None:
        spawn(command, journal)

    return flush_context(context, journal, spawn_compile)


def spawn(command: list[str], journal: JournalPaths) -> subprocess.Popen[bytes]:
    """Start a command detached, at the journal's root; raises OSError.

    Its output goes to compile.log, which is closed here in any case: the child has its own handle,
    and a process that flushes often must not collect open files.
    """
    private_dir(journal.root)
    private_dir(journal.work)
    with open_private(journal.compile_log, "ab") as log:
        if sys.platform == "win32":
            flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
            return subprocess.Popen(
                command,
                cwd=journal.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                creationflags=flags,
            )
        return subprocess.Popen(
            command,
            cwd=journal.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _open_store(paths: Paths) -> Store | None:
    if not store_exists(paths.data):
        return None
    try:
        return open_store(str(paths.data), now_ms())
    except StoreError:  # a newer or damaged store: the excerpt alone is enough for an entry
        return None
