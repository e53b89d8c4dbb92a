"""What crosses the wire between a laptop and a hub. Both sides build on these values alone.

**Requests.** HTTPS (plain HTTP on loopback only), JSON bodies, `Authorization: Bearer TOKEN`, and
`Session-Memory-Wire: 1`, the version the caller speaks. A body may be sent with
`Content-Encoding: gzip`. Unknown fields are ignored on both sides, so fields may be added; an item
of a kind the hub does not know is refused by itself (`unknown_kind`), and the others are taken.

**Answers.** Every answer carries `Session-Memory-Wire: LOWEST-HIGHEST`, what the hub speaks. A
request in a version outside of that gets 426 `wire_version`; the laptop then speaks the highest
version both know, or says which side must be upgraded. Whatever is not 2xx has a `Failure` as body:

    400 bad_request          a mistake of the caller: report it, do not repeat it
    401 token_*, invite_used ask the user to join again
    403 project_not_allowed  the token may not see the project, or there is none: the same answer
    404 not_found            no such path, or nothing there that this token may see
    409 not_shared           not shared (any more) by this member, or not at this generation
    413 too_large            send smaller batches, see `Limits`
    415 bad_encoding         send JSON, plain or gzip
    429 slow_down            wait the seconds of `Retry-After`, then repeat
    500, 503 unavailable     keep everything, repeat later: repeating is always safe

**Endpoints.** Request and answer types stand below, in this order.

    GET  /healthz                 > "ok" as text. No token; says nothing else.
    POST /v1/join       Join      > Joined. With an invite as token, which counts once: a device.
    GET  /v1/whoami               > WhoAmI. Who the token is, what it may see, what is shared.
    POST /v1/rotate               > NewToken. For this device; the old token ends.
    POST /v1/leave                > Done. Revokes this token; what was shared stays.
    POST /v1/share      Share     > Sharing. This member shares a project; a lower level deletes.
    POST /v1/unshare    Unshare   > Erased. Deletes everything of this member in the project.
    POST /v1/sync       Sync      > SyncState. Whether the hub has all of this device's manifest: an
                                    unchanged push is this request alone.
    POST /v1/missing    Missing   > Lacking. Which of these items are not there in this version.
    POST /v1/push       Push      > Pushed. Takes a batch of one project, whole or not at all;
                                    repeating it changes nothing.
    GET  /v1/pull?project=&after=&limit=
                                  > Pulled. Lessons of other members, and what was deleted, since
                                    a cursor.
    POST /v1/forget     Forget    > Erased. Deletes items or sessions of this member for good.
    POST /v1/prove      Prove     > Proof. Counts what is left of them: all zero is the proof.
    POST /v1/search     Search    > Found. Ranked like the local search, over what is visible.
    GET  /v1/sessions?project=&after=&limit=
                                  > SessionPage. Headers of sessions, newest first.
    GET  /v1/session/KEY          > SessionText. All that is shared of it; 8 digits of KEY will do.
    GET  /v1/rules?project=       > Rules. What members approved, in one project or in all.
    GET  /v1/numbers?project=&since=&until=
                                  > Numbers. Usage rows and effects.

**Who owns what.** An item belongs to the member whose device sent it; devices of one member share
one set of items. Members change and forget their own items only. Of two versions of an item (equal
`key`) the one with the higher `rank` stays, where equal the one with the higher hash: so any order
of pushes gives the same content. A tombstone of a session or item refuses whatever has a rank up to
its own; forgetting has rank `FOREVER`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

WIRE_HEADER = "Session-Memory-Wire"
WIRE_VERSION = 1
LOWEST_WIRE_VERSION = 1
"""The oldest version that this program still speaks."""

Level = Literal["numbers", "lessons", "sessions"]
LEVELS: tuple[Level, ...] = ("numbers", "lessons", "sessions")
"""Each level holds the ones before it."""

LEVEL_OF: dict[str, Level] = {
    "usage": "numbers",
    "effect": "numbers",
    "session": "lessons",
    "digest": "lessons",
    "observation": "lessons",
    "cure": "lessons",
    "rule": "lessons",
    "memory": "lessons",
    "events": "sessions",
}
"""The level at which a kind leaves the laptop. `session` is a session's header: no text of it."""

FOREVER = 2**62
"""The rank of a tombstone that nothing overrides."""

MAX_PUSH_BYTES = 8 * 1024 * 1024
"""Of a request, unpacked."""
MAX_ITEM_BYTES = 2 * 1024 * 1024
MAX_ITEMS = 2_000
MAX_PAGE = 500


class Failure(msgspec.Struct, frozen=True):
    """The body of every answer that is not 2xx: `{"error": {...}}`."""

    error: FailureDetail


class FailureDetail(msgspec.Struct, frozen=True):
    """What went wrong, in the words a user is shown."""

    code: str
    message: str
    hint: str = ""


class Limits(msgspec.Struct, frozen=True):
    """What the hub takes in one request."""

    push_bytes: int = MAX_PUSH_BYTES
    item_bytes: int = MAX_ITEM_BYTES
    items: int = MAX_ITEMS
    page: int = MAX_PAGE


class Join(msgspec.Struct, frozen=True):
    """The bearer token of this request is the invite."""

    display_name: str
    """How others see this person; a pseudonym is as good."""
    device_name: str = ""
    """For the list of devices that only the member and who runs the hub see."""


class Joined(msgspec.Struct, frozen=True):
    """What a device keeps, in a file that only its user can read."""

    token: str
    device: str
    member: str
    team: str
    team_key: str
    """32 bytes as hex: the key of all hashes in core/sharing/hashes.py."""
    projects: tuple[str, ...]
    """Project keys this device may see; `*` means every project of the team."""
    expires_at: int | None = None
    """Seconds since 1970; after it the device must join again or rotate before."""
    limits: Limits = Limits()


class NewToken(msgspec.Struct, frozen=True):
    """The token that replaces the one the request came with."""

    token: str
    expires_at: int | None = None


class Sharing(msgspec.Struct, frozen=True):
    """What a member shares of a project. Each `share` and `unshare` raises the generation."""

    project: str
    level: Level | None
    """None where nothing is shared."""
    generation: int


class WhoAmI(msgspec.Struct, frozen=True):
    """The device behind a token, and what its member shares."""

    device: str
    member: str
    display_name: str
    team: str
    projects: tuple[str, ...]
    sharing: tuple[Sharing, ...]
    expires_at: int | None = None
    limits: Limits = Limits()
    hub_version: str = ""


class Done(msgspec.Struct, frozen=True):
    """It is done."""

    ok: bool = True


class Share(msgspec.Struct, frozen=True):
    """A person's decision to share a project."""

    project: str
    """The normalised remote, or a name that the team gave."""
    level: Level


class Unshare(msgspec.Struct, frozen=True):
    """A person's decision to take all of a project back."""

    project: str


class Item(msgspec.Struct, frozen=True):
    """One shared thing, as its owner's device sends it."""

    kind: str
    """One of `LEVEL_OF`; a text, so that a hub can refuse a kind it does not know by itself."""
    key: str
    """`hashes.item_key`: which thing it is, in all its versions."""
    hash: str
    """`hashes.content_hash` over `text` and the bytes of `body`."""
    rank: int
    """Of two versions the higher one stays: such as events seen, or seconds since 1970."""
    body: msgspec.Raw
    """JSON; of `events` it is `EventsBody`, of `session` `SessionBody`, of others as the laptop
    makes it: the hub keeps it byte for byte."""
    text: str = ""
    """The words under which it is found and which are shown; empty for `events` and numbers."""
    session: str | None = None
    """`hashes.session_key` of the session it comes from; forgetting that session deletes it."""
    seq: int | None = None
    """The event of that session that it was read from."""
    at: int | None = None
    """When it happened, in milliseconds since 1970, as all times of events."""
    likeness: str | None = None
    """`hashes.likeness`: equal for the same lesson of several people, so that people can be
    counted."""


class SessionBody(msgspec.Struct, frozen=True):
    """The header of a session: what lists show."""

    flavor: str
    title: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    branch: str | None = None
    models: tuple[str, ...] = ()
    source_kind: str = "interactive"
    event_count: int = 0
    parent: str | None = None
    """Session key of the session that started this one as a sub-agent."""


class EventBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """One redacted event; paths are relative to the repository."""

    seq: int
    kind: str
    origin: str
    text: str = ""
    at: int | None = None
    tool: str | None = None
    tool_class: str | None = None
    call_id: str | None = None
    is_error: bool = False
    exit_code: int | None = None
    files: tuple[str, ...] = ()
    command: str | None = None
    label: str | None = None


class EventsBody(msgspec.Struct, frozen=True):
    """A run of events of one session, in source order.

    A session is cut after fixed counts of events (at most 255), so that a grown session sends its
    last run again and none of the others.
    """

    first: int
    events: tuple[EventBody, ...]


EVENTS_PER_ITEM = 200
"""Events in one item of kind `events`; fewer where MAX_ITEM_BYTES would be passed."""


class Tombstone(msgspec.Struct, frozen=True):
    """A deleted item or session, and up to which rank it must not come back."""

    target: Literal["item", "session"]
    key: str
    rank: int = FOREVER
    """FOREVER for forgetting; the last rank sent where an item was only replaced by others."""


class Sync(msgspec.Struct, frozen=True):
    """What the device has to share of a project, as one hash."""

    project: str
    generation: int
    manifest: str
    """`hashes.manifest_digest`."""


class SyncState(msgspec.Struct, frozen=True):
    """Whether there is anything to push, and whether there is anything to pull."""

    same: bool
    """The last complete push of this device had this manifest, and nothing of it was lost."""
    cursor: str
    """Where a pull would end now: equal to the device's own cursor, there is nothing to pull."""


class Missing(msgspec.Struct, frozen=True):
    """Asks which of up to MAX_ITEMS (key, hash) pairs are not there."""

    project: str
    items: tuple[tuple[str, str], ...]


class Lacking(msgspec.Struct, frozen=True):
    """Keys that the hub does not have in that version."""

    keys: tuple[str, ...]


class Push(msgspec.Struct, frozen=True):
    """One batch of one project. Whole or not at all; sending it again changes nothing."""

    project: str
    generation: int
    """Of `Sharing`; 409 `not_shared` where it is not the present one."""
    items: tuple[Item, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    manifest: str | None = None
    """With the last batch: the digest of the whole manifest, which `sync` compares from then on.
    It is kept only where every item of this batch was taken or is there already."""


RefusalReason = Literal["unknown_kind", "above_level", "forgotten", "too_large", "bad_item"]


class Refused(msgspec.Struct, frozen=True):
    """An item that was not taken, and why; the others of the batch were."""

    key: str
    reason: str
    """One of `RefusalReason`. `forgotten`: a tombstone of this rank or a higher one is there."""


class Pushed(msgspec.Struct, frozen=True):
    """What became of a batch."""

    taken: int
    """Items that are new or replaced an older version."""
    present: int
    """Items that were there in this version, or in one of a higher rank."""
    refused: tuple[Refused, ...] = ()
    erased: int = 0
    """Items deleted by the tombstones of this batch."""


class SharedItem(msgspec.Struct, frozen=True):
    """An item as others see it."""

    item: Item
    project: str
    member: str
    author: str
    """The display name of the member."""
    people: int = 1
    """How many members of the team shared an item of this likeness in the project."""


class Deleted(msgspec.Struct, frozen=True):
    """Something that must go from wherever it was pulled to."""

    target: Literal["item", "session", "member"]
    """`member`: everything of this member in the project (it was unshared)."""
    key: str
    """Of an item or session; empty for `member`."""
    member: str
    rank: int = FOREVER
    """What was pulled with this rank or a lower one goes."""


class Pulled(msgspec.Struct, frozen=True):
    """One page. `deleted` is applied first: an item that is there again comes in `items`."""

    items: tuple[SharedItem, ...]
    deleted: tuple[Deleted, ...]
    cursor: str
    """Give it as `after` next time. It is opaque."""
    more: bool
    restart: bool = False
    """The hub was restored or the cursor is not its own: this page is the first of all there is,
    and what was pulled before and does not come again must go."""


class Forget(msgspec.Struct, frozen=True):
    """What this member forgot. Needs no sharing: it works after `unshare` too."""

    project: str
    tombstones: tuple[Tombstone, ...]


class Erased(msgspec.Struct, frozen=True):
    """What was deleted now. Repeating it answers zero."""

    items: int
    complete: bool
    """False where texts in the object storage, or their keys, could not be deleted yet: the hub
    repeats it by itself, `prove` says when it is done. Meanwhile none of it can be read."""


class Prove(msgspec.Struct, frozen=True):
    """Asks what is left of these."""

    project: str
    targets: tuple[Tombstone, ...]


class Proof(msgspec.Struct, frozen=True):
    """What is left, of the caller's own member; all zero and `refused`: deleted permanently."""

    rows: int
    index_entries: int
    stored_texts: int
    """Texts in the object storage that a row still leads to, or whose deletion is not done."""
    data_keys: int
    """Keys of sessions that still exist; without its key a stored text can never be read."""
    refused: bool
    """Every target has a tombstone, so it would not be taken in again."""


class Search(msgspec.Struct, frozen=True):
    """A question to the team's memory."""

    query: str
    projects: tuple[str, ...] = ()
    """Empty: every project this token may see."""
    kinds: tuple[str, ...] = ()
    """Kinds of items; empty: all. `events` are those of shared sessions."""
    since: int | None = None
    until: int | None = None
    session: str | None = None
    limit: int = 20
    others_only: bool = False
    """Leave out the caller's own items: the laptop has them."""


class Hit(msgspec.Struct, frozen=True):
    """One result, best first."""

    kind: str
    key: str
    project: str
    member: str
    author: str
    score: float
    text: str
    """What it says, cut at 2,000 characters; of `events` the text of the event that was found."""
    session: str | None = None
    seq: int | None = None
    """Of an event."""
    at: int | None = None
    people: int = 1
    body: msgspec.Raw = msgspec.Raw(b"null")
    """Of a lesson, as its owner sent it; `null` of an event."""
    event: EventBody | None = None
    """The event that was found, without its text."""


class SearchAnswer(msgspec.Struct, frozen=True):
    """Answers of a search."""

    hits: tuple[Hit, ...]
    sessions: tuple[SessionLine, ...] = ()
    """Headers of the sessions that the hits come from, as far as those are shared."""


class SessionLine(msgspec.Struct, frozen=True):
    """A session in a list."""

    key: str
    project: str
    member: str
    author: str
    body: SessionBody


class SessionPage(msgspec.Struct, frozen=True):
    """Headers of sessions, newest first."""

    sessions: tuple[SessionLine, ...]
    next: str | None = None
    """Give it as `after`; None where this was the last page."""


class SessionText(msgspec.Struct, frozen=True):
    """Everything shared of one session."""

    line: SessionLine
    items: tuple[SharedItem, ...]
    """Digest, observations and cures."""
    events: tuple[EventBody, ...]
    """Empty where the session is shared as lessons only."""


class Numbers(msgspec.Struct, frozen=True):
    """Usage rows and effects as their owners sent them."""

    items: tuple[SharedItem, ...]


class Rules(Numbers, frozen=True):
    """Approved rules as their owners sent them, the newest first."""
