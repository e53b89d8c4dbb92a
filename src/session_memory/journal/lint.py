"""What is wrong with a knowledge base: seven checks, and an index that fits its articles.

Pure but for the last check, which asks a model for contradictions.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from session_memory.core.text.safe_text import fence, one_line, stripped
from session_memory.errors import ModelUnavailable
from session_memory.journal import daily
from session_memory.journal.articles import Article, render
from session_memory.journal.compile import Tools, pending_logs
from session_memory.journal.files import read_text
from session_memory.journal.knowledge import (
    INDEX,
    Articles,
    changed_files,
    index,
    index_faults,
    read_shelf,
    save,
    tending,
)
from session_memory.journal.links import targets
from session_memory.journal.merge import clashes, link_both
from session_memory.journal.model_call import cost_of, template
from session_memory.journal.paths import Place
from session_memory.journal.state import State, iso_local, read_state
from session_memory.model.port import Request

Severity = Literal["error", "warning", "suggestion"]
Check = Literal[
    "broken_link",
    "orphan_page",
    "orphan_source",
    "stale_article",
    "missing_backlink",
    "sparse_article",
    "contradiction",
    "index",
    "bad_article",
    "double_name",
    "not_checked",
]
SEVERITY: dict[Check, Severity] = {
    "broken_link": "error",
    "orphan_page": "warning",
    "orphan_source": "warning",
    "stale_article": "warning",
    "missing_backlink": "suggestion",
    "sparse_article": "suggestion",
    "contradiction": "warning",
    "index": "error",
    "bad_article": "error",
    "double_name": "error",
    "not_checked": "suggestion",
}
PURPOSE = "journal.lint"
SPARSE_WORDS = 200
ARTICLES_CHARS = 60_000
_OURS = ("concepts/", "connections/", "qa/")
_FINDING = re.compile(r"^\W*(?:CONTRADICTION|INCONSISTENCY):\s*(?P<what>.+)$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Issue(msgspec.Struct, frozen=True):
    """One thing that is wrong, where, and how badly."""

    check: Check
    where: str
    what: str

    @property
    def severity(self) -> Severity:
        """Errors make a knowledge base wrong, warnings old; suggestions would make it better."""
        return SEVERITY[self.check]


class Base(msgspec.Struct, frozen=True):
    """Everything lint looks at, as read at one moment."""

    articles: Articles
    bad: tuple[str, ...]
    index: str
    logs: frozenset[str]
    pending: frozenset[str]
    """Logs with something that is not compiled."""
    compiled: frozenset[str]
    """Logs that were compiled once."""
    notes: Callable[[str], bool] = lambda _name: False
    """Whether a link finds a note of the user's."""


def read_base(place: Place, now_ms: int, warn: Callable[[str], None]) -> Base:
    """The knowledge base as it lies on the disk."""
    shelf = read_shelf(place)
    state: State = read_state(place, now_ms, warn)
    return Base(
        shelf.articles,
        shelf.bad,
        read_text(place.root / INDEX) or "",
        frozenset(path.name for path in daily.days(place)),
        frozenset(pending_logs(place, now_ms, warn)),
        frozenset(state.ingested),
        _notes(place),
    )


def structural(base: Base) -> list[Issue]:
    """Every check that needs no model."""
    return [
        *(Issue("bad_article", text.partition(":")[0], text) for text in base.bad),
        *_broken_links(base),
        *_orphan_pages(base.articles),
        *_orphan_sources(base),
        *_stale(base),
        *_missing_backlinks(base.articles),
        *_sparse(base.articles),
        *(Issue("index", "index", text) for text in _index(base)),
        *(
            Issue("double_name", name, "two articles have this name")
            for name in clashes(base.articles)
        ),
    ]


def contradictions(tools: Tools, articles: Mapping[str, Article]) -> tuple[list[Issue], float]:
    """What a model finds, and its cost; where it cannot be asked, that is said."""
    if tools.asker is None or len(articles) == 0:
        return [], 0.0
    texts = "\n".join(f"File {path}.md:\n{render(one)}" for path, one in sorted(articles.items()))
    shown = fence(texts[:ARTICLES_CHARS], secrets.token_hex(8), "articles")
    system = "You check a knowledge base. Answer in plain lines."
    asked = Request(PURPOSE, system, template("lint") + shown, max_output_tokens=4_000)
    try:
        answer = tools.asker.ask(asked)
    except ModelUnavailable as error:
        why = one_line(tools.clean(error.message))
        return [Issue("not_checked", "contradictions", f"not checked: {why}")], 0.0
    found = [
        Issue("contradiction", next(iter(targets(line)), "knowledge"), line)
        for line in (
            one_line(stripped(tools.clean(match["what"])))
            for match in _FINDING.finditer(answer.text)
        )
    ]
    return found, cost_of(answer)


class Linted(msgspec.Struct, frozen=True):
    """What a lint found, what it mended, and where its report lies."""

    issues: tuple[Issue, ...]
    fixed: int
    report: str

    def count(self, severity: Severity) -> int:
        """How many issues are that bad."""
        return sum(issue.severity == severity for issue in self.issues)


def lint(tools: Tools, *, structural_only: bool = False, fix: bool = False) -> Linted:
    """Check, mend what can be mended without judgement, and write the report."""
    place, now = tools.place, tools.clock()
    with tending(place):
        fixed = _fix(place, read_base(place, now, tools.warn)) if fix else 0
        base = read_base(place, now, tools.warn)
    found, cost = ([], 0.0) if structural_only else contradictions(tools, base.articles)
    issues = (*structural(base), *found)
    name = f"lint-{daily.local_date(now)}.md"
    with tending(place):
        state = read_state(place, now, tools.warn)
        state = msgspec.structs.replace(
            state, last_lint=iso_local(now), total_cost=round(state.total_cost + cost, 6)
        )
        save(place, {f"reports/{name}": report(issues, now), "state.json": state.text()})
    return Linted(issues, fixed, str(place.reports / name))


def report(issues: Iterable[Issue], now_ms: int) -> str:
    """The report, worst first."""
    rows = list(issues)
    lines = [f"# Lint of {iso_local(now_ms)}", ""]
    for severity in ("error", "warning", "suggestion"):
        some = [issue for issue in rows if issue.severity == severity]
        lines += [f"## {severity.capitalize()}s: {len(some)}", ""]
        lines += [f"- {one.check}: {one.where}: {one.what}" for one in some]
        lines += [""] if some else []
    return "\n".join(lines).rstrip("\n") + "\n"


def _fix(place: Place, base: Base) -> int:
    """Add backlinks that are missing and write the index anew where it does not fit."""
    after = dict(base.articles)
    missing = _missing_backlinks(base.articles)
    for path, one in base.articles.items():
        for target in targets(one.body):
            if target in after and target != path:
                link_both(after, path, target)
    files = changed_files(base.articles, after)
    wrong = _index(base)
    if wrong or files:
        save(place, {**files, INDEX: index(after)})
    return len(missing) + len(wrong)


def _broken_links(base: Base) -> list[Issue]:
    return [
        Issue("broken_link", path, f"links to {target}, which is not there")
        for path, one in sorted(base.articles.items())
        for target in targets(one.body)
        if not _resolves(base, target)
    ]


def _resolves(base: Base, target: str) -> bool:
    """Days are sources whether or not their log is still kept."""
    if target in base.articles or target.startswith("daily/"):
        return True
    return not target.startswith(_OURS) and base.notes(target)


def _orphan_pages(articles: Articles) -> list[Issue]:
    """Articles that no other links to; a single one has nobody who could."""
    linked = {
        target for path, one in articles.items() for target in targets(one.body) if target != path
    }
    return [
        Issue("orphan_page", path, "no other article links to it")
        for path in sorted(articles)
        if path not in linked and len(articles) > 1
    ]


def _orphan_sources(base: Base) -> list[Issue]:
    return [
        Issue("orphan_source", f"daily/{name}", "was never compiled")
        for name in sorted(base.pending - base.compiled)
    ]


def _stale(base: Base) -> list[Issue]:
    """Articles of a day whose log changed after its compile."""
    changed = {f"daily/{name}" for name in base.pending & base.compiled}
    return [
        Issue("stale_article", path, f"{day} changed since it was compiled")
        for path, one in sorted(base.articles.items())
        for day in one.sources
        if day in changed
    ]


def _missing_backlinks(articles: Articles) -> list[Issue]:
    return [
        Issue("missing_backlink", target, f"does not link back to {path}")
        for path, one in sorted(articles.items())
        for target in targets(one.body)
        if target in articles and target != path and path not in targets(articles[target].body)
    ]


def _sparse(articles: Articles) -> list[Issue]:
    found: list[Issue] = []
    for path, one in sorted(articles.items()):
        words = len(_COMMENT.sub(" ", one.body).split())
        if words < SPARSE_WORDS:
            found.append(Issue("sparse_article", path, f"{words} words, fewer than {SPARSE_WORDS}"))
    return found


def _index(base: Base) -> list[str]:
    return index_faults(base.index, base.articles) if base.index or base.articles else []


def _notes(place: Place) -> Callable[[str], bool]:
    """The other notes a link can mean, looked up once and only when a link asks."""
    known: set[str] = set()

    def is_note(target: str) -> bool:
        if not known:
            known.add("")
            for path in (*place.root.rglob("*.md"), *place.root.rglob("*.canvas")):
                short = path.relative_to(place.root).with_suffix("")
                known.update((short.as_posix(), short.name))
        return target in known or (Path(target).name in known and "/" not in target)

    return is_note
