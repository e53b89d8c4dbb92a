"""Signals of one digest: each extractor is a small pure function of one kind of evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from session_memory.core.masks import excerpt
from session_memory.core.own_text import BEGIN, PACK_BEGIN
from session_memory.core.patterns import Signal, SignalType, pattern_id
from session_memory.core.schema import CommandRun, Digest
from session_memory.detect.cures import cures, is_shell, settled_by_edits
from session_memory.detect.loci import command_locus, error_locus, path_locus, wording_locus
from session_memory.detect.ordinary import is_ordinary_command

CHURN_EDITS = 8
SEARCH_CALLS = 30
THRASH_COMPACTIONS = 3
EXPENSIVE_USD = 5.0
FAST_CALLS = 8
_FAST_STEPS = 4
_MAX_CORRECTIONS = 5
_QUOTE_CHARS = 160
_ACTIVE_S = 30.0  # an event stands for at most this long: a night between two prompts is no work

_OURS = "session-memory"  # in both marks: one look is enough for nearly every text
_ASKING = ("git status", "git diff", "git log", "git show", "git branch")  # how state is looked at


class Place(msgspec.Struct, frozen=True):
    """Where a session ran: what makes its paths comparable with those of others."""

    repo: str = ""
    """'' where the session ran outside of any: what is said of a repository is then not said."""
    roots: tuple[str, ...] = ()


class Found(msgspec.Struct, frozen=True, gc=False):
    """What an extractor saw, before it is named and costed."""

    type: SignalType
    locus: str
    calls: int = 1
    """How many of the session's calls went into it: its share of time and money."""
    count: int = 1
    quote: str = ""
    seq: int | None = None
    at: int | None = None
    about: str = ""
    tried: int = 0


Extractor = Callable[[Digest, Place], Iterator[Found]]


def signals(digest: Digest, place: Place) -> tuple[Signal, ...]:
    """Everything a digest shows, one signal per type and locus, costed by its share of calls."""
    joined: dict[str, Signal] = {}
    calls = max(1, sum(digest.tools.values()), digest.turns)
    minutes, usd, last = _active_minutes(digest), digest.cost.usd, digest.last_at
    for extract in EXTRACTORS:
        for found in extract(digest, place):
            locus, quote = found.locus, found.quote
            if (
                not locus
                or (_OURS in quote and _is_own(quote))
                or (_OURS in locus and _is_own(locus))
            ):
                continue
            if len(quote) > _QUOTE_CHARS or not quote.isprintable():
                quote = excerpt(quote, _QUOTE_CHARS)
            share = found.calls / calls if found.calls < calls else 1.0
            name = pattern_id(found.type, locus, found.about)
            signal = Signal(  # by place: this is done millions of times
                name,
                found.type,
                locus,
                found.count,
                None if usd is None else usd * share,
                minutes * share,
                quote,
                found.seq,
                found.at or last,
                found.about,
                found.tried,
            )
            known = joined.get(name)
            joined[name] = signal if known is None else _sum(known, signal)
    return tuple(joined.values())


def _sum(one: Signal, other: Signal) -> Signal:
    return Signal(
        one.pattern,
        one.type,
        one.locus,
        one.count + other.count,
        None if one.usd is None or other.usd is None else one.usd + other.usd,
        one.minutes + other.minutes,
        one.quote,
        one.seq,
        one.at,
        one.about,
        one.tried + other.tried,
    )


def _active_minutes(digest: Digest) -> float:
    return min(digest.duration_s or 0.0, _ACTIVE_S * digest.events) / 60


def _is_own(text: str) -> bool:
    """Text that we put before the agent ourselves proves nothing but that we did."""
    return _OURS in text and (BEGIN in text or PACK_BEGIN in text)


def failing_commands(digest: Digest, _place: Place) -> Iterator[Found]:
    """Commands that failed; a check that failed and passed later is work, not a problem."""
    failed = [run for run in digest.commands if run.is_error and not run.denied]
    if not failed:
        return
    passed = {
        command_locus(run.command)
        for run in digest.commands
        if run.verifies and not run.is_error and not run.denied
    }
    for run in failed:
        locus = command_locus(run.command)
        if not (run.verifies and locus in passed) and not is_ordinary_command(locus):
            yield _of_run("failing_command", locus, run)


def denied_permissions(digest: Digest, _place: Place) -> Iterator[Found]:
    """Commands that the user or a rule refused."""
    for run in digest.commands:
        if run.denied:
            yield _of_run("denied_permission", command_locus(run.command) or "looking", run)


def _of_run(signal_type: SignalType, locus: str, run: CommandRun) -> Found:
    return Found(signal_type, locus, run.count, run.count, run.command, run.seq, run.at)


def errors(digest: Digest, _place: Place) -> Iterator[Found]:
    """Error texts: missing tools and wrong directories by name, the others by template."""
    settled = settled_by_edits(digest)
    for seen in digest.errors:
        if seen.seq in settled:
            continue
        signal_type, locus = error_locus(seen.sample, seen.template)
        if signal_type == "denied_permission":
            locus = seen.tool or "tool call"
        yield Found(signal_type, locus, seen.count, seen.count, seen.sample, seen.seq)


def edit_churn(digest: Digest, place: Place) -> Iterator[Found]:
    """Files edited over and over in one session."""
    for path, edits in digest.files.items():
        if edits >= CHURN_EDITS:
            quote = f"{edits} edits of {path}"
            yield Found("edit_churn", path_locus(path, place.roots), edits, quote=quote)


def retry_loops(digest: Digest, _place: Place) -> Iterator[Found]:
    """The same call again and again with nothing changed between."""
    for shown in digest.loops:
        tool, _, call = shown.partition(": ")
        locus = command_locus(call) if is_shell(tool) else tool
        if not locus.startswith(_ASKING):
            yield Found("retry_loop", locus, 3, quote=shown)


def user_corrections(digest: Digest, _place: Place) -> Iterator[Found]:
    """What the user had to put right."""
    calls = max(1, sum(digest.tools.values()) // max(1, digest.turns))  # a turn was for nothing
    for text in digest.corrections[-_MAX_CORRECTIONS:]:
        yield Found("user_correction", wording_locus(text), calls, quote=text)


def long_search(digest: Digest, place: Place) -> Iterator[Found]:
    """Many calls before the first edit: what to change was hard to find."""
    calls = digest.calls_before_edit
    if calls is not None and calls >= SEARCH_CALLS:
        yield Found("long_search", place.repo, calls, quote=f"{calls} calls before the first edit")


def context_thrash(digest: Digest, place: Place) -> Iterator[Found]:
    """A context compacted again and again."""
    times = digest.compactions
    if times >= THRASH_COMPACTIONS:
        yield Found("context_thrash", place.repo, times, quote=f"compacted {times} times")


def expensive_stretch(digest: Digest, place: Place) -> Iterator[Found]:
    """Much money for a session that did not reach its goal."""
    usd = digest.cost.usd or 0.0
    if usd >= EXPENSIVE_USD and digest.outcome in ("fail", "partial"):
        quote = f"${usd:.2f}: {digest.objective or 'no objective known'}"
        yield Found("expensive_stretch", place.repo, sum(digest.tools.values()), quote=quote)


def verified_recipes(digest: Digest, _place: Place) -> Iterator[Found]:
    """Checks that passed in a session that went well: how this work is verified."""
    if digest.outcome == "success":
        for run in digest.commands:
            if run.verifies and not run.is_error and not run.denied:
                yield _of_run("verified_recipe", command_locus(run.command), run)


def fast_paths(digest: Digest, _place: Place) -> Iterator[Found]:
    """A verified success without a stumble: the commands it took, in order."""
    smooth = not (digest.errors or digest.retries or digest.corrections or digest.tests_failed)
    early = digest.calls_before_edit is not None and digest.calls_before_edit <= FAST_CALLS
    if digest.outcome != "success" or digest.confidence == "low" or not (smooth and early):
        return
    loci = [command_locus(run.command) for run in digest.commands if not run.denied]
    path = list(dict.fromkeys(locus for locus in loci if locus))
    if 1 < len(path) <= _FAST_STEPS:
        quote = digest.objective or ""
        yield Found("fast_path", " then ".join(path), sum(digest.tools.values()), quote=quote)


def cured_errors(digest: Digest, _place: Place) -> Iterator[Found]:
    """Commands run between a failure and the next try of what failed."""
    for attempt in cures(digest):
        run = attempt.run
        worked = int(attempt.worked)
        yield Found(
            "cure",
            attempt.command,
            1,
            worked,
            run.command,
            run.seq,
            run.at,
            attempt.problem,
            1,
        )


EXTRACTORS: tuple[Extractor, ...] = (
    failing_commands,
    errors,
    edit_churn,
    retry_loops,
    user_corrections,
    denied_permissions,
    long_search,
    context_thrash,
    expensive_stretch,
    cured_errors,
    verified_recipes,
    fast_paths,
)
