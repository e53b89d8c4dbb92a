"""Merges proposals into the articles: an article that is already about the subject is updated.

Pure: articles and proposals in, articles out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from session_memory.core.text.similarity import phrase, same_thing
from session_memory.journal.articles import (
    POINTS,
    RELATED,
    Article,
    Kind,
    entry_keys,
    entry_keys_in,
    list_of,
    point_line,
    points_of,
    slug,
    with_lines,
)
from session_memory.journal.knowledge import Articles
from session_memory.journal.links import drop_dead_links, link, link_targets, normal_target

MAX_RELATED = 3
_OUR_FOLDERS = ("concepts/", "connections/", "qa/")


class Point(msgspec.Struct, frozen=True):
    """One statement, with its log (`2026-03-02.md`) and the key of its entry."""

    text: str
    day: str
    entry: str = ""

    def line(self) -> str:
        """The point as a line of an article."""
        return point_line(self.text, self.day, self.entry)


class Proposal(msgspec.Struct, frozen=True):
    """A new article, or additions to an existing one."""

    title: str
    points: tuple[Point, ...]
    kind: Kind = "concepts"
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    connects: tuple[str, ...] = ()
    """Titles, aliases or paths of the concepts that a connection connects."""
    summary: str = ""
    related: tuple[str, ...] = ()
    updates: str = ""
    """Path of the article to update, if the author named one."""
    exact: bool = False
    """The title is a name, such as a file name: only an article of the same name matches."""
    worded: bool = False
    """Title and summary were phrased freely, from all entries of the points."""


def merge(articles: Mapping[str, Article], proposals: Iterable[Proposal], date: str) -> Articles:
    """The articles with the proposals merged in; concepts first, then their connections."""
    merged = dict(articles)
    touched: list[str] = []
    for proposal in sorted(proposals, key=lambda proposal: proposal.kind != "concepts"):
        path = _merge_proposal(merged, proposal, date)
        if path is not None:
            touched.append(path)
    for path in dict.fromkeys(touched):
        _add_related(merged, path)
    return without_dead_links(merged)


def find_concept(articles: Mapping[str, Article], name: str) -> str | None:
    """The path of the concept with this title, alias or path."""
    path = normal_target(name)
    if path in articles:
        return path
    name_slug = slug(path.removeprefix("concepts/"))
    concepts = (article for article in articles.values() if article.kind == "concepts")
    return next(
        (concept.path for concept in concepts if name_slug and name_slug in concept.names), None
    )


def shared_names(articles: Mapping[str, Article]) -> list[str]:
    """Names that two concepts share; there must be none."""
    counts = Counter(
        name
        for article in articles.values()
        if article.kind == "concepts"
        for name in article.names
    )
    return sorted(name for name, count in counts.items() if count > 1)


def still_says(now: Mapping[str, Article], shown: Iterable[Article]) -> bool:
    """Whether the articles a model was shown still make all their points."""
    return all(
        article.path in now
        and set(points_of(article.body)) <= set(points_of(now[article.path].body))
        for article in shown
    )


def without_day(articles: Mapping[str, Article], day: str) -> Articles:
    """The articles without what came from a day; emptied ones stay, to be filled again."""
    return {
        path: msgspec.structs.replace(article, body="\n".join(_lines_not_of(article.body, day)))
        if article.kind != "qa"
        else article
        for path, article in articles.items()
    }


def without_empty(articles: Mapping[str, Article], before: Mapping[str, Article]) -> Articles:
    """The articles without those that lost all their points, and without links to them.

    An article that a person wrote stays: it has no points to lose, or other text besides them.
    """

    def is_empty(article: Article) -> bool:
        old = before.get(article.path)
        had_points = old is not None and bool(points_of(old.body))
        return had_points and not points_of(article.body) and not _has_own_text(article.body)

    left = {
        path: _with_sources(article) for path, article in articles.items() if not is_empty(article)
    }
    removed = set(before) - set(left)
    connected = {
        path: article
        for path, article in left.items()
        if article.kind != "connections"
        or not removed & set(map(normal_target, list_of(article.front.get("connects", ()))))
    }
    return without_dead_links(connected)


def without_dead_links(articles: Mapping[str, Article]) -> Articles:
    """The articles without links to articles that do not exist."""

    def exists(target: str) -> bool:
        return not target.startswith(_OUR_FOLDERS) or target in articles

    def live_links(text: str) -> str:
        lines = [line for line in text.splitlines() if not _is_dead_link(line, exists)]
        return drop_dead_links("\n".join(lines), exists)

    return {
        path: article
        if all(map(exists, link_targets(article.body)))
        else msgspec.structs.replace(article, body=live_links(article.body))
        for path, article in articles.items()
    }


def _is_dead_link(line: str, exists: Callable[[str], bool]) -> bool:
    """Whether a line is nothing but one link to something that does not exist."""
    only = line.removeprefix("- ")
    is_link = only.startswith("[[") and only.endswith("]]") and only.count("[[") == 1
    return is_link and not exists(normal_target(only.strip("[]").partition("|")[0]))


def forget_entries(
    articles: Mapping[str, Article], entries: Collection[str], days: Collection[str] = ()
) -> Articles:
    """The articles without what came from entries, which were in logs `daily/DATE`.

    Lines that cite such a day but no entry go too, as they may come from one. A title drawn from
    such an entry may repeat it, so its whole article goes; so do answers to questions that
    consulted the day, or an article which lost something.
    """
    lost = {
        path
        for path, article in articles.items()
        if _without_entries(article, entries, days).body != article.body
    }
    titled = {path for path in lost if _title_keys(articles[path].body) & set(entries)}
    touched = lost | set(days)
    answers = {
        path
        for path, article in articles.items()
        if article.kind == "qa"
        and (
            path in lost
            or touched & set(map(normal_target, list_of(article.front.get("consulted", ()))))
        )
    }
    left = {
        path: _without_entries(article, entries, days) if path in lost else article
        for path, article in articles.items()
        if path not in titled | answers
    }
    return without_empty(left, articles)


def _without_entries(article: Article, entries: Collection[str], days: Collection[str]) -> Article:
    """Aliases and tags go too, as they may come from an entry; a compile finds the others again."""
    lines = [
        line
        for line in article.body.splitlines()
        if not entry_keys(line) & set(entries)
        and (entry_keys(line) or not set(days) & set(link_targets(line)))
    ]
    emptied = {key: () for key in ("aliases", "tags") if key in article.front}
    front = {**article.front, **emptied}
    return msgspec.structs.replace(article, front=front, body="\n".join(lines))


def link_both(articles: Articles, first: str, second: str) -> None:
    """Make two articles link to each other."""
    for source, target in ((first, second), (second, first)):
        article = articles[source]
        if target not in link_targets(article.body):
            body = with_lines(article.body, RELATED, [f"- {link(target)}"])
            articles[source] = msgspec.structs.replace(article, body=body)


def _merge_proposal(articles: Articles, proposal: Proposal, date: str) -> str | None:
    """Create or update one article; None if a connection has nothing to connect."""
    connected = (find_concept(articles, name) for name in proposal.connects)
    connects = tuple(dict.fromkeys(filter(None, connected)))
    if not slug(proposal.title) or (proposal.kind == "connections" and len(connects) < 2):
        return None
    path = _find_existing(articles, proposal, connects)
    if path is None:
        path = f"{proposal.kind}/{slug(proposal.title)}"
    before = articles.get(path) or _new_article(path, proposal, connects, date)
    body = with_lines(before.body, POINTS, _new_lines(before.body, proposal.points))
    article = _with_sources(msgspec.structs.replace(before, body=body))
    if article != articles.get(path):
        front = {**article.front, "updated": date}
        if article.kind == "concepts":
            front |= _aliases_and_tags(articles, article, proposal)
        articles[path] = msgspec.structs.replace(article, front=front)
    related = filter(None, (find_concept(articles, name) for name in proposal.related))
    for other in (*connects, *related):
        if other != path:
            link_both(articles, path, other)
    return path


def _find_existing(
    articles: Mapping[str, Article], proposal: Proposal, connects: tuple[str, ...]
) -> str | None:
    same_kind = [article for article in articles.values() if article.kind == proposal.kind]
    if proposal.kind == "connections":
        return next(
            (
                article.path
                for article in same_kind
                if set(list_of(article.front["connects"])) == set(connects)
            ),
            None,
        )
    if normal_target(proposal.updates) in articles and proposal.updates.startswith("concepts/"):
        return normal_target(proposal.updates)
    for name in (proposal.title, *proposal.aliases):
        path = find_concept(articles, name)
        if path is not None and path.startswith("concepts/"):
            return path
    if proposal.exact:
        return None
    title = phrase(proposal.title)
    return next(
        (article.path for article in same_kind if same_thing(title, phrase(article.title))), None
    )


def _new_article(path: str, proposal: Proposal, connects: tuple[str, ...], date: str) -> Article:
    own = (
        {"aliases": (), "tags": proposal.tags}
        if proposal.kind == "concepts"
        else {"connects": connects}
    )
    front = {"title": proposal.title, **own, "sources": (), "created": date, "updated": date}
    entries = {point.entry for point in proposal.points if point.entry} if proposal.worded else ()
    mark = f"<!-- entry={','.join(sorted(entries))} -->" if entries else ""
    summary = f"{proposal.summary} {mark}".strip() if proposal.summary else ""
    head = [f"# {proposal.title}", *([mark] if mark else []), *(["", summary] if summary else [])]
    return Article(path, front, "\n".join(head))


def _aliases_and_tags(
    articles: Mapping[str, Article], article: Article, proposal: Proposal
) -> dict[str, tuple[str, ...]]:
    """Aliases and tags with those of the proposal, except for names of other articles."""
    taken = {
        name
        for path, other in articles.items()
        if path != article.path and other.kind == "concepts"
        for name in other.names
    }
    present = list_of(article.front.get("aliases", ()))
    offered = [
        name for name in (proposal.title, *proposal.aliases) if slug(name) not in article.names
    ]
    added = [name for name in offered if slug(name) and slug(name) not in taken]
    by_slug = {slug(name): name for name in reversed((*present, *added))}
    aliases = tuple(name for name in (*present, *added) if by_slug.get(slug(name)) == name)
    tags = (*list_of(article.front.get("tags", ())), *proposal.tags)
    return {"aliases": tuple(dict.fromkeys(aliases)), "tags": tuple(dict.fromkeys(tags))}


def _new_lines(body: str, points: Iterable[Point]) -> list[str]:
    """Lines for the points that the article does not make yet."""
    present = {_words(line) for line in points_of(body)}
    lines: list[str] = []
    for point in points:
        line = point.line()
        if _words(line) not in present:
            present.add(_words(line))
            lines.append(line)
    return lines


def _words(line: str) -> str:
    """The words of a point, without punctuation and source."""
    return phrase(line.removeprefix("- ").partition(" ([[daily/")[0]).words


def _add_related(articles: Articles, path: str) -> None:
    """Link an article with those from the same entries; every article gets at least one link."""
    article = articles[path]
    keys = entry_keys_in(article.body)
    others = [other for other in articles.values() if other.path != path and other.kind != "qa"]
    shared = Counter({other.path: len(keys & entry_keys_in(other.body)) for other in others})
    related = [other for other, count in shared.most_common(MAX_RELATED) if count]
    is_linked = any(path in link_targets(other.body) for other in others)
    candidates = [other for other in others if other.kind == "concepts"] or others
    if not related and not is_linked and candidates:
        words = phrase(article.title).terms
        related = [
            max(
                candidates,
                key=lambda other: (
                    len(words & phrase(other.title).terms),
                    other.updated,
                    other.path,
                ),
            ).path
        ]
    for other in related:
        link_both(articles, path, other)


def _with_sources(article: Article) -> Article:
    """The article with the days of its points as its sources."""
    days = sorted(
        target
        for target in link_targets("\n".join(points_of(article.body)))
        if target.startswith("daily/")
    )
    if not days or article.kind == "qa":
        return article
    sources = tuple(f"{day}.md" for day in days)
    return msgspec.structs.replace(article, front={**article.front, "sources": sources})


def _lines_not_of(body: str, day: str) -> list[str]:
    target = f"daily/{normal_target(day)}"
    return [
        line
        for line in body.splitlines()
        if not (line.startswith("- ") and target in link_targets(line))
    ]


def _title_keys(body: str) -> frozenset[str]:
    """Keys of the entries the title was drawn from, which are on a line of their own."""
    lines = (line for line in body.splitlines() if line.startswith("<!-- entry="))
    return frozenset(key for line in lines for key in entry_keys(line))


def _has_own_text(body: str) -> bool:
    """Whether there is a line that no compile wrote."""
    return any(
        line.strip() and not line.startswith(("#", "- [[", "<!-- entry=")) and not entry_keys(line)
        for line in body.splitlines()
    )
