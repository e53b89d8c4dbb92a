"""Splits a session into tasks: each request of the user, and what was done for it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from session_memory.core.digest import proven_outcome
from session_memory.core.schema import (
    CommandRun,
    Cure,
    Digest,
    ErrorSeen,
    Observation,
    Outcome,
    SessionEvent,
)
from session_memory.distil.checks import check_of
from session_memory.distil.prompts import read_prompt


class TraceSource(msgspec.Struct, frozen=True):
    """Everything a trace without a model is made of; events come without their texts."""

    digest: Digest
    observations: tuple[Observation, ...]
    events: tuple[SessionEvent, ...]
    roots: tuple[str, ...] = ()
    """Directories of the project; paths are shown relative to them."""
    title: str | None = None


class Ran(msgspec.Struct, frozen=True):
    """A command, its position in the session and the error it printed."""

    run: CommandRun
    position: int
    event: int
    error: ErrorSeen | None = None
    result: int = 0
    """The event with its output; 0 if there is none."""


class FileEdit(msgspec.Struct, frozen=True):
    """A change of a file, and its position in the session."""

    path: str
    position: int
    event: int


Positioned = TypeVar("Positioned", Ran, FileEdit)


class SessionTask(msgspec.Struct, frozen=True):
    """One request and what followed it, up to the next request."""

    request: Observation | None
    observations: tuple[Observation, ...]
    """What was observed, except for the request."""
    ran: tuple[Ran, ...]
    edits: tuple[FileEdit, ...]
    next_request: str = ""
    """What the user said next."""
    cures: tuple[Cure, ...] = ()
    """What failed in it and was put right."""

    @property
    def weight(self) -> int:
        """How much happened; a long session leaves out its lightest tasks."""
        failed = sum(ran.run.is_error for ran in self.ran)
        checked = sum(ran.run.is_check for ran in self.ran)
        return 3 * len(self.edits) + 2 * failed + 2 * checked + len(self.observations)


def split_tasks(source: TraceSource) -> tuple[SessionTask, ...]:
    """The tasks of a session, in order."""
    requests = [
        observation
        for observation in source.observations
        if observation.type == "user_request" and observation.event
        if observation.status in ("active", "done")
    ]
    others = [each for each in source.observations if each.type != "user_request"]
    if not source.events:  # without the raw text it is unknown what belongs to which request
        ran = tuple(Ran(run, 0, 0) for run in source.digest.commands)
        first = requests[0] if requests else None
        return (SessionTask(first, tuple(others), ran, (), cures=source.digest.cures),)
    positions = {event.id: position for position, event in enumerate(source.events)}
    starts = [positions.get(request.event or 0, 0) for request in requests]
    ran_by_task = _group(_commands_ran(source), starts)
    edits_by_task = _group(_file_edits(source.events), starts)
    others_by_task: dict[int, list[Observation]] = {}
    for observation in others:
        number = _task_at(starts, positions.get(observation.event or 0, 0))
        others_by_task.setdefault(number, []).append(observation)
    place_of_seq = {event.seq: position for position, event in enumerate(source.events)}
    cures_by_task: dict[int, list[Cure]] = {}
    for cure in source.digest.cures:
        number = _task_at(starts, place_of_seq.get(cure.error_seq, 0))
        cures_by_task.setdefault(number, []).append(cure)
    return tuple(
        SessionTask(
            requests[number] if requests else None,
            tuple(others_by_task.get(number, ())),
            tuple(ran_by_task.get(number, ())),
            tuple(edits_by_task.get(number, ())),
            requests[number + 1].text if number + 1 < len(requests) else "",
            tuple(cures_by_task.get(number, ())),
        )
        for number in range(max(len(requests), 1))
    )


def _task_at(starts: Sequence[int], position: int) -> int:
    """The task at a position; what came before the first request belongs to the first task."""
    return max(bisect_right(starts, position) - 1, 0)


def _group(items: Iterable[Positioned], starts: Sequence[int]) -> dict[int, list[Positioned]]:
    by_task: dict[int, list[Positioned]] = {}
    for item in items:
        by_task.setdefault(_task_at(starts, item.position), []).append(item)
    return by_task


def _commands_ran(source: TraceSource) -> list[Ran]:
    """The commands of the digest, each with its position, result and error."""
    by_seq = {event.seq: (position, event.id) for position, event in enumerate(source.events)}
    error_at = {
        by_seq[error.seq][0]: error for error in source.digest.errors if error.seq in by_seq
    }
    result_of_call = {
        event.call_id: position
        for position, event in enumerate(source.events)
        if event.kind == "tool_result" and event.call_id is not None
    }
    error_of_command: dict[str, ErrorSeen] = {}
    commands: list[Ran] = []
    for run in source.digest.commands:
        if run.seq not in by_seq:
            continue
        position, event = by_seq[run.seq]
        answered = result_of_call.get(source.events[position].call_id or "", -1)
        result = source.events[answered].id if answered >= 0 else 0
        error = None
        if run.is_error:
            # The digest has only the first place of an error: later failures are taken as equal.
            error = error_at.get(answered) or error_of_command.get(run.command)
            if error is not None:
                error_of_command[run.command] = error
        commands.append(Ran(run, position, event, error, result))
    return commands


def _file_edits(events: Sequence[SessionEvent]) -> list[FileEdit]:
    failed = {
        event.call_id
        for event in events
        if event.kind == "tool_result" and event.is_error and event.call_id
    }
    return [
        FileEdit(path, position, event.id)
        for position, event in enumerate(events)
        if event.kind == "tool_call" and event.tool_class == "edit" and not event.inherited
        if event.call_id not in failed
        for path in event.files
    ]


class TaskOutcome(msgspec.Struct, frozen=True):
    """How a task ended, on what grounds, and the event that shows it (0 if none does)."""

    outcome: Outcome
    grounds: str
    event: int = 0


def outcome_of(task: SessionTask, source: TraceSource, *, alone: bool) -> TaskOutcome:
    """The outcome of a task.

    The only task of a session has the outcome of its digest. One of several is judged by what the
    user said next and by its own last checks; without either it is uncertain.
    """
    digest = source.digest
    checks = [ran for ran in task.ran if ran.run.is_check and not ran.run.denied]
    last_check = checks[-1].event if checks else 0
    if alone:
        grounds = "; ".join(digest.grounds[:2]) or "nothing verified it"
        return TaskOutcome(proven_outcome(digest), grounds, last_check)
    reply = read_prompt(task.next_request) if task.next_request else None
    if reply is not None and reply.rejects:
        return TaskOutcome("fail", "the user rejected it with the next words")
    if not checks:
        if reply is not None and reply.approval:
            return TaskOutcome("success", "the user approved it with the next words")
        return TaskOutcome("uncertain", "not verified")
    last_edit = max((edit.position for edit in task.edits), default=-1)
    after_edits = [ran for ran in checks if ran.position > last_edit]
    if not after_edits:
        return TaskOutcome("partial", "changed after the last verification", last_check)
    last_of_kind = {kind: ran for ran in after_edits for kind in _check_kinds(ran.run)}
    failing = [ran for ran in last_of_kind.values() if ran.run.is_error]
    if failing:
        return TaskOutcome("partial", "a verification still fails", failing[-1].event)
    grounds = "verified after the last change" if task.edits else "a verification passed"
    return TaskOutcome("success", grounds, after_edits[-1].event)


def _check_kinds(run: CommandRun) -> tuple[str, ...]:
    """What a command checks: a linter that passes says nothing about the tests."""
    check = check_of(run.command)
    return tuple(check.kinds) if check is not None else ("other",)
