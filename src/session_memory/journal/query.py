"""Questions to the knowledge base: the index, a few articles, and an answer that cites them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import msgspec

from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import fence, one_line, stripped
from session_memory.journal import daily
from session_memory.journal.articles import Article, points_of, render, slug
from session_memory.journal.compile import Tools
from session_memory.journal.files import read_text
from session_memory.journal.knowledge import (
    INDEX,
    LOG,
    Articles,
    changed_files,
    index,
    log_entry,
    log_text,
    read_shelf,
    save,
    tending,
)
from session_memory.journal.links import day_link, keeping, link, targets, without_links
from session_memory.journal.merge import link_both, still_says
from session_memory.journal.model_call import cost_of, template
from session_memory.journal.ranking import ranked, scored, words
from session_memory.journal.state import iso_local, read_state
from session_memory.journal.statements import Item, items_of
from session_memory.model.port import Request

PURPOSE = "journal.query"
MOST_ARTICLES = 10
LEAST_ARTICLES = 3
MOST_ENTRIES = 5
ARTICLES_CHARS = 40_000
INDEX_CHARS = 20_000
LINES = 3
LINE_CHARS = 300
NOTHING = "Nothing found"
TITLE_CHARS = 72


class Found(msgspec.Struct, frozen=True):
    """An answer, what it was drawn from, and where it was filed."""

    text: str
    consulted: tuple[str, ...]
    cites: tuple[str, ...]
    nothing: bool
    cost_usd: float = 0.0
    filed: str | None = None


def query(tools: Tools, question: str, *, file_back: bool = False) -> Found:
    """Answer a question; counted in state.json, and filed as an article only when asked to."""
    with tending(tools.place):
        articles = read_shelf(tools.place).articles
    chosen = pick(question, articles)
    entries = _entries(tools, question)
    found = _asked(tools, question, articles, chosen, entries) if tools.asker else None
    found = found or _looked_up(question, chosen, entries)

    def still_true(now: Articles) -> bool:
        kept = {item.entry for item in _all_items(tools)}
        return still_says(now, chosen) and all(item.entry in kept for item in entries)

    return _noted(tools, question, found, still_true if file_back and not found.nothing else None)


def pick(question: str, articles: Articles) -> list[Article]:
    """The articles to read: the best, and from the newest as many more as it takes to be three."""
    best = ranked(question, list(articles.values()))[:MOST_ARTICLES]
    if not best:
        return []
    newest = sorted(articles.values(), key=lambda one: one.updated, reverse=True)
    more = [one for one in newest if one not in best]
    return [*best, *more[: max(0, LEAST_ARTICLES - len(best))]]


def _entries(tools: Tools, question: str) -> list[Item]:
    """Statements of daily logs that share most with the question."""
    items = _all_items(tools)
    scores = _scores(question, [item.text for item in items])
    order = sorted(range(len(items)), key=lambda at: -scores[at])
    return [items[at] for at in order[:MOST_ENTRIES] if scores[at] > 0]


def _all_items(tools: Tools) -> list[Item]:
    return [
        item
        for path in daily.days(tools.place)
        for item in items_of(path.name, daily.entries(read_text(path) or ""))
    ]


def _asked(
    tools: Tools, question: str, articles: Articles, chosen: list[Article], entries: list[Item]
) -> Found | None:
    """What the model says; None where there is nothing it could read."""
    if tools.asker is None or not (chosen or entries):
        return None
    answer = tools.asker.ask(request(question, articles, chosen, entries))
    text = tools.clean(stripped(answer.text).strip()).replace("<!--", "&lt;!--")
    known = {one.path for one in chosen} | {f"daily/{item.day[:-3]}" for item in entries}
    text = keeping(text, lambda target: target in known or target in articles)
    cites = tuple(targets(text))
    consulted = (*(one.path for one in chosen), *_days(entries))
    return Found(text, consulted, cites, text.startswith(NOTHING), cost_of(answer))


def request(
    question: str, articles: Articles, chosen: Sequence[Article], entries: Sequence[Item]
) -> Request:
    """The question: index, articles, statements of logs, and what is asked last."""
    files = "\n".join(f"File {one.path}.md:\n{render(one)}" for one in chosen)[:ARTICLES_CHARS]
    said = "\n".join(f"- {item.text} ({day_link(item.day)})" for item in entries)
    parts = (
        template("query"),
        "The index:\n\n" + _fenced(index(articles)[-INDEX_CHARS:], "index"),
        "Articles:\n\n" + _fenced(files or "(none)", "articles"),
        "From daily logs:\n\n" + _fenced(said or "(none)", "daily-logs"),
        f"The question: {one_line(question)}",
    )
    system = "You answer questions from a programmer's knowledge base, with citations."
    return Request(PURPOSE, system, "\n\n".join(parts), max_output_tokens=4_000)


def _looked_up(question: str, chosen: Sequence[Article], entries: Sequence[Item]) -> Found:
    """Without a model: the lines that share most with the question, each with its source."""
    lines: list[str] = []
    consulted: list[str] = []
    for article in chosen:
        best = _best_lines(question, points_of(article.body))
        if best:
            consulted.append(article.path)
            lines += ["", f"{one_line(article.title)} ({link(article.path)})", *best]
    shown = "\n".join(lines)
    more = [item for item in entries if without_links(item.text) not in shown]
    if more:
        lines += ["", "From daily logs"]
        lines += [_statement(item) for item in more]
    if not lines:
        return Found(f"{NOTHING} about this in articles or logs.", (), (), nothing=True)
    text = "\n".join(lines).strip()
    return Found(text, (*consulted, *_days(more)), tuple(targets(text)), nothing=False)


def _days(items: Sequence[Item]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"daily/{item.day}" for item in items))


def _best_lines(question: str, lines: Sequence[str]) -> list[str]:
    scores = _scores(question, lines)
    order = sorted(range(len(lines)), key=lambda at: (-scores[at], at))
    return [lines[at] for at in order[:LINES] if scores[at] > 0]


def _statement(item: Item) -> str:
    text = excerpt(without_links(item.text), LINE_CHARS)
    return f"- {text} ({day_link(item.day)}) <!-- entry={item.entry} -->"


def _scores(question: str, texts: Sequence[str]) -> list[float]:
    return scored(question, [words(text) for text in texts], [frozenset() for _ in texts])


def _noted(
    tools: Tools, question: str, found: Found, may_file: Callable[[Articles], bool] | None
) -> Found:
    """Count the question; file its answer where that was asked for and it still holds."""
    place, now = tools.place, tools.clock()
    with tending(place):
        state = read_state(place, now, tools.warn)
        state = msgspec.structs.replace(
            state,
            query_count=state.query_count + 1,
            total_cost=round(state.total_cost + found.cost_usd, 6),
        )
        files: dict[str, str | None] = {"state.json": state.text()}
        articles = read_shelf(place).articles
        if may_file is not None and may_file(articles):
            path, after = _filed(articles, tools.clean(question), found, iso_local(now))
            rows = {"question": [excerpt(one_line(without_links(question)), LINE_CHARS)]}
            rows |= {"consulted": map(link, found.consulted), "filed": [link(path)]}
            entry = log_entry(iso_local(now), f"query (filed) | {path}", rows)
            files |= changed_files(articles, after)
            files |= {INDEX: index(after), LOG: log_text(place, tools.clean(entry))}
            found = msgspec.structs.replace(found, filed=path)
        save(place, files)
    return found


def _filed(articles: Articles, question: str, found: Found, when: str) -> tuple[str, Articles]:
    """The articles with one more; the same question again replaces its answer."""
    asked = one_line(without_links(question))
    title = excerpt(asked, TITLE_CHARS)
    path = f"qa/{slug(title) or 'question'}"
    read = [one for one in found.consulted if one in articles]
    consulted = (*read, *(one for one in found.consulted if one.startswith("daily/")))
    front = {"title": title, "question": asked, "consulted": consulted, "filed": when}
    body = f"# {title}\n\n## Answer\n\n{found.text}"
    after = {**articles, path: Article(path, front, body)}
    for other in read:
        link_both(after, path, other)
    return path, after


def _fenced(text: str, what: str) -> str:
    return fence(text, secrets.token_hex(8), what)
