"""Search with BM25 in SQL over the postings, in the order in which a local store would answer.

The steps and limits are those of the local search: words are counted first, the rarest are scored,
and what the three fields of the index gave becomes one order by the same rules (store/search_rank).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, LiteralString

import msgspec

from session_memory.core.event_ids import SEQ_BITS, event_id
from session_memory.core.sharing.wire import Search
from session_memory.core.text.search_terms import Terms, terms_of
from session_memory.core.text.similar_words import similar_words
from session_memory.hub.database import Connection
from session_memory.hub.words import EVENT, LESSON, TURN, words_of
from session_memory.store.search_rank import (
    Hit,
    IndexHits,
    Noted,
    Scored,
    fuse,
    told_by_session,
    with_coverage,
    with_pairs,
)

MOST_SCORED = 4_000
MOST_NOTED = 1_000
MOST_RANKED = 260
MOST_PAIRS = 8
NEARNESS = 3
WITH_ALL_TERMS = 100
MOST_READ = 50_000
"""Postings that are read to find words like one that is not there."""
K1, B = 1.2, 0.75
"""As in SQLite's FTS5."""

# A document is named by its session and place, a lesson by its item: the names that
# store/search_rank expects.
_DOCUMENT: LiteralString = (  # 24 is SEQ_BITS
    "CASE WHEN p.field = 3 THEN p.item_id << 24 ELSE (r.session << 24) + r.seqs[(h >> 7) + 1] END"
)
_POSTINGS: LiteralString = (
    " FROM hub.posting p CROSS JOIN LATERAL unnest(p.hits) AS h"
    " JOIN hub.run r ON r.item_id = p.item_id AND r.field = p.field"
)

# The newest items that hold a word, until so many documents are in them.
_NEWEST_ITEMS: LiteralString = (
    "newest AS (SELECT b.project_id, b.field, b.item_id FROM (SELECT p.project_id, p.field,"
    " p.item_id, sum(cardinality(p.hits)) OVER (ORDER BY p.item_id DESC) - cardinality(p.hits)"
    " AS earlier FROM hub.posting p WHERE p.project_id = ANY(%(projects)s)"
    " AND p.field = %(field)s AND p.term = %(term)s {}) AS b WHERE b.earlier < %(most)s)"
)


class Ranked(msgspec.Struct, frozen=True):
    """What was found, best first, and the item that holds each document."""

    hits: list[Hit]
    items: dict[int, int]


class _Field(msgspec.Struct, frozen=True):
    """One field of the index, limited to what a question may find."""

    number: int
    condition: LiteralString
    values: dict[str, Any]
    most_scored: int

    @property
    def where(self) -> LiteralString:
        """What a posting `p` must be; `terms` are the words."""
        return (
            " WHERE p.project_id = ANY(%(projects)s) AND p.field = %(field)s"
            f" AND p.term = ANY(%(terms)s) {self.condition}"
        )


def find(connection: Connection, projects: list[int], member: str, request: Search) -> Ranked:
    """Documents that fit a question, in one order."""
    terms = terms_of(request.query)
    stems = _stems(connection, projects, terms)
    items: dict[int, int] = {}
    if not stems or not projects:
        return Ranked([], items)
    found: dict[int, list[Scored]] = {}
    held: dict[str, set[int]] = {}
    wants_events = not request.kinds or "events" in request.kinds
    wants_lessons = not request.kinds or set(request.kinds) != {"events"}
    for number in (EVENT, TURN, LESSON):
        wanted = wants_lessons if number == LESSON else wants_events
        field = _field(number, projects, member, request)
        found[number], telling = _hits(connection, field, stems, items) if wanted else ([], {})
        held = telling if number == EVENT else held
    noted = _noted(connection, found[LESSON], items)
    turns = _turns(connection, found, items)
    hits = fuse(IndexHits(found[EVENT], found[TURN], noted, turns, told_by_session(held)))
    return Ranked(hits, items)


def _field(number: int, projects: list[int], member: str, request: Search) -> _Field:
    """A field with the filters of a request."""
    parts: list[LiteralString] = []
    values: dict[str, Any] = {"projects": projects, "field": number}
    filters: tuple[tuple[LiteralString, str, object], ...] = (
        ("i.at >= %(since)s", "since", request.since),
        ("i.at < %(until)s", "until", request.until),
        ("i.session = (SELECT s.number FROM hub.session s WHERE s.key = %(session)s LIMIT 1)",
         "session", request.session),
        ("i.member_id <> %(member)s", "member", member if request.others_only else None),
        ("i.kind = ANY(%(kinds)s)", "kinds", list(request.kinds) or None),
    )  # fmt: skip
    for text, name, wanted in filters:
        if wanted is not None:
            parts.append(text)
            values[name] = wanted
    most = MOST_NOTED if number == LESSON else MOST_SCORED
    if request.projects or request.session:  # so many among few sessions are as common a word
        most //= 4
    if not parts:
        return _Field(number, "", values, most)
    inner: LiteralString = " AND ".join(parts)
    condition: LiteralString = (
        f" AND EXISTS (SELECT 1 FROM hub.item i WHERE i.id = p.item_id AND {inner})"
    )
    return _Field(number, condition, values, most)


def _stems(connection: Connection, projects: list[int], terms: Terms) -> list[str]:
    """The words of a question as the index spells them, with similar ones for those it lacks."""
    stems = {word: words_of(word) for word in terms.words}
    rows = connection.execute(
        "SELECT t.term FROM unnest(%s::text[]) AS t (term) WHERE EXISTS ("
        " SELECT 1 FROM hub.posting p WHERE p.project_id = ANY(%s) AND p.field IN (1, 3)"
        " AND p.term = t.term)",
        ([stem for found in stems.values() for stem in found], projects),
    ).fetchall()
    known = {row[0] for row in rows}

    def beginning(head: str) -> list[tuple[str, int]]:
        return _beginning(connection, projects, head)

    return list(
        dict.fromkeys(
            each
            for word, found in stems.items()
            for each in (found if known & set(found) else similar_words(beginning, word) or found)
        )
    )


def _beginning(connection: Connection, projects: list[int], head: str) -> list[tuple[str, int]]:
    rows = connection.execute(
        "SELECT term, sum(cardinality(hits))::integer AS documents FROM ("
        " SELECT term, hits FROM hub.posting WHERE project_id = ANY(%s) AND field = 1"
        " AND term >= %s AND term < %s LIMIT %s) AS read GROUP BY term ORDER BY documents DESC",
        (projects, head, head + "\U0010ffff", MOST_READ),
    ).fetchall()
    return [(term, documents) for term, documents in rows]


def _hits(
    connection: Connection, field: _Field, stems: list[str], items: dict[int, int]
) -> tuple[list[Scored], dict[str, set[int]]]:
    """The best of one field, and the documents that hold each of the words that tell something.

    Best are those that hold rare words, and before them those with all.
    """
    counts = _counts(connection, field, stems)
    known = sorted((stem for stem in stems if counts.get(stem)), key=lambda stem: counts[stem])
    if not known:
        return [], {}
    whole = _holding_all(connection, field, stems, counts, items)
    if counts[known[0]] > field.most_scored:
        newest = whole or _newest(connection, field, known[0], items)
        rows = enumerate(newest[:MOST_RANKED])
        return [Scored(row, row >> SEQ_BITS, 1 - n / MOST_RANKED) for n, row in rows], {}
    scores = _scored(connection, field, _rarest(known, counts, field.most_scored), counts, items)
    # A word that no document holds still counts: none of them is a whole answer.
    telling = [stem for stem in stems if counts.get(stem, 0) <= field.most_scored]
    holding = _holding(connection, field, telling)
    ranked = with_coverage(scores, whole, holding)
    rarer = [
        pair if 0 < min(counts.get(word, 0) for word in pair) <= field.most_scored else None
        for pair in list(pairwise(stems))[:MOST_PAIRS]
    ]
    if field.number != EVENT or not any(rarer):
        return ranked, holding
    near = _near(connection, rarer, {hit.id: items[hit.id] for hit in ranked})
    return with_pairs(ranked, near), holding


def _near(
    connection: Connection, pairs: list[tuple[str, str] | None], documents: dict[int, int]
) -> list[set[int]]:
    """For each pair of neighbouring words the documents that hold them nearly side by side."""
    rows = connection.execute(
        "SELECT d.document, r.stems[array_position(r.seqs, (d.document & 16777215)::integer)]"
        " FROM unnest(%s::bigint[], %s::bigint[]) AS d (document, item)"
        " JOIN hub.run r ON r.item_id = d.item AND r.field = 1",
        (list(documents), list(documents.values())),
    ).fetchall()
    near: list[set[int]] = [set() for _ in pairs]
    for document, stems in rows:
        words = str(stems or "").split(" ")
        for found, pair in zip(near, pairs, strict=True):
            if pair is not None and _side_by_side(words, pair):
                found.add(document)
    return near


def _side_by_side(words: list[str], pair: tuple[str, str]) -> bool:
    """Whether two words stand next to each other with at most NEARNESS words between."""
    one, other = (_places(words, word) for word in pair)
    return any(abs(a - b) <= NEARNESS + 1 for a in one for b in other)


def _places(words: list[str], word: str) -> list[int]:
    return [place for place, each in enumerate(words) if each == word] if word in words else []


def _counts(connection: Connection, field: _Field, stems: list[str]) -> dict[str, int]:
    rows = connection.execute(
        "SELECT term, sum(cardinality(hits)) FROM hub.posting p"
        " WHERE project_id = ANY(%(projects)s) AND field = %(field)s AND term = ANY(%(terms)s)"
        " GROUP BY term",
        {**field.values, "terms": stems},
    ).fetchall()
    return {term: int(count) for term, count in rows}


def _rarest(known: list[str], counts: dict[str, int], most: int) -> list[str]:
    taken: list[str] = []
    total = 0
    for stem in known:
        total += counts[stem]
        if taken and total > most:
            break
        taken.append(stem)
    return taken


def _scored(
    connection: Connection,
    field: _Field,
    stems: list[str],
    counts: dict[str, int],
    items: dict[int, int],
) -> dict[int, float]:
    row = connection.execute(
        "SELECT sum(documents), sum(words) FROM hub.run"
        " WHERE project_id = ANY(%(projects)s) AND field = %(field)s",
        field.values,
    ).fetchone()
    documents, words = (int(each or 0) for each in row or (0, 0))
    weights = [
        # FTS5 gives a word that stands in more than half of the rows next to nothing.
        max(math.log((documents - counts[stem] + 0.5) / (counts[stem] + 0.5)), 1e-6)
        for stem in stems
    ]
    length: LiteralString = "r.lengths[(h >> 7) + 1]"
    found = connection.execute(
        f"SELECT {_DOCUMENT} AS document, p.item_id, sum(w.weight * (h & 127) * %(k1)s::float8 / ("
        f" (h & 127) + %(k)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * {length}"
        f" / %(average)s::float8))) AS score"
        f" {_POSTINGS} JOIN unnest(%(terms)s::text[], %(weights)s::float8[]) AS w (term, weight)"
        f" ON w.term = p.term {field.where}"
        " GROUP BY 1, 2 ORDER BY score DESC, document DESC LIMIT %(limit)s",
        {
            **field.values,
            "terms": stems,
            "weights": weights,
            "k": K1,
            "k1": K1 + 1,
            "b": B,
            "average": max(1.0, words / max(1, documents)),
            "limit": MOST_RANKED,
        },
    ).fetchall()
    items.update((document, item) for document, item, _ in found)
    # Sums of the same numbers in another order differ in their last digits: equal texts must not.
    return {document: round(float(score), 9) for document, _, score in found}


def _holding(connection: Connection, field: _Field, stems: list[str]) -> dict[str, set[int]]:
    """The documents that hold each word."""
    rows = connection.execute(
        f"SELECT p.term, array_agg({_DOCUMENT}) {_POSTINGS} {field.where} GROUP BY p.term",
        {**field.values, "terms": stems},
    ).fetchall()
    return {stem: set[int]() for stem in stems} | {term: set(found) for term, found in rows}


def _holding_all(
    connection: Connection,
    field: _Field,
    stems: list[str],
    counts: dict[str, int],
    items: dict[int, int],
) -> list[int]:
    """The newest documents that hold every word."""
    if len(stems) < 2 or len(counts) < len(stems):
        return []
    rarest = min(stems, key=lambda stem: counts[stem])
    rows = connection.execute(
        # A word stands once in the postings of an item, so rows of a document count its words.
        f"WITH {_NEWEST_ITEMS.format(field.condition)}, w AS (SELECT p.item_id, h >> 7 AS number"
        "  FROM newest n JOIN hub.posting p ON p.project_id = n.project_id AND p.field = n.field"
        "   AND p.item_id = n.item_id AND p.term = ANY(%(terms)s)"
        "  CROSS JOIN LATERAL unnest(p.hits) AS h"
        "  GROUP BY 1, 2 HAVING count(*) = %(all)s)"
        " SELECT CASE WHEN r.field = 3 THEN r.item_id << 24"
        "  ELSE (r.session << 24) + r.seqs[w.number + 1] END, r.item_id"
        " FROM w JOIN hub.run r ON r.item_id = w.item_id AND r.field = %(field)s"
        " ORDER BY 1 DESC LIMIT %(limit)s",
        {
            **field.values,
            "terms": stems,
            "term": rarest,
            "most": field.most_scored,
            "all": len(stems),
            "limit": WITH_ALL_TERMS,
        },
    ).fetchall()
    items.update((document, item) for document, item in rows)
    return [document for document, _ in rows]


def _newest(connection: Connection, field: _Field, stem: str, items: dict[int, int]) -> list[int]:
    rows = connection.execute(
        f"WITH {_NEWEST_ITEMS.format(field.condition)}"
        f" SELECT {_DOCUMENT}, p.item_id {_POSTINGS} JOIN newest n ON n.item_id = p.item_id"
        f" {field.where} ORDER BY p.item_id DESC, 1 DESC LIMIT %(limit)s",
        {
            **field.values,
            "term": stem,
            "terms": [stem],
            "most": MOST_RANKED,
            "limit": MOST_RANKED,
        },
    ).fetchall()
    items.update((document, item) for document, item in rows)
    return [document for document, _ in rows]


def _noted(connection: Connection, hits: list[Scored], items: dict[int, int]) -> list[Noted]:
    """Lessons with the event each was read from, where that is shared too."""
    numbers = [items[hit.id] for hit in hits]
    rows = connection.execute(
        "SELECT i.id, i.session, i.seq, EXISTS (SELECT 1 FROM hub.run r"
        " JOIN hub.item e ON e.id = r.item_id AND e.session = i.session AND e.kind = 'events'"
        " WHERE r.field = 1 AND i.seq = ANY(r.seqs)) FROM hub.item i WHERE i.id = ANY(%s)",
        (numbers,),
    ).fetchall()
    known = {row[0]: row for row in rows}
    noted: list[Noted] = []
    for hit in hits:
        row = known.get(items[hit.id])
        if row is None:
            continue
        number, session, seq, is_shared = row
        event = event_id(session, seq) if is_shared and seq is not None else None
        # What comes from no session stands alone: its own number, negative, is no other's.
        noted.append(Noted(hit.id, session if session is not None else -number, hit.score, event))
    return noted


def _turns(
    connection: Connection, found: dict[int, list[Scored]], items: dict[int, int]
) -> frozenset[int]:
    """Which of the events are turns, and so stand in the field over turns."""
    known = frozenset(hit.id for hit in found[TURN])
    others = sorted({items[hit.id] for hit in found[EVENT] if hit.id not in known})
    rows = connection.execute(
        "SELECT session, seqs FROM hub.run WHERE item_id = ANY(%s) AND field = 2", (others,)
    ).fetchall()
    return known | {event_id(session, seq) for session, seqs in rows for seq in seqs}
