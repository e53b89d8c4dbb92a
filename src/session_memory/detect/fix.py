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
_RARE = 3  # what worked this much less often than the best is chance
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
    """Whatever knows errors and what helped."""

    def failures(self, about: str = "") -> Iterator[Failures]:
        """Those of every session, the newest first; others than of this error may be left out."""
        ...


def fix(patterns: FailureSource, text: str, among: Collection[int] | None = None) -> Fix | None:
    """What worked after this error, in these sessions or in all; None where none had it."""
    if _REFUSED.search(text):
        return None
    lines = error_lines(text, _LINES) or [text]
    found = patterns.failures("\n".join(lines))
    failures = [each for each in found if among is None or each.counts_as in among]
    asked = [said for said in map(error_text, lines) if said.exact]
    return (_by_words(failures, asked) if asked else None) or _by_task(failures, lines)


def _by_words(failures: Sequence[Failures], asked: Sequence[ErrorText]) -> Fix | None:
    some_word = re.compile("|".join({word for line in asked for word in telling_words(line.exact)}))
    sessions = [(each, _known_lines(each, some_word)) for each in failures]
    known = [_answer(met, "exact") for met in _met_by_line(sessions, asked, is_exact)]
    if known:
        # A line that other edits settled in every session is of many faults: the next may tell.
        return next((each for each in known if each.cures or not each.was_edited), known[0])
    shaped = next(_met_by_line(sessions, asked, is_same_shape), list[_Met]())
    alike = [_without_edits(met) for met in shaped]
    return _answer(alike, "shape") if any(met.cures for met in alike) else None


def _by_task(failures: Sequence[Failures], lines: Sequence[str]) -> Fix | None:
    """Where only the task that failed is named: the command that mends what this task finds."""
    tasks = set(map(task_of, lines)) - {""}
    met: list[_Met] = []
    for each in failures:
        known = [
            _Line(error_text(line), line, cure.error_seq, cure)
            for cure in each.cures
            if mends(cure)
            for line in (cure.sample, *cure.lines)
            if task_of(line) in tasks
        ]
        if known:
            met.append(_Met(each, known))
    return _answer(met, "exact") if len(met) > 1 else None


def _without_edits(met: _Met) -> _Met:
    """An edit answers the error it was made for; for another one it says nothing."""
    kept = [line for line in met.lines if line.cure is None or line.cure.kind != "edit"]
    return _Met(met.failures, kept)


def _met_by_line(
    sessions: Sequence[tuple[Failures, list[_Line]]], asked: Sequence[ErrorText], same: _Same
) -> Iterator[list[_Met]]:
    """For every line asked about that is known, the sessions that had it."""
    for line in asked:
        found = [
            _Met(failures, alike)
            for failures, lines in sessions
            if (alike := [known for known in lines if same(known.text, line)])
        ]
        if found:
            yield found


def _known_lines(failures: Failures, some_word: re.Pattern[str]) -> list[_Line]:
    """The lines of a session's failures that have a word in common with what is asked about."""
    found = [(error.sample, error.seq, None) for error in failures.errors]
    found += [
        (line, cure.error_seq, cure)
        for cure in failures.cures
        for line in (cure.sample, *cure.lines)
    ]
    return [
        _Line(error_text(line), line, event, cure)
        for line, event, cure in found
        if some_word.search(line) and not _REFUSED.search(line)
    ]


def _answer(met: Sequence[_Met], match: Literal["exact", "shape"]) -> Fix:
    dates = [one.failures.at for one in met if one.failures.at is not None]
    sessions = len({one.failures.counts_as for one in met})
    problem = met[0].lines[0].shown
    same: dict[str, list[tuple[Failures, CureOfSession]]] = {}
    for one in met:
        for cure in one.cures:
            done = _what_was_done(one.failures, cure)
            if cure.kind == "edit":
                done = _shown(one.failures, cure, problem)
            same.setdefault(done, []).append((one.failures, cure))
    cures = [_joined(seen, sessions, problem) for seen in _agreeing(same).values()]
    cures.sort(key=lambda cure: (-cure.worked, cure.kind == "edit", -(cure.last_at or 0)))
    return Fix(
        problem,
        match,
        tuple(cure for cure in cures[:MAX_CURES] if cure.worked * _RARE >= cures[0].worked),
        sum(one.times for one in met),
        sessions,
        min(dates, default=None),
        max(dates, default=None),
        any(cure.kind == "edit" for one in met for cure in one.cures),
    )


def _agreeing(
    cures: dict[str, list[tuple[Failures, CureOfSession]]],
) -> dict[str, list[tuple[Failures, CureOfSession]]]:
    """Without edits that differ by session: a line that many faults print says too little."""
    edited: dict[int, set[str]] = {}
    for seen in cures.values():
        for failures, cure in seen:
            if cure.kind == "edit":
                files = edited.setdefault(failures.counts_as, set())
                files.update(re.split(r"[\s/]", step)[-1] for step in cure.steps)
    files = list(edited.values())
    if not files or files[0].intersection(*files[1:]):
        return cures
    return {done: seen for done, seen in cures.items() if seen[0][1].kind != "edit"}


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


def _joined(seen: Sequence[tuple[Failures, CureOfSession]], sessions: int, problem: str) -> Cure:
    """The same cure in several sessions, as it was typed in the newest."""
    newest, cure = seen[0]
    quotes = [
        Quote(failures.external_id, failures.flavor, seq, done, failures.at)
        for failures, one in seen
        for seq, done in _quoted(failures, one, problem)
    ]
    about = error_locus(cure.sample, cure.error)[1] or cure.error or command_locus(cure.failed)
    locus = _what_was_done(newest, cure)
    return Cure(
        pattern_id("cure", locus, about),
        _shown(newest, cure, problem),
        len({failures.counts_as for failures, _ in seen}),
        sessions,
        tuple(sorted({failures.flavor for failures, _ in seen})),
        cure.kind,
        newest.at,
        tuple(quotes[:_MAX_QUOTES]),
    )
