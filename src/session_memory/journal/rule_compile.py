"""Compiles without a model: proposes articles about what recurs and what was decided.

A source file that several sessions name becomes a concept, and so does a command, symbol or error
that their decisions and lessons name. What a session decided becomes one too, titled by the
session's subject, or by the decision itself where the subject does not say what it is about. Few
articles are proposed, and only substantial ones: the rest stays in the daily log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from session_memory.core.text.masks import excerpt
from session_memory.distil.lasting import names_its_subject
from session_memory.journal.articles import slug
from session_memory.journal.merge import Point, Proposal
from session_memory.journal.statements import Statement, Topic, is_trap, subject_of, topics_of

MAX_CONCEPTS = 7
MAX_TOPICS = 4
MAX_CONNECTIONS = 2
MAX_POINTS = 12
LEAST_SESSIONS = 2
LEAST_WORDS = 25
LEAST_SUBJECT_WORDS = 15
TITLE_CHARS = 72
_EARLIER_FORMS = ("Corrected by the user:", "Seen ")
"""Lessons of earlier versions that hold only for the moment."""
_SECTIONS = ("exchange", "decision", "lesson")


def propose_articles(new: Sequence[Statement], statements: Sequence[Statement]) -> list[Proposal]:
    """Proposals for new statements, given all statements so far."""
    relevant = [statement for statement in statements if statement.section in _SECTIONS]
    recurring = _recurring_topics(new, relevant)[:MAX_TOPICS]
    topics = [_topic_proposal(topic, naming) for topic, naming in recurring]
    subjects = _subject_proposals(new)[: MAX_CONCEPTS - len(topics)]
    return [*topics, *subjects, *_connection_proposals(recurring)]


def _recurring_topics(
    new: Iterable[Statement], statements: Iterable[Statement]
) -> list[tuple[Topic, list[Statement]]]:
    """Topics of new statements that several sessions named, with the statements that name them.

    The topic that most sessions named comes first.
    """
    new_topics = {
        topic
        for statement in new
        if statement.section in _SECTIONS
        for topic in _topics_in(statement)
    }
    naming: dict[Topic, list[Statement]] = {}
    for statement in statements:
        for topic in _topics_in(statement):
            if topic in new_topics and slug(topic.name):
                naming.setdefault(topic, []).append(statement)
    pairs = [pair for pair in naming.items() if _has_substance(pair[1])]
    return sorted(pairs, key=lambda pair: (-len(_sessions(pair[1])), -len(pair[1]), pair[0].name))


def _topics_in(statement: Statement) -> list[Topic]:
    """Of what was merely said, only the files count."""
    learned = statement.section in ("decision", "lesson")
    return [topic for topic in topics_of(statement.text) if learned or topic.kind == "file"]


def _has_substance(statements: Sequence[Statement]) -> bool:
    words = {statement.text.casefold(): statement.words for statement in statements}
    if len(_sessions(statements)) >= LEAST_SESSIONS and any(map(is_trap, statements)):
        return True  # the same trap again says enough
    return (
        len(_sessions(statements)) >= LEAST_SESSIONS
        and len(words) >= LEAST_SESSIONS
        and sum(words.values()) >= LEAST_WORDS
    )


def _topic_proposal(topic: Topic, statements: Sequence[Statement]) -> Proposal:
    title = excerpt(topic.name, TITLE_CHARS)
    first_said = {statement.text: statement for statement in reversed(statements)}
    points = _points(list(reversed(first_said.values()))[-MAX_POINTS:])
    return Proposal(title, points, tags=(topic.kind,), exact=True)


def _subject_proposals(new: Sequence[Statement]) -> list[Proposal]:
    """What each session decided and learned, longest first."""
    by_entry: dict[str, list[Statement]] = {}
    for statement in new:
        by_entry.setdefault(statement.entry, []).append(statement)
    weighted: list[tuple[int, Proposal]] = []
    for statements in by_entry.values():
        learned = [
            statement
            for statement in statements
            if statement.section in ("decision", "lesson")
            and not statement.text.startswith(_EARLIER_FORMS)
        ]
        decided = [s for s in learned if s.section == "decision" or not _is_by_rule(s)]
        weight = sum(statement.words for statement in decided)
        title = _title(subject_of(statements), decided)
        if decided and weight >= LEAST_SUBJECT_WORDS and slug(title):
            tags = tuple(dict.fromkeys(statement.section for statement in learned))
            weighted.append((weight, Proposal(title, _points(learned), tags=tags, worded=True)))
    return [proposal for _, proposal in sorted(weighted, key=lambda pair: -pair[0])]


def _is_by_rule(lesson: Statement) -> bool:
    """A trap or a wish of one session: it becomes a topic with the second session."""
    return is_trap(lesson) or lesson.text.startswith(("What `", "The user wants: "))


def _title(subject: str, decided: Sequence[Statement]) -> str:
    """The session's subject, if it names one; else what was decided first."""
    named = names_its_subject(subject, least=2)
    return excerpt(subject if named or not decided else decided[0].text, TITLE_CHARS)


def _connection_proposals(recurring: Sequence[tuple[Topic, list[Statement]]]) -> list[Proposal]:
    """Pairs of topics that several sessions named together."""
    proposals: list[Proposal] = []
    for (first, naming_first), (second, naming_second) in combinations(recurring, 2):
        sessions = _sessions(naming_first) & _sessions(naming_second)
        both = [s for s in naming_first if s in naming_second and s.session in sessions]
        if len(sessions) >= LEAST_SESSIONS and len({s.text for s in both}) >= LEAST_SESSIONS:
            names = [excerpt(topic.name, TITLE_CHARS // 2) for topic in (first, second)]
            connects = tuple(excerpt(topic.name, TITLE_CHARS) for topic in (first, second))
            proposals.append(
                Proposal(
                    " and ".join(names),
                    _points(both[-MAX_POINTS:]),
                    kind="connections",
                    connects=connects,
                )
            )
    return proposals[:MAX_CONNECTIONS]


def _points(statements: Iterable[Statement]) -> tuple[Point, ...]:
    return tuple(Point(statement.text, statement.day, statement.entry) for statement in statements)


def _sessions(statements: Iterable[Statement]) -> set[str]:
    return {statement.session for statement in statements}
