"""Redacting again what is stored, after the rules have become better."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from session_memory.core.schema import SessionEvent
from session_memory.distil.sessions import analyze
from session_memory.redact import Redactor
from session_memory.store.port import SessionQuery, Store

Progress = Callable[[int, int, str], None]
"""Sessions done, sessions in all, the present one."""


def _silent(_done: int, _total: int, _name: str) -> None:
    pass


class RescanReport(msgspec.Struct):
    """How many stored events and documents hold what the rules of today would redact."""

    sessions: int = 0
    """Sessions with such events."""
    events: int = 0
    fields: int = 0
    """Sessions whose digest, facts or observations hold something."""
    features: tuple[str, ...] = ()
    """What else holds something: memories, journals and so on."""
    looked_at: tuple[str, ...] = ()
    redactions: dict[str, int] = {}
    """By rule: counts, never values."""

    @property
    def found(self) -> bool:
        """Whether anything holds what would be redacted."""
        return bool(self.events or self.fields or self.features)


def scan(store: Store, redactor: Redactor, progress: Progress = _silent) -> RescanReport:
    """Count, and change nothing."""
    report = RescanReport()
    sessions = store.sessions(SessionQuery())
    for number, session in enumerate(sessions):
        progress(number, len(sessions), session.external_id)
        changed = sum(
            _clean(event, redactor) is not event for event in store.all_events(session.id)
        )
        report.events += changed
        report.sessions += changed > 0
    report.fields = len(store.holding_words(redactor.redact_json))
    report.redactions = redactor.take_counts()
    return report


def rescan(store: Store, redactor: Redactor, progress: Progress = _silent) -> RescanReport:
    """Write every event again that a rule touches; digests are made again from what is left."""
    report = RescanReport()
    sessions = store.sessions(SessionQuery())
    for number, session in enumerate(sessions):
        progress(number, len(sessions), session.external_id)
        changed = store.rewrite(session.id, lambda event: _clean(event, redactor))
        report.events += changed
        report.sessions += changed > 0
    report.fields = len(store.replace_words(redactor.redact_json))
    report.redactions = redactor.take_counts()
    if report.events or report.fields:
        with store.writing() as writer:
            analyze(store, writer)
        store.erase_traces()
    return report


def _clean(event: SessionEvent, redactor: Redactor) -> SessionEvent:
    body = (event.text or "").encode("utf-8", "replace")
    clean = redactor.redact_json(body) if event.kind == "tool_call" else redactor.redact(body)
    command = redactor.redact_text(event.command) if event.command else event.command
    files = tuple(redactor.redact_text(file) for file in event.files)
    tool = redactor.redact_text(event.tool) if event.tool else event.tool
    label = redactor.redact_text(event.label) if event.label else event.label
    fields = (command, files, tool, label)
    if clean is body and fields == (event.command, event.files, event.tool, event.label):
        return event
    text = clean.decode("utf-8", "replace")
    return msgspec.structs.replace(
        event, text=text, command=command, files=files, tool=tool, label=label
    )
