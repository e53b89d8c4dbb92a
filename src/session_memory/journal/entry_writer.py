"""Who writes an entry: the model that is turned on, or else what the store knows of the session."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from session_memory.clock import Clock
from session_memory.core.schema import Session
from session_memory.journal.compile import Tools
from session_memory.journal.context import turns_in
from session_memory.journal.files import Warn
from session_memory.journal.flush import Around, Compile
from session_memory.journal.model_call import Asker
from session_memory.journal.model_entry import Patience, Write, model_writer
from session_memory.journal.paths import Place, model_lock, place_of
from session_memory.journal.recent_flushes import covered_until, read_recent
from session_memory.journal.redaction import Clean
from session_memory.journal.rule_entry import Known, entry_text, known_from_turns
from session_memory.model.port import Model
from session_memory.settings import Config
from session_memory.store.port import ObservationQuery, Store


class Desk(msgspec.Struct, frozen=True):
    """What every flush of one store shares."""

    data: Path
    config: Config
    clock: Clock
    store: Store | None
    model: Model | None
    clean: Clean
    """Takes secrets out; made once, as the rules take a while to compile."""

    def place(self, project_root: str) -> Place:
        """The journal of a project."""
        return place_of(self.data, project_root, self.config.journal.vault)


def around(desk: Desk, place: Place, compile_with: Compile | None) -> Around:
    """Everything a flush of this place needs, from the configuration."""
    settings = desk.config.journal
    return Around(
        place=place,
        clock=desk.clock,
        write=_writer(desk, place),
        clean=desk.clean,
        compile=compile_with,
        upto=lambda session: known_of(desk.store, session).upto,
        spoken=lambda session: _last_spoken(desk.store, session),
        patience=Patience(settings.attempts, float(settings.retry_seconds)),
        interval_min=settings.compile_interval_minutes,
        environ=os.environ,
    )


def tools_of(
    desk: Desk, place: Place, warn: Warn, alive: Callable[[], object] = lambda: None
) -> Tools:
    """Everything a compile, a question or a lint of this place needs."""
    seconds = float(desk.config.journal.compile_timeout_seconds)
    asker = Asker(desk.model, model_lock(desk.data), seconds, alive) if desk.model else None
    return Tools(place, desk.clock, desk.clean, asker, warn)


def _writer(desk: Desk, place: Place) -> Write:
    if desk.model is not None:
        seconds = float(desk.config.model.timeout_seconds)
        return model_writer(desk.model, model_lock(desk.data), seconds, place.root)

    def write(context: str, session: str) -> str:
        known = known_of(desk.store, session)
        if known == Known():
            return entry_text(known_from_turns(session, turns_in(context)))
        recent = read_recent(place, desk.clock(), lambda _text: None)
        return entry_text(known, covered_until(recent, session))

    return write


def known_of(store: Store | None, session: str) -> Known:
    """What was distilled and observed of a session; nothing where no store knows it."""
    found = session_named(store, session) if store is not None else None
    if store is None or found is None:
        return Known()
    observations = store.observations(ObservationQuery(session=found.id))
    return Known(tuple(observations), store.digest(found.id))


def _last_spoken(store: Store | None, session: str) -> int | None:
    found = session_named(store, session) if store is not None else None
    return found.ended_at if found else None


def session_named(store: Store, name: str, flavor: str | None = None) -> Session | None:
    """The session an agent calls so; never one that only begins so."""
    return store.own_session(name, flavor)


def project_root(store: Store, session: Session) -> str:
    """The directory whose journal a session belongs to; "" for one that was nowhere."""
    roots = {project.id: project.root for project in store.projects()}
    return roots.get(session.project_id or 0) or session.cwd or ""


Opening = Callable[[Store], Model | None]
"""The model that is turned on, with the store's ledger; None where none is."""
