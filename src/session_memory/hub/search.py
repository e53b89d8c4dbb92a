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
    DocumentHit,
    Field,
    beginning,
    counts_of,
    field_of,
    newest_with_all,
    scored,
    session_scores,
    sizes_of,
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


class _Question(msgspec.Struct, frozen=True):
    """The words of a question, and how often they occur."""

    stems: list[str]
    counts: Counts
    sizes: dict[int, tuple[int, int]]
    """Documents and words of each field."""


class _Hits(msgspec.Struct, frozen=True):
    """The hits of one field, best first, and the words that were scored."""

    ranked: list[Scored] = []
    telling: list[str] = []


def find(connection: Connection, projects: list[int], member: str, request: Search) -> Ranked:
    """Documents that fit a question, in one order."""
    question = _read_question(connection, projects, terms_of(request.query))
    items: dict[int, int] = {}
    if not question.counts:
        return Ranked([], items)
    wants_events = not request.kinds or "events" in request.kinds
    wants_lessons = not request.kinds or set(request.kinds) != {"events"}
    hits_by_field: dict[int, _Hits] = {}
    for number in (EVENT, TURN, LESSON):
        wanted = wants_lessons if number == LESSON else wants_events
        field = field_of(number, projects, member, request)
        hits_by_field[number] = _hits(connection, field, question, items) if wanted else _Hits()
    noted = _noted(connection, hits_by_field[LESSON].ranked)
    turns = _turns(connection, hits_by_field, items)
    scores_by_session: dict[int, float] = {}
    if hits_by_field[EVENT].telling:
        sessions = {hit.session for number in (EVENT, TURN) for hit in hits_by_field[number].ranked}
        field = field_of(EVENT, projects, member, request)
        scores_by_session = session_scores(
            connection,
            field,
            hits_by_field[EVENT].telling,
            sorted(sessions | {n.session for n in noted}),
        )
    hits = fuse(
        IndexHits(
            hits_by_field[EVENT].ranked, hits_by_field[TURN].ranked, noted, turns, scores_by_session
        )
    )
    return Ranked(hits, items)


def _read_question(connection: Connection, projects: list[int], terms: Terms) -> _Question:
    """The words of a question as the index spells them, with similar ones for those it lacks."""
    stems = {word: words_of(word) for word in terms.words}
    counts = counts_of(
        connection, projects, [each for word_stems in stems.values() for each in word_stems]
    )
    known_terms = {term for field, term in counts if field != TURN}
    unknown = [word for word, word_stems in stems.items() if not known_terms & set(word_stems)]
    similar = {word: _similar(connection, projects, word) for word in unknown[:MOST_UNKNOWN]}
    if any(similar.values()):
        counts |= counts_of(
            connection, projects, [term for each in similar.values() for term in each]
        )
    listed = [
        each for word, word_stems in stems.items() for each in similar.get(word) or word_stems
    ]
    return _Question(
        list(dict.fromkeys(listed))[:MOST_STEMS], counts, sizes_of(connection, projects)
    )


def _similar(connection: Connection, projects: list[int], word: str) -> list[str]:
    """Words of the index that stand for one that it lacks."""
    plain = folded(word)

    def read(head: str) -> list[tuple[str, int]]:
        terms = beginning(connection, projects, head)
        if len(head) < SHORTEST:  # else these are words that begin with all of it
            terms = [term for term in terms if slips_between(plain, term) is not None]
        counts = counts_of(connection, projects, terms[:MOST_SIMILAR])
        event_terms = [(term, count) for (field, term), count in counts.items() if field == EVENT]
        return sorted(event_terms, key=lambda each: -each[1])

    return similar_words(read, word)


def _hits(
    connection: Connection, field: Field, question: _Question, items: dict[int, int]
) -> _Hits:
    """The best of one field: documents with every word first, then those with rare words."""
    counts = {stem: question.counts.get((field.number, stem), 0) for stem in question.stems}
    known_stems = sorted((stem for stem in counts if counts[stem]), key=lambda stem: counts[stem])
    if not known_stems:
        return _Hits()
    rising = {stem: counts[stem] for stem in known_stems}
    whole: list[DocumentHit] = []
    if 1 < len(known_stems) == len(question.stems):
        whole = newest_with_all(connection, field, rising, WITH_ALL_TERMS)
    if counts[known_stems[0]] > field.most_scored:
        newest = whole or newest_with_all(
            connection, field, {known_stems[0]: counts[known_stems[0]]}, MOST_RANKED
        )
        _keep_items(field, newest, items)
        ordered = enumerate(document.document for document in newest[:MOST_RANKED])
        return _Hits([Scored(row, row >> SEQ_BITS, 1 - n / MOST_RANKED) for n, row in ordered])
    documents = question.sizes.get(field.number, (0, 0))[0]
    rarest = _rarest(known_stems, counts, field.most_scored)
    # A word that no document holds still counts: none of them is a whole answer.
    telling = [stem for stem in question.stems if counts[stem] <= field.most_scored]
    weights = {
        stem: weight_of(counts[stem], documents) if stem in rarest else 0.0 for stem in telling
    }
    best = scored(connection, field, weights, question.sizes.get(field.number, (0, 0)))
    by_document = {document.document: document for document in (*whole, *best)}
    _keep_items(field, by_document.values(), items)
    every = {document.document for document in whole}
    holding = {
        stem: every | {document.document for document in best if document.held >> bit & 1}
        for bit, stem in enumerate(telling)
    }
    scores = {document.document: document.score for document in best}
    ranked = with_coverage(scores, [document.document for document in whole], holding, counts)
    if field.number == EVENT:
        pairs = [
            pair if 0 < min(counts[word] for word in pair) <= field.most_scored else None
            for pair in list(pairwise(question.stems))[:MOST_PAIRS]
        ]
        ranked = _with_pairs(connection, ranked, by_document, pairs)
    return _Hits(ranked, telling)


def _keep_items(field: Field, documents: Iterable[DocumentHit], items: dict[int, int]) -> None:
    """Remember where events are; a lesson's own number says it, and could be that of an event."""
    if field.number != LESSON:
        items.update((document.document, document.item) for document in documents)


def _with_pairs(
    connection: Connection,
    ranked: list[Scored],
    by_document: dict[int, DocumentHit],
    pairs: list[tuple[str, str] | None],
) -> list[Scored]:
    """The same hits, higher where neighbouring words of the question stand nearly side by side."""
    if not any(pairs):
        return ranked
    orders = word_orders(connection, [by_document[hit.id] for hit in ranked])
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
    first, second = ([index for index, each in enumerate(listed) if each == word] for word in pair)
    return any(abs(a - b) <= NEARNESS + 1 for a in first for b in second)


def _rarest(stems: list[str], counts: dict[str, int], most: int) -> list[str]:
    taken: list[str] = []
    total = 0
    for stem in stems:
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
    row_by_id = {row[0]: row for row in rows}

    def order(hit: Scored) -> tuple[float, int, int]:
        _, _, _, at, kind, body, _ = row_by_id[hit.id >> SEQ_BITS]
        named = _type_of(bytes(body)) if kind == "observation" else ""
        return (-round(hit.score, 6), PRECEDENCE.get(named, 9), -(at or 0))

    noted: list[Noted] = []
    for hit in sorted((hit for hit in hits if hit.id >> SEQ_BITS in row_by_id), key=order):
        number, session, seq, _, _, _, is_shared = row_by_id[hit.id >> SEQ_BITS]
        event = event_id(session, seq) if is_shared and seq is not None else None
        # A lesson of no session gets its own negative number, which no session has.
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
    connection: Connection, hits_by_field: dict[int, _Hits], items: dict[int, int]
) -> frozenset[int]:
    """Which of the events are turns, and so stand in the field over turns."""
    turns = frozenset(hit.id for hit in hits_by_field[TURN].ranked)
    others = [hit.id for hit in hits_by_field[EVENT].ranked if hit.id not in turns]
    rows = connection.execute(
        "SELECT d.document FROM unnest(%s::bigint[], %s::bigint[]) AS d (document, item)"
        " JOIN hub.run r ON r.item_id = d.item AND r.field = 2"
        " WHERE (d.document & 16777215) = ANY(r.seqs)",
        (numbers_array(others), numbers_array(items[other] for other in others)),
    ).fetchall()
    return turns | {row[0] for row in rows}
