"""Values of detection: what a session shows once (a signal) and what recurs (a candidate)."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.core.schema import RuleStatement

PatternKind = Literal["problem", "success"]
PatternStatus = Literal["candidate", "provisional", "approved", "rejected", "retired", "superseded"]
SignalType = Literal[
    "stated_rule",
    "notice",
    "failing_command",
    "recurring_error",
    "edit_churn",
    "retry_loop",
    "user_correction",
    "denied_permission",
    "wrong_directory",
    "missing_tool",
    "long_search",
    "context_thrash",
    "expensive_stretch",
    "cure",
    "verified_recipe",
    "fast_path",
]
SUCCESSES: frozenset[SignalType] = frozenset(("cure", "verified_recipe", "fast_path"))

MINER_VERSION = 6
"""Raised when signals get better: every digest is then mined once more."""
# Values of which there are millions hold nothing that could point back at them: `gc=False` keeps
# the collector from walking them, which took a third of the time of a detection.


def kind_of(signal_type: SignalType) -> PatternKind:
    """Whether such a signal shows trouble or something that worked."""
    return "success" if signal_type in SUCCESSES else "problem"


def pattern_id(signal_type: SignalType, locus: str, about: str = "") -> str:
    """The name of a pattern: the same in every store and after every new detection."""
    kind = "success" if signal_type in SUCCESSES else "problem"
    words = f"{kind}\0{signal_type}\0{locus}\0{about}"
    return blake2b(words.encode("utf-8", "replace"), digest_size=6).hexdigest()


class Signal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One thing a session shows, with what it cost there and where it can be read."""

    pattern: str
    """See `pattern_id`."""
    type: SignalType
    locus: str
    count: int = 1
    """Occurrences; 0 for a cure that was tried and did not work."""
    usd: float | None = None
    minutes: float = 0.0
    quote: str = ""
    seq: int | None = None
    """The event it was read from, by its number in the session."""
    at: int | None = None
    about: str = ""
    """For a cure: the locus of the problem it is tried on."""
    tried: int = 0
    rule: str = ""
    """What to write down because of it, where one session is enough to word it."""
    said: RuleStatement | None = None
    """What the user said, for a stated rule."""


class Mined(msgspec.Struct, frozen=True, gc=False):
    """The signals of one session, with what identifies it."""

    session: int
    counts_as: int
    """The session a sub-agent worked for: both are one piece of evidence."""
    flavor: str
    external_id: str
    repo: str | None
    at: int | None
    signals: tuple[Signal, ...]


class Quote(msgspec.Struct, frozen=True, gc=False):
    """A piece of evidence in the session's own words."""

    session: str
    flavor: str
    event: int | None
    text: str
    at: int | None = None


class Cure(msgspec.Struct, frozen=True):
    """A command after which a problem was gone, and how often that was so."""

    pattern: str
    command: str
    worked: int
    tried: int
    """Sessions in which it was run after the problem."""
    flavors: tuple[str, ...]
    kind: Literal["command", "edit"] = "command"
    quotes: tuple[Quote, ...] = ()
    """Where it worked."""


class Candidate(msgspec.Struct, frozen=True):
    """Something that recurs: how often, where, at what cost, with its best evidence."""

    id: str
    kind: PatternKind
    type: SignalType
    locus: str
    about: str
    frequency: int
    sessions: int
    spread: dict[int, int]
    """Occurrences in a session to how many sessions had so many."""
    cross_flavor: bool
    flavors: dict[str, int]
    repos: dict[str, int]
    usd: float | None
    minutes: float
    first_seen: int | None
    last_seen: int | None
    tried: int
    value: float
    quotes: tuple[Quote, ...]
    cures: tuple[Cure, ...] = ()
    merged: tuple[str, ...] = ()
    """Ids of near duplicates counted in here."""
    status: PatternStatus = "candidate"
    rule: str = ""
    """What one would write down for every agent; '' where nothing follows from it."""
    sure: str = ""
    """What the rule rests on."""
    left_out: str = ""
    """Why it is no candidate for a rule; '' for those that are reported."""
    problems: tuple[str, ...] = ()
    """For a cure: the loci of all problems it helped against, the most frequent first."""
    sessions_since: int = 0
    """Sessions of its projects that ended after it was last seen."""
