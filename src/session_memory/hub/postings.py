"""What the index of a hub knows about words: counts, BM25 scores, and who holds all of them.

No statement reads more the more there is: how often a word occurs is counted when it is written,
only words below a bound are scored, and what is asked of the others are the newest documents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import msgspec

from session_memory.core.sharing.wire import Search
from session_memory.hub.database import Connection, numbers_array
from session_memory.hub.words import LESSON
from session_memory.store.search_rank import OFTEN

MOST_SCORED = 4_000
MOST_NOTED = 1_000
MOST_RANKED = 260
FEW_ITEMS, MANY_ITEMS = 200, 8_000
"""Items that are looked through for documents with every word."""
MOST_FILTERED = 1_000
"""Of those with such documents, the newest that a filter is applied to."""
MOST_STEMS = 60
"""Words of one question: which of them a document holds are the bits of one number."""
MOST_READ = 20_000
"""Counts that are read to find words like one that is not there."""
MOST_SIMILAR = 200
"""How many of those are counted."""
K1, B = 1.2, 0.75
"""As in SQLite's FTS5."""

Counts = dict[tuple[int, str], int]
"""(Field, word) to how many documents hold it."""

# A document is named by its session and place, a lesson by its item: the names that
# store/search_rank expects. 24 is SEQ_BITS.
_DOCUMENT: LiteralString = (
    "CASE WHEN r.field = 3 THEN r.item_id << 24 ELSE (r.session << 24) + r.seqs[d.number + 1] END"
)
_NUMBER: LiteralString = "(h >> 7) & 255"


class DocumentHit(msgspec.Struct, frozen=True):
    """One document, the item that holds it, its score, and which of the words it holds."""

    document: int
    item: int
    number: int
    score: float = 0.0
    held: int = 0


class Field(msgspec.Struct, frozen=True):
    """One field of the index, limited to what a question may find."""

    number: int
    values: dict[str, Any]
    most_scored: int
    condition: LiteralString = ""
    """A further SQL condition on a hit `h` of a posting `p`."""


def field_of(number: int, projects: list[int], member: str, request: Search) -> Field:
    """A field with the filters of a request."""
    parts: list[LiteralString] = []
    values: dict[str, Any] = {"projects": projects, "field": number}
    at: LiteralString = f"coalesce(r.times[({_NUMBER}) + 1], i.at)"
    filters: tuple[tuple[LiteralString, str, object], ...] = (
        (f"{at} >= %(since)s", "since", request.since),
        (f"{at} < %(until)s", "until", request.until),
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
    if request.projects or request.session:  # among few sessions, this many hits mean a common word
        most //= 4
    if not parts:
        return Field(number, values, most)
    inner: LiteralString = " AND ".join(parts)
    condition: LiteralString = (
        " AND EXISTS (SELECT 1 FROM hub.item i JOIN hub.run r ON r.item_id = i.id"
        f" AND r.field = %(field)s WHERE i.id = p.item_id AND {inner})"
    )
    return Field(number, values, most, condition)


def counts_of(connection: Connection, projects: list[int], stems: Sequence[str]) -> Counts:
    """How many documents hold each word, in each field."""
    rows = connection.execute(
        "SELECT field, term, sum(documents) FROM hub.word WHERE project_id = ANY(%s)"
        " AND field IN (1, 2, 3) AND term = ANY(%s) GROUP BY 1, 2",
        (projects, list(stems)),
    ).fetchall()
    return {(field, term): int(count) for field, term, count in rows}


def beginning(connection: Connection, projects: list[int], head: str) -> list[str]:
    """Words of events that begin so; only a part where there are very many."""
    rows = connection.execute(
        # Reads only the index.
        "SELECT DISTINCT term FROM (SELECT term FROM hub.word WHERE project_id = ANY(%s)"
        " AND field = 1 AND term >= %s AND term < %s LIMIT %s) AS read",
        (projects, head, head + "\U0010ffff", MOST_READ),
    ).fetchall()
    return [str(term) for (term,) in rows]


def sizes_of(connection: Connection, projects: list[int]) -> dict[int, tuple[int, int]]:
    """How many documents and words there are, by field."""
    rows = connection.execute(
        "SELECT field, sum(documents), sum(words) FROM hub.size WHERE project_id = ANY(%s)"
        " GROUP BY field",
        (projects,),
    ).fetchall()
    return {field: (int(documents), int(words)) for field, documents, words in rows}


def scored(
    connection: Connection, field: Field, weights: Mapping[str, float], size: tuple[int, int]
) -> list[DocumentHit]:
    """The best documents; words of weight 0 are only looked for in those that others found."""
    documents, words = size
    # In a local store events and turns begin with a word for their place, which counts as one.
    extra_words = 0 if field.number == LESSON else 1
    rows = connection.execute(
        "WITH best AS (SELECT p.item_id, p.session, "
        f" {_NUMBER} AS number,"
        " sum(w.weight * (h & 127) * %(k1)s::float8 / ((h & 127) + %(k)s::float8"
        "  * (1 - %(b)s::float8 + %(b)s::float8 * ((h >> 15) + %(place)s::integer)"
        "   / %(average)s::float8))) AS score,"
        " bit_or(1::bigint << w.place::integer) AS held"
        " FROM unnest(%(terms)s::text[], %(weights)s::float8[]) WITH ORDINALITY"
        "  AS w (term, weight, place)"
        " JOIN hub.posting p ON p.term = w.term CROSS JOIN LATERAL unnest(p.hits) AS h"
        " WHERE p.project_id = ANY(%(projects)s) AND p.field = %(field)s"
        f" AND p.term = ANY(%(terms)s) {field.condition}"
        " GROUP BY 1, 2, 3 HAVING max(w.weight) > 0"
        " ORDER BY score DESC, p.session DESC, p.item_id DESC, number DESC LIMIT %(limit)s)"
        f" SELECT {_DOCUMENT} AS document, d.item_id, d.number, d.score, d.held"
        " FROM best d JOIN hub.run r ON r.item_id = d.item_id AND r.field = %(field)s",
        {
            **field.values,
            "terms": list(weights),
            "weights": list(weights.values()),
            "k": K1,
            "k1": K1 + 1,
            "b": B,
            "place": extra_words,
            "average": max(1.0, words / max(1, documents) + extra_words),
            "limit": MOST_RANKED,
        },
    ).fetchall()
    # Sums of the same numbers in another order differ in their last digits: equal texts must not.
    # The bit of the first word is the second one.
    return [
        DocumentHit(document, item, number, round(float(score), 9), int(held) >> 1)
        for document, item, number, score, held in rows
    ]


def weight_of(count: int, documents: int) -> float:
    """The weight of a word: next to nothing if more than half of the documents hold it."""
    return max(math.log((documents - count + 0.5) / (count + 0.5)), 1e-6)


_NONE: LiteralString = "B'0'::bit(256)"
# Which documents of an item hold a word. In one or two documents it has no bits of its own: those
# are the first hit and the last.
_BITS: LiteralString = (
    f"coalesce(p.documents, set_bit(set_bit({_NONE}, (p.hits[1] >> 7) & 255, 1),"
    "  (p.hits[cardinality(p.hits)] >> 7) & 255, 1))"
)
# The newest items that hold the rarest word.
_WITH_RAREST: LiteralString = (
    "SELECT x.project_id, x.item_id FROM unnest(%(projects)s::integer[]) AS q (project_id)"
    " CROSS JOIN LATERAL (SELECT p.project_id, p.item_id FROM hub.posting p"
    "  WHERE p.project_id = q.project_id AND p.field = %(field)s"
    "  AND p.term = (%(terms)s::text[])[1] ORDER BY p.item_id DESC LIMIT %(most)s) AS x"
    " ORDER BY x.item_id DESC LIMIT %(most)s"
)
# The items with a document that holds the two rarest words.
_WITH_TWO: LiteralString = (
    "SELECT p.project_id, p.item_id FROM hub.posting p WHERE p.project_id = ANY(%(projects)s)"
    " AND p.field = %(field)s AND p.term = ANY((%(terms)s::text[])[1:2])"
)
_SINCE: LiteralString = f" AND p.item_id >= (SELECT min(x.item_id) FROM ({_WITH_RAREST}) AS x)"
_BOTH: LiteralString = (
    f" GROUP BY 1, 2 HAVING count(*) = 2 AND bit_and({_BITS}) <> {_NONE} ORDER BY 2 DESC"
)


def newest_with_all(
    connection: Connection, field: Field, counts: Mapping[str, int], limit: int
) -> list[DocumentHit]:
    """The newest documents that hold every word; the rarest word comes first.

    Words that stand everywhere stand in the newest items too, so a few of those are looked at
    first. Otherwise it is quicker to compare the two rarest words whole.
    """
    rarest, *others = sorted(counts.values())
    if rarest <= FEW_ITEMS or not others:
        return _with_all(connection, field, counts, _WITH_RAREST, (FEW_ITEMS, limit))
    if others[0] > MANY_ITEMS:
        documents = _with_all(connection, field, counts, _WITH_RAREST, (FEW_ITEMS, limit))
        if len(documents) == limit:
            return documents
    two: LiteralString = _WITH_TWO + (_SINCE if rarest > MANY_ITEMS else "") + _BOTH
    return _with_all(connection, field, counts, two, (MANY_ITEMS, limit))


def _with_all(
    connection: Connection,
    field: Field,
    counts: Mapping[str, int],
    items: LiteralString,
    bounds: tuple[int, int],
) -> list[DocumentHit]:
    """Documents of some items that hold every word."""
    rows = connection.execute(
        f"SELECT {_DOCUMENT} AS document, p.item_id, d.number FROM ("
        f"SELECT n.item_id, b.documents FROM ({items}) AS n CROSS JOIN LATERAL ("
        "  SELECT bit_and(p.bits) AS documents FROM unnest(%(terms)s::text[]) AS t (term)"
        # The limit keeps the planner from reading all words of an item to find these.
        f"  CROSS JOIN LATERAL (SELECT {_BITS} AS bits FROM hub.posting p"
        "    WHERE p.project_id = n.project_id AND p.field = %(field)s AND p.term = t.term"
        "    AND p.item_id = n.item_id LIMIT 1) AS p HAVING count(*) = %(all)s) AS b"
        f" WHERE b.documents <> {_NONE} ORDER BY n.item_id DESC LIMIT %(items)s) AS p"
        # As a hit, which the filters expect.
        " CROSS JOIN LATERAL (SELECT number, number << 7 AS h FROM generate_series(255, 0, -1)"
        "  AS number WHERE get_bit(p.documents, number) = 1) AS d"
        " JOIN hub.run r ON r.item_id = p.item_id AND r.field = %(field)s"
        f" WHERE true {field.condition}"
        " ORDER BY p.item_id DESC, d.number DESC LIMIT %(limit)s",
        {
            **field.values,
            "terms": list(counts),
            "most": bounds[0],
            "all": len(counts),
            # A filter may leave out most of them.
            "items": MOST_FILTERED if field.condition else bounds[1],
            "limit": bounds[1],
        },
    ).fetchall()
    return [DocumentHit(*row) for row in rows]


def session_scores(
    connection: Connection, field: Field, stems: Sequence[str], sessions: Sequence[int]
) -> dict[int, float]:
    """How much of these words each session says: store/search_rank.share_by_session in SQL."""
    rows = connection.execute(
        "WITH said AS (SELECT p.term, p.session, sum(cardinality(p.hits))::float8 AS times"
        "  FROM hub.posting p WHERE p.project_id = ANY(%(projects)s) AND p.field = %(field)s"
        "  AND p.term = ANY(%(terms)s) GROUP BY 1, 2),"
        " rare AS (SELECT term, ln(1 + ((SELECT count(DISTINCT session) FROM said) - count(*)"
        "  + 0.5)::float8 / (count(*) + 0.5)::float8) AS weight FROM said GROUP BY term),"
        " told AS (SELECT s.session, sum(w.weight * s.times / (s.times + %(often)s::float8))"
        "  AS score FROM said s JOIN rare w ON w.term = s.term GROUP BY 1)"
        " SELECT session, score / nullif((SELECT max(score) FROM told), 0) FROM told"
        " WHERE session = ANY(%(sessions)s::bigint[])",
        {**field.values, "terms": list(stems), "often": OFTEN, "sessions": numbers_array(sessions)},
    ).fetchall()
    return {session: float(score or 0) for session, score in rows}


def word_orders(connection: Connection, documents: Sequence[DocumentHit]) -> dict[int, str]:
    """The words of events in their order, by document."""
    rows = connection.execute(
        "SELECT d.document, o.words FROM unnest(%s::bigint[], %s::bigint[], %s::smallint[])"
        " AS d (document, item, number)"
        " JOIN hub.word_order o ON o.item_id = d.item AND o.number = d.number",
        (
            numbers_array(document.document for document in documents),
            numbers_array(document.item for document in documents),
            numbers_array(document.number for document in documents),
        ),
    ).fetchall()
    return dict(rows)  # pyright: ignore[reportArgumentType]  # rows of two
