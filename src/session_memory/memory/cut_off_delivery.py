"""Whether a session was cut off while committing, pushing or releasing, with unknown result.

A log that ends in a look at something says nothing about the state of the work.
"""

from __future__ import annotations

import re

import msgspec

from session_memory.core.text.masks import excerpt
from session_memory.core.typed_commands import typed_command
from session_memory.memory.known_session import KnownSession

_COMMAND_CHARS = 100
_SWITCHES = re.compile(r"\bgit (?:switch|checkout)\b")


class CutOffDelivery(msgspec.Struct, frozen=True):
    """The call without a result that a log ends in."""

    command: str
    branch: str
    """Where it was made, or ""."""
    seq: int


def cut_off_delivery(session: KnownSession) -> CutOffDelivery | None:
    """The delivery that a session was cut off in; None where there was none."""
    digest = session.digest
    last = digest.commands[-1] if digest.commands else None
    if digest.task != "work" or digest.ended != "cut off" or last is None or not last.delivers:
        return None
    command = typed_command(last.command)
    if len(command) > _COMMAND_CHARS:
        command = excerpt(command.split(" && ")[-1], _COMMAND_CHARS)
    # Work may have moved to another branch than the one it began on.
    branch = (digest.git.branch if digest.git else None) or session.branch or ""
    return CutOffDelivery(command, "" if _SWITCHES.search(last.command) else branch, last.seq)
