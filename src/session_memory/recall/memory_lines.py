"""Lines of MEMORY.md and of articles as answers to a search: read when asked, from their files.

They have no index, so nothing besides the files has to forget them. A project's memory has some
dozen lines. A line is measured as the best hits are: by how many of the words it holds, rare ones
counting more.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import msgspec

from session_memory.core.event_ids import split
from session_memory.core.forget import FORGOTTEN
from session_memory.core.schema import Project
from session_memory.memory.layout import MEMORIES, MEMORY, memory_root
from session_memory.memory.user_part import USER_PART_BEGIN, user_part_of
from session_memory.recall.article_lines import article_lines, is_of
from session_memory.recall.context import RecallContext
from session_memory.recall.page_line import READ_BYTES, PageLine, line_name
from session_memory.recall.same_words import stem
from session_memory.store.port import RecallStore

MOST_LINES = 2
"""Of each kind in one answer: they stand for much, and would otherwise repeat what sessions say."""
LEAST_SHARE = 0.5
AS_GOOD = 0.9
"""The score of a line that holds as many of the words as the best hits do, as a part of theirs."""
MOST_BETTER = 1.1
"""How much more of the words than the best hits a line may be credited with."""
_NAME = re.compile("[km][0-9a-f]{12}")
_CITED = re.compile(r"\s*\[e:(\d{1,18})\]")
_TRACE = re.compile(r" \(trace [^)]*\)")
_SOURCES = re.compile(r"^## (?:Skills|Traces)$", re.M)
"""The parts of a page that name other files."""


class ScoredLine(msgspec.Struct, frozen=True):
    """A line that answers a question, with a score that compares to those of hits."""

    line: PageLine
    score: float


def lines_of(data: Path, project: Project | None = None) -> Iterator[PageLine]:
    """The lines of a project's MEMORY.md, or of all."""
    if project is None:
        folders = sorted((data / MEMORIES).glob("*/memory"))
    else:
        folders = [memory_root(data, project.root)] if project.root else []
    for folder in folders:
        yield from _lines(folder)


def named_line(data: Path, name: str, vault: str = "") -> PageLine | None:
    """The line that a result of `search` names."""
    if not _NAME.fullmatch(name):
        return None
    lines = article_lines(data, vault, None) if name.startswith("k") else lines_of(data)
    return next((line for line in lines if line.name == name), None)


def project_of(store: RecallStore, data: Path, line: PageLine) -> Project | None:
    """The project whose memory or journal a line stands in."""
    for event in line.events:
        session = store.scopes.line(split(event)[0])
        if session is not None and session.project_id is not None:
            return store.scopes.some_projects([session.project_id]).get(session.project_id)
    for project in store.projects():
        if line.kind == "article":
            if is_of(line, project):
                return project
        elif project.root and memory_root(data, project.root) == line.file.parent:
            return project
    return None


def matching_lines(
    context: RecallContext,
    project: Project | None,
    words: Sequence[str],
    best: Sequence[tuple[str, float]],
) -> list[ScoredLine]:
    """The lines that answer a question, scored against the texts and scores of its best hits."""
    if context.data is None:
        return []
    stems = {word: stem(word) for word in words}
    sources = (
        lines_of(context.data, project),
        article_lines(context.data, context.vault, project),
    )
    candidates = [
        line
        for line in chain(*sources)
        if any(each in line.text.casefold() for each in stems.values())
        if FORGOTTEN not in line.text
    ]
    if not candidates:
        return []
    counts = context.store.scopes.word_counts(tuple(words))
    weights = {stems[word]: 1 / math.log(2 + counts.get(word, 0)) for word in words}
    measure = max((share(text, weights) for text, _ in best), default=0.0) or 1.0
    top = max((score for _, score in best), default=1.0)
    scored = [
        ScoredLine(line, AS_GOOD * top * min(matched_share / measure, MOST_BETTER) ** 2)
        for line in candidates
        if (matched_share := share(line.text, weights)) >= LEAST_SHARE
    ]
    return list(_best(sorted(scored, key=lambda scored_line: -scored_line.score)))


def _best(scored: Iterable[ScoredLine]) -> Iterator[ScoredLine]:
    """The first of each kind, and of an article the first alone."""
    kinds, articles = Counter[str](), set[Path]()
    for candidate in scored:
        line = candidate.line
        if kinds[line.kind] < MOST_LINES and line.file not in articles:
            kinds[line.kind] += 1
            if line.kind == "article":
                articles.add(line.file)
            yield candidate


def share(text: str, weights: Mapping[str, float]) -> float:
    """Which part of the words, rare ones counting more, begins some word of a text."""
    spoken = set(re.findall(r"[^\W_]+", text.casefold()))
    held = sum(
        weight for each, weight in weights.items() if any(word.startswith(each) for word in spoken)
    )
    return held / sum(weights.values())


def _lines(folder: Path) -> Iterable[PageLine]:
    path = folder / MEMORY
    try:
        if path.is_symlink() or path.stat().st_size > READ_BYTES:
            return
        page = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in _page_statements(page):
        text = _CITED.sub("", line).strip()
        events = tuple(int(each) for each in _CITED.findall(line))
        yield PageLine(line_name("m", f"{folder.parent.name}\n{text}"), text, events, path)


def _page_statements(page: str) -> Iterator[str]:
    """Statements of a page: what the user wrote, and items of lists that name no sources."""
    for line in user_part_of(page).splitlines():
        statement = line.strip().removeprefix("- ").strip()
        if statement and not statement.startswith(("#", "<!--")):
            yield statement
    generated = _SOURCES.split(page.partition(USER_PART_BEGIN)[0])[0]
    for line in generated.splitlines():
        if line.startswith("- "):
            yield _TRACE.sub("", line.removeprefix("- ")).strip()
