"""Compiles with a model: the request, and its answer as checked proposals."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from session_memory.core.text.own_text import BEGIN, END
from session_memory.core.text.safe_text import fence, one_line, stripped
from session_memory.errors import ModelFailed
from session_memory.journal.articles import KINDS, Article, Kind, render, slug
from session_memory.journal.daily import without_maintenance
from session_memory.journal.knowledge import index
from session_memory.journal.links import drop_dead_links, normal_target
from session_memory.journal.merge import Point, Proposal, find_concept
from session_memory.journal.model_call import read_prompt
from session_memory.journal.ranking import ranked
from session_memory.model.parse import parse_answer
from session_memory.model.port import Request

PURPOSE = "journal.compile"
RELATED_ARTICLES = 12
RELATED_CHARS = 30_000
INDEX_CHARS = 20_000
LOG_CHARS = 2_000
TEXT_CHARS = 600
TITLE_CHARS = 100
MAX_ARTICLES = 24
INCREMENTAL = "INCREMENTAL: the log grew; only its new part is shown, the rest is compiled already."
WHOLE = "WHOLE LOG: nothing of this log is compiled yet, or it was edited since."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"articles": {"type": "array", "items": {"type": "object"}}},
    "required": ["articles"],
}
_ENTRY_MARKS = re.compile(
    re.escape(BEGIN)
    + r" flush session=[^\s>]* entry=(?P<key>[0-9a-f]+) -->\n?|"
    + re.escape(END)
    + r"\n?"
)


class LogExcerpt(msgspec.Struct, frozen=True):
    """The part of a log to compile; its entries are marked by short labels."""

    day: str
    text: str
    labels: dict[str, str]
    """The key of each label's entry."""
    incremental: bool


class _AnswerPoint(msgspec.Struct):
    text: str
    entry: str = ""


class _AnswerArticle(msgspec.Struct):
    title: str
    points: list[_AnswerPoint]
    kind: str = "concepts"
    updates: str = ""
    aliases: list[str] = []
    tags: list[str] = []
    connects: list[str] = []
    summary: str = ""
    related: list[str] = []


def log_excerpt(day: str, text: str, *, incremental: bool) -> LogExcerpt:
    """A log as it is shown to a model."""
    labels: dict[str, str] = {}

    def label(match: re.Match[str]) -> str:
        if not match["key"]:
            return ""
        labels[f"E{len(labels) + 1}"] = match["key"]
        return f"[entry E{len(labels)}]\n"

    shown = _ENTRY_MARKS.sub(label, without_maintenance(text))
    return LogExcerpt(day, shown, labels, incremental)


def request(log: LogExcerpt, articles: Mapping[str, Article], build_log: str) -> Request:
    """The request: schema, index, related articles, build log, and the daily log last."""
    related = ranked(log.text, list(articles.values()))[:RELATED_ARTICLES]
    files = [f"File {article.path}.md:\n{render(article)}" for article in related]
    shown = _first_that_fit(files, RELATED_CHARS)
    mark = secrets.token_hex(8)
    parts = (
        read_prompt("compile"),
        "The index:\n\n" + fence(index(articles)[-INDEX_CHARS:], mark, "index"),
        "Existing articles:\n\n" + fence("\n".join(shown) or "(none)", mark, "articles"),
        "The end of the build log:\n\n"
        + fence(build_log[-LOG_CHARS:] or "(empty)", mark, "build-log"),
        f"The daily log daily/{log.day}. {INCREMENTAL if log.incremental else WHOLE}\n\n"
        + fence(log.text, mark, "daily-log"),
    )
    return Request(
        purpose=PURPOSE,
        system="You keep the knowledge base of a programmer. Answer with one JSON object.",
        user="\n\n".join(parts),
        schema=SCHEMA,
        schema_name="knowledge",
        max_output_tokens=8_000,
    )


def parse_proposals(
    answer: str, log: LogExcerpt, articles: Mapping[str, Article], clean: Callable[[str], str]
) -> list[Proposal]:
    """The answer as proposals; raises ModelFailed if it is not usable as a whole."""
    rows = parse_answer(answer, SCHEMA)["articles"]
    if len(rows) > MAX_ARTICLES:
        raise ModelFailed(f"the answer has {len(rows)} articles, more than {MAX_ARTICLES}")
    try:
        written = msgspec.convert(rows, list[_AnswerArticle])
    except msgspec.ValidationError as error:
        raise ModelFailed(f"the answer's articles do not fit: {one_line(str(error))}") from None
    return _to_proposals(written, log, articles, clean)


def _to_proposals(
    written: Sequence[_AnswerArticle],
    log: LogExcerpt,
    articles: Mapping[str, Article],
    clean: Callable[[str], str],
) -> list[Proposal]:
    new_paths = {f"{article.kind}/{slug(article.title)}" for article in written}

    def tidy(text: str, limit: int = TEXT_CHARS) -> str:
        line = one_line(stripped(clean(text))).replace("<!--", "&lt;!--").replace("-->", "--&gt;")
        linked = drop_dead_links(line, lambda target: target in articles or target in new_paths)
        return linked[:limit]

    proposals: list[Proposal] = []
    for article in written:
        _check(article, log, articles, new_paths)
        points = (
            Point(tidy(point.text), log.day, log.labels.get(point.entry, ""))
            for point in article.points
        )
        proposals.append(
            Proposal(
                title=tidy(article.title, TITLE_CHARS),
                points=tuple(point for point in points if point.text),
                kind=cast(Kind, article.kind),
                aliases=tuple(tidy(name, TITLE_CHARS) for name in article.aliases),
                tags=tuple(filter(None, (slug(tidy(tag)) for tag in article.tags))),
                connects=tuple(article.connects),
                summary=tidy(article.summary),
                related=tuple(article.related),
                updates=normal_target(article.updates),
                worded=True,
            )
        )
    return proposals


def _check(
    article: _AnswerArticle,
    log: LogExcerpt,
    articles: Mapping[str, Article],
    new_paths: set[str],
) -> None:
    """Raise ModelFailed for an article that cannot be filed."""
    name = one_line(article.title)[:80]
    if article.kind not in KINDS[:2]:
        raise ModelFailed(f"the article `{name}` is of no kind that a compile writes")
    if not slug(article.title):
        raise ModelFailed("an article has no title")
    if not any(point.text.strip() for point in article.points):
        raise ModelFailed(f"the article `{name}` makes no point")
    if any(point.entry and point.entry not in log.labels for point in article.points):
        raise ModelFailed(f"the article `{name}` cites an entry that the log does not have")
    if article.updates and normal_target(article.updates) not in articles:
        raise ModelFailed(f"the article `{name}` updates one that is not there")
    if article.kind == "connections":
        concepts = {
            find_concept(articles, concept) or f"concepts/{slug(concept.removeprefix('concepts/'))}"
            for concept in article.connects
        }
        if len([path for path in concepts if path in articles or path in new_paths]) < 2:
            raise ModelFailed(f"the connection `{name}` connects fewer than two concepts")


def _first_that_fit(texts: Sequence[str], limit: int) -> list[str]:
    fitting: list[str] = []
    for text in texts:
        limit -= len(text)
        if limit < 0:
            break
        fitting.append(text)
    return fitting
