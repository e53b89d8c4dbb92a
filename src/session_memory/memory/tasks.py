"""A session split into the tasks it worked on: who asked what, and which events belong to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from session_memory.core.schema import (
    CommandRun,
    Digest,
    ErrorSeen,
    Observation,
    Outcome,
    SessionEvent,
)
from session_memory.distil.checks import check_of
from session_memory.distil.prompts import read_prompt


class Source(msgspec.Struct, frozen=True):
    """Everything a trace without a model is made of; events come without their texts."""

    digest: Digest
    observations: tuple[Observation, ...]
    events: tuple[SessionEvent, ...]
    roots: tuple[str, ...] = ()
    """Directories of the project: paths are shown relative to them."""
    title: str | None = None
    session_id: int = 0


class Ran(msgspec.Struct, frozen=True):
    """A command with its place in the session and the error it told of."""

    run: CommandRun
    pos: int
    event: int
    error: ErrorSeen | None = None
    result: int = 0
    """The event that holds its output; 0 where it has none."""


class Edited(msgspec.Struct, frozen=True):
    """A file that was changed, and where."""

    path: str
    pos: int
    event: int


Placed = TypeVar("Placed", Ran, Edited)


class Part(msgspec.Struct, frozen=True):
    """One request and what followed it, up to the next."""

    asked: Observation | None
    said: tuple[Observation, ...]
    """What was observed since, the request left out."""
    ran: tuple[Ran, ...]
    edited: tuple[Edited, ...]
    next_words: str = ""
    """What the user said after it."""

    @property
    def weight(self) -> int:
        """How much happened: what is left out of a long session is what weighs least."""
        failed = sum(ran.run.is_error for ran in self.ran)
        checked = sum(ran.run.verifies for ran in self.ran)
        return 3 * len(self.edited) + 2 * failed + 2 * checked + len(self.said)


def parts_of(source: Source) -> tuple[Part, ...]:
    """The session's requests, each with what was done for it, in order."""
    place = {event.id: pos for pos, event in enumerate(source.events)}
    asked = [one for one in source.observations if one.type == "user_request" and one.event]
    asked = [one for one in asked if one.status == "active"]
    if not source.events:  # the raw text has gone: nothing says any more what belongs where
        rest = [one for one in source.observations if one.type != "user_request"]
        ran = tuple(Ran(run, 0, 0) for run in source.digest.commands)
        first = asked[0] if asked else None
        return (Part(first, tuple(rest), ran, ()),)
    starts = [place.get(one.event or 0, 0) for one in asked]
    ran_at = _spread(_ran(source), starts)
    edits_at = _spread(_edited(source.events), starts)
    said = [one for one in source.observations if one.type != "user_request"]
    said_at: dict[int, list[Observation]] = {}
    for one in said:
        number = bisect_right(starts, place.get(one.event or 0, 0)) - 1
        said_at.setdefault(max(number, 0), []).append(one)
    count = max(len(asked), 1)
    return tuple(
        Part(
            asked[at] if asked else None,
            tuple(said_at.get(at, ())),
            tuple(ran_at.get(at, ())),
            tuple(edits_at.get(at, ())),
            asked[at + 1].text if at + 1 < len(asked) else "",
        )
        for at in range(count)
    )


def _spread(found: Iterable[Placed], starts: Sequence[int]) -> dict[int, list[Placed]]:
    """Things by the request they follow; what came before the first belongs to it too."""
    by_part: dict[int, list[Placed]] = {}
    for one in found:
        number = max(bisect_right(starts, one.pos) - 1, 0)
        by_part.setdefault(number, []).append(one)
    return by_part


def _ran(source: Source) -> list[Ran]:
    by_seq = {event.seq: (pos, event.id) for pos, event in enumerate(source.events)}
    runs = [Ran(run, *by_seq[run.seq]) for run in source.digest.commands if run.seq in by_seq]
    errors = sorted(
        ((by_seq[seen.seq][0], seen) for seen in source.digest.errors if seen.seq in by_seq),
        key=lambda found: found[0],
    )
    results = {
        event.call_id: pos
        for pos, event in enumerate(source.events)
        if event.kind == "tool_result" and event.call_id is not None
    }
    told = dict(errors)
    known: dict[str, ErrorSeen] = {}
    joined: list[Ran] = []
    for ran in runs:
        error = None
        answered = results.get(source.events[ran.pos].call_id or "", -1)
        result = source.events[answered].id if answered >= 0 else 0
        if ran.run.is_error:
            # An error is kept with its first place only: a command that fails again fails alike.
            error = told.get(answered) or known.get(ran.run.command)
            if error is not None:
                known[ran.run.command] = error
        joined.append(msgspec.structs.replace(ran, error=error, result=result))
    return joined


def _edited(events: Sequence[SessionEvent]) -> list[Edited]:
    failed = {
        event.call_id
        for event in events
        if event.kind == "tool_result" and event.is_error and event.call_id
    }
    return [
        Edited(path, pos, event.id)
        for pos, event in enumerate(events)
        if event.kind == "tool_call" and event.tool_class == "edit" and not event.inherited
        if event.call_id not in failed
        for path in event.files
    ]


def outcome_of(part: Part, source: Source, *, alone: bool) -> tuple[Outcome, str, int]:
    """How a task ended, on what grounds, and the event that shows it (0: none does).

    A session with one task has the digest's verdict. Of several each is judged by what the user
    said next and by its own last checks; without either nobody knows.
    """
    digest = source.digest
    checks = [ran for ran in part.ran if ran.run.verifies and not ran.run.denied]
    shown = checks[-1].event if checks else 0
    if alone:
        grounds = "; ".join(digest.grounds[:2]) or "nothing verified it"
        return digest.outcome, grounds, shown
    words = read_prompt(part.next_words) if part.next_words else None
    if words is not None and words.rejects:
        return "fail", "the user rejected it with the next words", 0
    if not checks:
        if words is not None and words.approval:
            return "success", "the user approved it with the next words", 0
        return "uncertain", "not verified", 0
    last_edit = max((edit.pos for edit in part.edited), default=-1)
    fresh = [ran for ran in checks if ran.pos > last_edit]
    if not fresh:
        return "partial", "changed after the last verification", shown
    last = {kind: ran for ran in fresh for kind in _kinds(ran.run)}
    failing = [ran for ran in last.values() if ran.run.is_error]
    if failing:
        return "partial", "a verification still fails", failing[-1].event
    how = "verified after the last change" if part.edited else "a verification passed"
    return "success", how, fresh[-1].event


def _kinds(run: CommandRun) -> tuple[str, ...]:
    """What a command checks: a linter that passes says nothing of the tests."""
    check = check_of(run.command)
    return tuple(check.kinds) if check is not None else ("other",)
