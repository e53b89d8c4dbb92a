"""The health of a journal, read from local files; changes nothing and asks no model."""

from __future__ import annotations

import msgspec

from session_memory.core.text.masks import excerpt
from session_memory.journal import daily
from session_memory.journal.articles import KINDS
from session_memory.journal.files import Warn, read_text
from session_memory.journal.flush_records import PendingCounts, count_pending, read_pending
from session_memory.journal.lint import read_lint_input, structural_issues
from session_memory.journal.paths import JournalPaths
from session_memory.journal.state import pending_logs, read_state
from session_memory.journal.transaction import UNDO_FILE

LINE_CHARS = 200


class LastRun(msgspec.Struct, frozen=True):
    """When the last compile and lint ran, and the last lines of flush.log and compile.log."""

    compiled_at: str | None
    last_lint: str | None
    flush: str
    compile: str


class Health(msgspec.Struct, frozen=True):
    """The state of a journal."""

    root: str
    counts: dict[str, int]
    pending: tuple[str, ...]
    """Logs with something that is not compiled."""
    failed_contexts: PendingCounts
    last_run: LastRun
    query_count: int
    total_cost_usd: float
    errors: tuple[str, ...]
    """What is wrong with the structure of the knowledge base."""
    attention: tuple[str, ...]
    """What needs attention."""


def health(journal: JournalPaths, now_ms: int, warn: Warn) -> Health:
    """Read the state of a journal."""
    knowledge = read_lint_input(journal, now_ms, warn)
    state = read_state(journal, now_ms, warn)
    failed = count_pending(read_pending(journal, now_ms, warn))
    issues = structural_issues(knowledge)
    pending = tuple(pending_logs(journal, now_ms, warn))
    times = [str(row["compiled_at"]) for row in state.ingested.values() if "compiled_at" in row]
    articles = knowledge.articles.values()
    per_kind = {kind: sum(article.kind == kind for article in articles) for kind in KINDS}
    run = LastRun(
        max(times, default=None),
        state.last_lint,
        _last_line(read_text(journal.flush_log)),
        _last_line(read_text(journal.compile_log)),
    )
    return Health(
        root=str(journal.root),
        counts={"daily": len(daily.days(journal)), **per_kind, "articles": len(articles)},
        pending=pending,
        failed_contexts=failed,
        last_run=run,
        query_count=state.query_count,
        total_cost_usd=state.total_cost,
        errors=tuple(
            f"{issue.where}: {issue.what}" for issue in issues if issue.severity == "error"
        ),
        attention=_attention(journal, len(pending), failed, run),
    )


def _attention(
    journal: JournalPaths, pending: int, failed: PendingCounts, run: LastRun
) -> tuple[str, ...]:
    checks = [
        (pending, f"{pending} logs wait to be compiled"),
        (failed.pending, f"{failed.pending} sessions could not be written down yet"),
        (
            failed.permanent,
            f"{failed.permanent} sessions were given up (journal retry-failed --all)",
        ),
        ((journal.work / UNDO_FILE).exists(), "a change was cut off; the next compile undoes it"),
        (
            ": failed: " in run.compile or run.compile.startswith("Compile failed"),
            "the last compile failed",
        ),
    ]
    return tuple(text for applies, text in checks if applies)


def _last_line(text: str | None) -> str:
    lines = [line for line in (text or "").splitlines() if line.strip()]
    return excerpt(lines[-1], LINE_CHARS) if lines else ""
