"""Takes a batch of items: whole or not at all, and with the same result in any order.

A batch is looked at first, its texts are uploaded outside of any transaction, and then all of it is
written in one, under the lock of its member and project. Names of uploads are noted before, as to
be deleted later, and taken off that list with the commit: a crash leaves nothing behind for long.
"""

from __future__ import annotations

import re

import msgspec

from session_memory.core.sharing.hashes import content_hash
from session_memory.core.sharing.wire import (
    FOREVER,
    LEVEL_OF,
    LEVELS,
    MAX_ITEM_BYTES,
    MAX_ITEMS,
    EventsBody,
    Item,
    Lacking,
    Missing,
    Push,
    Pushed,
    Refused,
    Sync,
    SyncState,
)
from session_memory.hub.database import (
    Caller,
    Connection,
    Part,
    Pool,
    as_member,
    numbers_array,
    texts_array,
)
from session_memory.hub.erase import apply_tombstones, check_tombstones, erase_items, finish
from session_memory.hub.failures import RequestError
from session_memory.hub.journal import keep_forgotten
from session_memory.hub.objects import TextLocation, Texts
from session_memory.hub.pull import newest_cursor
from session_memory.hub.words import (
    MOST_DOCUMENTS,
    Run,
    documents_of,
    event_runs,
    lesson_runs,
)

_HASH = re.compile(r"[0-9a-f]{32}")
_EVENTS = msgspec.json.Decoder(EventsBody)
ORPHAN_AFTER = "1 hour"
_INT64, _INT32 = 2**63 - 1, 2**31 - 1


class Checked(msgspec.Struct, frozen=True):
    """The items of a batch that can be taken, in the order of their keys, and those that cannot."""

    items: tuple[Item, ...]
    refused: tuple[Refused, ...]
    runs: dict[str, list[Run]]
    """Index entries by key of the item."""


def push(pool: Pool, texts: Texts, caller: Caller, project: int, batch: Push) -> Pushed:
    """Take a batch."""
    if len(batch.items) > MAX_ITEMS or len(batch.tombstones) > MAX_ITEMS:
        raise RequestError("too_large", f"a batch has at most {MAX_ITEMS} items")
    check_tombstones(batch.tombstones)
    with as_member(pool, caller, project) as part:
        level = shared_level(part, batch.generation)
        checked = _check(batch.items, level, _team_key(part.connection))
        wanted, _ = _newer(part, checked.items)
        bodies = [item for item in wanted if item.kind == "events"]
        name, keys = texts.plan(caller.team_id, len(bodies))
        if bodies:
            _note_upload(part.connection, name, keys)
    places: dict[str, TextLocation] = {}
    if bodies:
        stored = texts.store(name, keys, [bytes(item.body) for item in bodies])
        places = {item.key: place for item, place in zip(bodies, stored, strict=True)}
    with as_member(pool, caller, project) as part:
        part.lock()
        shared_level(part, batch.generation)
        keep_forgotten(part, texts, batch.project, batch.tombstones)
        answer, pending = _write(part, batch, checked, places)
    finish(pool, texts, pending)
    return answer


def _write(
    part: Part, batch: Push, checked: Checked, locations: dict[str, TextLocation]
) -> tuple[Pushed, tuple[int, ...]]:
    """Everything of a batch in one transaction, under the lock of its member."""
    erased = apply_tombstones(part, batch.tombstones)
    newer_items, forgotten = _newer(part, checked.items)
    refused = (*checked.refused, *(Refused(item.key, "forgotten") for item in forgotten))
    # Its text became necessary only now and was not uploaded: the device sends the batch again.
    late = [item for item in newer_items if item.kind == "events" and item.key not in locations]
    if late:
        raise RequestError("unavailable", "the batch met another one of this member", "repeat it")
    replaced = erase_items(
        part.connection,
        "i.project_id = %s AND i.member_id = %s AND i.key = ANY(%s)",
        (part.project, part.member, [item.key for item in newer_items]),
    )
    sessions = _sessions(part, newer_items)
    numbers = _insert(part, newer_items, sessions, locations)
    _index(part, newer_items, numbers, sessions, checked.runs)
    used = [locations[item.key] for item in newer_items if item.key in locations]
    if used:
        part.execute(
            "DELETE FROM hub.erasure WHERE name = ANY(%s)",
            ([used[0].object, *(location.vault_key for location in used)],),
        )
    whole = not any(each.reason != "forgotten" for each in refused)
    if batch.manifest is not None and whole:
        _keep_manifest(part, batch)
    present = len(checked.items) - len(newer_items) - len(forgotten)
    pending = (*erased.pending, *replaced.pending)
    answer = Pushed(len(newer_items), present, refused, len(erased.gone))
    return answer, pending


def shared_level(part: Part, generation: int) -> int:
    """The member's level for the project, as an index in LEVELS; raises where there is none."""
    row = part.execute(
        "SELECT level, generation FROM hub.sharing WHERE project_id = %s AND member_id = %s",
        (part.project, part.member),
    ).fetchone()
    if row is None or row[0] is None or row[1] != generation:
        raise RequestError(
            "not_shared",
            "you do not share this project, or it was shared again since",
            "run `session-memory team share` in it",
        )
    return LEVELS.index(row[0])


def _team_key(connection: Connection) -> bytes:
    row = connection.execute("SELECT key FROM hub.team").fetchone()
    assert row is not None
    return row[0]


def _check(items: tuple[Item, ...], level: int, team_key: bytes) -> Checked:
    """Separate acceptable items from others; of equal keys the newest counts."""
    good: dict[str, Item] = {}
    refused: list[Refused] = []
    runs: dict[str, list[Run]] = {}
    for item in items:
        made = _runs_or_reason(item, level, team_key)
        if isinstance(made, str):
            refused.append(Refused(item.key[:64], made))
            continue
        earlier = good.get(item.key)
        if earlier is None or (item.rank, item.hash) > (earlier.rank, earlier.hash):
            good[item.key], runs[item.key] = item, made
    ordered = tuple(good[key] for key in sorted(good))
    return Checked(ordered, tuple(refused), runs)


def _runs_or_reason(item: Item, level: int, team_key: bytes) -> list[Run] | str:
    """The index entries of an item, or why it cannot be taken."""
    if item.kind not in LEVEL_OF:
        return "unknown_kind"
    if LEVELS.index(LEVEL_OF[item.kind]) > level:
        return "above_level"
    body = bytes(item.body)
    if len(body) + len(item.text) > MAX_ITEM_BYTES:
        return "too_large"
    shaped = (
        _HASH.fullmatch(item.key)
        and (item.session is None or _HASH.fullmatch(item.session))
        and (item.likeness is None or _HASH.fullmatch(item.likeness))
        and 0 <= item.rank < FOREVER
        and abs(item.at or 0) <= _INT64
        and 0 <= (item.seq or 0) <= _INT32
    )
    if not shaped or item.hash != content_hash(team_key, item.kind, item.text, body):
        return "bad_item"
    if item.kind != "events":
        return lesson_runs(item.text)
    try:
        events = _EVENTS.decode(body).events
    except msgspec.MsgspecError:
        return "bad_item"
    in_order = all(0 <= event.seq <= _INT32 for event in events)
    if item.session is None or not in_order or len(events) > MOST_DOCUMENTS:
        return "bad_item"
    return event_runs(events)


def _newer(part: Part, items: tuple[Item, ...]) -> tuple[list[Item], list[Item]]:
    """Items that are new or newer than what is there, and those that a tombstone keeps away."""
    keys = [item.key for item in items]
    present = {
        key: (rank, content)
        for key, rank, content in part.execute(
            "SELECT key, rank, hash FROM hub.item WHERE project_id = %s AND member_id = %s"
            " AND key = ANY(%s)",
            (part.project, part.member, keys),
        ).fetchall()
    }
    sessions = list({item.session for item in items if item.session})
    buried = {
        (target, key): rank
        for target, key, rank in part.execute(
            "SELECT target, key, max(rank) FROM hub.tombstone WHERE member_id = %s"
            " AND ((target = 'item' AND project_id = %s AND key = ANY(%s))"
            " OR (target = 'session' AND key = ANY(%s))) GROUP BY target, key",
            (part.member, part.project, keys, sessions),
        ).fetchall()
    }
    newer_items: list[Item] = []
    forgotten: list[Item] = []
    for item in items:
        kept_away = max(
            buried.get(("item", item.key), -1), buried.get(("session", item.session or ""), -1)
        )
        if item.rank <= kept_away:
            forgotten.append(item)
        elif (item.rank, item.hash) > present.get(item.key, (-1, "")):
            newer_items.append(item)
    return newer_items, forgotten


def _note_upload(connection: Connection, name: str, keys: list[str]) -> None:
    connection.execute(
        "INSERT INTO hub.erasure (place, name, after)"
        " SELECT place, name, now() + %s::interval FROM unnest(%s::text[], %s::text[])"
        " AS u (place, name)",
        (ORPHAN_AFTER, ["object"] + ["vault"] * len(keys), [name, *keys]),
    )


def _sessions(part: Part, items: list[Item]) -> dict[str, int]:
    """The numbers of the sessions that items come from, made where they are new."""
    keys = sorted({item.session for item in items if item.session})
    part.execute(
        "INSERT INTO hub.session (team_id, project_id, member_id, key)"
        " SELECT %s, %s, %s, key FROM unnest(%s::text[]) AS key ON CONFLICT DO NOTHING",
        (part.team, part.project, part.member, keys),
    )
    rows = part.execute(
        "SELECT key, number FROM hub.session WHERE project_id = %s AND member_id = %s"
        " AND key = ANY(%s)",
        (part.project, part.member, keys),
    ).fetchall()
    return dict(rows)  # pyright: ignore[reportArgumentType]  # rows of two


def _insert(
    part: Part, items: list[Item], sessions: dict[str, int], locations: dict[str, TextLocation]
) -> dict[str, int]:
    """Insert items; return their numbers by key."""
    with part.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO hub.item (team_id, project_id, member_id, kind, key, hash, rank, session,"
            " seq, at, likeness, text, body, object, start, length, vault_key)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (part.team, part.project, part.member, item.kind, item.key, item.hash, item.rank,
                 sessions.get(item.session or ""), item.seq, item.at, item.likeness,
                 item.text.encode(), *_where(item, locations.get(item.key)))
                for item in items
            ],
        )  # fmt: skip
    rows = part.execute(
        "SELECT key, id FROM hub.item WHERE project_id = %s AND member_id = %s AND key = ANY(%s)",
        (part.project, part.member, [item.key for item in items]),
    ).fetchall()
    return dict(rows)  # pyright: ignore[reportArgumentType]  # rows of two


def _where(item: Item, location: TextLocation | None) -> tuple[object, ...]:
    if location is None:
        return (bytes(item.body), None, None, None, None)
    return (None, location.object, location.start, location.length, location.vault_key)


def _index(
    part: Part,
    items: list[Item],
    numbers: dict[str, int],
    sessions: dict[str, int],
    runs: dict[str, list[Run]],
) -> None:
    entries = [
        (numbers[item.key], sessions.get(item.session or ""), run)
        for item in items
        for run in runs[item.key]
    ]
    with part.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO hub.run (item_id, field, team_id, project_id, session, seqs, lengths,"
            " documents, words, times) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (number, run.field, part.team, part.project, session,
                 run.seqs, run.lengths, len(run.seqs), sum(run.lengths), run.times)
                for number, session, run in entries
            ],
        )  # fmt: skip
    orders = [
        (number, place, words)
        for number, _, run in entries
        for place, words in enumerate(run.stems)
    ]
    part.execute(
        "INSERT INTO hub.word_order (item_id, number, project_id, words)"
        " SELECT item, number, %s, words FROM unnest(%s::bigint[], %s::smallint[], %s::text[])"
        " AS o (item, number, words)",
        (
            part.project,
            numbers_array(number for number, _, _ in orders),
            numbers_array(place for _, place, _ in orders),
            texts_array(words for _, _, words in orders),
        ),
    )
    postings = sorted(
        (run.field, term, number, session, hits)
        for number, session, run in entries
        for term, hits in run.postings.items()
    )
    part.execute(
        "INSERT INTO hub.posting (project_id, field, term, item_id, session, hits, documents)"
        " SELECT %s, field, term, item, session, hits::integer[],"
        "  ('x' || nullif(documents, ''))::bit(256) FROM"
        " unnest(%s::smallint[], %s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[])"
        " AS p (field, term, item, session, hits, documents)",
        (
            part.project,
            numbers_array(field for field, _, _, _, _ in postings),
            texts_array(term for _, term, _, _, _ in postings),
            numbers_array(number for _, _, number, _, _ in postings),
            numbers_array(session for _, _, _, session, _ in postings),
            texts_array(numbers_array(hits) for _, _, _, _, hits in postings),
            texts_array(documents_of(hits) for _, _, _, _, hits in postings),
        ),
    )


def _keep_manifest(part: Part, batch: Push) -> None:
    part.execute(
        "INSERT INTO hub.manifest (team_id, project_id, device_id, generation, digest)"
        " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (project_id, device_id) DO UPDATE"
        " SET generation = excluded.generation, digest = excluded.digest",
        (
            part.team,
            part.project,
            part.caller.device,
            batch.generation,
            (batch.manifest or "")[:64],
        ),
    )


def sync(part: Part, request: Sync) -> SyncState:
    """Whether the last complete push of this device had the same manifest."""
    shared_level(part, request.generation)
    row = part.execute(
        "SELECT digest = %s AND generation = %s FROM hub.manifest"
        " WHERE project_id = %s AND device_id = %s",
        (request.manifest, request.generation, part.project, part.caller.device),
    ).fetchone()
    return SyncState(bool(row and row[0]), newest_cursor(part.connection, part.project))


def missing(part: Part, request: Missing) -> Lacking:
    """Which of these items the hub lacks in this version."""
    if len(request.items) > MAX_ITEMS:
        raise RequestError("too_large", f"at most {MAX_ITEMS} items can be asked for at once")
    present = part.execute(
        "SELECT key, hash FROM hub.item WHERE project_id = %s AND member_id = %s AND key = ANY(%s)",
        (part.project, part.member, [key for key, _ in request.items]),
    ).fetchall()
    versions = {(str(key), str(content)) for key, content in present}
    return Lacking(tuple(key for key, content in request.items if (key, content) not in versions))
