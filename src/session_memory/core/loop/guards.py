"""Guards as values: what a rule is checked by, how loudly it speaks, and what became of its words.

The hook reads conditions as plain objects (hooks/entry.py); the field names are its protocol.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.core.loop.givings import Given

Kind = Literal["run", "push", "edit", "unread", "check"]
Mode = Literal["hint", "ask", "deny"]
Wish = Literal["hint", "ask", "deny", "off"]

SPOKE = "guard:"
"""How the names begin under which the hook records that a guard spoke, followed by its rule's id
and, for what the agent did next, `:followed` or `:overridden`."""


class Condition(msgspec.Struct, frozen=True, omit_defaults=True, rename={"with_": "with"}):
    """When a guard speaks, or which call follows what it says."""

    kind: Kind
    words: tuple[str, ...] = ()
    """run: the program and its subcommand, without options."""
    starts: tuple[str, ...] = ()
    """run: instead, the words that the call begins with, as they are."""
    whole: bool = False
    """Whether the call has no words but those of `starts`."""
    with_: tuple[str, ...] = ()
    """run: options that the call has."""
    without: tuple[str, ...] = ()
    """run: options, none of which the call has."""
    bare: bool = False
    """run: only where the program is not run by npx or the like."""
    outside: str | None = None
    """run: only outside this directory of the project."""
    branches: tuple[str, ...] = ()
    """push: the branches that are pushed to."""
    paths: tuple[str, ...] = ()
    """edit: files, folders ending in `/`, and patterns with `*` and `**`, inside the project."""


class Check(msgspec.Struct, frozen=True):
    """How a rule can be checked: when to speak, which calls do what it asks for."""

    when: Condition
    cures: tuple[Condition, ...] = ()


class Guard(msgspec.Struct, frozen=True):
    """One approved rule as the hook checks it."""

    id: str
    mode: Mode
    text: str
    """The one line that is said."""
    when: Condition
    cures: tuple[Condition, ...] = ()
    trial: bool = False
    """Whether only the sessions of one arm have it."""


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user decided on the guard of a rule."""

    rule: str
    wish: Wish
    at: int
    of_text: str
    """Hash of the rule's words at that time: a harder mode is not meant for other words."""
    check: Check | None = None
    """What the user wants to be checked, where the rule's words do not say it."""


class GuardRecord(msgspec.Struct, frozen=True):
    """The user's decisions, and since when each guard is there in which project."""

    choices: tuple[Choice, ...] = ()
    given: tuple[Given, ...] = ()


class GuardUse(msgspec.Struct, frozen=True):
    """How often the guard of a rule spoke, and what agents did next, each once a session."""

    rule: str
    spoke: int = 0
    sessions: int = 0
    followed: int = 0
    overridden: int = 0

    @property
    def annoys(self) -> bool:
        """Whether it was overridden more often than it helped, and often enough to say so."""
        return self.overridden >= ENOUGH and self.overridden > self.followed


ENOUGH = 3
"""Sessions that must have overridden a guard before it proposes to be switched off."""


def text_hash(text: str) -> str:
    """Stands for the words of a rule in a choice."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def mode_for(choice: Choice | None, text: str) -> Mode | None:
    """How the guard of a rule with these words speaks; None: not at all."""
    if choice is None:
        return "hint"
    if choice.wish == "off":
        return None
    return choice.wish if choice.of_text == text_hash(text) else "hint"
