"""Finds what failed in a session and what cured it, from its commands and edits."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from session_memory.core.commands import normalized, steps, words
from session_memory.core.text.masks import mask
from session_memory.core.typed_commands import typed_command
from session_memory.memory.tasks import FileEdit, Ran

_REACH = 14  # how many commands after a failure may be its cure
_COMMAND_CHARS = 120
_SEARCHES = words(
    "grep rg ag find ls cat head tail sed awk test [ [[ which command type diff stat wc tree file"
    " pwd sleep kill true false jq sort uniq open pgrep lsof read nl python python3 node"
)
"""Programs whose exit status is an error if they find nothing."""


_CANCELLED = re.compile(r"sibling tool call errored|user doesn't want to proceed", re.I)
"""What a client says of a call that it cancelled: the command itself did not fail."""


class Failure(msgspec.Struct, frozen=True):
    """A command that failed, its error, and the command or edit that cured it."""

    command: str
    error: str
    event: int
    exit: int | None = None
    cure: str = ""
    cure_event: int = 0
    by_edit: bool = False


def command_name(command: str) -> str:
    """A command on one line, without directories, pagers and wrappers, to compare with others."""
    return " ".join(normalized(command).split())


def find_failures(ran: Sequence[Ran], edits: Sequence[FileEdit]) -> list[Failure]:
    """Failures worth knowing, each once, in order."""
    failures: dict[tuple[str, str], Failure] = {}
    names = [command_name(command.run.command) for command in ran]
    for number, command in enumerate(ran):
        run, error = command.run, command.error
        if not run.is_error or run.denied or not _is_informative(command, names[number]):
            continue
        sample = error.sample if error is not None else ""
        key = (typed_command(run.command), mask(sample))
        if key in failures and (failures[key].cure or failures[key].by_edit):
            continue
        event = command.result or command.event
        failure = Failure(typed_command(run.command), sample, event, run.exit)
        failures[key] = _with_cure(failure, number, ran, names, edits)
    return list(failures.values())


def _is_informative(command: Ran, name: str) -> bool:
    """Whether a failure has an error message, and is not just a search that found nothing."""
    if not 0 < len(name) <= _COMMAND_CHARS or "\n" in command.run.command.strip():
        return False
    if command.error is None or _CANCELLED.search(command.error.sample):
        return False
    searches = any(step.program in _SEARCHES for step in steps(command.run.command))
    return command.run.verifies or not searches


def _with_cure(
    failure: Failure,
    number: int,
    ran: Sequence[Ran],
    names: Sequence[str],
    edits: Sequence[FileEdit],
) -> Failure:
    """The failure of command `number` with its cure, if one of the next commands shows one."""
    failed = ran[number]
    for later in range(number + 1, min(len(ran), number + 1 + _REACH)):
        other = ran[later]
        if other.run.denied or other.run.is_error:
            continue
        if names[later] == names[number]:
            if later == number + 1 and typed_command(other.run.command) != failure.command:
                return _cured_by(failure, other)
            between = [edit for edit in edits if failed.position < edit.position < other.position]
            if between:
                files = " and ".join(list(dict.fromkeys(edit.path for edit in between))[-2:])
                return msgspec.structs.replace(
                    failure, cure=files, cure_event=between[-1].event, by_edit=True
                )
            remedy = _last_effective(ran, names, number, later)
            return _cured_by(failure, ran[remedy]) if remedy is not None else failure
        if later == number + 1 and _is_variant(names[number], names[later]):
            return _cured_by(failure, other)
    return failure


def _cured_by(failure: Failure, command: Ran) -> Failure:
    cure = typed_command(command.run.command)
    return msgspec.structs.replace(failure, cure=cure, cure_event=command.event)


def _last_effective(ran: Sequence[Ran], names: Sequence[str], first: int, last: int) -> int | None:
    """The last command between two that may have changed something."""
    for number in range(last - 1, first, -1):
        run = ran[number].run
        searches = all(step.program in _SEARCHES for step in steps(run.command))
        if run.is_error or run.verifies or searches or not names[number]:
            continue
        return number if len(names[number]) <= _COMMAND_CHARS else None
    return None


def _is_variant(failed: str, other: str) -> bool:
    """Whether a command varies the failed one: `python x.py`, then `python3 x.py`."""
    if not other or len(other) > _COMMAND_CHARS:
        return False
    failed_words, other_words = set(failed.split()), set(other.split())
    common = len(failed_words & other_words)
    return common * 2 > max(len(failed_words), len(other_words))
