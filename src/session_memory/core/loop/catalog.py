"""What the catalog of patterns is made of, and which changes of a pattern are allowed."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

import msgspec

from session_memory.errors import Ambiguous, UsageError
from session_memory.regex_cache import compiled

Kind = Literal["problem", "success"]
Status = Literal["candidate", "provisional", "approved", "rejected", "retired", "superseded"]
Action = Literal["approve", "reject", "edit", "retire", "supersede", "snooze", "undo", "regate"]

LIVE: frozenset[Status] = frozenset({"provisional", "approved"})
"""In use or on the way there; only the gate can say which of the two."""

# Who may become what. An undo goes back along an arrow, so it is not in the table.
TRANSITIONS: dict[Status, frozenset[Status]] = {
    "candidate": frozenset({"candidate", "provisional", "approved", "rejected", "superseded"}),
    "provisional": frozenset({"provisional", "approved", "rejected", "retired", "superseded"}),
    "approved": frozenset({"provisional", "approved", "retired", "superseded"}),
    "rejected": frozenset({"provisional", "approved"}),
    "retired": frozenset({"provisional", "approved"}),
    "superseded": frozenset(),
}

_ID = compiled(r"(?!index$)[a-z0-9][a-z0-9_-]{0,79}")


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """One occasion on which a pattern showed, and the words that show it."""

    session: str
    """The session's own id, so that the catalog means the same on another machine."""
    flavor: str
    repo: str | None = None
    at: int | None = None
    quote: str = ""
    cost: float = 0.0
    """US dollars that this occasion cost."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.cost) and self.cost >= 0):
            raise ValueError("a cost is a number from 0")


def seen_in(evidence: tuple[Evidence, ...], project: str | None) -> tuple[Evidence, ...] | None:
    """What of it a project may be shown: its own and what is of none; None where there is nothing.

    Without a project all of it; what rests on no evidence, such as a rule of the user, is for all.
    """
    if project is None or not evidence:
        return evidence
    return tuple(each for each in evidence if each.repo in (None, project)) or None


class Proposal(msgspec.Struct, frozen=True, omit_defaults=True):
    """A detected pattern without a decision of its own."""

    id: str
    kind: Kind
    type: str
    """Of the signal it was made from."""
    locus: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    sure: str = ""
    """What the text rests on, in words."""
    rank: int = 0
    """Its place in the last detection, from 1; 0 for one that detection did not rank."""
    seen: int = 0
    """How often it was seen in all; of `evidence`, the gate counts only a few of each session."""
    cost: float = 0.0
    """US dollars that all of this cost."""

    def __post_init__(self) -> None:
        check_id(self.id)


class Snapshot(msgspec.Struct, frozen=True, omit_defaults=True):
    """The evidence at the time of the decision; never recounted."""

    frequency: int = 0
    sessions: int = 0
    cost_impact: float = 0.0
    flavors: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    first_seen: int | None = None
    last_seen: int | None = None
    session_ids: tuple[str, ...] = ()
    written_by: str = ""
    """The person who wrote the rule themselves; it then needs no session that shows it."""


class Shortfall(msgspec.Struct, frozen=True):
    """One floor that the evidence does not reach."""

    tier: Literal["promote", "distribute"]
    field: Literal["frequency", "sessions", "cost_impact"]
    value: float
    floor: float

    def __str__(self) -> str:
        return f"{self.field} {self.value:g} is below {self.tier}_min_{self.field} = {self.floor:g}"

    @property
    def words(self) -> str:
        """The same for a reader who does not know the settings."""
        names = {"frequency": "occurrences", "cost_impact": "dollars of cost"}
        return f"{self.value:g} of {self.floor:g} {names.get(self.field, self.field)}"


class GateResult(msgspec.Struct, frozen=True):
    """What the evidence is enough for, and where it falls short."""

    shortfalls: tuple[Shortfall, ...] = ()

    @property
    def promotes(self) -> bool:
        """Whether a person may take the pattern into the catalog."""
        return all(short.tier != "promote" for short in self.shortfalls)

    @property
    def distributes(self) -> bool:
        """Whether agents may be given it once a person has."""
        return not self.shortfalls

    def missing(self, tier: Literal["promote", "distribute"]) -> str:
        """What the evidence lacks, in plain words."""
        return "; ".join(short.words for short in self.shortfalls if short.tier == tier)


class PatternVersion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pattern as one decision left it: who, when, why, and on which evidence."""

    number: int
    revision: int
    """Of the whole catalog: one more with each decision, so it orders them all."""
    status: Status
    action: Action
    who: str
    at: int
    text: str
    why: str = ""
    distribution_ready: bool = False
    superseded_by: str | None = None
    snoozed_until: int | None = None
    """Until then the user is not asked about it."""
    undoes: int | None = None
    """The revision that an undo took back."""
    snapshot: Snapshot = Snapshot()
    evidence: tuple[Evidence, ...] = ()
    """Examples for a reader; the snapshot has the counts."""

    def __post_init__(self) -> None:
        if self.distribution_ready != (self.status == "approved"):
            raise ValueError("a pattern is approved exactly when it is distribution_ready")


class Pattern(msgspec.Struct, frozen=True):
    """A pattern of the catalog with its whole history, oldest first."""

    id: str
    kind: Kind
    type: str
    locus: str
    text: str
    """What the file says now: where a person edited it, not what was last decided on."""
    versions: tuple[PatternVersion, ...]

    def __post_init__(self) -> None:
        check_id(self.id)
        if [version.number for version in self.versions] != [*range(1, len(self.versions) + 1)]:
            raise ValueError("versions are numbered from 1 without a gap")
        if not self.versions:
            raise ValueError("a pattern has at least one version")

    @property
    def current(self) -> PatternVersion:
        """The version in force."""
        return self.versions[-1]

    @property
    def is_edited(self) -> bool:
        """Whether a person changed the text in the file and the change awaits a decision."""
        return self.text != self.current.text


class Retirement(msgspec.Struct, frozen=True):
    """What measuring found against one version of a pattern; only a person takes it out of use."""

    version: int
    verdict: str
    reason: str


class Catalog(msgspec.Struct, frozen=True):
    """Every pattern that was ever decided on, and what detection and measuring last proposed."""

    patterns: dict[str, Pattern] = {}
    proposals: dict[str, Proposal] = {}
    retirements: dict[str, Retirement] = {}
    snoozed: frozenset[str] = frozenset()
    """Patterns that the user put off."""

    @property
    def revision(self) -> int:
        """How many changes the catalog has seen."""
        return max((p.current.revision for p in self.patterns.values()), default=0)

    def status(self, name: str) -> Status:
        """The status of a pattern; without a decision it is a candidate."""
        return self.patterns[name].current.status if name in self.patterns else "candidate"

    def with_pattern(self, pattern: Pattern) -> Catalog:
        """The catalog after a decision."""
        return msgspec.structs.replace(self, patterns={**self.patterns, pattern.id: pattern})

    def asleep(self, now: int) -> Catalog:
        """The catalog as it is at that time: some of what was put off has come back."""
        patterns = self.patterns.items()
        names = (n for n, pattern in patterns if (pattern.current.snoozed_until or 0) > now)
        return msgspec.structs.replace(self, snoozed=frozenset(names))

    def retirement(self, name: str) -> Retirement | None:
        """The proposal to retire a pattern in use; one about an older version has lapsed."""
        retirement = self.retirements.get(name)
        if retirement is None or self.status(name) not in LIVE:
            return None
        return retirement if self.patterns[name].current.number == retirement.version else None


def check_id(name: str) -> None:
    """Refuse a name that could not be a file's: it becomes one."""
    if not _ID.fullmatch(name):
        raise ValueError(f"a rule's id is small letters, digits, `-` and `_`, not {name!r}")


def check_transition(before: Status, after: Status) -> None:
    """Refuse a change that the table does not have."""
    if after not in TRANSITIONS[before]:
        allowed = ", ".join(sorted(TRANSITIONS[before])) or "nothing else"
        raise UsageError(f"a {before} rule cannot become {after}; allowed: {allowed}")


def match_id(
    given: str, ids: Collection[str], *, shortest: int = 1, what: str = "rules"
) -> str | None:
    """The id that is meant: the same, or the only one that begins so; `sm-` may stand before it."""
    if given in ids:
        return given
    plain = given.removeprefix("sm-")
    if plain in ids:
        return plain
    near = sorted(name for name in ids if len(plain) >= shortest and name.startswith(plain))
    if len(near) > 1:
        hint = "type more of the id"
        raise Ambiguous(f"{given} fits {len(near)} {what}: {', '.join(near[:5])}", hint=hint)
    return near[0] if near else None
