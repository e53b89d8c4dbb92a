"""Which blocks and skills are ours, which of them were edited, and which are others'. Pure.

A block is ours if its marker carries the name of this store, and unchanged if its seal fits: only
the key in our ledger can make that seal. Other blocks may be a teammate's, committed to the
repository, or our own from a ledger that was lost. We cannot tell which, so we touch neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from session_memory.core.text.inserted import said_lines
from session_memory.core.text.seal import Seal
from session_memory.distribute.block import (
    VERSION,
    Block,
    Marker,
    find_blocks,
    plain_hash,
    read_marker,
)
from session_memory.distribute.ledger import Entry
from session_memory.errors import Refused

_LINE = re.compile(r"- (?P<text>.*) \[sm-(?P<id>[a-z0-9_-]+)\]\s*")
_SKILL_HEAD = re.compile(rb"^<!-- session-memory:begin [^\n]*-->\r?\n", re.MULTILINE)


class Blocks(msgspec.Struct, frozen=True):
    """The blocks of a file, sorted by who wrote them."""

    ours: Block | None = None
    is_edited: bool = False
    others: tuple[Block, ...] = ()


def sort_blocks(data: bytes | None, seal: Seal, entry: Entry | None) -> Blocks:
    """Separate our block from others; raises Refused where that is not clear."""
    blocks = find_blocks(data or b"")
    mine = [block for block in blocks if block.marker.by == seal.name] or _older(blocks, entry)
    if len(mine) > 1:
        places = " and ".join(said_lines(block.lines) for block in mine)
        hint = "delete all but one of them, markers included"
        raise Refused(f"session-memory has {len(mine)} blocks here: {places}", hint=hint)
    if not mine:
        return Blocks(others=blocks)
    ours = mine[0]
    if ours.marker.version > VERSION:
        raise Refused("a newer version of session-memory wrote the block", hint="upgrade it")
    others = tuple(block for block in blocks if block is not ours)
    return Blocks(ours, not _is_as_written(ours.marker, ours.content, seal), others)


SkillState = Literal["ours", "edited", "theirs"]


def skill_state(data: bytes, seal: Seal, entry: Entry | None) -> SkillState:
    """Who wrote a skill file, and whether it is unchanged."""
    head = _SKILL_HEAD.search(data)
    marker = read_marker(head[0]) if head else None
    if head is None or marker is None:
        return "edited" if entry else "theirs"
    old = marker.version == 1 and entry is not None and entry.marker == 1
    if marker.by != seal.name and not old:
        return "theirs"
    content = data[: head.start()] + data[head.end() :]
    return "ours" if _is_as_written(marker, content, seal) else "edited"


def pattern_ids(block: Block) -> frozenset[str]:
    """Patterns that the lines of a block give."""
    return frozenset(match["id"] for match in _given(block))


def said_by(blocks: Iterable[Block]) -> frozenset[str]:
    """What blocks already give: the ids and the texts of their lines."""
    lines = [match for block in blocks for match in _given(block)]
    return frozenset(text for match in lines for text in (f"sm-{match['id']}", match["text"]))


def _given(block: Block) -> list[re.Match[str]]:
    text = block.content.decode("utf-8", "replace")
    return [match for line in text.splitlines() if (match := _LINE.fullmatch(line))]


def _older(blocks: Iterable[Block], entry: Entry | None) -> list[Block]:
    """Blocks of version 1, which name no writer, where our ledger has one.

    An unchanged block must give what the ledger says; an edited one cannot be checked.
    """
    if entry is None or entry.marker != 1:
        return []
    return [
        block
        for block in blocks
        if block.marker.version == 1
        and (
            pattern_ids(block) <= set(entry.patterns)
            or plain_hash(block.content) != block.marker.seal
        )
    ]


def _is_as_written(marker: Marker, content: bytes, seal: Seal) -> bool:
    if marker.version == 1:
        return plain_hash(content) == marker.seal
    return seal.fits(content, marker.seal)
