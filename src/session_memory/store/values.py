"""The values that go into a store and come out of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.schema import Cost, EventKind, ObservationType, Origin, ToolClass


class EventDraft(msgspec.Struct, array_like=True):
    """An event on its way in: redacted, fingerprinted, with the texts to index."""

    pos: int
    kind: EventKind
    origin: Origin
    fingerprint: int
    body: bytes = b""
    at: int | None = None
    tool: str | None = None
    tool_class: ToolClass | None = None
    call_id: str | None = None
    is_error: bool = False
    exit_code: int | None = None
    files: tuple[str, ...] = ()
    command: str | None = None
    usage_key: int | None = None
    label: str | None = None
    index_text: str | None = None
    turn_text: str | None = None
    forgotten: bool = False
    """Named by a mark of another store: it stays out."""
    text: str | None = None
    """The body as text, if it is in memory: it is distilled next, and decoding takes long."""


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """Where distilling a session stood when all its events so far were read."""

    made_for: str
    """What it depends on besides those events."""
    next_seq: int
    """Events from this number on are not in it."""
    last_event: int
    """The id of the event that was last in source order."""
    body: bytes


class Whereabouts(msgspec.Struct, frozen=True):
    """What logs say about the place a session ran in."""

    cwd: str | None = None
    mentions: str = ""
    """Paths in its first prompt, one a line."""
    git_root: str = ""
    remote: str = ""
    root_hash: str = ""
    """SHA-256 of the root, where a log says nothing else."""


class UsageDraft(msgspec.Struct, frozen=True):
    """One API response's tokens on their way in, priced."""

    key: int
    model: str
    at: int | None
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    reasoning: int
    stated_usd: float | None
    usd: float | None
    price_table: str | None
    sidechain: bool
    mode: str = ""


class Holder(msgspec.Struct, frozen=True):
    """Who holds an event of a given fingerprint already. `event_id` is None once it is evicted."""

    session_id: int
    event_id: int | None
    source_id: int | None
    pos: int | None
    forgotten: bool = False
    """The user forgot this event: it must not come back."""
    lost: bool = False
    """It was evicted before it was distilled: it comes back as soon as a log gives it."""


class LostEvent(msgspec.Struct, frozen=True):
    """An event that its log does not hold any more."""

    kind: str
    at: int | None
    text: str


class TextHit(msgspec.Struct, frozen=True):
    """Where a session contains a text."""

    session_id: int
    fingerprints: set[int]
    """Of the events that hold it."""
    fields: bool
    """Whether titles, facts or the digest hold it."""


class SessionHandle(msgspec.Struct):
    """A session as a writer sees it."""

    id: int
    flavor: str
    external_id: str
    created: bool
    """True when this block of writing made it."""
    sources: set[int]
    evicted_to: dict[int, int]
    """Per source: records before this place were evicted and stay out."""


class SessionQuery(msgspec.Struct, frozen=True):
    """Which sessions to list; newest first."""

    flavor: str | None = None
    project: str | None = None
    since: int | None = None
    until: int | None = None
    state: str | None = None
    outcome: str | None = None
    include_subagents: bool = True
    include_empty: bool = False
    """Also those of which only a title or a directory is known."""
    limit: int | None = None
    offset: int = 0
    """How many of those that fit come before; only with a limit."""


class EventPlace(msgspec.Struct, frozen=True, gc=False):
    """An event of a session in as few words as paging needs."""

    id: int
    kind: EventKind
    at: int | None
    tool_class: ToolClass | None
    call_id: str | None
    is_error: bool


class SessionFigures(msgspec.Struct, frozen=True, gc=False):
    """What a digest says in numbers, of a session that no other one started."""

    outcome: str
    first_at: int | None
    calls_before_edit: int | None
    errors: int
    """Different ones."""
    usd: float | None


class ResponseCost(msgspec.Struct, frozen=True, gc=False):
    """What one response of a session took."""

    at: int
    tokens: int
    usd: float | None


class ObservationQuery(msgspec.Struct, frozen=True):
    """Which observations to list; those of an excluded status only if `excluded` is set."""

    session: int | None = None
    project: str | None = None
    types: tuple[ObservationType, ...] = ()
    flavor: str | None = None
    since: int | None = None
    until: int | None = None
    read_from: TextFilter | None = None
    """Only those read from an event that fits, as far as it is still here."""
    limit: int | None = None
    """The latest so many."""
    excluded: bool = False
    holding: tuple[str, ...] = ()
    """Only those in whose text any of these stands, in whatever case."""


UsageGroup = Literal["day", "project", "model", "flavor", "session"]


class UsageRow(msgspec.Struct, frozen=True):
    """Tokens and dollars of one group. `unpriced_tokens` are those no price is known for."""

    group: str
    responses: int
    cost: Cost
    unpriced_tokens: int = 0
    models: tuple[str, ...] = ()
    session_id: int | None = None
    """The session's number, where `group` is its native id."""


class Finding(msgspec.Struct, frozen=True):
    """Something fsck found wrong."""

    check: str
    detail: str
    severity: Literal["error", "warning"] = "error"


class Injection(msgspec.Struct, frozen=True):
    """What a session was given at its start."""

    id: str
    at: int
    given: tuple[str, ...]
    """Ids of the sections printed into it."""
    held: tuple[str, ...]
    """Ids of those its trial arm did not get."""


class Repaired(msgspec.Struct, frozen=True):
    """Something that repair did, or would do."""

    layer: str
    detail: str
    lost: int = 0
    """Texts that no log holds any more."""


Elsewhere = tuple[tuple[bytes, frozenset[int]], ...]
"""Fingerprints of events that were forgotten in stores with other keys, by key."""


class MarksApplied(msgspec.Struct, frozen=True):
    """What applying forget marks dropped; sessions as (flavour, native id)."""

    sessions: tuple[tuple[str, str], ...] = ()
    """Forgotten whole, with their sub-agents."""
    shortened: tuple[tuple[str, str], ...] = ()
    """Sessions that lost single events."""


class Undistilled(msgspec.Struct, frozen=True):
    """A session whose raw text went before a digest was made of it."""

    external_id: str
    lost_events: int
    paths: tuple[str, ...]
    """Log files it was read from: while they exist, a sweep can read them again."""


class Evicted(msgspec.Struct, frozen=True):
    """Raw text that went for one reason, over the life of the store."""

    reason: str
    sessions: int
    bytes: int
    last_at: int


class StoreInfo(msgspec.Struct, frozen=True):
    """The store at a glance."""

    schema_version: int
    path: str
    sessions: int
    events: int
    projects: int
    sources: int
    unanalyzed: int
    database_bytes: int
    segment_bytes: int
    text_bytes: int
    per_flavor: dict[str, int]
    last_event_at: int | None
    superseded_events: int
    evicted: tuple[Evicted, ...]
    lost_sessions: int
    """Sessions with raw text that went before it was distilled and was not read again yet."""
    page_checksums: bool = False
    """Whether a byte of the database that changed by itself is found when it is read."""


class OldDigests(msgspec.Struct, frozen=True):
    """Sessions whose digest an older version of the program made."""

    waiting: int = 0
    """Sweeps distil them again: their raw text is here."""
    kept: int = 0
    """They stay as they are: raw text they rest on was evicted."""


class TextFilter(msgspec.Struct, frozen=True):
    """Which events a search may find; what is None does not matter."""

    session: int | None = None
    project_id: int | None = None
    flavor: str | None = None
    kinds: tuple[EventKind, ...] = ()
    tool: str | None = None
    file: str | None = None
    """Part of a path that the event names."""
    since: int | None = None
    until: int | None = None
    errors_only: bool = False

    @property
    def of_events(self) -> bool:
        """Whether single events must be looked at, and not only their sessions."""
        given = (self.kinds, self.tool, self.file, self.errors_only)
        return any(given) or self.since is not None or self.until is not None

    @property
    def may_be_turns(self) -> bool:
        """Whether prompts or answers can fit: they cannot fail and are not calls."""
        kinds = not self.kinds or bool({"user_prompt", "assistant_text"} & set(self.kinds))
        return kinds and not self.errors_only and self.tool is None

    @property
    def of_sessions(self) -> bool:
        """Whether whole sessions can be left out."""
        given = (self.project_id, self.flavor, self.since, self.until)
        return any(each is not None for each in given)
