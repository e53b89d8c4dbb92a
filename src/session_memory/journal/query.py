"""Answers questions from the knowledge base: index, a few articles, and citations of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import msgspec

from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import fence, one_line, stripped
from session_memory.journal import daily
from session_memory.journal.articles import Article, points_of, render, slug
from session_memory.journal.compile import CompileContext
from session_memory.journal.files import read_text
from session_memory.journal.knowledge import (
    INDEX,
    LOG,
    Articles,
    changed_files,
    index,
    knowledge_lock,
    log_entry,
    log_text,
    read_knowledge,
    save,
)
from session_memory.journal.links import (
    day_link,
    drop_dead_links,
    link,
    link_targets,
    without_links,
)
from session_memory.journal.merge import link_both, still_says
from session_memory.journal.model_call import cost_of, read_prompt
from session_memory.journal.ranking import ranked, score_texts, words
from session_memory.journal.state import iso_local, read_state
from session_memory.journal.statements import Statement, statements_of
from session_memory.model.port import Answer, Request

PURPOSE = "journal.query"
MOST_ARTICLES = 10
LEAST_ARTICLES = 3
MOST_STATEMENTS = 5
ARTICLES_CHARS = 40_000
INDEX_CHARS = 20_000
LINES = 3
LINE_CHARS = 300
NOTHING = "Nothing found"
TITLE_CHARS = 72


class QueryResult(msgspec.Struct, frozen=True):
    """An answer, its sources, and the article it was filed as."""

    text: str
    consulted: tuple[str, ...]
    cites: tuple[str, ...]
    nothing: bool
    cost_usd: float = 0.0
    filed: str | None = None


def query(context: CompileContext, question: str, *, file_back: bool = False) -> QueryResult:
    """Answer a question and count it in state.json; `file_back` also files it as an article."""
    with knowledge_lock(context.journal):
        articles = read_knowledge(context.journal).articles
    chosen = select_articles(question, articles)
    statements = _select_statements(context, question)
    result = None
    if context.model is not None and (chosen or statements):
        prompt = request(question, articles, chosen, statements)
        result = _read_answer(context, context.model.ask(prompt), articles, chosen, statements)
    result = result or _look_up(question, chosen, statements)

    def still_true(now: Articles) -> bool:
        entries = {statement.entry for statement in _all_statements(context)}
        return still_says(now, chosen) and all(each.entry in entries for each in statements)

    may_file = still_true if file_back and not result.nothing else None
    return _save(context, question, result, may_file)


def select_articles(question: str, articles: Articles) -> list[Article]:
    """The best articles, filled up with the newest ones to at least three."""
    best = ranked(question, list(articles.values()))[:MOST_ARTICLES]
    if not best:
        return []
    newest = sorted(articles.values(), key=lambda article: article.updated, reverse=True)
    others = [article for article in newest if article not in best]
    return [*best, *others[: max(0, LEAST_ARTICLES - len(best))]]


def _select_statements(context: CompileContext, question: str) -> list[Statement]:
    """The statements of daily logs that share most words with the question."""
    statements = _all_statements(context)
    scores = _scores(question, [statement.text for statement in statements])
    pairs = sorted(zip(scores, statements, strict=True), key=lambda pair: -pair[0])
    return [statement for score, statement in pairs[:MOST_STATEMENTS] if score > 0]


def _all_statements(context: CompileContext) -> list[Statement]:
    return [
        statement
        for path in daily.days(context.journal)
        for statement in statements_of(path.name, daily.entries(read_text(path) or ""))
    ]


def _read_answer(
    context: CompileContext,
    answer: Answer,
    articles: Articles,
    chosen: list[Article],
    statements: list[Statement],
) -> QueryResult:
    """A model's answer, with links only to what exists."""
    text = context.clean(stripped(answer.text).strip()).replace("<!--", "&lt;!--")
    days = {f"daily/{statement.day[:-3]}" for statement in statements}
    text = drop_dead_links(text, lambda target: target in articles or target in days)
    consulted = (*(article.path for article in chosen), *_days(statements))
    cites = tuple(link_targets(text))
    return QueryResult(text, consulted, cites, text.startswith(NOTHING), cost_of(answer))


def request(
    question: str, articles: Articles, chosen: Sequence[Article], statements: Sequence[Statement]
) -> Request:
    """The request: index, articles, statements of logs, and the question last."""
    files = "\n".join(f"File {article.path}.md:\n{render(article)}" for article in chosen)
    lines = "\n".join(f"- {statement.text} ({day_link(statement.day)})" for statement in statements)
    mark = secrets.token_hex(8)
    parts = (
        read_prompt("query"),
        "The index:\n\n" + fence(index(articles)[-INDEX_CHARS:], mark, "index"),
        "Articles:\n\n" + fence(files[:ARTICLES_CHARS] or "(none)", mark, "articles"),
        "From daily logs:\n\n" + fence(lines or "(none)", mark, "daily-logs"),
        f"The question: {one_line(question)}",
    )
    system = "You answer questions from a programmer's knowledge base, with citations."
    return Request(PURPOSE, system, "\n\n".join(parts), max_output_tokens=4_000)


def _look_up(
    question: str, chosen: Sequence[Article], statements: Sequence[Statement]
) -> QueryResult:
    """Without a model: the lines that share most words with the question, with their sources."""
    lines: list[str] = []
    consulted: list[str] = []
    for article in chosen:
        best = _best_lines(question, points_of(article.body))
        if best:
            consulted.append(article.path)
            lines += ["", f"{one_line(article.title)} ({link(article.path)})", *best]
    shown = "\n".join(lines)
    others = [each for each in statements if without_links(each.text) not in shown]
    if others:
        lines += ["", "From daily logs"]
        lines += [_statement_line(statement) for statement in others]
    if not lines:
        return QueryResult(f"{NOTHING} about this in articles or logs.", (), (), nothing=True)
    text = "\n".join(lines).strip()
    sources = (*consulted, *_days(others))
    return QueryResult(text, sources, tuple(link_targets(text)), nothing=False)


def _days(statements: Sequence[Statement]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"daily/{statement.day}" for statement in statements))


def _best_lines(question: str, lines: Sequence[str]) -> list[str]:
    pairs = sorted(zip(_scores(question, lines), lines, strict=True), key=lambda pair: -pair[0])
    return [line for score, line in pairs[:LINES] if score > 0]


def _statement_line(statement: Statement) -> str:
    text = excerpt(without_links(statement.text), LINE_CHARS)
    return f"- {text} ({day_link(statement.day)}) <!-- entry={statement.entry} -->"


def _scores(question: str, texts: Sequence[str]) -> list[float]:
    return score_texts(question, [words(text) for text in texts], [frozenset() for _ in texts])


def _save(
    context: CompileContext,
    question: str,
    result: QueryResult,
    may_file: Callable[[Articles], bool] | None,
) -> QueryResult:
    """Count the question, and file its answer if `may_file` says that it still holds."""
    journal, now = context.journal, context.clock()
    with knowledge_lock(journal):
        state = read_state(journal, now, context.warn)
        state = msgspec.structs.replace(
            state,
            query_count=state.query_count + 1,
            total_cost=round(state.total_cost + result.cost_usd, 6),
        )
        files: dict[str, str | None] = {"state.json": state.text()}
        articles = read_knowledge(journal).articles
        if may_file is not None and may_file(articles):
            path, after = _with_answer(articles, context.clean(question), result, iso_local(now))
            rows = {"question": [excerpt(one_line(without_links(question)), LINE_CHARS)]}
            rows |= {"consulted": map(link, result.consulted), "filed": [link(path)]}
            entry = log_entry(iso_local(now), f"query (filed) | {path}", rows)
            files |= changed_files(articles, after)
            files |= {INDEX: index(after), LOG: log_text(journal, context.clean(entry))}
            result = msgspec.structs.replace(result, filed=path)
        save(journal, files)
    return result


def _with_answer(
    articles: Articles, question: str, result: QueryResult, when: str
) -> tuple[str, Articles]:
    """The path of the answer, and the articles with it; it replaces one to the same question."""
    question = one_line(without_links(question))
    title = excerpt(question, TITLE_CHARS)
    path = f"qa/{slug(title) or 'question'}"
    read = [source for source in result.consulted if source in articles]
    days = [source for source in result.consulted if source.startswith("daily/")]
    front = {"title": title, "question": question, "consulted": (*read, *days), "filed": when}
    body = f"# {title}\n\n## Answer\n\n{result.text}"
    after = {**articles, path: Article(path, front, body)}
    for other in read:
        link_both(after, path, other)
    return path, after
