"""Output of the `project memory` verbs: plans, reports, pages and evidence, as text or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from session_memory.cli.app import App
from session_memory.cli.output import emit_json, one_line, safe, say
from session_memory.cli.session_argument import named, names
from session_memory.clock import iso
from session_memory.core.jobs import state_of
from session_memory.memory.consolidate import ConsolidationResult
from session_memory.memory.evidence import Evidence
from session_memory.memory.extract import ExtractReport
from session_memory.memory.layout import MEMORY, SUMMARY
from session_memory.memory.line_history import LineHistory, read_history
from session_memory.memory.log import read_log
from session_memory.memory.selection import Candidate
from session_memory.store.memories import Trace
from session_memory.store.port import MemoryStore

SHOWN = 10


def show_plan(app: App, plan: Sequence[Candidate]) -> None:
    """Sessions that would be read."""
    if app.json:
        emit_json({"dry_run": True, "candidates": [_fields(candidate) for candidate in plan]})
        return
    for candidate in plan:
        say(f"{named(candidate.session)}  {one_line(candidate.root)}")
    say(f"{len(plan)} sessions would be read; dry run: nothing was changed")


def _fields(candidate: Candidate) -> dict[str, object]:
    updated_at = iso(candidate.session.ended_at)
    return {**names(candidate.session), "root": candidate.root, "updated_at": updated_at}


def show_report(app: App, report: ExtractReport) -> None:
    """What an extraction did."""
    if app.json:
        emit_json(report)
        return
    for path in report.written:
        say(safe(path))
    for cut in report.shortened:
        shown = f"the model was shown {cut.shown_bytes} of {cut.of_bytes} bytes"
        app.warn(f"{cut.session} is long: {shown}, from its beginning and its end")
    deferred = [dropped for dropped in report.dropped if dropped.deferred]
    failed = [dropped for dropped in report.dropped if not dropped.final and not dropped.deferred]
    for dropped in failed:
        app.warn(f"{dropped.session}: {dropped.reason}")
    if report.unsupported:
        app.warn(f"{report.unsupported} statements left out: their sessions do not support them")
    if deferred:
        app.warn(f"{len(deferred)} sessions stay due: {deferred[0].reason}")
    worth_none = len(report.dropped) - len(failed) - len(deferred)
    how = f"with {report.model}" if report.model else "without a model"
    say(
        f"{report.candidates} sessions read {how}: {len(report.written)} traces in"
        f" {len(report.touched)} projects, {worth_none} worth none, {len(failed)} failed,"
        f" {len(deferred)} put off"
    )


def show_results(
    app: App, results: Sequence[ConsolidationResult], *, dry_run: bool = False
) -> None:
    """How the consolidation of each project root ended."""
    if app.json:
        emit_json({"dry_run": dry_run, "consolidated": list(results)})
        return
    if dry_run:
        for result in results:
            say(one_line(result.root))
        say(f"{len(results)} memories would be made; dry run: nothing was changed")
        return
    for result in results:
        why = f": {one_line(result.reason)}" if result.reason else ""
        say(f"{result.status:<9}  {one_line(result.root)}{why}")
        if result.unsupported:
            app.warn(
                f"{result.unsupported} statements left out: what they cite does not support them"
            )


def show_trace(app: App, folder: Path, trace: Trace) -> None:
    """The whole trace of one session."""
    if app.json:
        emit_json({"root": trace.root, "folder": str(folder), "traces": [trace]})
        return
    say(safe(trace.trace_summary))


def show_memory(
    app: App, folder: Path, root: str, traces: Sequence[Trace], *, everything: bool = False
) -> None:
    """A project's memory, or else one line for each of its traces.

    With `everything`, also the lines that were retired or left out, each with the reason.
    """
    page = _page(folder / MEMORY)
    history = read_history(folder) if everything else LineHistory()
    if app.json:
        pages = {"memory": page, "summary": _page(folder / SUMMARY)}
        more = {"retired": history.retired, "left_out": history.left_out} if everything else {}
        emit_json({"root": root, "folder": str(folder), **pages, **more, "traces": list(traces)})
        return
    if page:
        say(safe(page))  # it lists the traces it was made of
    else:
        for trace in traces:
            when = (iso(trace.updated_at) or "-")[:10]
            say(f"{when}  {trace.session_id:>5}  {one_line(trace.memory_summary)}")
    for line in history.retired:
        say(f"retired {line.retired}: {one_line(line.text)}: {one_line(line.reason)}")
    for line in history.left_out:
        say(f"left out: {one_line(line.text)}: {one_line(line.reason)}")


def _page(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    return path.read_text(encoding="utf-8", errors="replace")


def show_status(app: App, store: MemoryStore, due: Sequence[Candidate]) -> None:
    """Traces, sessions that are due or worth no trace, locks, jobs and warnings."""
    roots = store.memories.roots()
    worth_none = Counter(passed.reason for passed in store.memories.passed_over())
    jobs = [job for job in store.jobs.all() if job.kind.startswith("memory.")]
    warnings = [line for line in read_log(app.paths.logs) if line.get("level") == "warning"]
    if app.json:
        emit_json(
            {
                "enabled": app.config.memory.enabled,
                "model": app.config.model.provider,
                "roots": roots,
                "due": [_fields(candidate) for candidate in due],
                "worth_none": dict(worth_none),
                "jobs": jobs,
                "locks": store.memories.held(),
                "warnings": warnings[-SHOWN:],
            }
        )
        return
    if not app.config.memory.enabled:
        say("turned off (`memory.enabled`)")
    say(f"{sum(roots.values())} traces in {len(roots)} projects")
    for root, count in roots.items():
        say(f"  {count:>4}  {one_line(root)}")
    count = app.config.memory.max_sessions_per_start
    when = f"{count} a session start, or `project memory extract --now`" if due else "nothing to do"
    say(f"{len(due)} sessions are due ({when})")
    read = store.memories.sessions_read()
    for candidate in due[:SHOWN]:
        why = "grew since it was read" if candidate.session.id in read else "not read yet"
        say(f"  {named(candidate.session)}  {why}  {one_line(candidate.root)}")
    for reason, count in worth_none.most_common():
        say(f"{count} sessions left nothing: {one_line(reason)}")
    for lock in store.memories.held():
        since = iso(lock.updated_at) or "-"
        say(f"locked by {one_line(lock.owner)} since {since}: {one_line(lock.root)}")
    for job in jobs:
        state = state_of(job, app.clock())
        why = f": {one_line(job.last_error)}" if job.last_error else ""
        say(f"{job.kind} {one_line(job.key)} is {state}{why}")
    for line in warnings[-SHOWN:]:
        fields = "  ".join(f"{name}={value}" for name, value in line.items() if name != "level")
        say(f"warning: {one_line(fields)}")


def show_evidence(app: App, evidence: Sequence[Evidence]) -> None:
    """Lines with the events behind them."""
    if app.json:
        emit_json({"evidence": list(evidence)})
        return
    for item in evidence:
        say(item.line)
        if item.not_told:
            say(f"  {one_line(item.not_told)}")
        say(f"  session {item.session_id} {one_line(item.session)}, {one_line(item.root)}")
        for quote in item.quotes:
            say(f"  [e:{quote.event}] {quote.at or '-'} {quote.kind}: {quote.text}")
        if not item.quotes:
            say("  its raw text is no longer kept")
