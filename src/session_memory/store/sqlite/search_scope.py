"""Which sessions a search is limited to, and how the indexes are limited to them."""

from __future__ import annotations

from operator import contains
from typing import Any, Literal

import apsw
import msgspec

from session_memory.store.sqlite.connection import Database, rows, schema_version
from session_memory.store.sqlite.ids import SEQ_BITS, SEQ_MASK, event_range
from session_memory.store.sqlite.places import PLACES_SINCE
from session_memory.store.values import TextFilter

FEW_RUNS = 12
"""Up to so many runs of sessions with neighbouring numbers, an index is asked run by run: going to
each takes as long as passing over some thousand rows of others."""
FEW_SESSIONS = 12
FEW_OF_ALL = 8
"""Up to so many sessions, or one of so many, their observations are listed and looked for."""
MOST_PLACES = 12
CONTAINS = "set_contains"
_EVER = 2**62
"""Before and after this there is no time."""

Index = Literal["event_text", "turn_text", "observation_text"]
_NUMBERS = msgspec.json.Decoder(list[int])
_PLACES = msgspec.json.Decoder(list[int | None])


class Scope(msgspec.Struct, frozen=True):
    """The sessions that a search is limited to."""

    sessions: list[int]
    runs: list[tuple[int, int]] = []
    """First and last of neighbouring numbers; none where there are many of them."""
    places: list[int] = []
    """The places of all their entries, where that is known and the shorter way to them."""
    observations: frozenset[int] | None = None
    """Of these sessions; None where they are too many to be listed."""
    partly: list[int] | None = None
    """Those that also hold events before or after the wanted time; None where that is not known."""


def scope_of(db: Database, where: TextFilter) -> Scope | None:
    """Sessions in which something can fit a filter; None where any may."""
    if where.session is not None:
        alone = [where.session]
        observations = _observations_of(db, f"[{where.session}]", TextFilter())
        return Scope(alone, _runs(set(alone)), observations=observations)
    if not where.of_sessions:
        return None
    parts, bindings = ["1"], list[Any]()
    for text, wanted in (
        ("project_id = ?", where.project_id),
        ("flavor = ?", where.flavor),
        # The times of a session are those of its records; without any it may hold anything.
        ("(ended_at IS NULL OR ended_at >= ?)", where.since),
        ("(started_at IS NULL OR started_at < ?)", where.until),
    ):
        if wanted is not None:
            parts.append(text)
            bindings.append(wanted)
    since, until = _bounds(where)
    place = "place" if schema_version(db) >= PLACES_SINCE else "NULL"
    # As lists they come in half the time of many rows.
    ((listed, listed_places, partly, last),) = rows(
        db,
        "SELECT json_group_array(id),"
        f" json_group_array(DISTINCT {place}) FILTER (WHERE raw_events),"
        " json_group_array(id) FILTER (WHERE NOT coalesce(started_at >= ? AND ended_at < ?, 0)),"
        f" (SELECT max(id) FROM session) FROM session WHERE {' AND '.join(parts)}",
        (since, until, *bindings),
    )
    sessions, places = _NUMBERS.decode(listed), _PLACES.decode(listed_places)
    by_place = where.project_id is not None and None not in places and len(places) <= MOST_PLACES
    are_few = len(sessions) <= max(FEW_SESSIONS, (last or 0) // FEW_OF_ALL)
    return Scope(
        sessions,
        _runs(set(sessions)),
        sorted(place for place in places if place is not None) if by_place else [],
        _observations_of(db, listed, where) if are_few else None,
        _NUMBERS.decode(partly),
    )


def in_scope(name: Index, scope: Scope | None) -> tuple[str, list[Any]]:
    """An index limited to these sessions: what stands behind FROM, and the values in it."""
    if scope is None:
        return f"{name} WHERE 1", []
    listed = msgspec.json.encode(scope.sessions).decode()
    if name == "observation_text":
        if scope.observations is not None:
            # A third of the time that it takes to look up the session of each.
            own = apsw.pyobject(scope.observations)
            ends = min(scope.observations, default=0), max(scope.observations, default=0)
            within = f"{name}.rowid BETWEEN ? AND ? AND {CONTAINS}(?, {name}.rowid)"
            return f"{name} WHERE {within}", [*ends, own]
        own = f"SELECT session_id FROM observation WHERE id = {name}.rowid"
        return f"{name} WHERE ({own}) IN (SELECT value FROM json_each(?))", [listed]
    if not scope.places and scope.runs:
        first = f"s.value ->> 0 << {SEQ_BITS}"
        last = f"(s.value ->> 1 << {SEQ_BITS}) + {SEQ_MASK}"
        within = f"{name}.rowid BETWEEN {first} AND {last}"
        runs = msgspec.json.encode(scope.runs).decode()
        return f"json_each(?) AS s CROSS JOIN {name} WHERE {within}", [runs]
    first, last = event_range(min(scope.sessions))[0], event_range(max(scope.sessions))[1]
    in_range = f"{name}.rowid BETWEEN ? AND ?"
    own = f"{name}.rowid >> {SEQ_BITS} IN (SELECT value FROM json_each(?))"
    return f"{name} WHERE {in_range} AND {own}", [first, last, listed]


def inside_json(part: str) -> str:
    """A part of a text as it stands in a column of JSON: a backslash of Windows stands twice."""
    return msgspec.json.encode(part).decode()[1:-1]


def _observations_of(db: Database, sessions: str, where: TextFilter) -> frozenset[int]:
    """Those of the sessions, or where time alone counts those of that time."""
    db.create_scalar_function(CONTAINS, contains, 2)
    own, bindings = "session_id IN (SELECT value FROM json_each(?))", (sessions,)
    if where.since is not None and where.project_id is None and where.flavor is None:
        own, bindings = "at >= ? AND at < ?", _bounds(where)
    inner = f"SELECT id FROM observation WHERE {own}"
    ((numbers,),) = rows(db, f"SELECT json_group_array(id) FROM ({inner})", bindings)
    return frozenset(_NUMBERS.decode(numbers))


def _bounds(where: TextFilter) -> tuple[int, int]:
    """From when and until when, as numbers."""
    since, until = where.since, where.until
    return -_EVER if since is None else since, _EVER if until is None else until


def _runs(sessions: set[int]) -> list[tuple[int, int]]:
    firsts = sorted(number for number in sessions if number - 1 not in sessions)
    if len(firsts) > FEW_RUNS:
        return []
    return list(
        zip(
            firsts, sorted(number for number in sessions if number + 1 not in sessions), strict=True
        )
    )
