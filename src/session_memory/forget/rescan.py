"""Redacting again what is stored, after the rules have become better."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from session_memory.core.rescan import RescanMark
from session_memory.core.schema import SessionEvent
from session_memory.distil.sessions import analyze
from session_memory.redact import Redactor
from session_memory.store.port import SessionQuery, Store

NOTED_EVERY = 50
"""Sessions between two notes of how far a rescan has come: each costs a write to disk."""

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
    remaining: int = 0
    """Sessions that are left to the next one."""
    names: tuple[str, ...] = ()
    """Projects and sessions whose path or id holds something: those are never rewritten."""

    @property
    def has_matches(self) -> bool:
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
    report.names = tuple(_names(store, redactor))
    redactor.take_counts()
    return report


def _names(store: Store, redactor: Redactor) -> Iterator[str]:
    """Projects and sessions, by number, whose path, name or native id would be redacted.

    They stay: a sweep knows a project by its path and a session by its id, and would bring back
    what was changed.
    """
    for project in store.projects():
        text = "\n".join(filter(None, (project.key, project.root, project.remote)))
        if redactor.redact_text(text) is not text:
            yield f"project {project.id}"
    for session in store.sessions(SessionQuery()):
        if redactor.redact_text(session.external_id) is not session.external_id:
            yield f"session {session.id}"


class RescanPart(msgspec.Struct, frozen=True):
    """How much of a rescan is done now; the rest is left to the next one."""

    rules: str = ""
    """The version of the rules; '' looks at every session and notes nothing."""
    seconds: float | None = None
    """Stop after a session that ends later than this; None: never."""
    start_over: bool = False
    """Look again at what was done already."""


def rescan(
    store: Store,
    redactor: Redactor,
    progress: Progress = _silent,
    part: RescanPart = RescanPart(),  # noqa: B008 - frozen
) -> RescanReport:
    """Write every event again that a rule touches; digests are made again from what is left.

    Cut off anywhere, the next one goes on behind the last session that was noted.
    """
    mark = _begin(store, part)
    sessions = [session for session in store.sessions(SessionQuery()) if session.id <= mark.last]
    waiting = sorted(session.id for session in sessions if session.id > mark.done)
    report = RescanReport(remaining=len(waiting))
    started = time.monotonic()
    for session_id in waiting:
        progress(len(sessions) - report.remaining, len(sessions), f"session {session_id}")
        changed = store.rewrite(session_id, lambda event: _clean(event, redactor))
        report.events += changed
        report.sessions += changed > 0
        report.remaining -= 1
        mark = replace(mark, done=session_id, changed=mark.changed or changed > 0)
        if part.rules and report.remaining % NOTED_EVERY == 0:
            store.mark_rescan(mark)
        if part.seconds is not None and time.monotonic() - started > part.seconds:
            break
    if part.rules:
        store.mark_rescan(mark)
    if not report.remaining:
        report.fields = len(store.replace_words(redactor.redact_json))
    report.redactions = redactor.take_counts()
    if report.events or report.fields:
        with store.writing() as writer:
            analyze(store, writer)
    if not report.remaining and (mark.changed or report.fields):
        store.erase_traces()
    return report


def finish(store: Store, rules: str) -> None:
    """Note that everything is redacted by these rules, also what was made of sessions."""
    mark = store.rescan_mark()
    if mark is not None and mark.rules == rules:
        store.mark_rescan(replace(mark, changed=False, finished=True))


def _begin(store: Store, part: RescanPart) -> RescanMark:
    """Where to go on: behind what was done by the same rules."""
    mark = store.rescan_mark() if part.rules else None
    if mark is None or mark.rules != part.rules or part.start_over:
        mark = RescanMark(rules=part.rules, done=0, last=store.last_session())
        if part.rules:
            store.mark_rescan(mark)
    return mark


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
    return replace(event, text=text, command=command, files=files, tool=tool, label=label)
