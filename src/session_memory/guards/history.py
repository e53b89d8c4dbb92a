"""Whether a command that is said to fail has worked as well: then its guard is silent. Pure.

Only a rule in the words "X fails here; use Y" is judged so: the others are orders, which hold
whatever happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from session_memory.core.loop.guards import Choice, Condition, text_hash
from session_memory.core.schema import CommandRun
from session_memory.core.typed_commands import without_pagers
from session_memory.hooks import entry


class Past(msgspec.Struct, frozen=True):
    """The commands that a session ran."""

    session: int
    at: int
    runs: tuple[CommandRun, ...]


class Worked(msgspec.Struct, frozen=True):
    """The latest time that a command worked which is said to fail."""

    session: int
    at: int


def says_it_fails(when: Condition) -> bool:
    """Whether a condition is exactly one command that fails here."""
    return when.whole


def worked_since(when: Condition, past: Iterable[Past], after: int) -> Worked | None:
    """The last time a command worked after it first failed and after the user's decision.

    Without a failure on record every success counts.
    """
    row: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(when))
    failed = list[int]()
    worked = list[Worked]()
    for session in past:
        for run in session.runs:
            at = run.at or session.at
            if run.denied or not _shows_result(row, run):
                continue
            if run.is_error:
                failed.append(at)
            else:
                worked.append(Worked(session.session, at))
    since = max(after, min(failed, default=0))
    return max((each for each in worked if each.at > since), key=lambda each: each.at, default=None)


def decided_at(choice: Choice | None, text: str) -> int:
    """When the user last turned on a guard with these words; 0: never."""
    if choice is None or choice.wish == "off" or choice.of_text != text_hash(text):
        return 0
    return choice.at


def _shows_result(when: dict[str, Any], run: CommandRun) -> bool:
    """Whether how a line ended says how this command in it ended.

    It does where nothing but `&&` follows. What a pager shows of a check was judged by its words.
    """
    line = without_pagers(run.command) if run.is_check else run.command
    pieces = entry.shell_pieces(line) or []
    for at, (_, typed, _) in enumerate(pieces):
        words = entry.unwrapped(typed)
        if not words or typed[0] in entry.KEYWORDS or not entry.is_call(when, words):
            continue
        rest = pieces[at + 1 :]
        return all(j == "&&" or (not typed and j in ("\n", ";")) for j, typed, _ in rest)
    return False
