"""A compile without a model: what recurs and what was decided, as proposals for articles.

A thing that statements of several sessions name becomes a concept, and so does what a session
decided or learned, under what it was about. Little is proposed, and nothing that says little: the
rest stays where it is, in the log of its day.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from session_memory.core.text.masks import excerpt
from session_memory.journal.articles import slug
from session_memory.journal.merge import Point, Proposal
from session_memory.journal.statements import Item, Topic, is_error, subject_of, topics_of

MAX_CONCEPTS = 7
MAX_TOPICS = 4
MAX_CONNECTIONS = 2
MAX_POINTS = 12
LEAST_SESSIONS = 2
LEAST_WORDS = 25
LEAST_SUBJECT_WORDS = 15
TITLE_CHARS = 72
CORRECTED = "Corrected by the user:"
"""How a flush marks what holds for one moment more often than for good."""
_KEPT = ("exchange", "decision", "lesson")


def proposals(fresh: Sequence[Item], everything: Sequence[Item]) -> list[Proposal]:
    """What to make of new statements, seen beside all there are."""
    said = [item for item in everything if item.section in _KEPT]
    named = _recurring(fresh, said)
    topics = [_about(topic, items) for topic, items in named[:MAX_TOPICS]]
    subjects = _subjects(fresh)[: MAX_CONCEPTS - len(topics)]
    return [*topics, *subjects, *_connections(named[:MAX_TOPICS])]


def _recurring(fresh: Iterable[Item], said: Iterable[Item]) -> list[tuple[Topic, list[Item]]]:
    """Things that new statements name and that several sessions named, most often named first."""
    new = {topic for item in fresh if item.section in _KEPT for topic in topics_of(item.text)}
    naming: dict[Topic, list[Item]] = {}
    for item in said:
        for topic in topics_of(item.text):
            if topic in new and slug(topic.name):
                naming.setdefault(topic, []).append(item)
    enough = [(topic, items) for topic, items in naming.items() if _has_substance(items)]
    return sorted(enough, key=lambda pair: (-len(_sessions(pair[1])), -len(pair[1]), pair[0].name))


def _has_substance(items: Sequence[Item]) -> bool:
    different = {item.text.casefold(): item.words for item in items}
    return (
        len(_sessions(items)) >= LEAST_SESSIONS
        and len(different) >= LEAST_SESSIONS
        and sum(different.values()) >= LEAST_WORDS
    )


def _about(topic: Topic, items: Sequence[Item]) -> Proposal:
    title = excerpt(topic.name, TITLE_CHARS)
    return Proposal(title, _points(items[-MAX_POINTS:]), tags=(topic.kind,), exact=True)


def _subjects(fresh: Sequence[Item]) -> list[Proposal]:
    """What each session decided and learned, those with most to say first."""
    by_entry: dict[str, list[Item]] = {}
    for item in fresh:
        by_entry.setdefault(item.entry, []).append(item)
    found: list[tuple[int, Proposal]] = []
    for items in by_entry.values():
        told = [item for item in items if item.section in ("decision", "lesson")]
        # An error by itself is a lesson only where it comes back in another session.
        kept = _each_once(item for item in told if not is_error(item.text))
        weight = sum(item.words for item in kept)
        title = excerpt(subject_of(items) or (kept[0].text if kept else ""), TITLE_CHARS)
        standing = [item for item in kept if not item.text.startswith(CORRECTED)]
        if standing and weight >= LEAST_SUBJECT_WORDS and slug(title):
            tags = tuple(dict.fromkeys(item.section for item in kept))
            found.append((weight, Proposal(title, _points(kept), tags=tags, worded=True)))
    return [proposal for _, proposal in sorted(found, key=lambda pair: -pair[0])]


def _each_once(items: Iterable[Item]) -> list[Item]:
    """Statements without corrections that only repeat another: one is often noted as both."""
    rows = list(items)
    plain = [item.text.casefold() for item in rows if not item.text.startswith(CORRECTED)]
    return [
        item
        for item in rows
        if not item.text.startswith(CORRECTED)
        or item.text.removeprefix(CORRECTED).strip().casefold() not in plain
    ]


def _connections(named: Sequence[tuple[Topic, list[Item]]]) -> list[Proposal]:
    """Pairs of things that several sessions named together."""
    found: list[Proposal] = []
    for (one, mine), (other, theirs) in combinations(named, 2):
        together = _sessions(mine) & _sessions(theirs)
        both = [item for item in mine if item in theirs and item.session in together]
        if len(together) >= LEAST_SESSIONS and len({item.text for item in both}) >= LEAST_SESSIONS:
            names = [excerpt(topic.name, TITLE_CHARS // 2) for topic in (one, other)]
            connects = tuple(excerpt(topic.name, TITLE_CHARS) for topic in (one, other))
            found.append(
                Proposal(
                    " and ".join(names),
                    _points(both[-MAX_POINTS:]),
                    kind="connections",
                    connects=connects,
                )
            )
    return found[:MAX_CONNECTIONS]


def _points(items: Iterable[Item]) -> tuple[Point, ...]:
    return tuple(Point(item.text, item.day, item.entry) for item in items)


def _sessions(items: Iterable[Item]) -> set[str]:
    return {item.session for item in items}
