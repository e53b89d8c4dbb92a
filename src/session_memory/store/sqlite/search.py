"""Full-text search over the indexes, with a bound on the rows any question can make it look at.

Measured on a million events: finding a row in an index costs 0.1 microseconds, scoring one 1.3. So
words are looked up first, up to a bound; the rarest are scored; and where even the rarest stands
everywhere, the newest rows are taken unscored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import msgspec

from session_memory.core.observation_order import PRECEDENCE
from session_memory.core.schema import EXCLUDED_STATUSES
from session_memory.core.text.search_terms import Terms, terms_of
from session_memory.store.search_rank import (
    Hit,
    IndexHits,
    Noted,
    Scored,
    fuse,
    share_by_session,
    with_coverage,
    with_pairs,
)
from session_memory.store.sqlite import word_score
from session_memory.store.sqlite.connection import Database, rows, value
from session_memory.store.sqlite.ids import SEQ_BITS
from session_memory.store.sqlite.places import place_word
from session_memory.store.sqlite.search_scope import Index, Scope, in_scope, inside_json, scope_of
from session_memory.store.sqlite.similar_words import other_spellings, similar_words
from session_memory.store.values import TextFilter

MOST_SCORED = 4_000
"""Rows scored per index and question."""
MOST_NOTED = 1_000
"""The same for observations: they lift events more often than they stand alone."""
MOST_COUNTED = 5_000
"""Rows of a word that are counted to know how rare it is; above that the count is estimated."""
MOST_RANKED = 260
"""Rows of each index that take part in the order: the same for every page of an answer."""
MOST_PAIRS = 8
NEARNESS = 3
"""Words that may stand between two neighbouring words of a question."""
WITH_ALL_TERMS = 100
"""Rows that hold every term get a bonus; the newest this many are looked at."""

_Condition = tuple[str, list[Any]]
# A result does not name its tool: its call does, and stands a little before it.
_RESULT_OF = (
    "(e.kind = 'tool_result' AND EXISTS (SELECT 1 FROM event c WHERE c.id BETWEEN e.id - 64"
    " AND e.id - 1 AND c.call_id = e.call_id AND c.tool = ?))"
)
_NUMBERS = msgspec.json.Decoder(list[int])
_EXCLUDED = ", ".join(f"'{status}'" for status in sorted(EXCLUDED_STATUSES))


def search(
    db: Database, question: str, limit: int, where: TextFilter | None = None
) -> list[tuple[int, float]]:
    """(event id, score) of events alone, best first."""
    hits = find(db, question, where, notes=False)
    return [(hit.event, hit.score) for hit in hits if hit.event is not None][: max(0, limit)]


def find(
    db: Database, question: str, where: TextFilter | None = None, *, notes: bool = True
) -> list[Hit]:
    """Events and observations in one order. Words are quoted: no query syntax gets through."""
    terms = terms_of(question)
    if not terms:
        return []
    given = where or TextFilter()
    scope = scope_of(db, given)
    if scope is not None and not scope.sessions:
        return []
    events = _Index.of("event_text", given, scope)
    held = {word: _holding(db, events, word) for word in terms.words}
    terms = _with_similar_words(db, terms, held)
    alone, held = _hits(db, events, terms, held)
    in_context, noted = list[Scored](), list[Noted]()
    if given.may_be_turns:
        in_context, _ = _hits(db, _Index.of("turn_text", given, scope), terms)
    if notes:
        observed, _ = _hits(db, _Index.of("observation_text", given, scope), terms)
        noted = _noted(db, observed)
    turn_ids = {hit.id for hit in in_context}
    turns = _turns(db, [hit.id for hit in alone if hit.id not in turn_ids])
    return fuse(IndexHits(alone, in_context, noted, turns | turn_ids, share_by_session(held)))


def word_counts(db: Database, words: tuple[str, ...]) -> dict[str, int]:
    """In how many events each word occurs, up to a bound above which it is too common to help."""
    index = _Index.of("event_text", TextFilter(), None)
    return {word: len(_holding(db, index, word)) for word in words}


def _with_similar_words(db: Database, terms: Terms, held: Mapping[str, set[int]]) -> Terms:
    """The same terms, with words of the index in place of those it does not hold at all.

    A word that it holds in one spelling gets the other spelling added, if there is one.
    """
    unknown = [word for word in terms.words if not held[word] and not _is_indexed(db, word)]
    similar = similar_words(db, unknown)
    also = {word: other_spellings(db, word) for word in terms.words if word not in similar}
    if not unknown and not any(also.values()):
        return terms
    words = [
        each for word in terms.words for each in similar.get(word) or [word, *also.get(word, ())]
    ]
    replaced = {word for word in unknown if similar[word]}
    names = [name for name in terms.names if not replaced & set(name.split())]
    return Terms(tuple(names), tuple(dict.fromkeys(words)))


def _is_indexed(db: Database, word: str) -> bool:
    return any(
        rows(db, f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1", (_quoted(word),))
        for table in ("event_text", "observation_text")
    )


def _turns(db: Database, events: list[int]) -> frozenset[int]:
    """Which of these are turns."""
    selected = rows(
        db,
        "SELECT id FROM event WHERE id IN (SELECT value FROM json_each(?)) AND indexed = 2",
        (msgspec.json.encode(events).decode(),),
    )
    return frozenset(row[0] for row in selected)


def _noted(db: Database, hits: list[Scored]) -> list[Noted]:
    """Observations with the event each was read from; what is open first where scores are equal."""
    selected = rows(
        db,
        "SELECT o.id, o.session_id, e.id, o.type, o.at FROM observation o"
        " LEFT JOIN event e ON e.id = o.event_id AND NOT e.superseded"
        " WHERE o.id IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode([hit.id for hit in hits]).decode(),),
    )
    by_id = {row[0]: row for row in selected}

    def order(hit: Scored) -> tuple[float, int, int]:
        return (-round(hit.score, 6), PRECEDENCE.get(by_id[hit.id][3], 9), -(by_id[hit.id][4] or 0))

    return [
        Noted(hit.id, by_id[hit.id][1], hit.score, by_id[hit.id][2])
        for hit in sorted((hit for hit in hits if hit.id in by_id), key=order)
    ]


class _Index(msgspec.Struct, frozen=True):
    """A full-text index, and which of its rows may be found."""

    name: Index
    rows: str
    """What stands between FROM and MATCH: the index itself, limited to the sessions in scope."""
    bindings: list[Any]
    condition: str
    """What a row must be besides; reading a row to know that costs ten times finding it."""
    values: list[Any]
    most_scored: int
    places: str = ""
    """The part of an expression that limits it to the places in scope."""
    is_own_score: bool = False
    """Whether SQLite's own score would count words again for each run of sessions, or count the
    words of places."""

    @classmethod
    def of(cls, name: Index, where: TextFilter, scope: Scope | None) -> _Index:
        """The index with the filters of a search."""
        if name == "observation_text":
            text, values = observation_condition(where)
            condition = f"EXISTS (SELECT 1 FROM observation o WHERE o.id = {name}.rowid AND {text})"
        else:
            condition, values = _of_event(name, where, scope)
        most = MOST_NOTED if name == "observation_text" else MOST_SCORED
        if scope is not None:  # so many among few sessions are as common a word
            is_near = bool(scope.places or scope.runs)
            most //= 4 if is_near else 8  # passing over rows of others takes as long as scoring
        is_own, places = scope is not None, ""
        if scope is not None and name != "observation_text":
            is_own = bool(scope.places or scope.runs)
            places = " OR ".join(_quoted(place_word(place)) for place in scope.places)
        return cls(name, *in_scope(name, scope), condition, values, most, places, is_own)

    @property
    def is_by_runs(self) -> bool:
        """Whether rows come run by run, and so in no order of their own."""
        return " JOIN " in self.rows

    def matching(self, expression: str) -> str:
        """The expression, limited to the places in scope."""
        return f"({self.places}) AND ({expression})" if self.places else expression

    def select(self, what: str, *, every: bool = False) -> str:
        """A statement up to its MATCH: rows that fit, or `every` row of the sessions in scope."""
        condition = "1" if every else self.condition
        return f"SELECT {what} FROM {self.rows} AND {condition} AND {self.name} MATCH ?"


def _hits(
    db: Database, index: _Index, terms: Terms, held: Mapping[str, set[int]] = MappingProxyType({})
) -> tuple[list[Scored], dict[str, set[int]]]:
    """The best rows of one index, and the rows that hold each of the words rare enough to help.

    Best are those that hold rare terms, and before them those with all. `held` are rows that hold
    words, as far as they are known already.
    """
    # Counting looks at sessions only: reading each event to know whether it counts takes too long.
    holding = {
        word: held[word] if word in held else _holding(db, index, word) for word in terms.words
    }
    counts = {word: len(holders) for word, holders in holding.items()}
    words = sorted((word for word in terms.words if counts[word]), key=lambda word: counts[word])
    if not words:
        return [], {}
    whole = _holding_all(db, index, terms, holding) if len(terms.words) > 1 else []
    if counts[words[0]] > index.most_scored:
        # Words that stand everywhere say little: then what is newest is the better guess.
        newest = whole or _newest_with(db, index, words[0], holding[words[0]])
        rows_ranked = enumerate(newest[:MOST_RANKED])
        return [Scored(row, row >> SEQ_BITS, 1 - n / MOST_RANKED) for n, row in rows_ranked], {}
    best = _scored(db, index, _rarest(words, counts, index.most_scored))
    telling = {
        word: holders for word, holders in holding.items() if len(holders) <= index.most_scored
    }
    ranked = with_coverage(best, whole, telling)
    return with_pairs(ranked, _near(db, index, terms.words, holding)), telling


def _near(
    db: Database, index: _Index, words: tuple[str, ...], holding: Mapping[str, set[int]]
) -> list[set[int]]:
    """For each pair of neighbouring words the rows that hold them side by side, or nearly so."""
    if index.name != "event_text":
        return []
    close = f"{index.select(f'{index.name}.rowid AS id', every=True)} LIMIT {index.most_scored}"
    near: list[set[int]] = []
    for first, second in list(pairwise(words))[:MOST_PAIRS]:
        rarer, other = sorted((holding[first], holding[second]), key=len)
        # Two words that stand everywhere take too long to be looked for together.
        is_looked_for = len(rarer) <= index.most_scored
        if is_looked_for and len(other) <= index.most_scored:
            is_looked_for = not rarer.isdisjoint(other)
        expression = index.matching(f"NEAR({_quoted(first)} {_quoted(second)}, {NEARNESS})")
        near.append(_numbers(db, close, (*index.bindings, expression)) if is_looked_for else set())
    return near


def _rarest(words: list[str], counts: dict[str, int], most: int) -> list[str]:
    """As many words as can be scored together, the rarest first; one at least."""
    taken, total = list[str](), 0
    for word in words:
        total += counts[word]
        if taken and total > most:
            break
        taken.append(word)
    return taken


def _holding_all(
    db: Database, index: _Index, terms: Terms, holding: Mapping[str, set[int]]
) -> list[int]:
    """The newest rows that hold every term, a name as one."""
    is_complete = all(len(holders) <= index.most_scored for holders in holding.values())
    if is_complete:
        together = set[int].intersection(*holding.values())
        if not together or (not terms.names and index.condition == "1"):
            return sorted(together, reverse=True)[:WITH_ALL_TERMS]
    in_names = {part for name in terms.names for part in name.split()}
    wanted = [*terms.names, *(word for word in terms.words if word not in in_names)]
    expression = " AND ".join(map(_quoted, wanted))
    return _newest(db, index, expression, WITH_ALL_TERMS)


def _scored(db: Database, index: _Index, words: list[str]) -> dict[int, float]:
    # Unlike `rank`, the expression is computed for rows that pass the condition only.
    score, counts = f"-bm25({index.name})", list[str]()
    if index.is_own_score:
        db.register_fts5_function(word_score.NAME, word_score.word_score)
        score = f"{word_score.NAME}({index.name}, ?)"
        counts = [
            msgspec.json.encode([_rows_with(db, index.name, word) for word in words]).decode()
        ]
    best = index.select(f"{index.name}.rowid, {score} AS score")
    expression = index.matching(" OR ".join(map(_quoted, words)))
    selected = rows(
        db,
        f"{best} ORDER BY score DESC, {index.name}.rowid DESC LIMIT {MOST_RANKED}",
        (*counts, *index.bindings, *index.values, expression),
    )
    return dict(selected)


def _rows_with(db: Database, name: Index, word: str) -> int:
    """In how many rows of a whole index a word stands; where it is many, about that."""
    inner = f"SELECT rowid AS id FROM {name} WHERE {name} MATCH ? LIMIT {MOST_COUNTED}"
    ((count, reached),) = rows(db, f"SELECT count(*), max(id) FROM ({inner})", (_quoted(word),))
    if count < MOST_COUNTED:
        return count
    last = f"SELECT max(id) FROM {'observation' if name == 'observation_text' else 'event'}"
    return count * int(value(db, last)) // reached


def _holding(db: Database, index: _Index, word: str) -> set[int]:
    """Rows that hold a word; of more than can be scored, the newest and one more than that."""
    inner = index.select(f"{index.name}.rowid AS id", every=True)
    in_order = index.bindings and not index.is_by_runs
    order = f" ORDER BY {index.name}.rowid DESC" if in_order else ""
    bindings = (*index.bindings, index.matching(_quoted(word)))
    return _numbers(db, f"{inner}{order} LIMIT {index.most_scored + 1}", bindings)


def _numbers(db: Database, inner: str, bindings: Sequence[Any]) -> set[int]:
    """What a statement selects as `id`: as one list it comes in half the time of many rows."""
    ((listed,),) = rows(db, f"SELECT json_group_array(id) FROM ({inner})", bindings)
    return set(_NUMBERS.decode(listed))


def _newest_with(db: Database, index: _Index, word: str, held: set[int]) -> list[int]:
    """The newest rows that fit and hold a word, of which the newest that hold it are known."""
    near: list[int] = []
    if index.bindings and not index.is_by_runs:  # looking through the others again takes long
        near = sorted(held, reverse=True)[: index.most_scored]
        if index.condition != "1":
            listed = "SELECT value AS rowid FROM json_each(?)"
            wanted = f"SELECT rowid FROM ({listed}) AS {index.name} WHERE {index.condition}"
            bindings = (msgspec.json.encode(near).decode(), *index.values)
            near = [row[0] for row in rows(db, f"{wanted} LIMIT {MOST_RANKED}", bindings)]
    return near or _newest(db, index, _quoted(word), MOST_RANKED)


def _newest(db: Database, index: _Index, expression: str, most: int) -> list[int]:
    """The newest rows that fit, of the newest with the words; of all rows if none of those fit."""
    number, expression = f"{index.name}.rowid", index.matching(expression)
    newest = f"{index.select(number, every=True)} ORDER BY {number} DESC LIMIT {index.most_scored}"
    near = rows(
        db,
        f"SELECT rowid FROM ({newest}) AS {index.name} WHERE {index.condition} LIMIT ?",
        (*index.bindings, expression, *index.values, most),
    )
    if not near and index.name == "event_text" and index.condition != "1":
        far = f"{index.select(number)} ORDER BY {number} DESC LIMIT ?"
        near = rows(db, far, (*index.bindings, *index.values, expression, most))
    return [row[0] for row in near]


def _quoted(words: str) -> str:
    return f'"{words}"'  # words hold letters and digits only


def _of_event(name: Index, where: TextFilter, scope: Scope | None) -> _Condition:
    """What an entry's event must be; of a session that is all in a wanted time, no time."""
    if not where.of_events:
        return "1", []
    text, values = event_condition(where)
    fits = f"EXISTS (SELECT 1 FROM event e WHERE e.id = {name}.rowid AND {text})"
    timeless = msgspec.structs.replace(where, since=None, until=None)
    if timeless.of_events or scope is None or scope.partly is None:
        return fits, values
    if not scope.partly:
        return "1", []
    listed = msgspec.json.encode(scope.partly).decode()
    partly = f"{name}.rowid >> {SEQ_BITS} IN (SELECT value FROM json_each(?))"
    return f"(NOT {partly} OR {fits})", [listed, *values]


def observation_condition(where: TextFilter) -> _Condition:
    """What an observation `o` must be, and the values that say so.

    It counts as the event it was read from; a filter on events leaves out what was read from none.
    """
    parts, bindings = [f"o.status NOT IN ({_EXCLUDED})"], list[Any]()
    for text, wanted in (("o.at >= ?", where.since), ("o.at < ?", where.until)):
        if wanted is not None:
            parts.append(text)
            bindings.append(wanted)
    of_event = msgspec.structs.replace(where, since=None, until=None)
    if of_event.of_events:
        inner, values = event_condition(of_event)
        parts.append(f"EXISTS (SELECT 1 FROM event e WHERE e.id = o.event_id AND {inner})")
        bindings.extend(values)
    return " AND ".join(parts), bindings


def event_condition(where: TextFilter) -> _Condition:
    """What an event `e` must be, and the values that say so."""
    parts, bindings = ["1"], list[Any]()
    for text, wanted in (
        ("e.kind IN (SELECT value FROM json_each(?))", _json(where.kinds)),
        ("instr(e.files, ?) > 0", None if where.file is None else inside_json(where.file)),
        ("e.at >= ?", where.since),
        ("e.at < ?", where.until),
    ):
        if wanted is not None:
            parts.append(text)
            bindings.append(wanted)
    if where.tool is not None:
        parts.append(f"(e.tool = ? OR {_RESULT_OF})")
        bindings += [where.tool, where.tool]
    if where.errors_only:
        parts.append("(e.is_error OR e.kind = 'error')")
    return " AND ".join(parts), bindings


def _json(kinds: tuple[str, ...]) -> str | None:
    return msgspec.json.encode(kinds).decode() if kinds else None
