"""What members read: results of a search, lists of sessions, one session, numbers."""

from __future__ import annotations

import msgspec

from session_memory.core.event_ids import SEQ_MASK
from session_memory.core.sharing.wire import (
    MAX_PAGE,
    EventBody,
    EventsBody,
    Hit,
    Numbers,
    Rules,
    Search,
    SearchAnswer,
    SessionBody,
    SessionLine,
    SessionPage,
    SessionText,
    SharedItem,
)
from session_memory.hub.access import project_of
from session_memory.hub.database import Caller, Connection, Pool, as_caller
from session_memory.hub.failures import RequestError
from session_memory.hub.objects import TextGoneError, TextLocation, Texts
from session_memory.hub.pull import SHARED_ITEM, shared_item
from session_memory.hub.search import find
from session_memory.store import search_rank

MAX_HITS = 50
SHOWN_CHARS = 2_000
MAX_QUERY = 4_000
MAX_RULES = 1_000
SHORTEST_KEY = 8
_EVENTS = msgspec.json.Decoder(EventsBody)
_HEADER = msgspec.json.Decoder(SessionBody)


def search(pool: Pool, texts: Texts, caller: Caller, request: Search) -> SearchAnswer:
    """Answer a question with what its caller may see."""
    if len(request.query) > MAX_QUERY:
        raise RequestError("bad_request", f"a question has at most {MAX_QUERY} characters")
    projects = (
        [project_of(caller, key) for key in request.projects]
        if request.projects
        else sorted(caller.projects.values())
    )
    limit = max(1, min(request.limit, MAX_HITS))
    with as_caller(pool, caller) as connection:
        ranked = find(connection, projects, caller.member, request)
        best = ranked.hits[:limit]
        numbers = sorted({ranked.item_of(hit) for hit in best})
        items = _items(connection, numbers)
        places = _locations(connection, numbers)
        sessions = _headers(connection, {each.item.session for each in items.values()} - {None})
    runs = {number: _events(texts, place) for number, place in places.items()}
    hits = [_hit(hit, ranked.item_of(hit), items, runs) for hit in best]
    return SearchAnswer(tuple(hit for hit in hits if hit is not None), sessions)


def _hit(
    hit: search_rank.Hit,
    number: int,
    items: dict[int, SharedItem],
    runs: dict[int, dict[int, EventBody]],
) -> Hit | None:
    """A result as it is shown; None where it was forgotten meanwhile."""
    shared = items.get(number)
    if shared is None:
        return None
    item, body, text, seq, at = shared.item, shared.item.body, shared.item.text, None, None
    event = None
    if item.kind == "events":
        seq = (hit.event or 0) & SEQ_MASK
        event = runs.get(number, {}).get(seq)
        if event is None:
            return None
        body, text, at = msgspec.Raw(b"null"), event.command or event.text, event.at
    return Hit(
        kind=item.kind,
        key=item.key,
        project=shared.project,
        member=shared.member,
        author=shared.author,
        score=round(hit.score, 6),
        text=text[:SHOWN_CHARS],
        session=item.session,
        seq=seq if seq is not None else item.seq,
        at=at if at is not None else item.at,
        people=shared.people,
        body=body,
        event=msgspec.structs.replace(event, text="") if event is not None else None,
    )


def _items(connection: Connection, numbers: list[int]) -> dict[int, SharedItem]:
    rows = connection.execute(SHARED_ITEM + " WHERE i.id = ANY(%s)", (numbers,)).fetchall()
    return {row[0]: shared_item(row) for row in rows}


def _locations(connection: Connection, numbers: list[int]) -> dict[int, TextLocation]:
    rows = connection.execute(
        "SELECT id, object, start, length, vault_key FROM hub.item"
        " WHERE id = ANY(%s) AND object IS NOT NULL",
        (numbers,),
    ).fetchall()
    return {row[0]: TextLocation(*row[1:]) for row in rows}


def _events(texts: Texts, location: TextLocation) -> dict[int, EventBody]:
    """The events at a location, by their number; none if they were forgotten meanwhile."""
    try:
        return {event.seq: event for event in _EVENTS.decode(texts.read(location)).events}
    except TextGoneError:
        return {}


_HEADERS = (
    "SELECT coalesce(i.at, 0), i.id, s.key, p.key, i.member_id, m.display_name, i.body"
    " FROM hub.item i JOIN hub.session s ON s.number = i.session"
    " JOIN hub.project p ON p.id = i.project_id JOIN hub.member m ON m.id = i.member_id"
    " WHERE i.kind = 'session'"
)


def _headers(connection: Connection, keys: set[str | None]) -> tuple[SessionLine, ...]:
    rows = connection.execute(_HEADERS + " AND s.key = ANY(%s)", (list(keys),)).fetchall()
    return tuple(_line(row[2:]) for row in rows)


def sessions(connection: Connection, projects: list[int], after: str, limit: int) -> SessionPage:
    """Headers of sessions, newest first."""
    limit = max(1, min(limit, MAX_PAGE))
    at, number = _place_after(after)
    rows = connection.execute(
        _HEADERS + " AND i.project_id = ANY(%s)"
        " AND (coalesce(i.at, 0), i.id) < (%s, %s) ORDER BY 1 DESC, 2 DESC LIMIT %s",
        (projects, at, number, limit + 1),
    ).fetchall()
    page = rows[:limit]
    following = f"{page[-1][0]}.{page[-1][1]}" if len(rows) > limit else None
    return SessionPage(tuple(_line(row[2:]) for row in page), following)


def _place_after(text: str) -> tuple[int, int]:
    if not text:
        return 2**62, 2**62
    at, _, number = text.partition(".")
    if not (at.lstrip("-").isdecimal() and number.isdecimal() and len(text) < 40):
        raise RequestError("bad_request", "that is no place in this list", "begin without one")
    return int(at), int(number)


def _line(row: tuple[object, ...]) -> SessionLine:
    key, project, member, author, body = row
    try:
        header = _HEADER.decode(bytes(body))  # pyright: ignore[reportArgumentType]
    except msgspec.MsgspecError:  # of a newer laptop
        header = SessionBody("unknown")
    return SessionLine(str(key), str(project), str(member), str(author), header)


def session(pool: Pool, texts: Texts, caller: Caller, name: str) -> SessionText:
    """Everything shared of one session, by its key or the beginning of it."""
    with as_caller(pool, caller) as connection:
        key = _whole_key(connection, name)
        rows = connection.execute(
            SHARED_ITEM + " WHERE s.key = %s ORDER BY i.kind, i.seq, i.id", (key,)
        ).fetchall()
        shared = [shared_item(row) for row in rows]
        places = connection.execute(
            "SELECT i.object, i.start, i.length, i.vault_key FROM hub.item i JOIN hub.session s"
            " ON s.number = i.session WHERE s.key = %s AND i.object IS NOT NULL",
            (key,),
        ).fetchall()
    if not shared:
        raise RequestError("not_found", "there is no such session that you may see")
    header = next((each for each in shared if each.item.kind == "session"), shared[0])
    is_header = header.item.kind == "session"
    body = bytes(header.item.body) if is_header else b'{"flavor": "unknown"}'
    line = _line((key, header.project, header.member, header.author, body))
    events = {
        seq: event for row in places for seq, event in _events(texts, TextLocation(*row)).items()
    }
    return SessionText(
        line,
        tuple(each for each in shared if each.item.kind not in ("session", "events")),
        tuple(events[seq] for seq in sorted(events)),
    )


def _whole_key(connection: Connection, name: str) -> str:
    if len(name) < SHORTEST_KEY:
        return name
    keys = connection.execute(
        'SELECT DISTINCT key FROM hub.session WHERE key COLLATE "C" >= %s'
        ' AND key COLLATE "C" < %s LIMIT 2',
        (name, name + "~"),
    ).fetchall()
    if len(keys) > 1:
        raise RequestError("bad_request", "several sessions begin so", "give more of the key")
    return str(keys[0][0]) if keys else name


def rules(connection: Connection, projects: list[int]) -> Rules:
    """What members approved, the newest first."""
    rows = connection.execute(
        SHARED_ITEM + " WHERE i.kind = 'rule' AND i.project_id = ANY(%s)"
        " ORDER BY i.at DESC NULLS LAST, i.id DESC LIMIT %s",
        (projects, MAX_RULES),
    ).fetchall()
    return Rules(tuple(map(shared_item, rows)))


def numbers(
    connection: Connection, projects: list[int], since: int | None, until: int | None
) -> Numbers:
    """Usage rows and effects."""
    rows = connection.execute(
        SHARED_ITEM + " WHERE i.kind = ANY(ARRAY['usage', 'effect']) AND i.project_id = ANY(%s)"
        " AND (%s::bigint IS NULL OR i.at >= %s) AND (%s::bigint IS NULL OR i.at < %s)"
        " ORDER BY i.at, i.id",
        (projects, since, since, until, until),
    ).fetchall()
    return Numbers(tuple(map(shared_item, rows)))
