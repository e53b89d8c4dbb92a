"""Signals of one digest: each extractor is a small pure function of one kind of evidence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from session_memory.core.loop.patterns import Signal, SignalType, pattern_id
from session_memory.core.schema import CommandRun, Digest
from session_memory.core.text.masks import excerpt
from session_memory.core.text.own_text import BEGIN, PACK_BEGIN
from session_memory.detect.cures import cures, is_shell, settled_by_edits
from session_memory.detect.digest_view import Place, Story, read
from session_memory.detect.loci import command_locus, path_locus, wording_locus
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
# Commands go by few names, which come again and again; others are sooner made than found.
_command_id = lru_cache(maxsize=4096)(pattern_id)


Found = tuple[str, SignalType, str, int, int, str, int | None, int | None, str, int]
"""What an extractor saw, before it is costed: (pattern, type, locus, calls, count, quote, seq, at,
about, tried), as in `Signal`; calls are how many of the session's went into it, its share of time
and money."""


def signals(digest: Digest, place: Place) -> tuple[Signal, ...]:
    """Everything a digest shows, one signal per type and locus, costed by its share of calls."""
    joined: dict[str, Signal] = {}
    story = read(digest, place)
    calls = max(1, story.calls, digest.turns)
    minutes, usd, last = _active_minutes(digest), digest.cost.usd, digest.last_at
    for name, type_, locus, used, count, quote, seq, at, about, tried in _found(story):
        if not locus or (_OURS in quote and _is_own(quote)) or (_OURS in locus and _is_own(locus)):
            continue
        if len(quote) > _QUOTE_CHARS or not quote.isprintable():
            quote = excerpt(quote, _QUOTE_CHARS)
        share = used / calls if used < calls else 1.0
        signal = Signal(  # by place: this is done millions of times
            name,
            type_,
            locus,
            count,
            None if usd is None else usd * share,
            minutes * share,
            quote,
            seq,
            at or last,
            about,
            tried,
        )
        known = joined.get(name)
        joined[name] = signal if known is None else _sum(known, signal)
    return tuple(joined.values())


def _found(story: Story) -> list[Found]:
    """What all extractors see; none is asked about what is not there, as most of it is not."""
    digest = story.digest
    found: list[Found] = []
    if story.failed:
        found += failing_commands(story)
    if digest.errors:
        found += errors(story)
    if digest.files:
        found += edit_churn(story)
    if digest.loops:
        found += retry_loops(story)
    if digest.corrections:
        found += user_corrections(story)
    if story.denied:
        found += denied_permissions(story)
    if digest.calls_before_edit:
        found += long_search(story)
    if digest.compactions:
        found += context_thrash(story)
    if digest.cost.usd:
        found += expensive_stretch(story)
    if story.failed:
        found += cured_errors(story)
    if digest.outcome == "success":
        found += verified_recipes(story)
        found += fast_paths(story)
    return found


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


def failing_commands(story: Story) -> Iterator[Found]:
    """Commands that failed; a check that failed and passed later is work, not a problem."""
    loci = story.loci
    passed = {loci[at] for at in story.passed}
    for at in story.failed:
        run, locus = story.digest.commands[at], loci[at]
        if not (run.verifies and locus in passed) and (name := _failing(locus)):
            times = run.count
            yield name, "failing_command", locus, times, times, run.command, run.seq, run.at, "", 0


@lru_cache(maxsize=4096)
def _failing(locus: str) -> str:
    """The id of a command that fails; '' where that belongs to ordinary work."""
    return "" if not locus or is_ordinary_command(locus) else pattern_id("failing_command", locus)


def denied_permissions(story: Story) -> Iterator[Found]:
    """Commands that the user or a rule refused."""
    for at in story.denied:
        run = story.digest.commands[at]
        yield _of_run("denied_permission", command_locus(run.command) or "looking", run)


def _of_run(signal_type: SignalType, locus: str, run: CommandRun) -> Found:
    name = _command_id(signal_type, locus)
    return name, signal_type, locus, run.count, run.count, run.command, run.seq, run.at, "", 0


def _of_session(signal_type: SignalType, locus: str, calls: int, quote: str) -> Found:
    return pattern_id(signal_type, locus), signal_type, locus, calls, 1, quote, None, None, "", 0


def errors(story: Story) -> Iterator[Found]:
    """Error texts: missing tools and wrong directories by name, the others by template."""
    settled = settled_by_edits(story)
    for seen, (name, signal_type, locus) in zip(story.digest.errors, story.troubles, strict=True):
        if seen.seq in settled:
            continue
        if signal_type == "denied_permission":
            locus = seen.tool or "tool call"
            name = pattern_id(signal_type, locus)
        yield name, signal_type, locus, seen.count, seen.count, seen.sample, seen.seq, None, "", 0


def edit_churn(story: Story) -> Iterator[Found]:
    """Files edited over and over in one session."""
    for path, edits in story.digest.files.items():
        if edits >= CHURN_EDITS:
            locus = path_locus(path, story.place.roots)
            yield _of_session("edit_churn", locus, edits, f"{edits} edits of {path}")


def retry_loops(story: Story) -> Iterator[Found]:
    """The same call again and again with nothing changed between."""
    for shown in story.digest.loops:
        tool, _, call = shown.partition(": ")
        locus = command_locus(call) if is_shell(tool) else tool
        if not locus.startswith(_ASKING):
            yield _of_session("retry_loop", locus, 3, shown)


def user_corrections(story: Story) -> Iterator[Found]:
    """What the user had to put right."""
    calls = max(1, story.calls // max(1, story.digest.turns))  # a turn was for nothing
    for text in story.digest.corrections[-_MAX_CORRECTIONS:]:
        yield _of_session("user_correction", wording_locus(text), calls, text)


def long_search(story: Story) -> Iterator[Found]:
    """Many calls before the first edit: what to change was hard to find."""
    calls = story.digest.calls_before_edit
    if calls is not None and calls >= SEARCH_CALLS:
        quote = f"{calls} calls before the first edit"
        yield _of_session("long_search", story.place.repo, calls, quote)


def context_thrash(story: Story) -> Iterator[Found]:
    """A context compacted again and again."""
    times = story.digest.compactions
    if times >= THRASH_COMPACTIONS:
        yield _of_session("context_thrash", story.place.repo, times, f"compacted {times} times")


def expensive_stretch(story: Story) -> Iterator[Found]:
    """Much money for a session that did not reach its goal."""
    digest = story.digest
    usd = digest.cost.usd or 0.0
    if usd >= EXPENSIVE_USD and digest.outcome in ("fail", "partial"):
        quote = f"${usd:.2f}: {digest.objective or 'no objective known'}"
        yield _of_session("expensive_stretch", story.place.repo, story.calls, quote)


def verified_recipes(story: Story) -> Iterator[Found]:
    """Checks that passed in a session that went well: how this work is verified."""
    for at in story.passed:
        yield _of_run("verified_recipe", story.loci[at], story.digest.commands[at])


def fast_paths(story: Story) -> Iterator[Found]:
    """A verified success without a stumble: the commands it took, in order."""
    digest = story.digest
    smooth = not (digest.errors or digest.retries or digest.corrections or digest.tests_failed)
    early = digest.calls_before_edit is not None and digest.calls_before_edit <= FAST_CALLS
    if digest.confidence == "low" or not (smooth and early):
        return
    loci = [command_locus(run.command) for run in digest.commands if not run.denied]
    path = list(dict.fromkeys(locus for locus in loci if locus))
    if 1 < len(path) <= _FAST_STEPS:
        yield _of_session("fast_path", " then ".join(path), story.calls, digest.objective or "")


def cured_errors(story: Story) -> Iterator[Found]:
    """Commands run between a failure and the next try of what failed."""
    for problem, at, worked in cures(story):
        run = story.digest.commands[at]
        locus, count = story.loci[at], int(worked)
        name = pattern_id("cure", locus, problem)
        yield name, "cure", locus, 1, count, run.command, run.seq, run.at, problem, 1
