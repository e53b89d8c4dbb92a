"""knowledge/ on the disk: articles, index and log, read and changed by one at a time."""

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
from session_memory.journal.files import held, read_text
from session_memory.journal.links import targets, without_links
from session_memory.journal.paths import Place
from session_memory.journal.undo import apply, recover
from session_memory.paths import private_dir

INDEX = "knowledge/index.md"
LOG = "knowledge/log.md"
HEAD = "# Knowledge Index\n\n| Article | Summary | Compiled From | Updated |\n|---|---|---|---|\n"
LOG_HEAD = "# Build Log\n"
SUMMARY_CHARS = 160

Articles = dict[str, Article]


class Shelf(msgspec.Struct, frozen=True):
    """Every article, and the files that should be one and are not."""

    articles: Articles
    bad: tuple[str, ...] = ()


@contextmanager
def tending(place: Place) -> Generator[None]:
    """Nobody else changes the knowledge meanwhile; what a killed run began is undone first."""
    with held(place.lock("knowledge"), "work on the knowledge"):
        recover(place)
        yield


def read_shelf(place: Place) -> Shelf:
    """The articles there are, by path."""
    articles: Articles = {}
    bad: list[str] = []
    for kind in KINDS:
        for file in sorted((place.knowledge / kind).glob("*.md")):
            path = f"{kind}/{file.stem}"
            try:
                articles[path] = parse(path, read_text(file) or "")
            except BadArticleError as error:
                bad.append(error.message)
    return Shelf(articles, tuple(bad))


def make_folders(place: Place) -> None:
    """The folders of a journal, all of them from the first compile on."""
    folders = [place.knowledge / kind for kind in KINDS]
    for folder in (place.root, place.daily, place.knowledge, *folders, place.reports):
        if not folder.is_dir():
            private_dir(folder)


def summary(article: Article) -> str:
    """One line on what an article says: its first plain paragraph, or its first point."""
    for line in article.body.splitlines():
        if line.strip() and not line.startswith(("#", "-", "|", "<!--")):
            return _cell(line)
    points = points_of(article.body)
    return _cell(points[0].removeprefix("- ")) if points else _cell(article.title)


def index(articles: Mapping[str, Article]) -> str:
    """The index: one row for each article, the longest unchanged first."""
    rows = sorted(articles.values(), key=lambda one: (one.updated[:10], one.path))
    return HEAD + "".join(index_row(article) + "\n" for article in rows)


def index_row(article: Article) -> str:
    """An article's row."""
    sources = ", ".join(article.sources) or "query"
    return f"| [[{article.path}]] | {summary(article)} | {sources} | {article.updated[:10]} |"


def index_faults(text: str, articles: Iterable[str]) -> list[str]:
    """Articles without exactly one row, and rows without an article."""
    rows = [line for line in text.splitlines() if line.startswith("| [[")]
    named = [next(iter(targets(row)), "") for row in rows]
    known = set(articles)
    found = [
        f"{path} has {named.count(path)} rows" for path in sorted(known) if named.count(path) != 1
    ]
    return [
        *found,
        *(f"a row for {path or '?'}, which is not there" for path in named if path not in known),
    ]


def changed_files(
    before: Mapping[str, Article], after: Mapping[str, Article]
) -> dict[str, str | None]:
    """What to write and remove below the journal's root to get from one set to the other."""
    files: dict[str, str | None] = {
        f"knowledge/{path}.md": None for path in before if path not in after
    }
    for path, article in after.items():
        if before.get(path) != article:
            files[f"knowledge/{path}.md"] = render(article)
    return files


def log_text(place: Place, entry: str) -> str:
    """log.md with one more entry; what it says already stays as it is."""
    text = read_text(place.root / LOG) or LOG_HEAD
    return text + ("" if text.endswith("\n") else "\n") + "\n" + entry


def log_entry(when: str, what: str, rows: Mapping[str, Iterable[str]]) -> str:
    """An entry of log.md: a heading, then a line for each kind of thing."""
    lines = [f"- {name}: {', '.join(values) or 'none'}" for name, values in rows.items()]
    return "\n".join((f"## [{when}] {what}", *lines)) + "\n"


def save(place: Place, files: Mapping[str, str | None]) -> None:
    """Change files of the journal, all or none; only inside `tending`."""
    if any(name.startswith("knowledge/") for name in files):
        make_folders(place)
    apply(place, files)


def _cell(text: str) -> str:
    """Words for a cell of a table: no links, no comments, no bars."""
    bare = text.partition(" ([[daily/")[0].partition("<!-- entry=")[0]
    return excerpt(one_line(without_links(bare)), SUMMARY_CHARS).replace("|", "/")
