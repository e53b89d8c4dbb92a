"""What would change in which file, and what is left out or refused, with reasons.

A function of values: files are read through a parameter, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import msgspec

from session_memory.core.text.safe_text import one_line
from session_memory.distribute.block import put_block, take_block
from session_memory.distribute.draft import (
    Change,
    Draft,
    LeftOut,
    Plan,
    Read,
    Refusal,
    blocks_of,
    edit_in,
    may_write_skill,
    skill_edit,
    told,
)
from session_memory.distribute.files import Seen
from session_memory.distribute.ledger import Ledger, Place
from session_memory.distribute.ownership import Blocks, pattern_ids, said_by
from session_memory.distribute.render import HEAD, Lesson, bullet, skill_file, skill_name
from session_memory.distribute.targets import (
    Repo,
    block_file,
    block_targets,
    byte_room,
    check_targets,
    imports_agents,
    reach,
    skill_targets,
)
from session_memory.distribute.undo import taking_out
from session_memory.errors import Refused
from session_memory.settings import Distribute


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


def make_plan(
    wanted: Wanted, ledger: Ledger, read: Read, problem: Callable[[str], str | None]
) -> Plan:
    """What one run would do. `problem` tells why a repository is not to be written to."""
    draft = Draft(ledger, read, wanted.force, "session-memory distribute")
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
        long = [one for one in lessons if one.is_long or not set(targets) & set(block_targets())]
        skills = [target for target in targets if target in skill_targets()]
        short = [one for one in lessons if not (skills and one in long)]
        for target in targets:
            if target in block_targets():
                _plan_block(draft, repo, target, short, wanted.settings)
        for target in skills:
            _plan_skills(draft, repo, target, long, wanted.settings)
    _plan_leaving(draft, wanted.only, problem)
    return draft.plan()


def _by_repo(wanted: Wanted, draft: Draft) -> dict[str, list[Lesson]]:
    """The lessons of each repository, the most valuable first."""
    found: dict[str, list[Lesson]] = {}
    for lesson in wanted.lessons:
        keys = reach(lesson, wanted.repos, wanted.default_domain)
        if lesson.is_foreign:
            why = "it quotes the output of a tool: edit it into words of your own"
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
    draft: Draft, repo: Repo, target: str, lessons: list[Lesson], settings: Distribute
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
        blocks = blocks_of(draft, place, seen)
        lines, given, left = _fitting(draft, seen, blocks, lessons, settings)
        after = put_block(seen.data, blocks.ours, lines, draft.seal)
    except Refused as error:
        draft.refuse(place, told(error))
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
            *(seen.data, None if gone else after, given, why, edit_in(blocks)),
        )
    )


def _fitting(
    draft: Draft,
    seen: Seen,
    blocks: Blocks,
    lessons: Sequence[Lesson],
    settings: Distribute,
) -> tuple[list[str], tuple[str, ...], list[LeftOut]]:
    """The lines that fit both limits, the most valuable first, and what is left out."""
    path = os.path.basename(seen.real)
    users = take_block(seen.data or b"", blocks.ours)
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
    draft: Draft, repo: Repo, target: str, lessons: Iterable[Lesson], settings: Distribute
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
        if may_write_skill(draft, place, seen):
            draft.add(
                Change(
                    *(place, seen.real, repo.key, "skill"),
                    *(seen.data, after, (lesson.id,), "gives 1 pattern"),
                    skill_edit(draft, place, seen),
                )
            )


def _plan_leaving(draft: Draft, only: str | None, problem: Callable[[str], str | None]) -> None:
    """Take out what stands where nothing is to stand any more."""
    for place, entry in sorted(draft.known.items(), key=lambda item: (item[0].root, item[0].path)):
        if place in draft.visited or only not in (None, place.root):
            continue
        if reason := problem(place.root):
            draft.refused.append(Refusal(f"{place.root}/{place.path}", reason))
        else:
            taking_out(draft, entry, frozenset(entry.patterns))
