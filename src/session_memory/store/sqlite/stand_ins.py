"""Files that repeat a session whose own log is elsewhere: which of their events count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

import msgspec

from session_memory.core.facts import STAND_IN_RANKS
from session_memory.store.sqlite import event_copies
from session_memory.store.sqlite.connection import Database, Row, rows, value
from session_memory.store.sqlite.ids import event_range

_decode = msgspec.json.decode
_TALK = frozenset({"user_prompt", "assistant_text", "tool_call", "tool_result"})
"""What every form of a conversation has in it."""
_Said = tuple[str, str, int | None]
"""Kind, call or length, and time of an event."""


def choose_files(db: Database, session_id: int, stated: list[Row]) -> list[Row]:
    """Let the best files of a session hold its events, and return the facts that count.

    What others repeat of it does not count. But a log that was cut before it was ever read says
    less than the copy of it: then the copy counts, and of the log what only it has.
    """
    ranks = {row[0]: 0 for row in stated if row[3] != "parent"}  # a parent only names its children
    for source_id, _, _, name, text in stated:
        if name == "stand_in":
            ranks[source_id] = STAND_IN_RANKS.get(_decode(text), 1)
    best = min(ranks.values(), default=0)
    own = {source_id for source_id, rank in ranks.items() if rank == best}
    repeating = ranks.keys() - own
    if not repeating:
        return stated
    if value(db, "SELECT 1 FROM evicted_event WHERE session_id = ?", (session_id,)) is None:
        if not _held(db, session_id, own):
            return stated
        timeless = {row[0] for row in stated if row[3] == "time_source"}  # its times are its file's
        copies = {number for number in repeating - timeless if ranks[number] == 1}
        ends = [int(_decode(row[4])) for row in stated if row[0] in own and row[3] == "ended_at"]
        if ends and _is_cut(db, session_id, own, copies, max(ends)):
            return stated
    event_copies.step_aside(db, session_id, repeating)
    return [row for row in stated if row[0] not in repeating]


def _is_cut(db: Database, session_id: int, own: Set[int], copies: Set[int], end: int) -> bool:
    """Whether copies go on where the session's own files end; if so, the copies hold its events.

    The same message may have other times in both: it is recognised by its call, or else by how
    many of its kind and length came before it.
    """
    repeated = _held(db, session_id, copies)
    later = {
        event_id
        for event_id, (kind, _, at) in repeated.items()
        if kind in _TALK and at is not None and at > end
    }
    if not later:
        return False
    said = _held(db, session_id, own)
    names = set(_numbered(said).values())
    again = _numbered(repeated)
    if all(again[event_id] in names for event_id in later):
        return False
    known = set(again.values())
    twins = {number for number, name in _numbered(said).items() if name in known}
    event_copies.give_way(db, session_id, own, twins)
    return True


def _held(db: Database, session_id: int, sources: Set[int]) -> dict[int, _Said]:
    """Live events that some of these files hold, in their order."""
    wanted = msgspec.json.encode(sorted(sources)).decode()
    selected = rows(
        db,
        "SELECT e.id, e.kind, coalesce(e.call_id, e.body_len), e.at, s.path, h.pos FROM ("
        " SELECT id, source_id, pos FROM event WHERE id BETWEEN ?1 AND ?2 UNION ALL"
        " SELECT event_id, source_id, pos FROM event_copy WHERE event_id BETWEEN ?1 AND ?2) h"
        " JOIN event e ON e.id = h.id AND NOT e.superseded JOIN source s ON s.id = h.source_id"
        " WHERE h.source_id IN (SELECT value FROM json_each(?3)) ORDER BY s.path, h.pos",
        (*event_range(session_id), wanted),
    )
    return {row[0]: row[1:4] for row in selected}


def _numbered(held: dict[int, _Said]) -> dict[int, tuple[str, str, int]]:
    """A name for each event that its copy has too."""
    counts: Counter[tuple[str, str]] = Counter()
    names: dict[int, tuple[str, str, int]] = {}
    for event_id, (kind, what, _) in held.items():
        names[event_id] = (kind, what, counts[kind, what])
        counts[kind, what] += 1
    return names
