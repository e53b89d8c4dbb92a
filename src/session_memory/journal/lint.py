"""Checks a knowledge base: links, sources, sizes, names, its index and, by a model, contradictions.

All checks but the last are pure.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from session_memory.clock import local_date
from session_memory.core.text.safe_text import fence, one_line, stripped
from session_memory.errors import ModelUnavailable
from session_memory.journal.articles import Article, render
from session_memory.journal.compile import CompileContext
from session_memory.journal.files import read_text
from session_memory.journal.knowledge import (
    INDEX,
    Articles,
    changed_files,
    index,
    index_faults,
    knowledge_lock,
    read_knowledge,
    save,
)
from session_memory.journal.links import link_targets
from session_memory.journal.merge import link_both, shared_names
from session_memory.journal.model_call import cost_of, read_prompt
from session_memory.journal.paths import JournalPaths
from session_memory.journal.state import iso_local, pending_logs, read_state
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
_OUR_FOLDERS = ("concepts/", "connections/", "qa/")
_FINDING = re.compile(r"^\W*(?:CONTRADICTION|INCONSISTENCY):\s*(?P<what>.+)$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Issue(msgspec.Struct, frozen=True):
    """One thing that is wrong, and where."""

    check: Check
    where: str
    what: str

    @property
    def severity(self) -> Severity:
        """Errors make the knowledge base wrong, warnings outdated; suggestions would improve it."""
        return SEVERITY[self.check]


class LintInput(msgspec.Struct, frozen=True):
    """Everything the checks look at, as read at one time."""

    articles: Articles
    bad: tuple[str, ...]
    index: str
    pending: frozenset[str]
    """Logs with something that is not compiled."""
    compiled: frozenset[str]
    """Logs that have been compiled."""
    is_note: Callable[[str], bool] = lambda _name: False
    """Whether a link target is a note of the user."""


def read_lint_input(journal: JournalPaths, now_ms: int, warn: Callable[[str], None]) -> LintInput:
    """The knowledge base as it is on disk."""
    knowledge = read_knowledge(journal)
    state = read_state(journal, now_ms, warn)
    return LintInput(
        articles=knowledge.articles,
        bad=knowledge.bad,
        index=read_text(journal.root / INDEX) or "",
        pending=frozenset(pending_logs(journal, now_ms, warn)),
        compiled=frozenset(state.ingested),
        is_note=_note_lookup(journal),
    )


def structural_issues(knowledge: LintInput) -> list[Issue]:
    """The results of every check that needs no model."""
    return [
        *(Issue("bad_article", text.partition(":")[0], text) for text in knowledge.bad),
        *_broken_links(knowledge),
        *_orphan_pages(knowledge.articles),
        *_orphan_sources(knowledge),
        *_stale_articles(knowledge),
        *_missing_backlinks(knowledge.articles),
        *_sparse_articles(knowledge.articles),
        *(Issue("index", "index", text) for text in _index_faults(knowledge)),
        *(
            Issue("double_name", name, "two articles have this name")
            for name in shared_names(knowledge.articles)
        ),
    ]


def find_contradictions(
    context: CompileContext, articles: Mapping[str, Article]
) -> tuple[list[Issue], float]:
    """What a model finds, and its cost; an issue of its own if the model is unavailable."""
    if context.model is None or len(articles) == 0:
        return [], 0.0
    texts = "\n".join(
        f"File {path}.md:\n{render(article)}" for path, article in sorted(articles.items())
    )
    shown = fence(texts[:ARTICLES_CHARS], secrets.token_hex(8), "articles")
    system = "You check a knowledge base. Answer in plain lines."
    request = Request(PURPOSE, system, read_prompt("lint") + shown, max_output_tokens=4_000)
    try:
        answer = context.model.ask(request)
    except ModelUnavailable as error:
        why = one_line(context.clean(error.message))
        return [Issue("not_checked", "contradictions", f"not checked: {why}")], 0.0
    lines = (
        one_line(stripped(context.clean(match["what"]))) for match in _FINDING.finditer(answer.text)
    )
    issues = [
        Issue("contradiction", next(iter(link_targets(line)), "knowledge"), line) for line in lines
    ]
    return issues, cost_of(answer)


class LintResult(msgspec.Struct, frozen=True):
    """The issues, how many were fixed, and the path of the report."""

    issues: tuple[Issue, ...]
    fixed: int
    report: str

    def count(self, severity: Severity) -> int:
        """How many issues have this severity."""
        return sum(issue.severity == severity for issue in self.issues)


def lint(
    context: CompileContext, *, structural_only: bool = False, fix: bool = False
) -> LintResult:
    """Check, fix what needs no judgement, and write the report."""
    journal, now = context.journal, context.clock()
    with knowledge_lock(journal):
        fixed = _fix(journal, read_lint_input(journal, now, context.warn)) if fix else 0
        knowledge = read_lint_input(journal, now, context.warn)
    contradictions, cost = (
        ([], 0.0) if structural_only else find_contradictions(context, knowledge.articles)
    )
    issues = (*structural_issues(knowledge), *contradictions)
    name = f"lint-{local_date(now)}.md"
    with knowledge_lock(journal):
        state = read_state(journal, now, context.warn)
        state = msgspec.structs.replace(
            state, last_lint=iso_local(now), total_cost=round(state.total_cost + cost, 6)
        )
        save(journal, {f"reports/{name}": report(issues, now), "state.json": state.text()})
    return LintResult(issues, fixed, str(journal.reports / name))


def report(issues: Iterable[Issue], now_ms: int) -> str:
    """The report, errors first."""
    all_issues = list(issues)
    lines = [f"# Lint of {iso_local(now_ms)}", ""]
    for severity in ("error", "warning", "suggestion"):
        some = [issue for issue in all_issues if issue.severity == severity]
        lines += [f"## {severity.capitalize()}s: {len(some)}", ""]
        lines += [f"- {issue.check}: {issue.where}: {issue.what}" for issue in some]
        lines += [""] if some else []
    return "\n".join(lines).rstrip("\n") + "\n"


def _fix(journal: JournalPaths, knowledge: LintInput) -> int:
    """Add missing backlinks and rewrite a wrong index; returns how many issues were fixed."""
    after = dict(knowledge.articles)
    missing = _missing_backlinks(knowledge.articles)
    for path, article in knowledge.articles.items():
        for target in link_targets(article.body):
            if target in after and target != path:
                link_both(after, path, target)
    files = changed_files(knowledge.articles, after)
    faults = _index_faults(knowledge)
    if faults or files:
        save(journal, {**files, INDEX: index(after)})
    return len(missing) + len(faults)


def _broken_links(knowledge: LintInput) -> list[Issue]:
    return [
        Issue("broken_link", path, f"links to {target}, which is not there")
        for path, article in sorted(knowledge.articles.items())
        for target in link_targets(article.body)
        if not _resolves(knowledge, target)
    ]


def _resolves(knowledge: LintInput, target: str) -> bool:
    """Whether a link leads somewhere; a day is a valid source even if its log is gone."""
    if target in knowledge.articles or target.startswith("daily/"):
        return True
    return not target.startswith(_OUR_FOLDERS) and knowledge.is_note(target)


def _orphan_pages(articles: Articles) -> list[Issue]:
    """Articles that no other article links to, unless there is no other."""
    linked = {
        target
        for path, article in articles.items()
        for target in link_targets(article.body)
        if target != path
    }
    return [
        Issue("orphan_page", path, "no other article links to it")
        for path in sorted(articles)
        if path not in linked and len(articles) > 1
    ]


def _orphan_sources(knowledge: LintInput) -> list[Issue]:
    return [
        Issue("orphan_source", f"daily/{name}", "was never compiled")
        for name in sorted(knowledge.pending - knowledge.compiled)
    ]


def _stale_articles(knowledge: LintInput) -> list[Issue]:
    """Articles of a day whose log changed after its compile."""
    changed = {f"daily/{name}" for name in knowledge.pending & knowledge.compiled}
    return [
        Issue("stale_article", path, f"{day} changed since it was compiled")
        for path, article in sorted(knowledge.articles.items())
        for day in article.sources
        if day in changed
    ]


def _missing_backlinks(articles: Articles) -> list[Issue]:
    return [
        Issue("missing_backlink", target, f"does not link back to {path}")
        for path, article in sorted(articles.items())
        for target in link_targets(article.body)
        if target in articles and target != path and path not in link_targets(articles[target].body)
    ]


def _sparse_articles(articles: Articles) -> list[Issue]:
    counts = (
        (path, len(_COMMENT.sub(" ", article.body).split()))
        for path, article in sorted(articles.items())
    )
    return [
        Issue("sparse_article", path, f"{words} words, fewer than {SPARSE_WORDS}")
        for path, words in counts
        if words < SPARSE_WORDS
    ]


def _index_faults(knowledge: LintInput) -> list[str]:
    if not knowledge.index and not knowledge.articles:
        return []
    return index_faults(knowledge.index, knowledge.articles)


def _note_lookup(journal: JournalPaths) -> Callable[[str], bool]:
    """Whether a link target is another note; the notes are listed once, at the first call."""
    notes: set[str] = set()

    def is_note(target: str) -> bool:
        if not notes:
            notes.add("")
            for path in (*journal.root.rglob("*.md"), *journal.root.rglob("*.canvas")):
                name = path.relative_to(journal.root).with_suffix("")
                notes.update((name.as_posix(), name.name))
        return target in notes or (Path(target).name in notes and "/" not in target)

    return is_note
