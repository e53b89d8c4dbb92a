"""What would change in which file, and what is left out or refused, with reasons.

A function of values: files are read through a parameter, and nothing is written.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from session_memory.core.inserted import said_lines
from session_memory.core.safe_text import one_line
from session_memory.distribute.block import put_block, take_block
from session_memory.distribute.files import Seen
from session_memory.distribute.ledger import Entry, Ledger, Place
from session_memory.distribute.ours import (
    Blocks,
    pattern_ids,
    said_by,
    skill_state,
    sort_blocks,
)
from session_memory.distribute.render import HEAD, Lesson, bullet, gives, skill_file, skill_name
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
    left_alone: tuple[Refusal, ...] = ()
    """Blocks and skills that this store did not write."""


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

    def __init__(self, ledger: Ledger, read: Read, force: bool, command: str) -> None:
        self.known, self.seal = ledger.by_place(), ledger.seal
        self.read, self.force = read, force
        self.command = command
        """What the user typed, to say what to type instead."""
        self.changes: list[Change] = []
        self.unchanged: list[Change] = []
        self.left_out: list[LeftOut] = []
        self.refused: list[Refusal] = []
        self.left_alone: dict[Refusal, None] = {}
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

    def refuse(self, place: Place, why: str) -> None:
        """Leave a file as it is."""
        self.refused.append(Refusal(f"{place.root}/{place.path}", why))

    def leave_alone(self, place: Place, why: str) -> None:
        """Tell of something that is not ours; the rest of the file is dealt with."""
        self.left_alone[Refusal(f"{place.root}/{place.path}", why)] = None

    def edited(self, place: Place, what: str, keeping: str) -> str:
        """Why something of ours is left as somebody edited it, and what to type."""
        way = f"`{self.command} --force --repo {shlex.quote(place.root)}` overwrites the edit"
        return f"{what} was edited: {way}; {keeping}"

    def plan(self) -> Plan:
        """The finished plan."""
        return Plan(
            *(tuple(self.changes), tuple(self.unchanged)),
            *(tuple(self.left_out), tuple(self.refused), tuple(self.left_alone)),
        )


def _without(entry: Entry, seen: Seen) -> Change:
    """No change of the file; the ledger only stops naming it."""
    same = seen.data, seen.data
    return Change(entry.place, seen.real, entry.repo, entry.kind, *same, (), "nothing is there")


def make_plan(
    wanted: Wanted, ledger: Ledger, read: Read, problem: Callable[[str], str | None]
) -> Plan:
    """What one run would do. `problem` tells why a repository is not to be written to."""
    draft = _Draft(ledger, read, wanted.force, "session-memory distribute")
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
        blocks = _blocks(draft, place, seen)
        users = take_block(seen.data or b"", blocks.ours)
        lines, given, left = _fitting(draft, seen.real, blocks, users, lessons, settings)
        after = put_block(seen.data, blocks.ours, lines, draft.seal)
    except Refused as error:
        draft.refuse(place, _told(error))
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
            *(seen.data, None if gone else after, given, why, _edit(blocks)),
        )
    )


def _blocks(draft: _Draft, place: Place, seen: Seen) -> Blocks:
    """The blocks of a file; refuses one whose block of ours was edited, unless that may go."""
    if seen.problem:
        raise Refused(seen.problem)
    blocks = sort_blocks(seen.data, draft.seal, draft.known.get(place))
    for other in blocks.others:
        why = "this store did not write it; if nobody needs it, delete those lines"
        draft.leave_alone(place, f"the block in {said_lines(other.lines)} is left alone: {why}")
    if blocks.ours is not None and blocks.is_edited and not draft.force:
        what = f"the block of session-memory in {said_lines(blocks.ours.lines)}"
        keeping = "to keep your words, delete the two marker lines around them"
        raise Refused(draft.edited(place, what, keeping))
    return blocks


def _edit(blocks: Blocks) -> bytes | None:
    """What somebody wrote into our block."""
    return blocks.ours.content if blocks.ours is not None and blocks.is_edited else None


def _told(error: Refused) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


def _fitting(
    draft: _Draft,
    real: str,
    blocks: Blocks,
    users: bytes,
    lessons: Sequence[Lesson],
    settings: Distribute,
) -> tuple[list[str], tuple[str, ...], list[LeftOut]]:
    """The lines that fit both limits, the most valuable first, and what is left out."""
    path = os.path.basename(real)
    room, limit = byte_room(path, len(users), settings.max_bytes)
    said = said_by(blocks.others)
    # What we give already stays although others say it too: else two stores would both take it out.
    standing = pattern_ids(blocks.ours) if blocks.ours else frozenset[str]()
    lines: list[str] = []
    given: list[str] = []
    left: list[LeftOut] = []
    for lesson in lessons:
        more = [*(lines or [HEAD]), bullet(lesson)]
        if lesson.id not in standing and said & {lesson.line_id, one_line(lesson.text)}:
            why = "another block of the file gives it already"
        elif len(given) >= settings.max_patterns:
            why = f"distribute.max_patterns is {settings.max_patterns}"
        elif len(put_block(users, None, more, draft.seal)) - len(users) > room:
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
        after = skill_file(lesson, draft.seal)
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
        if _may_write_skill(draft, place, seen):
            draft.add(
                Change(
                    *(place, seen.real, repo.key, "skill"),
                    *(seen.data, after, (lesson.id,), "gives 1 pattern"),
                    _skill_edit(draft, place, seen),
                )
            )


def _may_write_skill(draft: _Draft, place: Place, seen: Seen) -> bool:
    """Whether a skill file is ours to write or remove; tells why where it is not."""
    if seen.problem:
        draft.refuse(place, seen.problem)
    elif seen.data is None:
        return True
    else:
        state = skill_state(seen.data, draft.seal, draft.known.get(place))
        if state == "ours" or (state == "edited" and draft.force):
            return True
        if state == "edited":
            keeping = "to keep your words, move the file to a folder of another name"
            draft.refuse(place, draft.edited(place, "the skill of session-memory", keeping))
        else:
            why = "this store did not write it; if nobody needs it, delete it"
            draft.leave_alone(place, f"the skill is left alone: {why}")
    return False


def _skill_edit(draft: _Draft, place: Place, seen: Seen) -> bytes | None:
    """A skill that somebody edited."""
    if seen.data is None:
        return None
    state = skill_state(seen.data, draft.seal, draft.known.get(place))
    return seen.data if state == "edited" else None


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
    left = tuple(name for name in entry.patterns if name not in patterns)
    if draft.is_done(place, seen):
        return
    if entry.kind == "skill":
        if not _may_write_skill(draft, place, seen):
            return
        edited, after = _skill_edit(draft, place, seen), None
    else:
        try:
            blocks = _blocks(draft, place, seen)
        except Refused as error:
            draft.refuse(place, _told(error))
            return
        edited = _edit(blocks)
        lines = _lines_left(blocks, patterns) if left else []
        after = seen.data
        if blocks.ours is None:
            left = ()
        else:
            after = put_block(seen.data, blocks.ours, lines, draft.seal)
            after = None if not after and entry.created else after
    draft.add(
        Change(
            *(place, seen.real, entry.repo, entry.kind),
            *(seen.data, after, left, "takes patterns out", edited),
        )
    )


def _lines_left(blocks: Blocks, patterns: frozenset[str]) -> list[str]:
    content = blocks.ours.content if blocks.ours else b""
    lines = content.decode("utf-8", "replace").splitlines()
    return [line for line in lines if not any(gives(line, f"sm-{name}") for name in patterns)]


def plan_undo(
    ledger: Ledger, read: Read, problem: Callable[[str], str | None], wanted: Undo
) -> Plan:
    """What taking out would change: of one repository, of one pattern, or everything."""
    draft = _Draft(ledger, read, wanted.force, "session-memory distribute undo")
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
