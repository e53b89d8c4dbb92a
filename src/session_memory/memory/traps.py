"""Traps: calls that fail in this project, and what works instead, by the cures in its digests.

What works has to do the same job as what failed: the same call with another program, flag, quoting
or directory, where everything that is missing from it was named in the error. The use of a common
tool is shown from two sessions on. What an edit mended is history, what passes by itself, such as a
rejected push, is no trap, and that a fresh checkout needs its dependencies is known to everybody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from session_memory.core.commands import reads_only, words
from session_memory.core.schema import Cure
from session_memory.core.text.masks import excerpt
from session_memory.core.typed_commands import directory_of, typed_command
from session_memory.distil.lasting import (
    COMMAND_CHARS,
    is_about_usage,
    is_editor_call,
    mends,
    names_a_file,
    passes_by_itself,
    proves_install,
)
from session_memory.memory.known_session import KnownSession
from session_memory.memory.statements import Statement
from session_memory.memory.wording import code

MAX_TRAPS = 8
_ERROR_CHARS = 100
_STALE_AFTER = 20
_NO_MATCHES = re.compile(r"no matches found")
_INSTALLS_ALL = re.compile(
    r"(?:\w+=\S+ )*(?:(?:npm|pnpm|yarn|bun) (?:ci|i|install)|yarn|pip3? install (?:-e|-r) \S+"
    r"|(?:uv|poetry|pdm) (?:sync|install)|(?:bundle|composer|mise) install|cargo fetch"
    r"|go mod (?:download|tidy)|dotnet restore)(?: -\S+)*"
)
_WRAPPERS = words("npx bunx pnpx uvx sudo env command exec run x dlx --yes -y --")
_TASK_RUNNERS = words("npm pnpm yarn bun make just task rake gradle mvn turbo nx mise pixi poe")
_ASSIGNMENT = re.compile(r"^\w+=")
_VERSION = re.compile(r"(?<=\w)@[\w.^~-]+$")


class _Met(msgspec.Struct, frozen=True):
    """A session that fell into a trap and got out of it."""

    session: KnownSession
    cure: Cure

    @property
    def failed(self) -> str:
        return typed_command(self.cure.failed)

    @property
    def works(self) -> str:
        return typed_command(self.cure.steps[-1])

    @property
    def directory(self) -> str:
        return directory_of(self.cure.steps[-1], self.session.roots)

    @property
    def mends(self) -> bool:
        """The cure mends what a check found."""
        return mends(self.cure)


class Traps(msgspec.Struct, frozen=True):
    """The traps to include, and the others with the reason."""

    included: tuple[Statement, ...] = ()
    left_out: tuple[Statement, ...] = ()


def find_traps(sessions: Sequence[KnownSession]) -> Traps:
    """The traps of sessions, which are given newest first."""
    groups: dict[str, list[_Met]] = {}
    for session in sessions:
        for cure in session.digest.cures:
            if cure.sample and cure.steps and not is_editor_call(cure.failed):
                met = _Met(session, cure)
                groups.setdefault(_key(met), []).append(met)
    included: list[Statement] = []
    left_out: list[Statement] = []
    for key, group in sorted(groups.items(), key=lambda each: -_sessions(each[1])):
        reason = _why_not(group, sessions)
        if not reason and len(included) >= MAX_TRAPS:
            reason = "others were met more often"
        (left_out if reason else included).append(_statement(key, group, sessions, reason))
    return Traps(tuple(included), tuple(left_out))


def _key(met: _Met) -> str:
    if _NO_MATCHES.search(met.cure.sample):
        return "the shell's quoting"
    if met.mends:  # whatever the check found
        return f"found by {met.failed}"
    return f"{met.failed.partition(' ')[0]}: {met.cure.error or met.failed}"


def _sessions(group: Sequence[_Met]) -> int:
    return len({met.session.id for met in group})


def _why_not(group: Sequence[_Met], sessions: Sequence[KnownSession]) -> str:
    """Why a trap is left out; "" if it is not."""
    newest = group[0]
    best = _best(group)
    if newest.cure.kind == "edit":
        return "an edit mended it"
    if passes_by_itself(newest.cure.sample):
        return "it passes by itself"
    if _NO_MATCHES.search(newest.cure.sample):
        return ""  # every session of the project has this shell
    if max(len(best.failed), len(best.works)) > COMMAND_CHARS or "\n" in best.cure.failed.strip():
        return "the command is too long to be typed again"
    if " && " in best.failed and _sessions(group) < 2:
        return "a chain of commands that one session put together"
    if best.failed == best.works and not best.directory:
        return "the same command worked later"
    if not best.mends and newest.cure.kind != "install":
        worked = _worked_since(best.failed, newest.session, sessions)
        if worked is not None:
            return f"{code(best.failed)} worked in {worked.thread[:8]}, {worked.day}"
    if _fell_out_of_use(best.failed, newest.session, sessions):
        return f"its program was not run in the last {_STALE_AFTER} sessions or more"
    if best.cure.kind == "install" and _INSTALLS_ALL.fullmatch(best.works):
        return "every fresh checkout needs its dependencies"
    if not proves_install(best.cure):
        return "another command than the one that failed worked after the install"
    if best.cure.kind == "install" and not _supplies(best):
        return "the error does not name what was installed"
    if best.cure.kind == "command" and not best.mends and not _does_the_same(best):
        return "what worked does another job than what failed"
    if best.mends and best.works.partition(" ")[0] not in _TASK_RUNNERS:
        return "everybody who knows the tool knows how it mends what it finds"
    about_file = any(names_a_file(f"- {word}") for word in _left_out(best))
    if _sessions(group) < 2 and (about_file or (best.mends and names_a_file(best.failed))):
        return "it is about single files"
    if _sessions(group) < 2 and (reads_only(best.failed) or "--version" in best.failed.split()):
        return "only one session met it, and the call only looks"
    if _sessions(group) < 2 and is_about_usage(best.cure):
        return "only one session met it, and it is about the use of a common tool"
    return ""


def _does_the_same(met: _Met) -> bool:
    """Whether all that was left out of the call is its program, or is named by the error."""
    failed = _arguments(met.failed)
    dropped = [word for word in _left_out(met) if not _is_named(_name(word), met.cure.sample)]
    return not dropped or (dropped == failed[:1] and len(failed) > 1)


def _left_out(met: _Met) -> list[str]:
    works = _arguments(met.works)
    return [word for word in _arguments(met.failed) if word not in works]


def _is_named(name: str, error: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", error.lower()) is not None


def _arguments(command: str) -> list[str]:
    """The words of a call without what only wraps it: `npx`, `NAME=value`, a version, quotes."""
    bare = (_VERSION.sub("", word.strip("'\"")) for word in command.split())
    return [word for word in bare if word not in _WRAPPERS and not _ASSIGNMENT.match(word)]


def _name(word: str) -> str:
    return word.lstrip("-").partition("=")[0].lower()


def _supplies(met: _Met) -> bool:
    """Whether the error names what was installed."""
    error = met.cure.sample.lower()
    error_words = [word for word in re.findall(r"\w+", error) if len(word) > 3]
    installed = [word.lower() for word in met.works.split()[2:] if not word.startswith("-")]
    return any(word in error or any(part in word for part in error_words) for word in installed)


def _worked_since(
    failed: str, last: KnownSession, sessions: Sequence[KnownSession]
) -> KnownSession | None:
    """The newest session after the trap was last met in which the call that fails worked."""
    for session in sessions:
        if session.at <= last.at:
            return None
        for run in session.digest.commands:
            if not run.is_error and not run.denied and typed_command(run.command) == failed:
                return session
    return None


def _fell_out_of_use(failed: str, last: KnownSession, sessions: Sequence[KnownSession]) -> bool:
    """Whether many sessions since the trap was last met did without its program."""
    since = [session for session in sessions if session.at > last.at]
    program = failed.partition(" ")[0]
    return len(since) >= _STALE_AFTER and not any(
        program in typed_command(run.command).split() for s in since for run in s.digest.commands
    )


def _best(group: Sequence[_Met]) -> _Met:
    """The shortest form of the call says best what fails."""
    return min(group, key=lambda met: len(met.failed))


def _met_in(group: Sequence[_Met], sessions: Sequence[KnownSession]) -> list[KnownSession]:
    """The sessions that met it, newest first; the shell's quoting also where none got out of it."""
    ids = {met.session.id for met in group}
    if _NO_MATCHES.search(group[0].cure.sample):
        ids |= {
            s.id for s in sessions if any(_NO_MATCHES.search(e.sample) for e in s.digest.errors)
        }
    return sorted((s for s in sessions if s.id in ids), key=lambda session: -session.at)


def _statement(
    key: str, group: Sequence[_Met], sessions: Sequence[KnownSession], note: str
) -> Statement:
    best, met_in = _best(group), _met_in(group, sessions)
    newest, count = met_in[0], len(met_in)
    often = "1 session" if count == 1 else f"{count} sessions, last"
    step = best.cure.step_seqs[-1] if best.cure.step_seqs else best.cure.proof_seq
    return Statement(
        f"{_text(best)}; met in {often} {newest.day}",
        tuple(session.thread for session in met_in),
        (best.session.event(best.cure.error_seq), best.session.event(step)),
        at=newest.at,
        note=note,
        key=f"trap {key}",
    )


def _text(met: _Met) -> str:
    error = excerpt(met.cure.sample, _ERROR_CHARS)
    works = code(met.works) + (f" in {code(met.directory)}" if met.directory else "")
    if _NO_MATCHES.search(met.cure.sample):
        return "The shell is zsh: quote arguments that contain ?, *, [ or ]"
    if met.cure.kind == "edit":
        return f"{code(met.failed)} failed ({error}); an edit mended it"
    if met.mends:
        return f"What {code(met.failed)} finds, {works} mends"
    if met.cure.kind == "install":
        return f"In a fresh checkout run {works} before {code(met.failed)} (else: {error})"
    if met.failed == met.works and met.directory:
        return f"{code(met.failed)} fails elsewhere ({error}); run it in {code(met.directory)}"
    return f"{code(met.failed)} fails here ({error}); use {works}"
