"""Daily logs become articles: new or grown logs only, each in one step that can be undone.

`python -m session_memory.journal.compile --root PROJECT_ROOT` and the worker share this path. The
knowledge is locked while it is read and while it is changed, never while a model thinks: what
changed in between is merged with, and a log that was edited meanwhile is left for the next time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable

import msgspec

from session_memory.clock import Clock
from session_memory.core.text.safe_text import one_line
from session_memory.errors import BudgetSpent, ModelUnavailable, NotFound, SessionMemoryError
from session_memory.journal import daily, gate
from session_memory.journal.files import held, read_text
from session_memory.journal.flush import guard
from session_memory.journal.knowledge import (
    INDEX,
    LOG,
    Articles,
    changed_files,
    index,
    log_entry,
    log_text,
    read_shelf,
    save,
    tending,
)
from session_memory.journal.links import without_links
from session_memory.journal.merge import (
    Merged,
    Proposal,
    clashes,
    merge,
    still_says,
    without_day,
    without_empty,
)
from session_memory.journal.model_call import Asker, cost_of
from session_memory.journal.model_compile import excerpt_of, proposals_in, request
from session_memory.journal.paths import Place
from session_memory.journal.rule_compile import proposals
from session_memory.journal.state import compiled, compiled_length, iso_local, read_state
from session_memory.journal.statements import Item, items_of

PORTION = 60_000
"""Bytes of a log that a model is shown at once; more is compiled in several steps."""


class CompileFailedError(SessionMemoryError):
    """A log could not be compiled; it waits for the next time."""

    code = "compile_failed"


class Tools(msgspec.Struct, frozen=True):
    """What a compile needs from outside."""

    place: Place
    clock: Clock
    clean: Callable[[str], str]
    asker: Asker | None = None
    warn: Callable[[str], None] = lambda _text: None


class Done(msgspec.Struct, frozen=True):
    """One log, compiled."""

    file: str
    incremental: bool
    created: tuple[str, ...]
    updated: tuple[str, ...]
    cost_usd: float


class Report(msgspec.Struct, frozen=True):
    """What a compile did, and for each log it could not do, why."""

    done: tuple[Done, ...] = ()
    failed: dict[str, str] = {}
    deferred: dict[str, str] = {}
    """Logs that the budget does not allow now, with the reason: nothing was asked."""


class _Part(msgspec.Struct, frozen=True):
    """Bytes of a log to compile: from `start`, up to the end of `data`."""

    name: str
    data: bytes
    start: int

    @property
    def text(self) -> str:
        return self.data[self.start :].decode("utf-8", "surrogateescape")


class _Made(msgspec.Struct, frozen=True):
    """What a log gave, and at what cost."""

    proposals: list[Proposal]
    cost: float


def pending_logs(place: Place, now_ms: int, warn: Callable[[str], None]) -> list[str]:
    """Logs that say something which is not compiled, oldest first."""
    logs = [gate.DayLog(path.name, path.read_bytes()) for path in daily.days(place)]
    state = read_state(place, now_ms, warn)
    return list(gate.decide(logs, {"ingested": state.ingested}, "", now_ms, 0).files)


def chosen(tools: Tools, *, everything: bool = False, file: str | None = None) -> list[str]:
    """The logs to compile: those that changed, all of them, or one."""
    known = [path.name for path in reversed(daily.days(tools.place))]
    if file is not None:
        name = file.removeprefix("daily/").removesuffix(".md") + ".md"
        if name not in known:
            raise NotFound(f"no log {name}", hint="see `session-memory journal health`")
        return [name]
    return known if everything else pending_logs(tools.place, tools.clock(), tools.warn)


def compile_logs(tools: Tools, names: Iterable[str], *, whole: bool = False) -> Report:
    """Compile logs one after the other; one that fails keeps the others from nothing.

    With `whole`, from their beginning, whatever was compiled of them before.
    """
    done: list[Done] = []
    failed: dict[str, str] = {}
    deferred: dict[str, str] = {}
    with held(tools.place.lock("compile"), "a compile"):
        for name in names:
            try:
                done += _compile_log(tools, name, whole=whole)
            except BudgetSpent as error:
                deferred[name] = one_line(error.message)
                break  # it holds for all of them
            except (SessionMemoryError, OSError) as error:
                failed[name] = one_line(tools.clean(f"{type(error).__name__}: {error}"))
                if isinstance(error, ModelUnavailable) and len(failed) > 1:
                    break  # it fails for all of them
    return Report(tuple(done), failed, deferred)


def _compile_log(tools: Tools, name: str, *, whole: bool) -> list[Done]:
    """Compile a log as long as it is now; what it grows by meanwhile is for the next time."""
    length = (tools.place.daily / name).stat().st_size
    done: list[Done] = []
    end = 0
    while not done or end < length:
        part, articles = _begin(tools, name, whole=whole and not done)
        made, cost = _propose(tools, part, articles)
        # Without a model nothing of an article goes into another.
        shown = articles if tools.asker else {}
        done.append(_finish(tools, part, shown, _Made(made, cost)))
        end = len(part.data)
    return done


def _begin(tools: Tools, name: str, *, whole: bool) -> tuple[_Part, Articles]:
    """What to compile of a log, and the articles as they are without it."""
    place, now = tools.place, tools.clock()
    with tending(place):
        data = (place.daily / name).read_bytes()
        start = None if whole else compiled_length(read_state(place, now, tools.warn), name, data)
        if start == len(data):
            start = None
        articles = read_shelf(place).articles
    part = _portion(name, data, start or 0) if tools.asker else _Part(name, data, start or 0)
    return part, articles if start else without_day(articles, name)


def _portion(name: str, data: bytes, start: int) -> _Part:
    """As much as a model is shown at once: up to the end of an entry."""
    here = start
    for end in daily.entry_ends(data):
        if end > start:
            if end - start > PORTION and here > start:
                return _Part(name, data[:here], start)
            here = end
    return _Part(name, data, start)


def _propose(tools: Tools, part: _Part, articles: Articles) -> tuple[list[Proposal], float]:
    if not daily.has_substance(part.text):
        return [], 0.0
    if tools.asker is None:
        return _gleaned(tools, part), 0.0
    log = excerpt_of(part.name, part.text, incremental=part.start > 0)
    build_log = read_text(tools.place.root / LOG) or ""
    answer = tools.asker.ask(request(log, articles, build_log))
    return proposals_in(answer.text, log, articles, tools.clean), cost_of(answer)


def _gleaned(tools: Tools, part: _Part) -> list[Proposal]:
    fresh = items_of(part.name, daily.entries(part.text))
    everything = [
        item
        for path in reversed(daily.days(tools.place))
        for item in items_of(path.name, daily.entries(read_text(path) or ""))
    ]
    return [_tidied(tools, one) for one in proposals(fresh, _upto(everything, part.name))]


def _upto(items: Iterable[Item], day: str) -> list[Item]:
    """Statements of that day and before: later logs are compiled later, with all there is then."""
    return [item for item in items if item.day <= day]


def _tidied(tools: Tools, one: Proposal) -> Proposal:
    def tidy(text: str) -> str:
        return one_line(without_links(tools.clean(text)))

    points = tuple(msgspec.structs.replace(point, text=tidy(point.text)) for point in one.points)
    connects = tuple(map(tidy, one.connects))
    return msgspec.structs.replace(one, title=tidy(one.title), points=points, connects=connects)


def _finish(tools: Tools, part: _Part, shown: Articles, made: _Made) -> Done:
    """Merge with what is there now, and change all files in one step."""
    place, now, cost = tools.place, tools.clock(), made.cost
    with tending(place):
        current = (place.daily / part.name).read_bytes()
        if not current.startswith(part.data):
            raise CompileFailedError(f"{part.name} was edited during its compile")
        shelf = read_shelf(place)
        base = shelf.articles if part.start else without_day(shelf.articles, part.name)
        if not still_says(base, shown.values()):
            raise CompileFailedError("articles lost something during the compile")
        merged = _merged(base, shelf.articles, made.proposals, daily.local_date(now))
        state = compiled(read_state(place, now, tools.warn), part.name, part.data, now, cost)
        rows = {
            "source": [f"daily/{part.name}"],
            "created": [f"[[{path}]]" for path in merged.created],
            "updated": [f"[[{path}]]" for path in merged.updated],
        }
        entry = log_entry(iso_local(now), f"compile | {part.name}", rows)
        files = changed_files(shelf.articles, merged.articles)
        files |= {INDEX: index(merged.articles), LOG: log_text(place, entry)}
        save(place, {**files, "state.json": state.text()})
    return Done(part.name, part.start > 0, merged.created, merged.updated, cost)


def _merged(base: Articles, before: Articles, made: list[Proposal], date: str) -> Merged:
    articles = without_empty(merge(base, made, date).articles, before)
    doubled = clashes(articles)
    if doubled:
        raise CompileFailedError(f"two articles would share the name {doubled[0]}")
    changed = [path for path in articles if before.get(path) != articles[path]]
    return Merged(
        articles,
        tuple(path for path in changed if path not in before),
        tuple(path for path in changed if path in before),
    )


def told(report: Report) -> list[str]:
    """A compile in lines."""
    lines = [
        f"{one.file}: {len(one.created)} created, {len(one.updated)} updated"
        + (" (its new part)" if one.incremental else "")
        for one in report.done
    ]
    lines += [f"{name}: failed: {error}" for name, error in report.failed.items()]
    lines += [f"{name}: put off: {reason}" for name, reason in report.deferred.items()]
    return lines or ["nothing to compile"]


def main(arguments: list[str]) -> int:
    """The command by itself; what it prints goes to compile.log."""
    guard()
    # Only now: what is imported here can start agents.
    from session_memory.journal.standalone import run_compile

    parser = argparse.ArgumentParser(prog="python -m session_memory.journal.compile")
    parser.add_argument("--root", required=True, help="the project whose journal is compiled")
    parser.add_argument("--all", action="store_true", help="every log, from its beginning")
    parser.add_argument("--file", help="one log, such as 2026-03-02.md")
    parser.add_argument("--dry-run", action="store_true", help="name the logs; write nothing")
    asked = parser.parse_args(arguments)
    wish = Wish(everything=asked.all, file=asked.file, dry_run=asked.dry_run)
    return run_compile(asked.root, wish)


class Wish(msgspec.Struct, frozen=True):
    """What a user asked a compile for."""

    everything: bool = False
    file: str | None = None
    dry_run: bool = False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
