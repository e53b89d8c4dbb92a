"""The knowledge base on disk: articles, index and build log, changed by one process at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager

import msgspec

from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import one_line
from session_memory.journal.articles import (
    KINDS,
    Article,
    BadArticleError,
    parse,
    points_of,
    render,
)
from session_memory.journal.files import file_lock, read_text
from session_memory.journal.links import link_targets, without_links
from session_memory.journal.paths import JournalPaths
from session_memory.journal.transaction import recover, write_files
from session_memory.paths import private_dir

INDEX = "knowledge/index.md"
LOG = "knowledge/log.md"
HEAD = "# Knowledge Index\n\n| Article | Summary | Compiled From | Updated |\n|---|---|---|---|\n"
LOG_HEAD = "# Build Log\n"
SUMMARY_CHARS = 160

Articles = dict[str, Article]


class Knowledge(msgspec.Struct, frozen=True):
    """Every article, and what is wrong with files that are not valid articles."""

    articles: Articles
    bad: tuple[str, ...] = ()


@contextmanager
def knowledge_lock(journal: JournalPaths) -> Generator[None]:
    """Keep others from changing the knowledge base; first undo what a killed run left half done."""
    with file_lock(journal.lock("knowledge"), "work on the knowledge"):
        recover(journal)
        yield


def read_knowledge(journal: JournalPaths) -> Knowledge:
    """All articles by path."""
    articles: Articles = {}
    bad: list[str] = []
    for kind in KINDS:
        for file in sorted((journal.knowledge / kind).glob("*.md")):
            path = f"{kind}/{file.stem}"
            try:
                articles[path] = parse(path, read_text(file) or "")
            except BadArticleError as error:
                bad.append(error.message)
    return Knowledge(articles, tuple(bad))


def summary(article: Article) -> str:
    """An article in one line: its first plain paragraph, or its first point."""
    for line in article.body.splitlines():
        if line.strip() and not line.startswith(("#", "-", "|", "<!--")):
            return _cell(line)
    points = points_of(article.body)
    return _cell(points[0].removeprefix("- ")) if points else _cell(article.title)


def index(articles: Mapping[str, Article]) -> str:
    """The index: one row for each article, least recently updated first."""
    ordered = sorted(articles.values(), key=lambda article: (article.updated[:10], article.path))
    return HEAD + "".join(index_row(article) + "\n" for article in ordered)


def index_row(article: Article) -> str:
    """The row of an article."""
    sources = ", ".join(article.sources) or "query"
    return f"| [[{article.path}]] | {summary(article)} | {sources} | {article.updated[:10]} |"


def index_faults(text: str, articles: Iterable[str]) -> list[str]:
    """Articles without exactly one row, and rows without an article."""
    rows = [line for line in text.splitlines() if line.startswith("| [[")]
    listed = [next(iter(link_targets(row)), "") for row in rows]
    paths = set(articles)
    return [
        *(
            f"{path} has {listed.count(path)} rows"
            for path in sorted(paths)
            if listed.count(path) != 1
        ),
        *(f"a row for {path or '?'}, which is not there" for path in listed if path not in paths),
    ]


def changed_files(
    before: Mapping[str, Article], after: Mapping[str, Article]
) -> dict[str, str | None]:
    """The files to write, and with None to remove, to get from one set of articles to another."""
    files: dict[str, str | None] = {
        f"knowledge/{path}.md": None for path in before if path not in after
    }
    for path, article in after.items():
        if before.get(path) != article:
            files[f"knowledge/{path}.md"] = render(article)
    return files


def log_text(journal: JournalPaths, entry: str) -> str:
    """log.md with one more entry at its end."""
    text = read_text(journal.root / LOG) or LOG_HEAD
    return text + ("" if text.endswith("\n") else "\n") + "\n" + entry


def log_entry(when: str, what: str, rows: Mapping[str, Iterable[str]]) -> str:
    """An entry of log.md: a heading, then one line for each name."""
    lines = [f"- {name}: {', '.join(values) or 'none'}" for name, values in rows.items()]
    return "\n".join((f"## [{when}] {what}", *lines)) + "\n"


def save(journal: JournalPaths, files: Mapping[str, str | None]) -> None:
    """Change all these files or none; call it inside `knowledge_lock`.

    The first compile also creates all folders of the journal.
    """
    if any(name.startswith("knowledge/") for name in files):
        kinds = [journal.knowledge / kind for kind in KINDS]
        for folder in (journal.root, journal.daily, journal.knowledge, *kinds, journal.reports):
            if not folder.is_dir():
                private_dir(folder)
    write_files(journal, files)


def _cell(text: str) -> str:
    """Text for a table cell: no links, no comments, no bars."""
    bare = text.partition(" ([[daily/")[0].partition("<!-- entry=")[0]
    return excerpt(one_line(without_links(bare)), SUMMARY_CHARS).replace("|", "/")
