"""What would change in which file, and what is left out or refused, with reasons.

A function of values: files are read through a parameter, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from session_memory.distribute.block import find_block, put_block
from session_memory.distribute.files import Seen
from session_memory.distribute.ledger import Entry, Ledger, Place
from session_memory.distribute.render import (
    HEAD,
    Lesson,
    bullet,
    is_own_skill,
    skill_file,
    skill_name,
)
from session_memory.distribute.targets import (
    BLOCK_TARGETS,
    SKILL_TARGETS,
    Repo,
    block_file,
    byte_room,
    check_targets,
    imports_agents,
    reach,
)
from session_memory.errors import Refused
from session_memory.settings import Distribute

Read = Callable[[str, str], Seen]
"""(root, path below it) -> the file as it is."""


class Change(msgspec.Struct, frozen=True):
    """One file before and after."""

    place: Place
    real: str
    repo: str
    kind: Literal["block", "skill"]
    before: bytes | None
    after: bytes | None
    patterns: tuple[str, ...]
    why: str
    edited: bytes | None = None
    """What somebody had written into our block, where it is overwritten on request."""


class LeftOut(msgspec.Struct, frozen=True):
    """A pattern that does not go where it could have gone."""

    pattern: str
    where: str
    why: str


class Refusal(msgspec.Struct, frozen=True):
    """A file or repository that is not touched."""

    where: str
    why: str


class Plan(msgspec.Struct, frozen=True):
    """Everything one run would do."""

    changes: tuple[Change, ...] = ()
    unchanged: tuple[Change, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    refused: tuple[Refusal, ...] = ()


class Wanted(msgspec.Struct, frozen=True):
    """What is to be given, and to whom."""

    lessons: tuple[Lesson, ...]
    repos: tuple[Repo, ...]
    settings: Distribute = Distribute()
    default_domain: str = "default"
    on_trial: frozenset[str] = frozenset()
    only: str | None = None
    """The root of the one repository to look at."""
    force: bool = False
    """Overwrite blocks that somebody edited."""


class _Draft:
    """A plan in the making."""

    def __init__(self, ledger: Ledger, read: Read, force: bool) -> None:
        self.known = ledger.by_place()
        self.read, self.force = read, force
        self.changes: list[Change] = []
        self.unchanged: list[Change] = []
        self.left_out: list[LeftOut] = []
        self.refused: list[Refusal] = []
        self.visited: set[Place] = set()
        self._done: set[str] = set()

    def add(self, change: Change) -> None:
        """Keep what changes apart from what is as it should be."""
        (self.unchanged if change.before == change.after else self.changes).append(change)

    def is_done(self, place: Place, seen: Seen) -> bool:
        """Whether a file was planned by another name, which is a link to it; then one will do."""
        if seen.real not in self._done:
            self._done.add(seen.real)
            return False
        if entry := self.known.get(place):
            self.add(_without(entry, seen))
        return True

    def plan(self) -> Plan:
        """The finished plan."""
        return Plan(
            tuple(self.changes), tuple(self.unchanged), tuple(self.left_out), tuple(self.refused)
        )


def _without(entry: Entry, seen: Seen) -> Change:
    """No change of the file; the ledger only stops naming it."""
    same = seen.data, seen.data
    return Change(entry.place, seen.real, entry.repo, entry.kind, *same, (), "nothing is there")


def make_plan(
    wanted: Wanted, ledger: Ledger, read: Read, problem: Callable[[str], str | None]
) -> Plan:
    """What one run would do. `problem` tells why a repository is not to be written to."""
    draft = _Draft(ledger, read, wanted.force)
    targets = check_targets(wanted.settings.targets)
    for_repo = _by_repo(wanted, draft)
    known_roots = {entry.place.root for entry in ledger.entries}
    for repo in sorted(wanted.repos, key=lambda repo: repo.root):
        lessons = for_repo.get(repo.key, [])
        if wanted.only not in (None, repo.root) or not (lessons or repo.root in known_roots):
            continue
        if reason := problem(repo.root):
            draft.refused.append(Refusal(repo.root, reason))
            draft.visited |= {place for place in draft.known if place.root == repo.root}
            continue
        long = [one for one in lessons if one.is_long or not set(targets) & set(BLOCK_TARGETS)]
        skills = [target for target in targets if target in SKILL_TARGETS]
        short = [one for one in lessons if not (skills and one in long)]
        for target in targets:
            if target in BLOCK_TARGETS:
                _plan_block(draft, repo, target, short, wanted.settings)
        for target in skills:
            _plan_skills(draft, repo, target, long, wanted.settings)
    _plan_leaving(draft, wanted.only, problem)
    return draft.plan()


def _by_repo(wanted: Wanted, draft: _Draft) -> dict[str, list[Lesson]]:
    """The lessons of each repository, the most valuable first."""
    found: dict[str, list[Lesson]] = {}
    for lesson in wanted.lessons:
        keys = reach(lesson, wanted.repos, wanted.default_domain)
        if lesson.is_foreign:
            why = "it quotes what a tool said: edit it into words of your own"
        elif lesson.id in wanted.on_trial:
            why = "it is under trial: half of the sessions are given it at their start"
        elif not keys:
            why = "no repository known here has shown it"
        else:
            for key in keys:
                found.setdefault(key, []).append(lesson)
            continue
        draft.left_out.append(LeftOut(lesson.id, "every file", why))
    return found


def _plan_block(
    draft: _Draft, repo: Repo, target: str, lessons: list[Lesson], settings: Distribute
) -> None:
    path = block_file(target, lambda name: draft.read(repo.root, name).data is not None)
    place, seen = Place(repo.root, path), draft.read(repo.root, path)
    if (
        target == "CLAUDE.md"
        and "AGENTS.md" in settings.targets
        and imports_agents(seen.data or b"")
    ):
        return  # the block that it may have had goes below, with what is not visited
    draft.visited.add(place)
    if draft.is_done(place, seen):
        return
    try:
        edited = _own_part(draft, seen)
        users = put_block(seen.data, ())
        lines, given, left = _fitting(seen.real, users, lessons, settings)
        after = put_block(seen.data, lines)
    except Refused as error:
        draft.refused.append(Refusal(f"{repo.root}/{path}", error.message))
        return
    draft.left_out += left
    if seen.data is None and not lines:
        return
    entry = draft.known.get(place)
    gone = not lines and not after and entry is not None and entry.created
    why = f"gives {len(given)} patterns" if lines else "nothing to give any more"
    draft.add(
        Change(
            *(place, seen.real, repo.key, "block"),
            *(seen.data, None if gone else after, given, why, edited),
        )
    )


def _own_part(draft: _Draft, seen: Seen) -> bytes | None:
    """What somebody wrote into our block; refused unless it may be overwritten."""
    if seen.problem:
        raise Refused(seen.problem)
    known = find_block(seen.data or b"")
    if known is None or not known.is_edited:
        return None
    if not draft.force:
        raise Refused("somebody edited the block of session-memory; --force overwrites the edit")
    return known.content


def _fitting(
    real: str, users: bytes, lessons: Sequence[Lesson], settings: Distribute
) -> tuple[list[str], tuple[str, ...], list[LeftOut]]:
    """The lines that fit both limits, the most valuable first, and what is left out."""
    path = os.path.basename(real)
    room, limit = byte_room(path, len(users), settings.max_bytes)
    lines: list[str] = []
    given: list[str] = []
    left: list[LeftOut] = []
    for lesson in lessons:
        more = [*(lines or [HEAD]), bullet(lesson)]
        if len(given) >= settings.max_patterns:
            why = f"distribute.max_patterns is {settings.max_patterns}"
        elif len(put_block(users, more)) - len(users) > room:
            why = limit
        else:
            lines, given = more, [*given, lesson.id]
            continue
        left.append(LeftOut(lesson.id, path, why))
    return lines, tuple(given), left


def _plan_skills(
    draft: _Draft, repo: Repo, target: str, lessons: Iterable[Lesson], settings: Distribute
) -> None:
    given = 0
    for lesson in lessons:
        path = f"{target}/{skill_name(lesson.id)}/SKILL.md"
        after = skill_file(lesson)
        if given >= settings.max_patterns or len(after) > settings.max_bytes:
            count = given >= settings.max_patterns
            name = "max_patterns" if count else "max_bytes"
            why = f"distribute.{name} is {getattr(settings, name)}"
            draft.left_out.append(LeftOut(lesson.id, path, why))
            continue
        given += 1
        place, seen = Place(repo.root, path), draft.read(repo.root, path)
        draft.visited.add(place)
        if draft.is_done(place, seen):
            continue
        if reason := _skill_problem(seen, draft.force):
            draft.refused.append(Refusal(f"{repo.root}/{path}", reason))
            continue
        own = seen.data is None or is_own_skill(seen.data)
        draft.add(
            Change(
                *(place, seen.real, repo.key, "skill"),
                *(seen.data, after, (lesson.id,), "gives 1 pattern", None if own else seen.data),
            )
        )


def _skill_problem(seen: Seen, force: bool) -> str | None:
    if seen.problem or seen.data is None or force or is_own_skill(seen.data):
        return seen.problem
    return "somebody edited the skill of session-memory; --force overwrites the edit"


def _plan_leaving(draft: _Draft, only: str | None, problem: Callable[[str], str | None]) -> None:
    """Take out what stands where nothing is to stand any more."""
    for place, entry in sorted(draft.known.items(), key=lambda item: (item[0].root, item[0].path)):
        if place in draft.visited or only not in (None, place.root):
            continue
        if reason := problem(place.root):
            draft.refused.append(Refusal(f"{place.root}/{place.path}", reason))
        else:
            taking_out(draft, entry, frozenset(entry.patterns))


def taking_out(draft: _Draft, entry: Entry, patterns: frozenset[str]) -> None:
    """Plan to take patterns out of a file; with its last one goes what came with them."""
    place = entry.place
    seen = draft.read(place.root, place.path)
    where = f"{place.root}/{place.path}"
    left = tuple(name for name in entry.patterns if name not in patterns)
    if draft.is_done(place, seen):
        return
    if entry.kind == "skill":
        reason = _skill_problem(seen, draft.force)
        edited = None if seen.data is None or is_own_skill(seen.data) else seen.data
        after: bytes | None = None
    else:
        try:
            reason, edited = None, _own_part(draft, seen)
            after = put_block(seen.data, _lines_left(seen.data or b"", patterns) if left else ())
        except Refused as error:
            reason, edited, after = error.message, None, None
        if seen.data is None or (not after and entry.created):
            after = None
    if reason:
        draft.refused.append(Refusal(where, reason))
        return
    draft.add(
        Change(
            *(place, seen.real, entry.repo, entry.kind),
            *(seen.data, after, left, "takes patterns out", edited),
        )
    )


def _lines_left(data: bytes, patterns: frozenset[str]) -> list[str]:
    known = find_block(data)
    lines = known.content.decode("utf-8", "replace").splitlines() if known else []
    ends = tuple(f"[sm-{name}]" for name in patterns)
    return [line for line in lines if not line.rstrip().endswith(ends)]


def plan_undo(
    ledger: Ledger, read: Read, problem: Callable[[str], str | None], wanted: Undo
) -> Plan:
    """What taking out would change: of one repository, of one pattern, or everything."""
    draft = _Draft(ledger, read, wanted.force)
    for entry in ledger.entries:
        chosen = frozenset(entry.patterns) & (wanted.patterns or frozenset(entry.patterns))
        if wanted.root not in (None, entry.place.root) or not chosen:
            continue
        reason = problem(entry.place.root)
        if reason and wanted.force:  # it is not coming back: no longer speak of it
            nothing = Seen(f"{entry.place.root}/{entry.place.path}")
            draft.add(_without(entry, nothing))
        elif reason:
            draft.refused.append(Refusal(f"{entry.place.root}/{entry.place.path}", reason))
        else:
            taking_out(draft, entry, chosen)
    return draft.plan()


class Undo(msgspec.Struct, frozen=True):
    """What is to be taken out; nothing named means everything."""

    root: str | None = None
    patterns: frozenset[str] = frozenset()
    force: bool = False
