"""Signals of one digest: each extractor is a small pure function of one kind of evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import msgspec

from session_memory.core.forget import FORGOTTEN
from session_memory.core.loop.patterns import Signal, SignalType, pattern_id
from session_memory.core.schema import CommandRun, Digest, RuleStatement
from session_memory.core.text.masks import excerpt
from session_memory.core.text.own_text import BEGIN, PACK_BEGIN
from session_memory.core.typed_commands import directory_of, typed_command
from session_memory.detect.cures import cure_signals, is_shell, settled_by_edits
from session_memory.detect.digest_view import DigestView, SessionProject, view_digest
from session_memory.detect.loci import UNQUOTED, command_locus, path_locus, wording_locus
from session_memory.detect.ordinary import is_ordinary_command
from session_memory.detect.remedies import quoting
from session_memory.distil.checks import check_of
from session_memory.distil.project_checks import is_project_wide

CHURN_EDITS = 8
SEARCH_CALLS = 30
THRASH_COMPACTIONS = 3
EXPENSIVE_USD = 5.0
FAST_CALLS = 8
_FAST_STEPS = 4
_MAX_CORRECTIONS = 5
_QUOTE_CHARS = 160
_ACTIVE_S = 30.0  # an event stands for at most this long: a night between two prompts is not work

_OURS = "session-memory"  # part of both marks, so that one test excludes nearly every text
_STATE_QUERIES = ("git status", "git diff", "git log", "git show", "git branch")
_cached_id = lru_cache(maxsize=16_384)(pattern_id)


class RawSignal(msgspec.Struct, gc=False):
    """What an extractor saw, before its cost is known; the fields are those of `Signal`."""

    type: SignalType
    locus: str
    quote: str
    calls: int
    """Tool calls of the session that went into it: its share of time and money."""
    count: int = 1
    seq: int | None = None
    at: int | None = None
    about: str = ""
    tried: int = 0
    rule: str = ""
    said: RuleStatement | None = None


def signals(digest: Digest, project: SessionProject) -> tuple[Signal, ...]:
    """All signals of a digest, one per type and locus, each with its share of the cost."""
    by_pattern: dict[str, Signal] = {}
    view = view_digest(digest, project)
    calls = max(1, view.calls, digest.turns)
    minutes, usd = _active_minutes(digest), digest.cost.usd
    for extract in _EXTRACTORS:
        for raw in extract(view):
            if not raw.locus or _is_own(raw.quote) or _is_own(raw.locus):
                continue
            share = min(1.0, raw.calls / calls)
            signal = Signal(
                pattern=_cached_id(raw.type, raw.locus, raw.about),
                type=raw.type,
                locus=raw.locus,
                count=raw.count,
                usd=None if usd is None else usd * share,
                minutes=minutes * share,
                quote=_short(raw.quote),
                seq=raw.seq,
                at=raw.at or digest.last_at,
                about=raw.about,
                tried=raw.tried,
                rule=raw.rule,
                said=raw.said,
            )
            earlier = by_pattern.get(signal.pattern)
            by_pattern[signal.pattern] = signal if earlier is None else _sum(earlier, signal)
    return tuple(by_pattern.values())


def _sum(first: Signal, second: Signal) -> Signal:
    return msgspec.structs.replace(
        first,
        count=first.count + second.count,
        usd=None if first.usd is None or second.usd is None else first.usd + second.usd,
        minutes=first.minutes + second.minutes,
        tried=first.tried + second.tried,
    )


def _active_minutes(digest: Digest) -> float:
    return min(digest.duration_s or 0.0, _ACTIVE_S * digest.events) / 60


def _short(quote: str) -> str:
    fits = len(quote) <= _QUOTE_CHARS and quote.isprintable()
    return quote if fits else excerpt(quote, _QUOTE_CHARS)


def _is_own(text: str) -> bool:
    """Whether it is text that we gave the agent ourselves, which is evidence of nothing."""
    return _OURS in text and (BEGIN in text or PACK_BEGIN in text)


def _of_run(signal_type: SignalType, locus: str, run: CommandRun) -> RawSignal:
    return RawSignal(
        signal_type,
        locus,
        run.command,
        calls=run.count,
        count=run.count,
        seq=run.seq,
        at=run.at,
    )


def failing_commands(view: DigestView) -> Iterator[RawSignal]:
    """Commands that failed; a check that failed and passed later is work, not a problem."""
    passed = {view.loci[index] for index in view.passed}
    for index in view.failed:
        run, locus = view.digest.commands[index], view.loci[index]
        if not (run.is_check and locus in passed) and not is_ordinary_command(locus):
            yield _of_run("failing_command", locus, run)


def errors(view: DigestView) -> Iterator[RawSignal]:
    """Error texts: missing tools and wrong directories by name, the others by template."""
    settled = settled_by_edits(view)
    for error, (signal_type, locus) in zip(view.digest.errors, view.error_loci, strict=True):
        if error.seq in settled:
            continue
        rule = ""
        if signal_type == "denied_permission":
            locus = error.tool or "tool call"
        elif locus == UNQUOTED:  # the error itself says what to do
            rule = quoting(locus).rule
        yield RawSignal(
            signal_type,
            locus,
            error.sample,
            calls=error.count,
            count=error.count,
            seq=error.seq,
            rule=rule,
        )


def stated_rules(view: DigestView) -> Iterator[RawSignal]:
    """Statements of the user that may hold for every session; permissions to stop do not count."""
    calls = max(1, view.calls // max(1, view.digest.turns))
    for statement in view.digest.rules:
        if FORGOTTEN not in statement.text:
            yield RawSignal(
                "stated_rule",
                statement.text,
                statement.text,
                calls=calls,
                count=0 if statement.stance in ("allows", "spares") else 1,
                seq=statement.seq,
                at=statement.at,
                said=statement,
            )


def notices(view: DigestView) -> Iterator[RawSignal]:
    """Notices of hosts and servers about this repository; being behind a remote is ordinary."""
    for notice in view.digest.notices:
        subject = notice.subject
        if notice.kind == "pull requests only":
            rule = f"Change `{subject}` through pull requests only: its host asks for them."
        elif notice.kind == "port in use":
            rule = (
                f"Start servers on a free port and stop them at the end: {subject} is often taken."
            )
        else:
            continue
        locus = f"{notice.kind}: {subject}"
        yield RawSignal("notice", locus, locus, calls=1, seq=notice.seq, rule=rule)


def edit_churn(view: DigestView) -> Iterator[RawSignal]:
    """Files edited over and over in one session."""
    for path, edits in view.digest.files.items():
        if edits >= CHURN_EDITS:
            locus = path_locus(path, view.project.roots)
            yield RawSignal("edit_churn", locus, f"{edits} edits of {path}", calls=edits)


def retry_loops(view: DigestView) -> Iterator[RawSignal]:
    """The same call again and again with nothing changed between."""
    for shown in view.digest.loops:
        tool, _, call = shown.partition(": ")
        locus = command_locus(call) if is_shell(tool) else tool
        if not locus.startswith(_STATE_QUERIES):
            yield RawSignal("retry_loop", locus, shown, calls=3)


def user_corrections(view: DigestView) -> Iterator[RawSignal]:
    """Corrections by the user; each is assumed to have wasted one turn."""
    calls = max(1, view.calls // max(1, view.digest.turns))
    for text in view.digest.corrections[-_MAX_CORRECTIONS:]:
        yield RawSignal("user_correction", wording_locus(text), text, calls=calls)


def denied_permissions(view: DigestView) -> Iterator[RawSignal]:
    """Commands that the user or a rule refused."""
    for index in view.denied:
        run = view.digest.commands[index]
        yield _of_run("denied_permission", command_locus(run.command) or "looking", run)


def long_search(view: DigestView) -> Iterator[RawSignal]:
    """Many calls before the first edit: what to change was hard to find."""
    calls = view.digest.calls_before_edit
    if calls is not None and calls >= SEARCH_CALLS:
        quote = f"{calls} calls before the first edit"
        yield RawSignal("long_search", view.project.repo, quote, calls=calls)


def context_thrash(view: DigestView) -> Iterator[RawSignal]:
    """A context compacted again and again."""
    times = view.digest.compactions
    if times >= THRASH_COMPACTIONS:
        quote = f"compacted {times} times"
        yield RawSignal("context_thrash", view.project.repo, quote, calls=times)


def expensive_stretch(view: DigestView) -> Iterator[RawSignal]:
    """Much money for a session that did not reach its goal."""
    digest = view.digest
    usd = digest.cost.usd or 0.0
    if usd >= EXPENSIVE_USD and digest.outcome in ("fail", "partial"):
        quote = f"${usd:.2f}: {digest.objective or 'no objective known'}"
        yield RawSignal("expensive_stretch", view.project.repo, quote, calls=view.calls)


def cured_errors(view: DigestView) -> Iterator[RawSignal]:
    """What made something that had failed work."""
    for cure in cure_signals(view):
        yield RawSignal(
            "cure",
            cure.locus,
            cure.command,
            calls=cure.calls,
            seq=cure.seq,
            about=cure.problem,
            tried=1,
            rule=cure.rule,
        )


def verified_recipes(view: DigestView) -> Iterator[RawSignal]:
    """Checks that passed in a session that went well: how this work is verified."""
    if view.digest.outcome != "success":
        return
    elsewhere = _ran_elsewhere(view)
    for index in view.passed:
        run = view.digest.commands[index]
        named = () if index in elsewhere else _project_checks(run.command, view.project.roots)
        for locus, rule in named or ((view.loci[index], ""),):
            raw = _of_run("verified_recipe", locus, run)
            raw.rule = rule
            yield raw


def _ran_elsewhere(view: DigestView) -> frozenset[int]:
    """Checks that name no directory, in a shell that an earlier command left in a subdirectory."""
    indexes: list[int] = []
    directory = ""
    for index, run in enumerate(view.digest.commands):
        if run.command.lstrip().startswith("cd "):
            directory = directory_of(run.command, view.project.roots)
        elif directory and run.is_check:
            indexes.append(index)
    return frozenset(indexes)


@lru_cache(maxsize=4096)
def _project_checks(command: str, roots: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The checks in a command that are for the whole project, each with its rule."""
    directory = directory_of(command, roots)
    checks: list[tuple[str, str]] = []
    for part in typed_command(command).split(" && "):
        check = typed_command(part)
        if check_of(check) is not None and is_project_wide(check) and FORGOTTEN not in check:
            shown = f"`{check}` in `{directory}`" if directory else f"`{check}`"
            checks.append((shown.replace("`", ""), f"Verify with {shown}."))
    return tuple(checks)


def fast_paths(view: DigestView) -> Iterator[RawSignal]:
    """A verified success without any failure: the commands it took, in order."""
    digest = view.digest
    smooth = not (digest.errors or digest.retries or digest.corrections or digest.tests_failed)
    early = digest.calls_before_edit is not None and digest.calls_before_edit <= FAST_CALLS
    if digest.outcome != "success" or digest.confidence == "low" or not (smooth and early):
        return
    loci = [command_locus(run.command) for run in digest.commands if not run.denied]
    path = list(dict.fromkeys(locus for locus in loci if locus))
    if 1 < len(path) <= _FAST_STEPS:
        locus = " then ".join(path)
        yield RawSignal("fast_path", locus, digest.objective or "", calls=view.calls)


# Signals are kept in this order, and of equal ones the first is quoted.
_EXTRACTORS: tuple[Callable[[DigestView], Iterator[RawSignal]], ...] = (
    stated_rules,
    notices,
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
