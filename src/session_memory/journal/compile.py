"""Makes articles of daily logs that are new or have grown, each log in one step that can be undone.

Both `python -m session_memory.journal.compile --root PROJECT_ROOT` and the worker run this. The
knowledge base is locked while it is read and while it is changed, but not during a model call:
changes made meanwhile are merged, and a log that was edited meanwhile is left for the next compile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable

import msgspec

from session_memory.clock import Clock, local_date
from session_memory.core.text.safe_text import one_line
from session_memory.errors import BudgetSpent, ModelUnavailable, NotFound, SessionMemoryError
from session_memory.journal import daily
from session_memory.journal.files import file_lock, read_text
from session_memory.journal.flush import guard
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
from session_memory.journal.links import without_links
from session_memory.journal.merge import (
    Proposal,
    merge,
    shared_names,
    still_says,
    without_day,
    without_empty,
)
from session_memory.journal.model_call import JournalModel, cost_of
from session_memory.journal.model_compile import log_excerpt, parse_proposals, request
from session_memory.journal.paths import JournalPaths
from session_memory.journal.rule_compile import propose_articles
from session_memory.journal.state import (
    compiled_length,
    iso_local,
    pending_logs,
    read_state,
    with_compiled,
)
from session_memory.journal.statements import statements_of

PORTION = 60_000
"""Bytes of a log that a model is shown at once; a longer log takes several steps."""


class CompileFailedError(SessionMemoryError):
    """A log could not be compiled; it stays pending."""

    code = "compile_failed"


class CompileContext(msgspec.Struct, frozen=True):
    """What a compile, a query or a lint of one journal needs."""

    journal: JournalPaths
    clock: Clock
    clean: Callable[[str], str]
    model: JournalModel | None = None
    warn: Callable[[str], None] = lambda _text: None


class CompiledLog(msgspec.Struct, frozen=True):
    """What a compile made of one log."""

    file: str
    incremental: bool
    created: tuple[str, ...]
    updated: tuple[str, ...]
    cost_usd: float


class CompileReport(msgspec.Struct, frozen=True):
    """What a compile did, and why it failed for which logs."""

    done: tuple[CompiledLog, ...] = ()
    failed: dict[str, str] = {}
    deferred: dict[str, str] = {}
    """Logs that the budget does not allow now, with the reason; no model was asked."""


class _Part(msgspec.Struct, frozen=True):
    """The part of a log to compile: from `start` to the end of `data`."""

    name: str
    data: bytes
    start: int

    @property
    def text(self) -> str:
        return self.data[self.start :].decode("utf-8", "surrogateescape")


class _Merged(msgspec.Struct, frozen=True):
    """The articles after a merge, and which of them are new or changed."""

    articles: Articles
    created: tuple[str, ...]
    updated: tuple[str, ...]


class _Proposed(msgspec.Struct, frozen=True):
    """What is proposed for a part of a log, and the cost of asking for it."""

    proposals: list[Proposal]
    cost: float = 0.0


def select_logs(
    context: CompileContext, *, everything: bool = False, file: str | None = None
) -> list[str]:
    """The logs to compile: those that changed, all of them, or one."""
    names = [path.name for path in reversed(daily.days(context.journal))]
    if file is not None:
        name = file.removeprefix("daily/").removesuffix(".md") + ".md"
        if name not in names:
            raise NotFound(f"no log {name}", hint="see `session-memory project journal health`")
        return [name]
    return names if everything else pending_logs(context.journal, context.clock(), context.warn)


def compile_logs(
    context: CompileContext, names: Iterable[str], *, whole: bool = False
) -> CompileReport:
    """Compile logs one after the other; a failure affects only that log.

    With `whole`, logs are compiled from their beginning, even if parts were compiled before.
    """
    done: list[CompiledLog] = []
    failed: dict[str, str] = {}
    deferred: dict[str, str] = {}
    with file_lock(context.journal.lock("compile"), "a compile"):
        for name in names:
            try:
                done += _compile_log(context, name, whole=whole)
            except BudgetSpent as error:
                deferred[name] = one_line(error.message)
                break  # it would be the same for the others
            except (SessionMemoryError, OSError) as error:
                failed[name] = one_line(context.clean(f"{type(error).__name__}: {error}"))
                if isinstance(error, ModelUnavailable) and len(failed) > 1:
                    break  # it would be the same for the others
    return CompileReport(tuple(done), failed, deferred)


def _compile_log(context: CompileContext, name: str, *, whole: bool) -> list[CompiledLog]:
    """Compile a log up to its present length; what is added meanwhile waits for the next time."""
    length = (context.journal.daily / name).stat().st_size
    done: list[CompiledLog] = []
    end = 0
    while not done or end < length:
        part, articles = _next_part(context, name, whole=whole and not done)
        proposed = _propose(context, part, articles)
        # Without a model no text of an article gets into another one.
        shown = articles if context.model else {}
        done.append(_merge_into_knowledge(context, part, shown, proposed))
        end = len(part.data)
    return done


def _next_part(context: CompileContext, name: str, *, whole: bool) -> tuple[_Part, Articles]:
    """What to compile of a log, and the articles without what came from it."""
    journal, now = context.journal, context.clock()
    with knowledge_lock(journal):
        data = (journal.daily / name).read_bytes()
        state = read_state(journal, now, context.warn)
        start = None if whole else compiled_length(state, name, data)
        if start == len(data):
            start = None
        articles = read_knowledge(journal).articles
    part = _portion(name, data, start or 0) if context.model else _Part(name, data, start or 0)
    return part, articles if start else without_day(articles, name)


def _portion(name: str, data: bytes, start: int) -> _Part:
    """As much as a model is shown at once, up to the end of an entry."""
    last_end = start
    for end in daily.entry_ends(data):
        if end > start:
            if end - start > PORTION and last_end > start:
                return _Part(name, data[:last_end], start)
            last_end = end
    return _Part(name, data, start)


def _propose(context: CompileContext, part: _Part, articles: Articles) -> _Proposed:
    if not daily.has_substance(part.text):
        return _Proposed([])
    if context.model is None:
        return _Proposed(_propose_by_rules(context, part))
    log = log_excerpt(part.name, part.text, incremental=part.start > 0)
    build_log = read_text(context.journal.root / LOG) or ""
    answer = context.model.ask(request(log, articles, build_log))
    proposals = parse_proposals(answer.text, log, articles, context.clean)
    return _Proposed(proposals, cost_of(answer))


def _propose_by_rules(context: CompileContext, part: _Part) -> list[Proposal]:
    new = statements_of(part.name, daily.entries(part.text))
    # Only up to that day: later logs are compiled later, with everything there is by then.
    statements = [
        statement
        for path in reversed(daily.days(context.journal))
        if path.name <= part.name
        for statement in statements_of(path.name, daily.entries(read_text(path) or ""))
    ]
    return [_cleaned(context, proposal) for proposal in propose_articles(new, statements)]


def _cleaned(context: CompileContext, proposal: Proposal) -> Proposal:
    def clean(text: str) -> str:
        return one_line(without_links(context.clean(text)))

    points = tuple(
        msgspec.structs.replace(point, text=clean(point.text)) for point in proposal.points
    )
    connects = tuple(map(clean, proposal.connects))
    return msgspec.structs.replace(
        proposal, title=clean(proposal.title), points=points, connects=connects
    )


def _merge_into_knowledge(
    context: CompileContext, part: _Part, shown: Articles, proposed: _Proposed
) -> CompiledLog:
    """Merge proposals with the articles as they are now, and change all files in one step."""
    journal, now, cost = context.journal, context.clock(), proposed.cost
    with knowledge_lock(journal):
        current = (journal.daily / part.name).read_bytes()
        if not current.startswith(part.data):
            raise CompileFailedError(f"{part.name} was edited during its compile")
        before = read_knowledge(journal).articles
        base = before if part.start else without_day(before, part.name)
        if not still_says(base, shown.values()):
            raise CompileFailedError("articles lost something during the compile")
        merged = _merge(base, before, proposed.proposals, local_date(now))
        state = read_state(journal, now, context.warn)
        state = with_compiled(state, part.name, part.data, now, cost)
        rows = {
            "source": [f"daily/{part.name}"],
            "created": [f"[[{path}]]" for path in merged.created],
            "updated": [f"[[{path}]]" for path in merged.updated],
        }
        entry = log_entry(iso_local(now), f"compile | {part.name}", rows)
        files = changed_files(before, merged.articles)
        files |= {INDEX: index(merged.articles), LOG: log_text(journal, entry)}
        save(journal, {**files, "state.json": state.text()})
    return CompiledLog(part.name, part.start > 0, merged.created, merged.updated, cost)


def _merge(base: Articles, before: Articles, proposals: list[Proposal], date: str) -> _Merged:
    articles = without_empty(merge(base, proposals, date), before)
    doubled = shared_names(articles)
    if doubled:
        raise CompileFailedError(f"two articles would share the name {doubled[0]}")
    changed = [path for path in articles if before.get(path) != articles[path]]
    return _Merged(
        articles,
        tuple(path for path in changed if path not in before),
        tuple(path for path in changed if path in before),
    )


def report_lines(report: CompileReport) -> list[str]:
    """A report in lines of text."""
    lines = [
        f"{log.file}: {len(log.created)} created, {len(log.updated)} updated"
        + (" (its new part)" if log.incremental else "")
        for log in report.done
    ]
    lines += [f"{name}: failed: {error}" for name, error in report.failed.items()]
    lines += [f"{name}: put off: {reason}" for name, reason in report.deferred.items()]
    return lines or ["nothing to compile"]


def main(arguments: list[str]) -> int:
    """The command itself; what it prints goes to compile.log."""
    guard()
    # Imported only now: these modules can start agents.
    from session_memory.journal.standalone import run_compile

    parser = argparse.ArgumentParser(prog="python -m session_memory.journal.compile")
    parser.add_argument("--root", required=True, help="the project whose journal is compiled")
    parser.add_argument("--all", action="store_true", help="every log, from its beginning")
    parser.add_argument("--file", help="one log, such as 2026-03-02.md")
    parser.add_argument("--dry-run", action="store_true", help="name the logs; write nothing")
    options = parser.parse_args(arguments)
    return run_compile(
        options.root, everything=options.all, file=options.file, dry_run=options.dry_run
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
