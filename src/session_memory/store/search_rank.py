"""How hits of the three full-text indexes become one order.

An event is found by its own words, a turn also together with the two turns before it, and an
observation by the words it was put into. Measured on two sets of questions (docs/measurements.md):

- Scores find the right turn a little better, ranks the right session, so each counts half.
- The index over turns in context counts more than the one over single events. A command, an output
  or an error has no entry there: its own words count for both, or talk about an error would always
  stand before the error.
- Hits that hold more of the rare words are better than hits that hold one of them often.
- An event with an observation that holds these words is the better hit.
- Words that stand side by side in the question and in a hit, as in a message or a command, are a
  better match than the same words far apart.
- A hit in a session with further good hits, or in which the words occur somewhere, is more likely
  the one that was meant. So that one session does not fill a page, no more than seven of ten are
  of the same one, and the last two are of sessions that the page does not show yet.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from session_memory.core.event_ids import SEQ_BITS

IN_CONTEXT = 1.5
"""Weight of a turn found with its predecessors, compared to 1 for the event alone."""
NOTED = 1.0
"""What the best observation adds to the event it was read from."""
COMPANY = 0.5
"""How much of the best score a session's good hits can add to each of them."""
COMPANIONS = 3
RANK_SCALE = 20
"""The place at which a rank counts half as much as the first."""
COVERED = 1.25
"""What holding every word adds to a hit, as a part of the best score; half of them a quarter."""
SESSION_BONUS = 0.2
"""What the session in which the words occur most adds to its hits, as a part of the best."""
OFTEN = 2.0
"""How often a session must say a word for half of the possible weight."""
PAIRED = 0.5
"""What holding the words as neighbours, as the question has them, adds in the same way."""
ALL_TERMS_BONUS = 0.25
"""Of the best score: every word present outweighs one of them often, but not by far."""
PAGE, OF_ONE_SESSION, OF_OTHERS = 10, 7, 2
VARIED_PAGES = 10
"""Further down readers do not look for another session."""


class Scored(msgspec.Struct, frozen=True):
    """One hit in one index: the better, the higher."""

    id: int
    session: int
    score: float


class Noted(msgspec.Struct, frozen=True):
    """An observation that matches; `event` is None where what it was read from is gone."""

    id: int
    session: int
    score: float
    event: int | None


class Hit(msgspec.Struct, frozen=True):
    """One result: an event, an observation, or an event with the observation read from it."""

    session: int
    score: float
    event: int | None = None
    observation: int | None = None


class IndexHits(msgspec.Struct, frozen=True):
    """What the indexes gave, each list best first."""

    alone: Sequence[Scored] = ()
    in_context: Sequence[Scored] = ()
    noted: Sequence[Noted] = ()
    turns: frozenset[int] = frozenset()
    """Events that are turns, and so stand in the index over turns."""
    session_share: Mapping[int, float] = {}
    """How much each session says of the words, 1 for the one that says most."""


def with_coverage(
    scores: Mapping[int, float],
    whole: Collection[int],
    holding: Mapping[str, set[int]],
    counts: Mapping[str, int] | None = None,
) -> list[Scored]:
    """The rows of one index, best first: the more of the rare words they hold, the higher.

    Those in `whole` hold every term, names as one, and are lifted over the others. `counts` says
    how many rows hold each word where `holding` has only those that were found.
    """
    best = max(scores.values(), default=0.0)
    least = min(scores.values(), default=0.0)
    bonus = ALL_TERMS_BONUS * best if scores else 1.0
    lifted = dict(scores) | {row: scores.get(row, least) + bonus for row in whole}
    if lifted and len(holding) > 1:
        best = max(lifted.values())
        held_by = counts or {word: len(rows) for word, rows in holding.items()}
        for row, share in _covered(lifted, holding, held_by).items():
            lifted[row] += COVERED * best * share * share
    order = sorted(lifted.items(), key=lambda entry: (-entry[1], -entry[0]))
    return [Scored(row, row >> SEQ_BITS, score) for row, score in order]


def _covered(
    rows: Collection[int], holding: Mapping[str, set[int]], counts: Mapping[str, int]
) -> dict[int, float]:
    """Which part of the words each row holds, rare ones counting more."""
    most = max(counts[word] for word in holding)
    weight = {word: math.log(1 + (1 + 3 * most) / (1 + counts[word])) for word in holding}
    total = sum(weight.values())
    share = dict.fromkeys(rows, 0.0)
    for word, holders in holding.items():
        part = weight[word] / total
        for row in holders & share.keys():
            share[row] += part
    return share


def fuse(hits: IndexHits) -> list[Hit]:
    """One order of everything that was found, best first; newest first where equal."""
    alone, in_context = _relative(hits.alone), _relative(hits.in_context)
    scores: dict[int, float] = {}
    for event in (*alone, *in_context):
        if event not in scores:
            own = alone.get(event, 0.0)
            context = in_context.get(event, 0.0 if event in hits.turns else own)
            scores[event] = own + IN_CONTEXT * context
    lifted = _with_notes(hits, scores)
    company = _company(lifted)
    most = SESSION_BONUS * max((hit.score for hit in lifted), default=0.0)
    ranked = [
        Hit(
            hit.session,
            hit.score + company[hit.session] + most * hits.session_share.get(hit.session, 0.0),
            hit.event,
            hit.observation,
        )
        for hit in lifted
    ]
    return varied(sorted(ranked, key=lambda hit: (-hit.score, -(hit.event or 0))))


def _relative(hits: Sequence[Scored]) -> dict[int, float]:
    best = max((hit.score for hit in hits), default=0.0)
    return {
        hit.id: (hit.score / best if best > 0 else 1.0) + RANK_SCALE / (RANK_SCALE + place)
        for place, hit in enumerate(hits)
    }


def _with_notes(hits: IndexHits, scores: dict[int, float]) -> list[Hit]:
    """Events and observations: the best of an event lifts it, any other stands for itself."""
    best = max((note.score for note in hits.noted), default=0.0)
    best_of_all = max(best, max((hit.score for hit in hits.alone), default=0.0))
    lifted: dict[int, Hit] = {}
    others: list[Hit] = []
    for place, note in enumerate(hits.noted):
        share = note.score / best if best > 0 else 1.0
        event = note.event
        if event in scores and event not in lifted:
            score = scores[event] + NOTED * share * share
            lifted[event] = Hit(note.session, score, event, note.id)
            continue
        # Without its event its words count as an event's do, measured by the best of both.
        scale = min(1.0, note.score / best_of_all) if best_of_all > 0 else 1.0
        own = scale + scale * RANK_SCALE / (RANK_SCALE + place)
        whole = (1 + IN_CONTEXT) * own if event is None else NOTED * own
        others.append(Hit(note.session, whole, event, note.id))
    events = (
        lifted.get(event) or Hit(event >> SEQ_BITS, score, event) for event, score in scores.items()
    )
    return [*events, *others]


def share_by_session(holding: Mapping[str, set[int]]) -> dict[int, float]:
    """How much of these words each session says, rare words counting more; 1 for the most."""
    said = {word: Counter(row >> SEQ_BITS for row in rows) for word, rows in holding.items()}
    sessions = len(set[int]().union(*said.values()))
    session_share: defaultdict[int, float] = defaultdict(float)
    for times in said.values():
        rarity = math.log(1 + (sessions - len(times) + 0.5) / (len(times) + 0.5))
        for session, count in times.items():
            session_share[session] += rarity * count / (count + OFTEN)
    most = max(session_share.values(), default=0.0) or 1.0
    return {session: score / most for session, score in session_share.items()}


def _company(hits: Iterable[Hit]) -> dict[int, float]:
    by_session: defaultdict[int, list[float]] = defaultdict(list)
    for hit in hits:
        by_session[hit.session].append(hit.score)
    totals = {
        session: sum(sorted(scores, reverse=True)[:COMPANIONS])
        for session, scores in by_session.items()
    }
    most = max(totals.values(), default=0.0)
    best = max((max(scores) for scores in by_session.values()), default=0.0)
    return {
        session: COMPANY * best * total / most if most > 0 else 0.0
        for session, total in totals.items()
    }


def with_pairs(hits: Sequence[Scored], near: Sequence[Collection[int]]) -> list[Scored]:
    """The same hits, the higher the more pairs of neighbouring words they hold side by side."""
    if not hits or not any(near):
        return list(hits)
    step = PAIRED * hits[0].score / len(near)
    held = Counter(row for rows in near for row in rows)
    lifted = [Scored(hit.id, hit.session, hit.score + step * held[hit.id]) for hit in hits]
    return sorted(lifted, key=lambda hit: (-hit.score, -hit.id))


def varied(ranked: Sequence[Hit]) -> list[Hit]:
    """The same order, but no session takes more than its places in a page while others wait."""
    waiting, ordered = list(ranked), list[Hit]()
    for _ in range(VARIED_PAGES):
        page, waiting = _page(waiting)
        ordered += page
    return ordered + waiting


def _page(waiting: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """The next page, and what is left in its order."""
    page, later = list[Hit](), list[Hit]()
    shown = Counter[int]()
    for place, hit in enumerate(waiting):
        most = OF_ONE_SESSION if len(page) < PAGE - OF_OTHERS else 1
        if shown[hit.session] >= most:
            later.append(hit)
            continue
        shown[hit.session] += 1
        page.append(hit)
        if len(page) == PAGE:
            return page, later + list(waiting[place + 1 :])
    missing = PAGE - len(page)  # no other session has anything to say
    return page + later[:missing], later[missing:]
