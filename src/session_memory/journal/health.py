"""How a journal is doing, from local files alone: nothing is asked, nothing is changed."""

from __future__ import annotations

import msgspec

from session_memory.core.text.masks import excerpt
from session_memory.journal import daily
from session_memory.journal.articles import KINDS
from session_memory.journal.compile import pending_logs
from session_memory.journal.files import Warn, read_text
from session_memory.journal.lint import read_base, structural
from session_memory.journal.paths import Place
from session_memory.journal.pending import counts, read_waiting
from session_memory.journal.state import read_state
from session_memory.journal.undo import NOTE

LINE_CHARS = 200


class FailedContexts(msgspec.Struct, frozen=True):
    """Sessions that could not be written down yet, and those nobody tries again unasked."""

    pending: int
    permanent: int


class LastRun(msgspec.Struct, frozen=True):
    """When logs were last compiled and linted, and the last lines of flush.log and compile.log."""

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
    failed_contexts: FailedContexts
    last_run: LastRun
    query_count: int
    total_cost_usd: float
    errors: tuple[str, ...]
    """What is wrong with the structure of the knowledge base."""
    attention: tuple[str, ...]
    """What somebody should look at."""


def health(place: Place, now_ms: int, warn: Warn) -> Health:
    """Read everything a user may want to know."""
    base = read_base(place, now_ms, warn)
    state = read_state(place, now_ms, warn)
    waiting = counts(read_waiting(place, now_ms, warn))
    issues = structural(base)
    errors = tuple(f"{one.where}: {one.what}" for one in issues if one.severity == "error")
    pending = tuple(pending_logs(place, now_ms, warn))
    times = [str(row["compiled_at"]) for row in state.ingested.values() if "compiled_at" in row]
    per_kind = {kind: sum(one.kind == kind for one in base.articles.values()) for kind in KINDS}
    run = LastRun(
        max(times, default=None),
        state.last_lint,
        _last_line(read_text(place.flush_log)),
        _last_line(read_text(place.compile_log)),
    )
    return Health(
        str(place.root),
        {"daily": len(daily.days(place)), **per_kind, "articles": len(base.articles)},
        pending,
        FailedContexts(waiting.pending, waiting.permanent),
        run,
        state.query_count,
        state.total_cost,
        errors,
        _attention(place, pending, waiting.pending, waiting.permanent, run),
    )


def _attention(
    place: Place, pending: tuple[str, ...], waiting: int, permanent: int, run: LastRun
) -> tuple[str, ...]:
    found = [
        (len(pending), f"{len(pending)} logs wait to be compiled"),
        (waiting, f"{waiting} sessions could not be written down yet"),
        (permanent, f"{permanent} sessions were given up (journal retry-failed --all)"),
        ((place.work / NOTE).exists(), "a change was cut off; the next compile undoes it"),
        (
            ": failed: " in run.compile or run.compile.startswith("Compile failed"),
            "the last compile failed",
        ),
    ]
    return tuple(text for is_so, text in found if is_so)


def _last_line(text: str | None) -> str:
    lines = [line for line in (text or "").splitlines() if line.strip()]
    return excerpt(lines[-1], LINE_CHARS) if lines else ""
