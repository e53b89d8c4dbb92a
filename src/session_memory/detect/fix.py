"""What worked after an error: where the very same one was met, else one of the same shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, Protocol

import msgspec

from session_memory.core.loop.patterns import Quote, pattern_id
from session_memory.core.schema import Cure as CureOfSession
from session_memory.core.schema import CureKind
from session_memory.core.text.masks import error_lines, excerpt
from session_memory.core.typed_commands import short_path, without_pagers
from session_memory.detect.cures import EDIT
from session_memory.detect.loci import command_locus, error_locus, path_locus
from session_memory.detect.remedies import remedy_of
from session_memory.detect.same_error import (
    ErrorText,
    error_text,
    is_exact,
    is_same_shape,
    task_of,
    telling_words,
)
from session_memory.distil.cures import file_name
from session_memory.distil.lasting import is_editor_call, mends
from session_memory.regex_cache import compiled
from session_memory.store.loop import Failures

MAX_CURES = 3
_LINES = 8
_COMMAND_CHARS = 400
_MAX_QUOTES = 20
_RARE = 3  # a cure that worked this much less often than the best is chance
_REFUSED = compiled(
    r"user doesn't want to proceed|tool use was rejected|request interrupted"
    r"|sibling tool call errored",
    re.I,
)


class Cure(msgspec.Struct, frozen=True):
    """Something that worked after an error, and how often."""

    pattern: str
    """What `rules detect` calls it."""
    command: str
    """As it was last typed; for an edit, the tool and the files."""
    worked: int
    """Sessions in which it worked."""
    tried: int
    """Sessions that had the error."""
    flavors: tuple[str, ...]
    kind: CureKind
    last_at: int | None
    quotes: tuple[Quote, ...]
    """The calls, each with its session."""


class Fix(msgspec.Struct, frozen=True):
    """What helped against an error; without cures it was met and never cured."""

    problem: str
    """The error as it was met."""
    match: Literal["exact", "shape"]
    """`shape`: another error that differs in names, paths or numbers only."""
    cures: tuple[Cure, ...]
    frequency: int
    sessions: int
    first_at: int | None
    last_at: int | None
    was_edited: bool
    """Edits made it go away, though not the same ones in every session."""


class _Line(msgspec.Struct, frozen=True, gc=False):
    """A line of a failure."""

    text: ErrorText
    shown: str
    event: int
    cure: CureOfSession | None


class _Met(msgspec.Struct, frozen=True):
    """One session that had the error."""

    failures: Failures
    lines: list[_Line]

    @property
    def times(self) -> int:
        return len({line.event for line in self.lines})

    @property
    def cures(self) -> list[CureOfSession]:
        return list({line.event: line.cure for line in self.lines if line.cure}.values())


_Same = Callable[[ErrorText, ErrorText], bool]


class FailureSource(Protocol):
    """A source of errors and their cures."""

    def failures(self, about: str = "") -> Iterator[Failures]:
        """Those of every session, the newest first; others than of this error may be left out."""
        ...


def fix(patterns: FailureSource, text: str, among: Collection[int] | None = None) -> Fix | None:
    """What worked after this error, in these sessions or in all; None where none had it."""
    if _REFUSED.search(text):
        return None
    lines = error_lines(text, _LINES) or [text]
    recorded = patterns.failures("\n".join(lines))
    failures = [each for each in recorded if among is None or each.counts_as in among]
    errors = [error for error in map(error_text, lines) if error.exact]
    return (_by_words(failures, errors) if errors else None) or _by_task(failures, lines)


def _by_words(failures: Sequence[Failures], errors: Sequence[ErrorText]) -> Fix | None:
    some_word = re.compile(
        "|".join({word for line in errors for word in telling_words(line.exact)})
    )
    sessions = [(each, _known_lines(each, some_word)) for each in failures]
    exact = [_answer(met, "exact") for met in _met_by_line(sessions, errors, is_exact)]
    if exact:
        # If each session fixed it by other edits, the line has many causes: try the next line.
        return next((each for each in exact if each.cures or not each.was_edited), exact[0])
    shaped = next(_met_by_line(sessions, errors, is_same_shape), list[_Met]())
    alike = [_without_edits(met) for met in shaped]
    return _answer(alike, "shape") if any(met.cures for met in alike) else None


def _by_task(failures: Sequence[Failures], lines: Sequence[str]) -> Fix | None:
    """Where only the task that failed is named: the command that mends what this task finds."""
    tasks = set(map(task_of, lines)) - {""}
    met: list[_Met] = []
    for each in failures:
        lines_met = [
            _Line(error_text(line), line, cure.error_seq, cure)
            for cure in each.cures
            if mends(cure)
            for line in (cure.sample, *cure.lines)
            if task_of(line) in tasks
        ]
        if lines_met:
            met.append(_Met(each, lines_met))
    return _answer(met, "exact") if len(met) > 1 else None


def _without_edits(met: _Met) -> _Met:
    """An edit answers the error it was made for; for another one it says nothing."""
    other_lines = [line for line in met.lines if line.cure is None or line.cure.kind != "edit"]
    return _Met(met.failures, other_lines)


def _met_by_line(
    sessions: Sequence[tuple[Failures, list[_Line]]], errors: Sequence[ErrorText], same: _Same
) -> Iterator[list[_Met]]:
    """For each known line of the error, the sessions that had it."""
    for line in errors:
        met = [
            _Met(failures, alike)
            for failures, lines in sessions
            if (alike := [recorded for recorded in lines if same(recorded.text, line)])
        ]
        if met:
            yield met


def _known_lines(failures: Failures, some_word: re.Pattern[str]) -> list[_Line]:
    """The lines of a session's failures that share a word with the error."""
    samples = [(error.sample, error.seq, None) for error in failures.errors]
    samples += [
        (line, cure.error_seq, cure)
        for cure in failures.cures
        for line in (cure.sample, *cure.lines)
    ]
    return [
        _Line(error_text(line), line, event, cure)
        for line, event, cure in samples
        if some_word.search(line) and not _REFUSED.search(line)
    ]


def _answer(met: Sequence[_Met], match: Literal["exact", "shape"]) -> Fix:
    dates = [session_met.failures.at for session_met in met if session_met.failures.at is not None]
    sessions = len({session_met.failures.counts_as for session_met in met})
    problem = met[0].lines[0].shown
    same: dict[str, list[tuple[Failures, CureOfSession]]] = {}
    for session_met in met:
        for cure in session_met.cures:
            done = _what_was_done(session_met.failures, cure)
            if cure.kind == "edit":
                done = _shown(session_met.failures, cure, problem)
            same.setdefault(done, []).append((session_met.failures, cure))
    cures = [_joined(occurrences, sessions, problem) for occurrences in _agreeing(same).values()]
    cures.sort(key=lambda cure: (-cure.worked, cure.kind == "edit", -(cure.last_at or 0)))
    return Fix(
        problem,
        match,
        tuple(cure for cure in cures[:MAX_CURES] if cure.worked * _RARE >= cures[0].worked),
        sum(session_met.times for session_met in met),
        sessions,
        min(dates, default=None),
        max(dates, default=None),
        any(cure.kind == "edit" for session_met in met for cure in session_met.cures),
    )


def _agreeing(
    cures: dict[str, list[tuple[Failures, CureOfSession]]],
) -> dict[str, list[tuple[Failures, CureOfSession]]]:
    """Without edits that differ by session: such an error line has many causes."""
    edited: dict[int, set[str]] = {}
    for occurrences in cures.values():
        for failures, cure in occurrences:
            if cure.kind == "edit":
                files = edited.setdefault(failures.counts_as, set())
                files.update(re.split(r"[\s/]", step)[-1] for step in cure.steps)
    files = list(edited.values())
    if not files or files[0].intersection(*files[1:]):
        return cures
    return {
        done: occurrences for done, occurrences in cures.items() if occurrences[0][1].kind != "edit"
    }


def _what_was_done(failures: Failures, cure: CureOfSession) -> str:
    """What counts as the same cure in another session."""
    if cure.kind == "edit":
        return EDIT + path_locus(cure.steps[-1].partition(" ")[2], failures.roots)
    remedy = remedy_of(cure, failures.roots)
    return remedy.locus if remedy else command_locus(cure.steps[-1]) or cure.steps[-1]


def _shown(failures: Failures, cure: CureOfSession, problem: str) -> str:
    """The commands as they were typed, or the edited files, those that the error names first.

    A file that only another error of the same run names was edited for that one.
    """
    if cure.kind == "edit":
        files = list(dict.fromkeys(_edited(failures, step) for step in cure.steps))
        others = "\n".join(line for line in (cure.sample, *cure.lines) if line != problem)
        own = [
            file for file in files if file_name(file) in problem or file_name(file) not in others
        ]
        named_first = sorted(own or files, key=lambda file: file_name(file) not in problem)
        return excerpt("edit " + ", ".join(named_first), _COMMAND_CHARS)
    if is_editor_call(cure.failed):  # the file is another one each time
        tool = cure.failed.partition(" ")[0]
        return f"Read the file; {tool} the file"
    return excerpt("; ".join(map(without_pagers, cure.steps)), _COMMAND_CHARS)


def _edited(failures: Failures, step: str) -> str:
    return short_path(step.partition(" ")[2], failures.roots)


def _quoted(failures: Failures, cure: CureOfSession, problem: str) -> list[tuple[int, str]]:
    """The calls of a cure, each with what it did: an edit with the file that it changed."""
    if cure.kind == "edit" and len(cure.steps) == len(cure.step_seqs):
        done = [f"edit {_edited(failures, step)}" for step in cure.steps]
        return list(zip(cure.step_seqs, done, strict=True))
    shown = _shown(failures, cure, problem)
    return [(seq, shown) for seq in cure.step_seqs]


def _joined(
    occurrences: Sequence[tuple[Failures, CureOfSession]], sessions: int, problem: str
) -> Cure:
    """The same cure in several sessions, as it was typed in the newest."""
    newest, cure = occurrences[0]
    quotes = [
        Quote(failures.external_id, failures.flavor, seq, done, failures.at)
        for failures, session_cure in occurrences
        for seq, done in _quoted(failures, session_cure, problem)
    ]
    about = error_locus(cure.sample, cure.error)[1] or cure.error or command_locus(cure.failed)
    locus = _what_was_done(newest, cure)
    return Cure(
        pattern_id("cure", locus, about),
        _shown(newest, cure, problem),
        len({failures.counts_as for failures, _ in occurrences}),
        sessions,
        tuple(sorted({failures.flavor for failures, _ in occurrences})),
        cure.kind,
        newest.at,
        tuple(quotes[:_MAX_QUOTES]),
    )
