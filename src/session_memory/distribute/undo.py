"""Plans that remove patterns from files: for undo, for forget, and where nothing is given now."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from session_memory.distribute.block import put_block
from session_memory.distribute.files import FileContent
from session_memory.distribute.ledger import Entry, Ledger
from session_memory.distribute.ownership import Blocks
from session_memory.distribute.plan_builder import Change, Plan, PlanBuilder, ReadFile, block_edit
from session_memory.distribute.render import gives
from session_memory.errors import Refused


class UndoRequest(msgspec.Struct, frozen=True):
    """What to remove; nothing named means everything."""

    root: str | None = None
    patterns: frozenset[str] = frozenset()
    force: bool = False


def plan_undo(
    ledger: Ledger, read: ReadFile, problem: Callable[[str], str | None], request: UndoRequest
) -> Plan:
    """Remove the patterns of one repository, one pattern, or everything."""

    def choose(entry: Entry) -> frozenset[str]:
        if request.root not in (None, entry.place.root):
            return frozenset()
        return frozenset(entry.patterns) & (request.patterns or frozenset(entry.patterns))

    return plan_removal(ledger, read, problem, choose, force=request.force)


def plan_removal(
    ledger: Ledger,
    read: ReadFile,
    problem: Callable[[str], str | None],
    choose: Callable[[Entry], frozenset[str]],
    *,
    force: bool = False,
) -> Plan:
    """Remove the patterns that `choose` names for each file."""
    builder = PlanBuilder(ledger, read, force=force, command="session-memory rules withdraw")
    for entry in ledger.entries:
        patterns = choose(entry)
        if not patterns:
            continue
        reason = problem(entry.place.root)
        if reason and force:  # the repository no longer exists: only drop the entry of the file
            builder.drop_entry(entry, FileContent(entry.place.full_path))
        elif reason:
            builder.refuse(entry.place.full_path, reason)
        else:
            remove_patterns(builder, entry, patterns)
    return builder.plan()


def remove_patterns(builder: PlanBuilder, entry: Entry, patterns: frozenset[str]) -> None:
    """Plan to remove patterns from a file; a file that we created goes with the last of them."""
    file = entry.place
    content = builder.read(file.root, file.path)
    left = tuple(name for name in entry.patterns if name not in patterns)
    if builder.is_planned(file, content):
        return
    if entry.kind == "skill":
        if not builder.may_write_skill(file, content):
            return
        edited, after = builder.skill_edit(file, content), None
    else:
        try:
            blocks = builder.blocks_of(file, content)
        except Refused as error:
            builder.refuse_error(file, error)
            return
        edited, after = block_edit(blocks), content.data
        if blocks.ours is None:
            left = ()
        else:
            lines = _lines_without(blocks, patterns) if left else []
            after = put_block(content.data, blocks.ours, lines, builder.seal)
            after = None if not after and entry.created else after
    builder.add(
        Change(
            place=file,
            real=content.real,
            repo=entry.repo,
            kind=entry.kind,
            before=content.data,
            after=after,
            patterns=left,
            why="its rules were removed",
            edited=edited,
        )
    )


def _lines_without(blocks: Blocks, patterns: frozenset[str]) -> list[str]:
    content = blocks.ours.content if blocks.ours else b""
    lines = content.decode("utf-8", "replace").splitlines()
    return [line for line in lines if not any(gives(line, f"sm-{name}") for name in patterns)]
