"""Which turns did work that lasted: checked or committed, and not done over afterwards.

What an agent says about its work is a claim. A passing check and a commit are evidence, and the
next words of the user or the next edit of the same files may still take it back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from session_memory.core.commands import words
from session_memory.distil.attempts import Attempt
from session_memory.distil.git_state import commit_subjects
from session_memory.distil.substance import (
    directs,
    is_unspaced,
    is_verb,
    names_code,
    names_something,
    own_terms,
    own_words,
)
from session_memory.distil.turns import BROKEN_OFF, Ref
from session_memory.distil.work import is_project_edit, work_of
from session_memory.regex_cache import compiled

_LEAST_SUBJECT_WORDS = 3  # words of a commit's subject that carry meaning

_TIDIES = compiled(
    r"\b(?:remove|drop|delete) (?:an? |the |some |all )?(?:unused|redundant|dead|obsolete)\b"
    r"|\b(?:fix|clarify|update|reword) (?:an? |the |some )?(?:typos?|(?:code )?comments?)\b",
    re.I,
)
_LEAST_OBJECTS = 2
_LEAST_SUBJECT = 2
_AGREES = compiled(
    r"(?:yes|yeah|yep|ok(?:ay)?|sure|agreed|sounds good|perfect|great|cool|go (?:ahead|for it)"
    r"|do (?:it|that|both)|let'?s|lets|i like)\b[^?]*$",
    re.I,
)
_TALKED = 3  # turns of talk before "let's give it a try"
_COMMIT_TYPE = compiled(r"^[a-z]+(?:\([^)]*\))?!?: ")
# What a commit deals with in any project: "address additional review comments" names no object.
_OF_ANY_COMMIT = words(
    "address addresses addressed additional comment comments feedback reviewer reviewers suggestion"
    " suggestions requested nit nits lint linter linting linters format formatting typo typos wip"
    " misc various several cleanups minor tweak tweaks final followup follow-up conflict conflicts"
    " warning warnings error errors ci bug bugs improvement improvements fixes failing broken"
    " version deps dependencies changelog unused import imports whitespace style temp temporary"
    " progress checkpoint initial critical reliability quality refactoring adjustments edits stuff"
)
_REVIEWED = compiled(
    r"(?:address|apply|fix|resolve|handle|incorporate|implement)\w*\b(?: [\w'-]+){0,4}"
    r" (?:review|feedback|comments?|suggestions?|findings)(?: (?:on|from|of|in|for))?"
    r"(?: (?:the|PR|MR|pull request|review|round|#?\d+))*[ .]*",
    re.I,
)
_AMENDS = ("fixup! ", "squash! ", "amend! ", "Merge ")  # other commits say what is in them


class TurnWork(msgspec.Struct, frozen=True):
    """What the commands and edits of one turn show."""

    files: frozenset[str] = frozenset()
    code: bool = False
    """It changed more than notes, which need no summary."""
    checked: bool = False
    """A check passed after the last edit of code, and none failed."""
    commits: tuple[str, ...] = ()
    """The subjects of its commits."""


class ClosedTurn(msgspec.Struct, frozen=True):
    """A turn that is over: its request, its answer, and what was done."""

    ref: Ref
    request: str
    answer: str
    """Its gist; empty where its commits say what was done."""
    edited: str
    """Its files, as the end of a summary."""
    little: bool
    """The answer has no use for a later reader."""
    cosmetic: bool
    """It changed looks only."""
    work: TurnWork
    rejected: bool = False
    """The next prompt says that the work is wrong."""
    corrected: bool = False
    """It says so, or that something else was asked for."""

    @property
    def summary(self) -> str:
        """The request, what was committed or else answered, which files changed."""
        request, result = self.request, self.answer
        if self.work.commits:
            result = "; ".join(dict.fromkeys(self.work.commits))
            request = request if directs(request) else ""  # the subject of a commit stands alone
        return f"{request} → {result}{self.edited}" if request else f"{result}{self.edited}"

    @property
    def says_little(self) -> bool:
        """Whether its summary has no use for a later reader."""
        if not self.work.commits:
            return self.little
        if not any(map(_names_a_change, self.work.commits)):
            return True
        return self.cosmetic if self.work.files else self.little


def turn_work(attempts: Sequence[Attempt], cwd: str) -> TurnWork:
    """Read the calls of one turn."""
    if not attempts:
        return TurnWork()
    work = work_of(attempts, cwd)
    fresh = [check for check in work.checks if check.pos > work.last_code_edit]
    return TurnWork(
        files=frozenset(
            path for a in attempts if a.edits and is_project_edit(a, cwd) for path in a.files
        ),
        code=work.last_code_edit >= 0,
        checked=work.last_code_edit >= 0 and bool(fresh) and all(each.passed for each in fresh),
        commits=tuple(
            subject
            for attempt in attempts
            if attempt.command and "commit" in attempt.command
            for subject in commit_subjects(attempt)
        ),
    )


def credited(turns: Sequence[ClosedTurn]) -> list[ClosedTurn]:
    """The turns of a session; "commit it" credits its commit to the turn that did the work."""
    credited_turns = list(turns)
    last: int | None = None  # the last turn with edits that are not committed
    for at, turn in enumerate(turns):
        if turn.work.commits:
            if not turn.work.files and last is not None:
                work = replace(credited_turns[last].work, commits=turn.work.commits)
                credited_turns[last] = replace(credited_turns[last], work=work)
            last = None
        elif turn.work.files:
            last = at
    return [_with_its_subject(credited_turns, at) for at in range(len(credited_turns))]


def _with_its_subject(turns: Sequence[ClosedTurn], at: int) -> ClosedTurn:
    """A turn; "let's give it a try" takes the request that was talked about just before it."""
    turn = turns[at]
    if turn.work.commits or not turn.work.files or _names_a_subject(turn.request):
        return turn
    talk = turns[max(0, at - _TALKED) : at] if _AGREES.match(turn.request) else ()
    for earlier in reversed(talk):
        if earlier.work.files:
            break
        if _names_a_subject(earlier.request):
            return replace(turn, request=earlier.request)
    return replace(turn, little=True)


def _names_a_subject(request: str) -> bool:
    return names_code(request) or is_unspaced(request) or len(own_words(request)) >= _LEAST_SUBJECT


def which_lasted(turns: Sequence[ClosedTurn]) -> list[bool]:
    """For each turn whether its work lasted, as far as the session shows."""
    lasted: list[bool] = []
    redone: set[str] = set()  # files of later turns, up to the next commit
    for turn in reversed(turns):
        lasted.append(_is_checked_and_stays(turn, redone))
        if turn.work.commits:
            redone.clear()
        redone |= turn.work.files
    lasted.reverse()
    before: set[str] = set()
    for at, turn in enumerate(turns):
        if turn.work.commits:  # a commit that is amended keeps its subject
            is_new = not before.issuperset(turn.work.commits)
            lasted[at] = is_new and turn.work.code and not turn.rejected
            before.update(turn.work.commits)
    return lasted


def _is_checked_and_stays(turn: ClosedTurn, redone: set[str]) -> bool:
    if turn.rejected or turn.corrected or not (turn.work.code and turn.work.checked):
        return False
    return not turn.answer.startswith(BROKEN_OFF) and not turn.work.files <= redone


def _names_a_change(subject: str) -> bool:
    """Whether a commit's subject names something that a reader could look up."""
    if subject.startswith(_AMENDS) or _TIDIES.search(subject):
        return False
    said = _COMMIT_TYPE.sub("", subject)
    if _REVIEWED.fullmatch(said):
        return False  # it says who asked for the change, not what it is
    objects = {word for word in own_terms(said) if not is_verb(word)}
    if len(objects - _OF_ANY_COMMIT) < _LEAST_OBJECTS and not names_code(said):
        return False
    return names_something(subject) or len(own_words(subject)) >= _LEAST_SUBJECT_WORDS
