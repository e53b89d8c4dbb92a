"""What a compile proposes becomes part of the articles: an update where one is about it already.

Pure: articles and proposals in, articles out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import msgspec

from session_memory.core.text.similarity import phrase, same_thing
from session_memory.journal.articles import (
    POINTS,
    RELATED,
    Article,
    Kind,
    entry_marks,
    list_of,
    marks,
    point,
    points_of,
    slug,
    with_lines,
)
from session_memory.journal.knowledge import Articles
from session_memory.journal.links import keeping, link, normal, targets

PARTNERS = 3
_OURS = ("concepts/", "connections/", "qa/")


class Point(msgspec.Struct, frozen=True):
    """One statement, with the log it stands in (`2026-03-02.md`) and the key of its entry."""

    text: str
    day: str
    entry: str = ""

    def line(self) -> str:
        """As an article shows it."""
        return point(self.text, self.day, self.entry)


class Proposal(msgspec.Struct, frozen=True):
    """An article, or more for an article that is there."""

    title: str
    points: tuple[Point, ...]
    kind: Kind = "concepts"
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    connects: tuple[str, ...] = ()
    """Titles, aliases or paths of the concepts of a connection."""
    summary: str = ""
    related: tuple[str, ...] = ()
    updates: str = ""
    """Path of the article meant, where the author named it."""
    exact: bool = False
    """The title is a name, such as a file's: only the same name is the same thing."""
    worded: bool = False
    """Title and summary are somebody's words, drawn from all entries of the points."""


class Merged(msgspec.Struct, frozen=True):
    """The articles afterwards, and which of them are new or changed."""

    articles: Articles
    created: tuple[str, ...]
    updated: tuple[str, ...]


def merge(articles: Mapping[str, Article], proposals: Iterable[Proposal], date: str) -> Merged:
    """Take proposals in, concepts before what connects them."""
    found = dict(articles)
    touched: list[str] = []
    for proposal in sorted(proposals, key=lambda one: one.kind != "concepts"):
        path = _take_in(found, proposal, date)
        if path is not None:
            touched.append(path)
    for path in dict.fromkeys(touched):
        _relate(found, path)
    found = pruned(found)
    changed = [path for path in found if articles.get(path) != found[path]]
    return Merged(
        found,
        tuple(path for path in changed if path not in articles),
        tuple(path for path in changed if path in articles and path in touched),
    )


def find(articles: Mapping[str, Article], name: str) -> str | None:
    """The path of the concept that a title, alias or path names."""
    path = normal(name)
    if path in articles:
        return path
    wanted = slug(path.removeprefix("concepts/"))
    concepts = (one for one in articles.values() if one.kind == "concepts")
    return next((one.path for one in concepts if wanted and wanted in one.names), None)


def clashes(articles: Mapping[str, Article]) -> list[str]:
    """Names that two concepts share; there must be none."""
    counts = Counter(
        name for one in articles.values() if one.kind == "concepts" for name in one.names
    )
    return sorted(name for name, count in counts.items() if count > 1)


def still_says(now: Mapping[str, Article], shown: Iterable[Article]) -> bool:
    """Whether no point of articles that a model was shown was taken back meanwhile."""
    return all(
        one.path in now and set(points_of(one.body)) <= set(points_of(now[one.path].body))
        for one in shown
    )


def without_day(articles: Mapping[str, Article], day: str) -> Articles:
    """The articles without what came from a day; those left empty wait for what comes anew."""
    return {
        path: msgspec.structs.replace(one, body="\n".join(_not_of(one.body, day)))
        if one.kind != "qa"
        else one
        for path, one in articles.items()
    }


def without_empty(articles: Mapping[str, Article], before: Mapping[str, Article]) -> Articles:
    """The articles without those that lost all they said, and without links to them.

    One that a person wrote has no points to lose, or words beside them: it stays.
    """

    def is_empty(one: Article) -> bool:
        old = before.get(one.path)
        had = old is not None and points_of(old.body)
        return bool(had) and not points_of(one.body) and not _own_words(one.body)

    kept = {path: _resourced(one) for path, one in articles.items() if not is_empty(one)}
    gone = set(before) - set(kept)
    whole = {
        path: one
        for path, one in kept.items()
        if one.kind != "connections"
        or not gone & set(map(normal, list_of(one.front.get("connects", ()))))
    }
    return pruned(whole)


def pruned(articles: Mapping[str, Article]) -> Articles:
    """The articles without links to articles that are not there."""

    def is_there(target: str) -> bool:
        return not target.startswith(_OURS) or target in articles

    def body(text: str) -> str:
        lines = [line for line in text.splitlines() if not _is_dead(line, is_there)]
        return keeping("\n".join(lines), is_there)

    return {
        path: one
        if all(map(is_there, targets(one.body)))
        else msgspec.structs.replace(one, body=body(one.body))
        for path, one in articles.items()
    }


def _is_dead(line: str, is_there: object) -> bool:
    only = line.removeprefix("- ")
    bare = only.startswith("[[") and only.endswith("]]") and only.count("[[") == 1
    return bare and callable(is_there) and not is_there(normal(only.strip("[]").partition("|")[0]))


def forget_entries(
    articles: Mapping[str, Article], gone: Collection[str], days: Collection[str] = ()
) -> Articles:
    """The articles without what came from those entries, which stood in those `daily/DATE`.

    Lines that cite such a day and no entry go too, as they may be of one. A title that was drawn
    from such an entry may repeat it, so the whole article goes; likewise answers to questions that
    consulted the day, or an article which lost something.
    """
    lost = {path for path, one in articles.items() if _without(one, gone, days).body != one.body}
    named = {path for path in lost if _name_marks(articles[path].body) & set(gone)}
    touched = lost | set(days)
    answered = {
        path
        for path, one in articles.items()
        if one.kind == "qa"
        and (path in lost or touched & set(map(normal, list_of(one.front.get("consulted", ())))))
    }
    left = {
        path: _without(one, gone, days) if path in lost else one
        for path, one in articles.items()
        if path not in named | answered
    }
    return without_empty(left, articles)


def _without(article: Article, gone: Collection[str], days: Collection[str]) -> Article:
    """Other names may have come from what goes; the next compile finds those that are left."""
    lines = [
        line
        for line in article.body.splitlines()
        if not marks(line) & set(gone) and (marks(line) or not set(days) & set(targets(line)))
    ]
    bare = {key: () for key in ("aliases", "tags") if key in article.front}
    front = {**article.front, **bare}
    return msgspec.structs.replace(article, front=front, body="\n".join(lines))


def link_both(articles: Articles, one: str, other: str) -> None:
    """Two articles that name each other."""
    for here, there in ((one, other), (other, one)):
        article = articles[here]
        if there not in targets(article.body):
            body = with_lines(article.body, RELATED, [f"- {link(there)}"])
            articles[here] = msgspec.structs.replace(article, body=body)


def _take_in(articles: Articles, proposal: Proposal, date: str) -> str | None:
    """Create or update one article; None where a connection has nothing to connect."""
    paths = tuple(dict.fromkeys(filter(None, (find(articles, name) for name in proposal.connects))))
    if not slug(proposal.title) or (proposal.kind == "connections" and len(paths) < 2):
        return None
    path = _existing(articles, proposal, paths)
    if path is None:
        path = f"{proposal.kind}/{slug(proposal.title)}"
    before = articles.get(path) or _fresh(path, proposal, paths, date)
    body = with_lines(before.body, POINTS, _new_lines(before.body, proposal.points))
    article = _resourced(msgspec.structs.replace(before, body=body))
    if article != articles.get(path):
        front = {**article.front, "updated": date}
        if article.kind == "concepts":
            front |= _more_names(articles, article, proposal)
        articles[path] = msgspec.structs.replace(article, front=front)
    for other in (*paths, *filter(None, (find(articles, name) for name in proposal.related))):
        if other != path:
            link_both(articles, path, other)
    return path


def _existing(
    articles: Mapping[str, Article], proposal: Proposal, connects: tuple[str, ...]
) -> str | None:
    same_kind = [one for one in articles.values() if one.kind == proposal.kind]
    if proposal.kind == "connections":
        return next(
            (one.path for one in same_kind if set(list_of(one.front["connects"])) == set(connects)),
            None,
        )
    if normal(proposal.updates) in articles and proposal.updates.startswith("concepts/"):
        return normal(proposal.updates)
    for name in (proposal.title, *proposal.aliases):
        found = find(articles, name)
        if found is not None and found.startswith("concepts/"):
            return found
    if proposal.exact:
        return None
    wanted = phrase(proposal.title)
    return next((one.path for one in same_kind if same_thing(wanted, phrase(one.title))), None)


def _fresh(path: str, proposal: Proposal, connects: tuple[str, ...], date: str) -> Article:
    own = (
        {"aliases": (), "tags": proposal.tags}
        if proposal.kind == "concepts"
        else {"connects": connects}
    )
    front = {"title": proposal.title, **own, "sources": (), "created": date, "updated": date}
    keys = sorted({one.entry for one in proposal.points if one.entry}) if proposal.worded else []
    mark = f"<!-- entry={','.join(keys)} -->" if keys else ""
    said = f"{proposal.summary} {mark}".strip() if proposal.summary else ""
    head = [f"# {proposal.title}", *([mark] if mark else []), *(["", said] if said else [])]
    return Article(path, front, "\n".join(head))


def _more_names(
    articles: Mapping[str, Article], article: Article, proposal: Proposal
) -> dict[str, tuple[str, ...]]:
    """Aliases and tags with those of the proposal, but for names that another article has."""
    taken = {
        name
        for path, one in articles.items()
        if path != article.path and one.kind == "concepts"
        for name in one.names
    }
    have = list_of(article.front.get("aliases", ()))
    offered = [
        name for name in (proposal.title, *proposal.aliases) if slug(name) not in article.names
    ]
    aliases = [name for name in offered if slug(name) and slug(name) not in taken]
    distinct = {slug(name): name for name in reversed((*have, *aliases))}
    names = tuple(name for name in (*have, *aliases) if distinct.get(slug(name)) == name)
    tags = (*list_of(article.front.get("tags", ())), *proposal.tags)
    return {"aliases": tuple(dict.fromkeys(names)), "tags": tuple(dict.fromkeys(tags))}


def _new_lines(body: str, points: Iterable[Point]) -> list[str]:
    """Lines for the points that the article does not make yet."""
    said = {_words(line) for line in points_of(body)}
    lines: list[str] = []
    for one in points:
        line = one.line()
        if _words(line) not in said:
            said.add(_words(line))
            lines.append(line)
    return lines


def _words(line: str) -> str:
    return slug_words(line.removeprefix("- ").partition(" ([[daily/")[0])


def slug_words(text: str) -> str:
    """A text as compared: its words, whatever stands between them."""
    return phrase(text).words


def _relate(articles: Articles, path: str) -> None:
    """Link an article with those that come from the same entries; nobody is left alone."""
    article = articles[path]
    mine = entry_marks(article.body)
    others = [one for one in articles.values() if one.path != path and one.kind != "qa"]
    shared = Counter({one.path: len(mine & entry_marks(one.body)) for one in others})
    near = [name for name, count in shared.most_common(PARTNERS) if count]
    linked = any(path in targets(one.body) for one in others)
    others = [one for one in others if one.kind == "concepts"] or others
    if not near and not linked and others:
        words = phrase(article.title).terms
        near = [
            max(
                others,
                key=lambda one: (len(words & phrase(one.title).terms), one.updated, one.path),
            ).path
        ]
    for other in near:
        link_both(articles, path, other)


def _resourced(article: Article) -> Article:
    days = sorted(
        target
        for target in targets("\n".join(points_of(article.body)))
        if target.startswith("daily/")
    )
    if not days or article.kind == "qa":
        return article
    sources = tuple(f"{day}.md" for day in days)
    return msgspec.structs.replace(article, front={**article.front, "sources": sources})


def _not_of(body: str, day: str) -> list[str]:
    target = f"daily/{normal(day)}"
    return [
        line
        for line in body.splitlines()
        if not (line.startswith("- ") and target in targets(line))
    ]


def _name_marks(body: str) -> frozenset[str]:
    """Entries that the title was drawn from: they stand on a line of their own."""
    lines = (line for line in body.splitlines() if line.startswith("<!-- entry="))
    return frozenset(key for line in lines for key in marks(line))


def _own_words(body: str) -> bool:
    """Whether there is a line that no compile wrote."""
    return any(
        line.strip() and not line.startswith(("#", "- [[", "<!-- entry=")) and not marks(line)
        for line in body.splitlines()
    )
