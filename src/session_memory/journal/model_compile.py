"""A compile with a model: what it is shown, and its answer as proposals, checked before use."""

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
from session_memory.journal.knowledge import index
from session_memory.journal.links import keeping, normal
from session_memory.journal.merge import Point, Proposal, find
from session_memory.journal.model_call import template
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
_MARKS = re.compile(
    re.escape(BEGIN)
    + r" flush session=[^\s>]* entry=(?P<key>[0-9a-f]+) -->\n?|"
    + re.escape(END)
    + r"\n?"
)


class Excerpt(msgspec.Struct, frozen=True):
    """The part of a log to compile, with labels in place of the marks of entries."""

    day: str
    text: str
    labels: dict[str, str]
    """Label to key."""
    incremental: bool


class _Said(msgspec.Struct):
    text: str
    entry: str = ""


class _Written(msgspec.Struct):
    title: str
    points: list[_Said]
    kind: str = "concepts"
    updates: str = ""
    aliases: list[str] = []
    tags: list[str] = []
    connects: list[str] = []
    summary: str = ""
    related: list[str] = []


def excerpt_of(day: str, text: str, *, incremental: bool) -> Excerpt:
    """A log as a model is shown it."""
    labels: dict[str, str] = {}

    def label(found: re.Match[str]) -> str:
        if not found["key"]:
            return ""
        labels[f"E{len(labels) + 1}"] = found["key"]
        return f"[entry E{len(labels)}]\n"

    return Excerpt(day, _MARKS.sub(label, text), labels, incremental)


def request(log: Excerpt, articles: Mapping[str, Article], build_log: str) -> Request:
    """The question: schema, index, near articles, build log, and the daily log last."""
    near = ranked(log.text, list(articles.values()))[:RELATED_ARTICLES]
    shown = _within([f"File {one.path}.md:\n{render(one)}" for one in near], RELATED_CHARS)
    parts = (
        template("compile"),
        "The index:\n\n" + _fenced(index(articles)[-INDEX_CHARS:], "index"),
        "Existing articles:\n\n" + _fenced("\n".join(shown) or "(none)", "articles"),
        "The end of the build log:\n\n" + _fenced(build_log[-LOG_CHARS:] or "(empty)", "build-log"),
        f"The daily log daily/{log.day}. {INCREMENTAL if log.incremental else WHOLE}\n\n"
        + _fenced(log.text, "daily-log"),
    )
    return Request(
        purpose=PURPOSE,
        system="You keep the knowledge base of a programmer. Answer with one JSON object.",
        user="\n\n".join(parts),
        schema=SCHEMA,
        schema_name="knowledge",
        max_output_tokens=8_000,
    )


def proposals_in(
    answer: str, log: Excerpt, articles: Mapping[str, Article], clean: Callable[[str], str]
) -> list[Proposal]:
    """The answer as proposals; raises ModelFailed where it does not fit, and nothing is written."""
    rows = parse_answer(answer, SCHEMA)["articles"]
    if len(rows) > MAX_ARTICLES:
        raise ModelFailed(f"the answer has {len(rows)} articles, more than {MAX_ARTICLES}")
    try:
        written = msgspec.convert(rows, list[_Written])
    except msgspec.ValidationError as error:
        raise ModelFailed(f"the answer's articles do not fit: {one_line(str(error))}") from None
    return _checked(written, log, articles, clean)


def _checked(
    written: Sequence[_Written],
    log: Excerpt,
    articles: Mapping[str, Article],
    clean: Callable[[str], str],
) -> list[Proposal]:
    coming = {f"{one.kind}/{slug(one.title)}" for one in written}

    def tidy(text: str, limit: int = TEXT_CHARS) -> str:
        shown = one_line(stripped(clean(text))).replace("<!--", "&lt;!--").replace("-->", "--&gt;")
        linked = keeping(shown, lambda target: target in articles or target in coming)
        return linked[:limit]

    found: list[Proposal] = []
    for one in written:
        _complain(one, log, articles, coming)
        points = (
            Point(tidy(said.text), log.day, log.labels.get(said.entry, "")) for said in one.points
        )
        found.append(
            Proposal(
                title=tidy(one.title, TITLE_CHARS),
                points=tuple(point for point in points if point.text),
                kind=cast(Kind, one.kind),
                aliases=tuple(tidy(name, TITLE_CHARS) for name in one.aliases),
                tags=tuple(filter(None, (slug(tidy(tag)) for tag in one.tags))),
                connects=tuple(one.connects),
                summary=tidy(one.summary),
                related=tuple(one.related),
                updates=normal(one.updates),
                worded=True,
            )
        )
    return found


def _complain(
    one: _Written, log: Excerpt, articles: Mapping[str, Article], coming: set[str]
) -> None:
    """Raise for an article that cannot be filed."""
    name = one_line(one.title)[:80]
    if one.kind not in KINDS[:2]:
        raise ModelFailed(f"the article `{name}` is of no kind that a compile writes")
    if not slug(one.title):
        raise ModelFailed("an article has no title")
    if not any(said.text.strip() for said in one.points):
        raise ModelFailed(f"the article `{name}` makes no point")
    unknown = next(
        (said.entry for said in one.points if said.entry and said.entry not in log.labels), None
    )
    if unknown is not None:
        raise ModelFailed(f"the article `{name}` cites an entry that the log does not have")
    if one.updates and normal(one.updates) not in articles:
        raise ModelFailed(f"the article `{name}` updates one that is not there")
    if one.kind == "connections":
        known = {
            path
            for path in (
                find(articles, each) or f"concepts/{slug(each.removeprefix('concepts/'))}"
                for each in one.connects
            )
            if path in articles or path in coming
        }
        if len(known) < 2:
            raise ModelFailed(f"the connection `{name}` connects fewer than two concepts")


def _fenced(text: str, what: str) -> str:
    return fence(text, secrets.token_hex(8), what)


def _within(texts: Sequence[str], limit: int) -> list[str]:
    kept: list[str] = []
    for text in texts:
        limit -= len(text)
        if limit < 0:
            break
        kept.append(text)
    return kept
