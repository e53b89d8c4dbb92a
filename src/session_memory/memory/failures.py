"""What went wrong in a session and what cured it, out of its commands and edits."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from session_memory.core.commands import normalized, steps, words
from session_memory.core.text.masks import mask
from session_memory.memory.tasks import Edited, Ran
from session_memory.memory.wording import short_path

_REACH = 14  # commands after a failure in which a cure is looked for; more is another story
_COMMAND_CHARS = 120
_LOOKS = words(
    "grep rg ag find ls cat head tail sed awk test [ [[ which command type diff stat wc tree file"
    " pwd sleep kill true false jq sort uniq open pgrep lsof read nl python python3 node"
)
"""Programs that end with an error because they found nothing."""


_OF_THE_HARNESS = re.compile(r"sibling tool call errored|user doesn't want to proceed", re.I)
"""What a client says of a call that it never finished: no command failed."""


class Failure(msgspec.Struct, frozen=True):
    """A command that failed, its error, and what was there when it worked."""

    command: str
    error: str
    event: int
    exit: int | None = None
    cure: str = ""
    cure_event: int = 0
    by_edit: bool = False


def name_of(command: str) -> str:
    """A command as one would type it again: one line, without directories, pagers and wrappers."""
    return " ".join(normalized(command).split())


_SETUP = re.compile(r"^(?:cd\s+(?:'[^']*'|\"[^\"]*\"|\S+)\s*(?:&&|;)\s*)+")
_PAGED = re.compile(
    r"\s*(?:2>&1|2>/dev/null|\|\s*(?:tail|head|grep|egrep|rg|less|cat|wc|sort)\b"
    r"(?:'[^']*'|\"[^\"]*\"|[^|;&'\"])*)(?=\s*$|\s*\|)"
)


_GOES_TO = re.compile(r"""^cd\s+(?:'([^'\n]+)'|"([^"\n]+)"|([^\s;&|'"]+))\s*(?:&&|;)""")
_DRIVE = re.compile(r"^/([A-Za-z])/")


def place_of(command: str, roots: Sequence[str]) -> str:
    """The directory inside the project that a command goes to first, if it does."""
    match = _GOES_TO.match(command.strip())
    if match is None:
        return ""
    path = next(filter(None, match.groups())).rstrip("/").removeprefix("./")
    for spelled in (path, _DRIVE.sub(r"\1:/", path)):  # a drive as Git's shell on Windows has it
        short = short_path(spelled, roots)
        if re.fullmatch(r"[\w.@+-]+(?:/[\w.@+-]+)*", short) and ".." not in short.split("/"):
            return "" if short == "." else short
    return ""


def typed(command: str) -> str:
    """A command as it was typed, without the way to its directory and the pager behind it."""
    shown = _SETUP.sub("", " ".join(command.split()))
    while (shorter := _PAGED.sub("", shown)) != shown:
        shown = shorter
    return shown.strip()


def failures_in(ran: Sequence[Ran], edited: Sequence[Edited]) -> list[Failure]:
    """Failures worth knowing, each once, in order."""
    found: dict[tuple[str, str], Failure] = {}
    names = [name_of(one.run.command) for one in ran]
    for at, one in enumerate(ran):
        if not one.run.is_error or one.run.denied or not _tells(one, names[at]):
            continue
        error = one.error.sample if one.error is not None else ""
        key = (typed(one.run.command), mask(error))
        if key in found and (found[key].cure or found[key].by_edit):
            continue
        failure = Failure(typed(one.run.command), error, one.result or one.event, one.run.exit)
        found[key] = _cured(failure, at, (ran, names), edited)
    return list(found.values())


def _tells(one: Ran, name: str) -> bool:
    """Whether a failure says something: it has words, or it is a check; a look in vain has not."""
    if not 0 < len(name) <= _COMMAND_CHARS or "\n" in one.run.command.strip():
        return False
    looks = any(step.program in _LOOKS for step in steps(one.run.command))
    if one.error is not None and _OF_THE_HARNESS.search(one.error.sample):
        return False
    return one.error is not None and (one.run.verifies or not looks)


def _cured(
    failure: Failure, at: int, runs: tuple[Sequence[Ran], list[str]], edited: Sequence[Edited]
) -> Failure:
    ran, names = runs
    failed = ran[at]
    for later in range(at + 1, min(len(ran), at + 1 + _REACH)):
        other = ran[later]
        if other.run.denied or other.run.is_error:
            continue
        if names[later] == names[at]:
            other_way = typed(other.run.command)
            if later == at + 1 and other_way != failure.command:
                return msgspec.structs.replace(failure, cure=other_way, cure_event=other.event)
            between = [edit for edit in edited if failed.pos < edit.pos < other.pos]
            if between:
                files = " and ".join(list(dict.fromkeys(edit.path for edit in between))[-2:])
                return msgspec.structs.replace(
                    failure, cure=files, cure_event=between[-1].event, by_edit=True
                )
            remedy = _remedy(ran, names, at, later)
            if remedy is not None:
                cure = typed(ran[remedy].run.command)
                return msgspec.structs.replace(failure, cure=cure, cure_event=ran[remedy].event)
            return failure
        if later == at + 1 and _said_otherwise(names[at], names[later]):
            cure = typed(other.run.command)
            return msgspec.structs.replace(failure, cure=cure, cure_event=other.event)
    return failure


def _remedy(ran: Sequence[Ran], names: list[str], at: int, later: int) -> int | None:
    """The last command between a failure and the next try that did something."""
    for between in range(later - 1, at, -1):
        one = ran[between]
        looks = all(step.program in _LOOKS for step in steps(one.run.command))
        if one.run.is_error or one.run.verifies or looks or not names[between]:
            continue
        return between if len(names[between]) <= _COMMAND_CHARS else None
    return None


def _said_otherwise(failed: str, other: str) -> bool:
    """Whether a command is the failed one said differently: `python x.py`, then `python3 x.py`."""
    if not other or len(other) > _COMMAND_CHARS:
        return False
    one, two = set(failed.split()), set(other.split())
    return len(one & two) * 2 > max(len(one), len(two))
