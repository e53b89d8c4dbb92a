"""What taking patterns out of files would change: for undo, and where nothing is to stand."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from session_memory.distribute.block import put_block
from session_memory.distribute.draft import (
    Change,
    Draft,
    Plan,
    Read,
    Refusal,
    blocks_of,
    edit_in,
    may_write_skill,
    skill_edit,
    told,
    without,
)
from session_memory.distribute.files import Seen
from session_memory.distribute.ledger import Entry, Ledger
from session_memory.distribute.ownership import Blocks
from session_memory.distribute.render import gives
from session_memory.errors import Refused


class UndoRequest(msgspec.Struct, frozen=True):
    """What is to be taken out; nothing named means everything."""

    root: str | None = None
    patterns: frozenset[str] = frozenset()
    force: bool = False


def taking_out(draft: Draft, entry: Entry, patterns: frozenset[str]) -> None:
    """Plan to take patterns out of a file; with its last one goes what came with them."""
    place = entry.place
    seen = draft.read(place.root, place.path)
    left = tuple(name for name in entry.patterns if name not in patterns)
    if draft.is_done(place, seen):
        return
    if entry.kind == "skill":
        if not may_write_skill(draft, place, seen):
            return
        edited, after = skill_edit(draft, place, seen), None
    else:
        try:
            blocks = blocks_of(draft, place, seen)
        except Refused as error:
            draft.refuse(place, told(error))
            return
        edited = edit_in(blocks)
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
    ledger: Ledger, read: Read, problem: Callable[[str], str | None], wanted: UndoRequest
) -> Plan:
    """What taking out would change: of one repository, of one pattern, or everything."""

    def choose(entry: Entry) -> frozenset[str]:
        if wanted.root not in (None, entry.place.root):
            return frozenset()
        return frozenset(entry.patterns) & (wanted.patterns or frozenset(entry.patterns))

    return plan_taking_out(ledger, read, problem, choose, wanted.force)


def plan_taking_out(
    ledger: Ledger,
    read: Read,
    problem: Callable[[str], str | None],
    choose: Callable[[Entry], frozenset[str]],
    force: bool = False,
) -> Plan:
    """What taking out the patterns that are chosen of each file would change."""
    draft = Draft(ledger, read, force, "session-memory distribute undo")
    for entry in ledger.entries:
        chosen = choose(entry)
        if not chosen:
            continue
        reason = problem(entry.place.root)
        if reason and force:  # it is not coming back: no longer speak of it
            nothing = Seen(f"{entry.place.root}/{entry.place.path}")
            draft.add(without(entry, nothing))
        elif reason:
            draft.refused.append(Refusal(f"{entry.place.root}/{entry.place.path}", reason))
        else:
            taking_out(draft, entry, chosen)
    return draft.plan()
