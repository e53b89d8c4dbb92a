"""What the journal's features share: settings, store and model, and what is made of them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

import msgspec

from session_memory.clock import Clock
from session_memory.core.schema import Session
from session_memory.journal.compile import CompileContext
from session_memory.journal.excerpt import Clean, turns_in
from session_memory.journal.files import Warn
from session_memory.journal.flush import Compile, FlushContext
from session_memory.journal.flush_records import flushed_until, read_flush_records
from session_memory.journal.model_call import JournalModel
from session_memory.journal.model_entry import RetryPolicy, WriteEntry, model_writer
from session_memory.journal.paths import JournalPaths, journal_paths, model_lock
from session_memory.journal.rule_entry import SessionFacts, entry_text, facts_from_turns
from session_memory.model.port import Model
from session_memory.redact import Redactor, drop_private, make_redactor, render
from session_memory.settings import Config
from session_memory.store.port import ObservationQuery, SessionReader, Store

OpenModel = Callable[[Store], Model | None]
"""Opens the enabled model with the store's ledger; None if no model is enabled."""


class JournalContext(msgspec.Struct, frozen=True):
    """What the journals of one store share. Make one with `open_context`."""

    data: Path
    config: Config
    clock: Clock
    store: Store | None
    model: Model | None
    clean: Clean
    """Built once, since the redaction rules take a while to compile."""
    warnings: tuple[str, ...] = ()
    """Redaction rules of the user's own that cannot be used."""

    def journal(self, project_root: str) -> JournalPaths:
        """The journal of a project."""
        return journal_paths(self.data, project_root, self.config.journal.vault)


def open_context(
    data: Path,
    config: Config,
    clock: Clock,
    store: Store | None = None,
    model: Model | None = None,
) -> JournalContext:
    """The context with the store's redaction rules; without a store, tags are never compared."""
    key = store.tag_key if store is not None else secrets.token_bytes(32)
    warnings: list[str] = []
    redactor = make_redactor(key, config.redact, warnings.append)
    return JournalContext(data, config, clock, store, model, cleaner(redactor), tuple(warnings))


def cleaner(redactor: Redactor) -> Clean:
    """Removes private parts and secrets; placeholders show no tags, since people read them."""
    return lambda text: render(redactor.redact_text(drop_private(text)[0]))


def flush_context(
    context: JournalContext, journal: JournalPaths, compile_with: Compile | None
) -> FlushContext:
    """What a flush of this journal needs."""
    settings = context.config.journal
    return FlushContext(
        journal=journal,
        clock=context.clock,
        write=_entry_writer(context, journal),
        clean=context.clean,
        compile=compile_with,
        read_until=lambda session: session_facts(context.store, session).last_at,
        ended_at=lambda session: _ended_at(context.store, session),
        retries=RetryPolicy(settings.attempts, float(settings.retry_seconds)),
        interval_min=settings.compile_interval_minutes,
        environ=os.environ,
    )


def compile_context(
    context: JournalContext,
    journal: JournalPaths,
    warn: Warn,
    heartbeat: Callable[[], object] = lambda: None,
) -> CompileContext:
    """What a compile, a query or a lint of this journal needs."""
    model = None
    if context.model is not None:
        seconds = float(context.config.journal.compile_timeout_seconds)
        model = JournalModel(context.model, model_lock(context.data), seconds, heartbeat)
    return CompileContext(journal, context.clock, context.clean, model, warn)


def _entry_writer(context: JournalContext, journal: JournalPaths) -> WriteEntry:
    """The enabled model, or rules over what the store knows of the session."""
    if context.model is not None:
        seconds = float(context.config.model.timeout_seconds)
        return model_writer(context.model, model_lock(context.data), seconds, journal.root)

    def write(excerpt: str, session: str) -> str:
        facts = session_facts(context.store, session)
        if facts == SessionFacts():
            return entry_text(facts_from_turns(session, turns_in(excerpt)))
        records = read_flush_records(journal, context.clock(), lambda _text: None)
        return entry_text(facts, flushed_until(records, session))

    return write


def session_facts(store: Store | None, session_id: str) -> SessionFacts:
    """The digest and observations of a session; empty if no store has it."""
    session = store.own_session(session_id) if store is not None else None
    if store is None or session is None:
        return SessionFacts()
    observations = store.observations(ObservationQuery(session=session.id))
    return SessionFacts(tuple(observations), store.digest(session.id))


def _ended_at(store: Store | None, session_id: str) -> int | None:
    session = store.own_session(session_id) if store is not None else None
    return session.ended_at if session else None


def project_root(store: SessionReader, session: Session) -> str:
    """The directory whose journal a session belongs to; "" if it has none."""
    roots = {project.id: project.root for project in store.projects()}
    return roots.get(session.project_id or 0) or session.cwd or ""
