"""Search over the index of a hub, in the order in which a local store would answer.

The steps and limits are those of the local search: words are counted first, the rarest are scored,
and what the three fields of the index gave becomes one order by the same rules (store/search_rank).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from session_memory.core.event_ids import SEQ_BITS, event_id
from session_memory.core.observation_order import PRECEDENCE
from session_memory.core.sharing.wire import Search
from session_memory.core.text.search_terms import Terms, terms_of
from session_memory.core.text.similar_words import (
    SHORTEST,
    folded,
    similar_words,
    slips_between,
)
from session_memory.hub.database import Connection, numbers_array
from session_memory.hub.postings import (
    MOST_RANKED,
    MOST_SIMILAR,
    MOST_STEMS,
    Counts,
    Field,
    Found,
    beginning,
    counts_of,
    field_of,
    newest_with_all,
    scored,
    sizes_of,
    told_by,
    weight_of,
    word_orders,
)
from session_memory.hub.words import EVENT, LESSON, TURN, words_of
from session_memory.store.search_rank import (
    Hit,
    IndexHits,
    Noted,
    Scored,
    fuse,
    with_coverage,
    with_pairs,
)

MOST_UNKNOWN = 4
"""Words of a question for which similar ones are looked up."""
MOST_PAIRS = 8
NEARNESS = 3
WITH_ALL_TERMS = 100


class Ranked(msgspec.Struct, frozen=True):
    """What was found, best first, and the item that holds each event."""

    hits: list[Hit]
    items: dict[int, int]

    def item_of(self, hit: Hit) -> int:
        """What a hit is shown as: a lesson where there is one, else its event."""
        if hit.observation is not None:
            return hit.observation >> SEQ_BITS
        assert hit.event is not None
        return self.items[hit.event]


class _Asked(msgspec.Struct, frozen=True):
    """The words of a question, and how often they occur."""

    stems: list[str]
    counts: Counts
    sizes: dict[int, tuple[int, int]]
    """Documents and words of each field."""


class _Hits(msgspec.Struct, frozen=True):
    """What one field gave, best first, and the words that tell something."""

    ranked: list[Scored] = []
    telling: list[str] = []


def find(connection: Connection, projects: list[int], member: str, request: Search) -> Ranked:
    """Documents that fit a question, in one order."""
    asked = _asked(connection, projects, terms_of(request.query))
    items: dict[int, int] = {}
    if not asked.counts:
        return Ranked([], items)
    wants_events = not request.kinds or "events" in request.kinds
    wants_lessons = not request.kinds or set(request.kinds) != {"events"}
    found: dict[int, _Hits] = {}
    for number in (EVENT, TURN, LESSON):
        wanted = wants_lessons if number == LESSON else wants_events
        field = field_of(number, projects, member, request)
        found[number] = _hits(connection, field, asked, items) if wanted else _Hits()
    noted = _noted(connection, found[LESSON].ranked)
    turns = _turns(connection, found, items)
    told: dict[int, float] = {}
    if found[EVENT].telling:
        sessions = {hit.session for number in (EVENT, TURN) for hit in found[number].ranked}
        field = field_of(EVENT, projects, member, request)
        told = told_by(
            connection, field, found[EVENT].telling, sorted(sessions | {n.session for n in noted})
        )
    hits = fuse(IndexHits(found[EVENT].ranked, found[TURN].ranked, noted, turns, told))
    return Ranked(hits, items)


def _asked(connection: Connection, projects: list[int], terms: Terms) -> _Asked:
    """The words of a question as the index spells them, with similar ones for those it lacks."""
    stems = {word: words_of(word) for word in terms.words}
    counts = counts_of(connection, projects, [each for found in stems.values() for each in found])
    known = {term for field, term in counts if field != TURN}
    unknown = [word for word, found in stems.items() if not known & set(found)]
    similar = {word: _similar(connection, projects, word) for word in unknown[:MOST_UNKNOWN]}
    if any(similar.values()):
        counts |= counts_of(
            connection, projects, [one for each in similar.values() for one in each]
        )
    listed = [each for word, found in stems.items() for each in similar.get(word) or found]
    return _Asked(list(dict.fromkeys(listed))[:MOST_STEMS], counts, sizes_of(connection, projects))


def _similar(connection: Connection, projects: list[int], word: str) -> list[str]:
    """Words of the index that stand for one that it lacks."""
    plain = folded(word)

    def read(head: str) -> list[tuple[str, int]]:
        terms = beginning(connection, projects, head)
        if len(head) < SHORTEST:  # else these are words that begin with all of it
            terms = [term for term in terms if slips_between(plain, term) is not None]
        counts = counts_of(connection, projects, terms[:MOST_SIMILAR])
        known = [(term, count) for (field, term), count in counts.items() if field == EVENT]
        return sorted(known, key=lambda each: -each[1])

    return similar_words(read, word)


def _hits(connection: Connection, field: Field, asked: _Asked, items: dict[int, int]) -> _Hits:
    """The best of one field: those that hold rare words, and before them those with all."""
    counts = {stem: asked.counts.get((field.number, stem), 0) for stem in asked.stems}
    known = sorted((stem for stem in counts if counts[stem]), key=lambda stem: counts[stem])
    if not known:
        return _Hits()
    rising = {stem: counts[stem] for stem in known}
    whole: list[Found] = []
    if 1 < len(known) == len(asked.stems):
        whole = newest_with_all(connection, field, rising, WITH_ALL_TERMS)
    if counts[known[0]] > field.most_scored:
        newest = whole or newest_with_all(
            connection, field, {known[0]: counts[known[0]]}, MOST_RANKED
        )
        _keep_items(field, newest, items)
        ordered = enumerate(one.document for one in newest[:MOST_RANKED])
        return _Hits([Scored(row, row >> SEQ_BITS, 1 - n / MOST_RANKED) for n, row in ordered])
    documents = asked.sizes.get(field.number, (0, 0))[0]
    rarest = _rarest(known, counts, field.most_scored)
    # A word that no document holds still counts: none of them is a whole answer.
    telling = [stem for stem in asked.stems if counts[stem] <= field.most_scored]
    weights = {
        stem: weight_of(counts[stem], documents) if stem in rarest else 0.0 for stem in telling
    }
    best = scored(connection, field, weights, asked.sizes.get(field.number, (0, 0)))
    found = {one.document: one for one in (*whole, *best)}
    _keep_items(field, found.values(), items)
    every = {one.document for one in whole}
    holding = {
        stem: every | {one.document for one in best if one.held >> place & 1}
        for place, stem in enumerate(telling)
    }
    scores = {one.document: one.score for one in best}
    ranked = with_coverage(scores, [one.document for one in whole], holding, counts)
    if field.number == EVENT:
        pairs = [
            pair if 0 < min(counts[word] for word in pair) <= field.most_scored else None
            for pair in list(pairwise(asked.stems))[:MOST_PAIRS]
        ]
        ranked = _with_pairs(connection, ranked, found, pairs)
    return _Hits(ranked, telling)


def _keep_items(field: Field, found: Iterable[Found], items: dict[int, int]) -> None:
    """Remember where events are; a lesson's own number says it, and could be that of an event."""
    if field.number != LESSON:
        items.update((one.document, one.item) for one in found)


def _with_pairs(
    connection: Connection,
    ranked: list[Scored],
    found: dict[int, Found],
    pairs: list[tuple[str, str] | None],
) -> list[Scored]:
    """The same hits, higher where neighbouring words of the question stand nearly side by side."""
    if not any(pairs):
        return ranked
    orders = word_orders(connection, [found[hit.id] for hit in ranked])
    near = [
        {document for document, words in orders.items() if pair and _side_by_side(words, pair)}
        for pair in pairs
    ]
    return with_pairs(ranked, near)


def _side_by_side(words: str, pair: tuple[str, str]) -> bool:
    """Whether two words stand next to each other with at most NEARNESS words between."""
    if pair[0] not in words or pair[1] not in words:
        return False
    listed = words.split(" ")
    one, other = ([place for place, each in enumerate(listed) if each == word] for word in pair)
    return any(abs(a - b) <= NEARNESS + 1 for a in one for b in other)


def _rarest(known: list[str], counts: dict[str, int], most: int) -> list[str]:
    taken: list[str] = []
    total = 0
    for stem in known:
        total += counts[stem]
        if taken and total > most:
            break
        taken.append(stem)
    return taken


def _noted(connection: Connection, hits: list[Scored]) -> list[Noted]:
    """Lessons with the event each was read from, where that is shared; what is open comes first."""
    rows = connection.execute(
        "SELECT i.id, i.session, i.seq, i.at, i.kind, i.body, EXISTS (SELECT 1 FROM hub.item e"
        "  JOIN hub.run r ON r.item_id = e.id AND r.field = 1"
        "  WHERE e.session = i.session AND e.kind = 'events' AND i.seq = ANY(r.seqs))"
        " FROM hub.item i WHERE i.id = ANY(%s::bigint[])",
        (numbers_array(hit.id >> SEQ_BITS for hit in hits),),
    ).fetchall()
    known = {row[0]: row for row in rows}

    def order(hit: Scored) -> tuple[float, int, int]:
        _, _, _, at, kind, body, _ = known[hit.id >> SEQ_BITS]
        named = _type_of(bytes(body)) if kind == "observation" else ""
        return (-round(hit.score, 6), PRECEDENCE.get(named, 9), -(at or 0))

    noted: list[Noted] = []
    for hit in sorted((hit for hit in hits if hit.id >> SEQ_BITS in known), key=order):
        number, session, seq, _, _, _, is_shared = known[hit.id >> SEQ_BITS]
        event = event_id(session, seq) if is_shared and seq is not None else None
        # What comes from no session stands alone: its own number, negative, is no other's.
        noted.append(Noted(hit.id, session if session is not None else -number, hit.score, event))
    return noted


class _Observed(msgspec.Struct):
    type: str = ""


_decode_observed = msgspec.json.Decoder(_Observed).decode


def _type_of(body: bytes) -> str:
    try:
        return _decode_observed(body).type
    except msgspec.MsgspecError:  # of a newer laptop
        return ""


def _turns(
    connection: Connection, found: dict[int, _Hits], items: dict[int, int]
) -> frozenset[int]:
    """Which of the events are turns, and so stand in the field over turns."""
    known = frozenset(hit.id for hit in found[TURN].ranked)
    others = [hit.id for hit in found[EVENT].ranked if hit.id not in known]
    rows = connection.execute(
        "SELECT d.document FROM unnest(%s::bigint[], %s::bigint[]) AS d (document, item)"
        " JOIN hub.run r ON r.item_id = d.item AND r.field = 2"
        " WHERE (d.document & 16777215) = ANY(r.seqs)",
        (numbers_array(others), numbers_array(items[other] for other in others)),
    ).fetchall()
    return known | {row[0] for row in rows}
