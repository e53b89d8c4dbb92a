"""Plans that write lessons into files: what changes, and what is left out or refused and why.

Files are read through a parameter, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import msgspec

from session_memory.core.text.safe_text import one_line
from session_memory.distribute.block import put_block, take_block
from session_memory.distribute.files import FileContent
from session_memory.distribute.ledger import Ledger, TargetFile
from session_memory.distribute.ownership import Blocks, pattern_ids, said_by
from session_memory.distribute.plan_builder import (
    Change,
    LeftOut,
    Plan,
    PlanBuilder,
    ReadFile,
    block_edit,
)
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
from session_memory.distribute.undo import remove_patterns
from session_memory.errors import Refused
from session_memory.settings import Distribute


class DistributeRequest(msgspec.Struct, frozen=True):
    """Which lessons to give to which repositories."""

    lessons: tuple[Lesson, ...]
    repos: tuple[Repo, ...]
    settings: Distribute = Distribute()
    default_domain: str = "default"
    on_trial: frozenset[str] = frozenset()
    only: str | None = None
    """The root of the one repository to plan for."""
    force: bool = False
    """Overwrite blocks that were edited by hand."""


def make_plan(
    request: DistributeRequest,
    ledger: Ledger,
    read: ReadFile,
    problem: Callable[[str], str | None],
) -> Plan:
    """What one run would do. `problem` says why a repository must not be written to."""
    builder = PlanBuilder(
        ledger, read, force=request.force, command="session-memory rules distribute"
    )
    targets = check_targets(request.settings.targets)
    blocks = [target for target in targets if target in block_targets()]
    skills = [target for target in targets if target in skill_targets()]
    lessons_of = _by_repo(request, builder)
    roots = {entry.place.root for entry in ledger.entries}
    for repo in sorted(request.repos, key=lambda repo: repo.root):
        lessons = lessons_of.get(repo.key, [])
        if request.only not in (None, repo.root) or not (lessons or repo.root in roots):
            continue
        if reason := problem(repo.root):
            builder.refuse(repo.root, reason)
            builder.visited |= {file for file in builder.entries if file.root == repo.root}
            continue
        long = [lesson for lesson in lessons if lesson.is_long or not blocks]
        short = [lesson for lesson in lessons if not (skills and lesson in long)]
        for target in blocks:
            _plan_block(builder, repo, target, short, request.settings)
        for target in skills:
            _plan_skills(builder, repo, target, long, request.settings)
    _plan_removals(builder, request.only, problem)
    return builder.plan()


def _by_repo(request: DistributeRequest, builder: PlanBuilder) -> dict[str, list[Lesson]]:
    """The lessons of each repository, the most valuable first."""
    by_repo: dict[str, list[Lesson]] = {}
    for lesson in request.lessons:
        keys = reach(lesson, request.repos, request.default_domain)
        if lesson.is_foreign:
            why = "it quotes the output of a tool: edit it into words of your own"
        elif lesson.id in request.on_trial:
            why = "it is under trial: half of the sessions are given it at their start"
        elif not keys:
            why = "no repository known here has shown it"
        else:
            for key in keys:
                by_repo.setdefault(key, []).append(lesson)
            continue
        builder.left_out.append(LeftOut(lesson.id, "every file", why))
    return by_repo


def _plan_block(
    builder: PlanBuilder, repo: Repo, target: str, lessons: list[Lesson], settings: Distribute
) -> None:
    path = block_file(target, lambda name: builder.read(repo.root, name).data is not None)
    file, content = TargetFile(repo.root, path), builder.read(repo.root, path)
    if (
        target == "CLAUDE.md"
        and "AGENTS.md" in settings.targets
        and imports_agents(content.data or b"")
    ):
        return  # an earlier block of ours is removed by _plan_removals
    builder.visited.add(file)
    if builder.is_planned(file, content):
        return
    try:
        blocks = builder.blocks_of(file, content)
        lines, given_ids, left = _fitting(builder, content, blocks, lessons, settings)
        after = put_block(content.data, blocks.ours, lines, builder.seal)
    except Refused as error:
        builder.refuse_error(file, error)
        return
    builder.left_out += left
    if content.data is None and not lines:
        return
    entry = builder.entries.get(file)
    is_removed = not lines and not after and entry is not None and entry.created
    builder.add(
        Change(
            place=file,
            real=content.real,
            repo=repo.key,
            kind="block",
            before=content.data,
            after=None if is_removed else after,
            patterns=given_ids,
            why=_gives(len(given_ids)) if lines else "nothing to give any more",
            edited=block_edit(blocks),
        )
    )


def _gives(count: int) -> str:
    return f"gives {count} rule{'s' * (count != 1)}"


def _fitting(
    builder: PlanBuilder,
    content: FileContent,
    blocks: Blocks,
    lessons: Sequence[Lesson],
    settings: Distribute,
) -> tuple[list[str], tuple[str, ...], list[LeftOut]]:
    """The lines that fit both limits, the most valuable first, and what is left out."""
    path = os.path.basename(content.real)
    users_text = take_block(content.data or b"", blocks.ours)
    room, limit = byte_room(path, len(users_text), settings.max_bytes)
    given_by_others = said_by(blocks.others)
    # Lessons already in our block stay although others give them too: else two stores that share a
    # file would both remove them.
    standing = pattern_ids(blocks.ours) if blocks.ours else frozenset[str]()
    lines: list[str] = []
    given_ids: list[str] = []
    left: list[LeftOut] = []
    for lesson in lessons:
        more = [*(lines or [HEAD]), bullet(lesson)]
        if lesson.id not in standing and given_by_others & {lesson.line_id, one_line(lesson.text)}:
            why = "another block of the file gives it already"
        elif len(given_ids) >= settings.max_patterns:
            why = f"distribute.max_patterns is {settings.max_patterns}"
        elif len(put_block(users_text, None, more, builder.seal)) - len(users_text) > room:
            why = limit
        else:
            lines, given_ids = more, [*given_ids, lesson.id]
            continue
        left.append(LeftOut(lesson.id, path, why))
    return lines, tuple(given_ids), left


def _plan_skills(
    builder: PlanBuilder, repo: Repo, target: str, lessons: Iterable[Lesson], settings: Distribute
) -> None:
    count = 0
    for lesson in lessons:
        path = f"{target}/{skill_name(lesson.id)}/SKILL.md"
        after = skill_file(lesson, builder.seal)
        if count >= settings.max_patterns or len(after) > settings.max_bytes:
            name = "max_patterns" if count >= settings.max_patterns else "max_bytes"
            why = f"distribute.{name} is {getattr(settings, name)}"
            builder.left_out.append(LeftOut(lesson.id, path, why))
            continue
        count += 1
        file, content = TargetFile(repo.root, path), builder.read(repo.root, path)
        builder.visited.add(file)
        if not builder.is_planned(file, content) and builder.may_write_skill(file, content):
            builder.add(
                Change(
                    place=file,
                    real=content.real,
                    repo=repo.key,
                    kind="skill",
                    before=content.data,
                    after=after,
                    patterns=(lesson.id,),
                    why="gives 1 rule",
                    edited=builder.skill_edit(file, content),
                )
            )


def _plan_removals(
    builder: PlanBuilder, only: str | None, problem: Callable[[str], str | None]
) -> None:
    """Remove what is in files that nothing is given in any more."""
    entries = sorted(builder.entries.items(), key=lambda item: (item[0].root, item[0].path))
    for file, entry in entries:
        if file in builder.visited or only not in (None, file.root):
            continue
        if reason := problem(file.root):
            builder.refuse(file.full_path, reason)
        else:
            remove_patterns(builder, entry, frozenset(entry.patterns))
