"""What made a failed call work: the cures of one session, found without a model.

A cure counts only when the thing that failed is later seen to work. Better none than a wrong one:
commands that only look, help texts and calls that were already under way are never cures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile

from session_memory.core.commands import Step, reads_only, steps, words
from session_memory.core.digest import MAX_CURES
from session_memory.core.schema import Cure, CureKind
from session_memory.core.text.masks import excerpt, mask
from session_memory.distil.attempts import RECENT, Attempt, AttemptLog
from session_memory.distil.checks import check_of
from session_memory.distil.put_right import (
    HELP,
    INSTALL_VERBS,
    command_of,
    is_put_right,
    is_same_command,
    is_script,
    is_without_the_refused,
    is_wrong_call,
    plain_words,
    programs,
    silences,
    telling_steps,
    was_advised,
    without_pagers,
)
from session_memory.regex_cache import compiled

AFTER = 120
"""Calls after a failure among which its cure is looked for."""
_REACH = 14
"""Commands that change something, after a failure, among which its cure is looked for."""
_COMMAND_CHARS = 300
_SAMPLE_CHARS = 200
_STEPS = 8  # of one cure
_FEW_FILES = 4

_STOPPED = frozenset((130, 137, 143))  # interrupted or killed: nothing failed
_NOT_RUN = ("sibling tool call errored", "user doesn't want to proceed", "interrupted")
# Git stops and waits: that is its work.
_CONFLICT = compiled(r"^CONFLICT \(", re.M)
_INSTALLERS = words(
    "npm pnpm yarn bun pip pip3 uv brew apt apt-get cargo go gem bundle poetry mise asdf rustup"
)
_RUNNERS = words("make gmake just task mise npm pnpm yarn bun nx turbo tox nox gradle mvn rake")
_SYNCS = words("push pull fetch")
_GIT_REMEDIES = words("pull fetch rebase merge remote")
_MISSING_MODULE = compiled(
    r"(?:Cannot find (?:package|module)|No module named|no required module provides package) "
    r"['\"]?([@\w][\w./@-]+)"
)
_TELLING_CHARS = 120
_SETS_TEXT = compiled(r"\w+=(?:\$'|\$\(cat|['\"])")
_FILTERS = words("grep egrep rg")
_FORMATS = words("format fmt")
_SCRATCH = ("/tmp/", "/private/tmp/", "/var/folders/")
_SCRATCH_ON_WINDOWS = compiled(r"[\\/]Temp[\\/]")
_IN_QUOTES = compiled(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_PART = compiled(r"\|\|?(?=\s)|&&|;(?=\s)|\n")


class CureLog:
    """The cures of a session so far. What can no longer change is looked for once."""

    def __init__(self) -> None:
        self._settled: dict[int, Cure | None] = {}
        """By the place of the failure."""
        self._late = 0

    def find(self, calls: AttemptLog) -> tuple[Cure, ...]:
        """The cure of each failure that has one, in order, the latest where there are too many."""
        attempts = calls.attempts
        if self._late != calls.late:
            self._late = calls.late
            self._settled.clear()
        # All calls that may have a part in such a cure are past the reach of an ordinary result.
        settled = len(attempts) - AFTER - RECENT
        failures = [at for at, attempt in enumerate(attempts) if attempt.failed]
        cures = (self._cure(attempts, at, at < settled) for at in reversed(failures))
        latest = islice((cure for cure in cures if cure is not None), MAX_CURES)
        return tuple(latest)[::-1]

    def _cure(self, attempts: Sequence[Attempt], at: int, is_settled: bool) -> Cure | None:
        failed = attempts[at]
        if not is_settled:
            return _cure_of(attempts, at)
        if failed.pos not in self._settled:
            self._settled[failed.pos] = _cure_of(attempts, at)
        return self._settled[failed.pos]


def _cure_of(attempts: Sequence[Attempt], at: int) -> Cure | None:
    failed = attempts[at]
    if failed.result_pos is None or _is_no_failure(failed):
        return None
    # A call that was made before the failure was known cannot be an answer to it.
    later = [a for a in attempts[at + 1 : at + 1 + AFTER] if a.pos > failed.result_pos]
    remedy = _command_cure(failed, later) if failed.command else _edit_retry(failed, later)
    if remedy is None or _is_hidden(failed, remedy):
        return None
    kind, cure_steps, proof = remedy
    if kind == "edit":
        cure_steps = _telling_edits(failed, cure_steps)
    return Cure(
        error=mask(failed.error),
        sample=excerpt(failed.error, _SAMPLE_CHARS),
        error_seq=failed.result_seq,
        failed=_shown(failed),
        kind=kind,
        steps=_shown_steps(failed, cure_steps),
        step_seqs=tuple(step.seq for step in cure_steps),
        proof=_shown(proof),
        proof_seq=proof.seq,
        lines=tuple(excerpt(line, _SAMPLE_CHARS) for line in failed.errors[1:]),
    )


def _shown_steps(failed: Attempt, done: list[Attempt]) -> tuple[str, ...]:
    """The steps as they were typed; of one long command that was put right, what is new in it."""
    text = command_of(done[-1])
    if len(done) == 1 and len(text) > _COMMAND_CHARS and (new := _changed_part(failed, text)):
        return (new,)
    return tuple(dict.fromkeys(map(_shown, done)))[-_STEPS:]


def _is_pair(signs: tuple[str, str]) -> bool:
    return signs[0] == signs[1]


def _telling_edits(failed: Attempt, edits: list[Attempt]) -> list[Attempt]:
    """The last edit of each file; of many files those that the failure names, if it names any.

    Of a few files any may hold the cure: the place of an error need not be its cause.
    """
    by_files = list({edit.files: edit for edit in edits}.values())
    if len(by_files) <= _FEW_FILES:
        return by_files
    said = "\n".join(failed.errors)
    named = [edit for edit in by_files if any(file_name(path) in said for path in edit.files)]
    return (named or by_files)[-_STEPS:]


def _is_hidden(failed: Attempt, remedy: Remedy) -> bool:
    """Whether the difference is behind what is kept of a long command: nobody could use that."""
    text = command_of(remedy[1][-1])
    if remedy[0] != "command" or len(text) <= _COMMAND_CHARS:
        return False
    return (
        text.startswith("cat >")
        or _SETS_TEXT.match(text) is not None
        or (
            text.startswith(command_of(failed)[:_TELLING_CHARS]) and not _changed_part(failed, text)
        )
    )


def _changed_part(failed: Attempt, text: str) -> str:
    """The part of a long command in which it differs first, from its beginning; '' if too long."""
    same = sum(1 for _ in takewhile(_is_pair, zip(command_of(failed), text, strict=False)))
    plain = _IN_QUOTES.sub(lambda quoted: "x" * len(quoted[0]), text)  # a | in quotes parts nothing
    begins = [match.start() for match in _PART.finditer(plain, 0, same)]
    part = text[begins[-1] :] if begins else text
    return f"… {part}" if len(part) < _COMMAND_CHARS else ""


Remedy = tuple[CureKind, list[Attempt], Attempt]
"""What kind of cure, its steps, and the call that shows that it worked."""


def _command_cure(failed: Attempt, later: Iterable[Attempt]) -> Remedy | None:
    """The way from a failed command to the same thing working."""
    wrong_call = is_wrong_call(failed)
    looks, verifies = reads_only(command_of(failed)), check_of(command_of(failed)) is not None
    may_drop = bool(failed.error) and not looks and not is_script(failed)
    edits: list[Attempt] = []
    commands: list[Attempt] = []
    missing = _MISSING_MODULE.search("\n".join(failed.errors))
    for attempt in later:
        worked = attempt.worked
        if attempt.edits and worked and attempt.files and not _is_scratch(attempt):
            edits.append(attempt)
        if attempt.command is None:
            continue
        if attempt.denied or attempt.result_pos is None:
            continue
        if missing is not None and worked and commands and missing[1] in command_of(attempt):
            brought = [
                each for each in commands if _installs(each) and missing[1] in command_of(each)
            ]
            if brought and not reads_only(command_of(attempt)):
                return "install", brought, attempt
        if worked and may_drop and is_without_the_refused(failed, attempt):
            return "command", [attempt], attempt
        advised = worked and was_advised(failed, attempt)
        may_differ = not (looks or verifies or edits or commands) and (worked or is_script(failed))
        retyped = wrong_call or (may_differ and not silences(failed, attempt))
        if advised or (retyped and is_put_right(failed, attempt)):
            return "command", [attempt], attempt
        if worked and edits and _is_broader_check(failed, attempt):
            return "edit", edits, attempt
        if worked and is_same_command(failed, attempt):
            if not looks and _proves(failed, attempt):
                return _between(failed, attempt, edits, commands)
            if looks or not _filters_more(failed, attempt):
                return None
        if worked and not reads_only(attempt.command):
            commands.append(attempt)
            if len(commands) > _REACH:
                return None
    return None


def _between(
    failed: Attempt, again: Attempt, edits: list[Attempt], commands: list[Attempt]
) -> Remedy | None:
    """What was done before the same command worked; None where that is not clear."""
    installs = [attempt for attempt in commands if _installs(attempt)]
    if installs:
        return "install", installs, again
    verified = check_of(command_of(failed)) is not None
    fixes = [attempt for attempt in commands if _is_fix_of(failed, attempt)]
    if fixes:
        return "command", fixes, again
    if edits:
        return "edit", edits, again
    formats = [attempt for attempt in commands if verified and _formats(attempt)]
    if formats:
        return "command", formats, again
    remedies = [attempt for attempt in commands if check_of(command_of(attempt)) is None]
    if not verified and len(remedies) == 1:
        return "command", remedies, again
    if not commands and without_pagers(failed) != without_pagers(again):
        return "command", [again], again  # another directory, environment or wrapper
    return None


def _is_broader_check(failed: Attempt, other: Attempt) -> bool:
    """Whether `other` verifies at least what the failed check did: `make test` after `pytest x`."""
    mine, theirs = check_of(command_of(failed)), check_of(command_of(other))
    if mine is None or theirs is None or not set(mine.kinds) <= set(theirs.kinds):
        return False
    if not _proves(failed, other) or is_same_command(failed, other):
        return False
    wanted = {word for step in telling_steps(command_of(failed)) for word in step.words}
    given = {word for step in telling_steps(command_of(other)) for word in step.words}
    same_program = bool(programs(failed) & programs(other))
    return given <= wanted if same_program else _runs_all(other)


def _runs_all(attempt: Attempt) -> bool:
    """A task runner without a file or filter runs everything there is."""
    return all(
        step.program in _RUNNERS and not any("/" in word or "=" in word for word in step.words)
        for step in telling_steps(command_of(attempt))
    )


def _proves(failed: Attempt, again: Attempt) -> bool:
    """Whether the later run shows the cure: not the same error again, and nothing filtered out."""
    if failed.error and failed.error in again.output:
        return False
    return not _filters_more(failed, again)


def _filters_more(failed: Attempt, again: Attempt) -> bool:
    """Whether lines were filtered out that the failed run showed."""
    filters = {step.program for step in steps(command_of(again))} & _FILTERS
    return bool(filters - {step.program for step in steps(command_of(failed))})


def _is_fix_of(failed: Attempt, other: Attempt) -> bool:
    """A command that mends what the failed one found: a formatter, or git getting up to date."""
    for mine in steps(command_of(failed)):
        for theirs in steps(command_of(other)):
            if mine.program != theirs.program:
                continue
            verb, remedy = plain_words(mine)[:1], plain_words(theirs)[:1]
            if mine.program == "git":
                if _SYNCS & set(verb) and _GIT_REMEDIES & set(remedy):
                    return True
            elif _fixes(theirs) and not _fixes(mine):
                return True
    return False


def _formats(attempt: Attempt) -> bool:
    """A task that formats the code, `npm run format` or `cargo fmt`."""
    return any(
        _FORMATS & set(plain_words(step)[:2]) and "--check" not in step.words
        for step in steps(command_of(attempt))
    )


def _fixes(step: Step) -> bool:
    return any(
        word in ("--write", "--fix", "-w", "--apply") or re.search(r"[:_-]fix$", word)
        for word in step.words
    )


def _is_scratch(attempt: Attempt) -> bool:
    return bool(attempt.files) and all(map(_is_scratch_file, attempt.files))


def _is_scratch_file(path: str) -> bool:
    if path.startswith(_SCRATCH) or "scratchpad" in path:
        return True
    return "Temp" in path and _SCRATCH_ON_WINDOWS.search(path) is not None


def _installs(attempt: Attempt) -> bool:
    return any(
        # The value of `--prefix` or `-C` may stand before the verb.
        step.program in _INSTALLERS and INSTALL_VERBS & set(plain_words(step)[:2])
        for step in steps(command_of(attempt))
    )


def _edit_retry(failed: Attempt, later: Iterable[Attempt]) -> Remedy | None:
    """A file that had to be read before it could be edited."""
    reads: list[Attempt] = []
    names = [file_name(path) for path in failed.files]
    files = frozenset(failed.files)
    for attempt in later:
        if not attempt.worked:
            continue
        touched = not files.isdisjoint(attempt.files)
        named = attempt.command is not None and any(map(attempt.command.__contains__, names))
        if not (touched or named):
            continue
        if attempt.command and reads_only(attempt.command):
            if named:
                reads.append(attempt)
            continue
        if not touched:
            continue
        if attempt.tool == failed.tool:
            return ("command", [*reads, attempt], attempt) if reads else None
        if attempt.command is None and not attempt.edits:
            reads.append(attempt)
    return None


def _is_no_failure(attempt: Attempt) -> bool:
    """A look that found nothing, a help text, a call that was stopped."""
    if attempt.exit in _STOPPED:
        return True
    beginning = attempt.output[:500].lower()
    if any(words in beginning for words in _NOT_RUN):
        return True
    if attempt.command is None:
        return False
    if any(HELP & set(part.words) for part in steps(attempt.command)):
        return True
    if "Automatic merge failed" in attempt.output:
        return True
    if "CONFLICT (" in attempt.output and _CONFLICT.search(attempt.output):
        return True
    return reads_only(attempt.command) and not is_wrong_call(attempt)


def file_name(path: str) -> str:
    """The last part of a path, of any system."""
    return path.replace("\\", "/").rpartition("/")[2]


def _shown(attempt: Attempt) -> str:
    if attempt.command is not None:
        return attempt.command.strip()[:_COMMAND_CHARS]
    return " ".join((attempt.tool, *attempt.files[:2]))[:_COMMAND_CHARS]
