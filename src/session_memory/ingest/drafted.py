"""What a file says, ready for the store: made by the sweep itself or by a pool process.

Both use `draft_part`. A pool process drafts whole new files ahead of the sweep; `Prepared` is
its answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.adapters.common import (
    DAMAGE_KEPT,
    Adapter,
    Block,
    Normalized,
    SessionPart,
    SourceFile,
)
from session_memory.core.cursor import prefix_hashes
from session_memory.core.facts import Fact
from session_memory.core.pauses import Pauses, is_paused
from session_memory.file_names import name_to_text
from session_memory.ingest.normalize import Drafter, side_files_of
from session_memory.store.port import EventDraft, UsageDraft


class PartHeading(msgspec.Struct, array_like=True):
    """Which session a part belongs to, and where that ran."""

    external_id: str
    parent_external_id: str | None
    cwd: str | None
    """Stated in this part, not redacted: only for finding out whether to capture it."""
    is_own: bool
    """Its own log says so, not a stand-in for it."""
    events: int
    """Events in it, also those of pauses."""


class DraftedPart(msgspec.Struct, array_like=True):
    """One session's share of a block, redacted."""

    events: list[EventDraft]
    facts: list[Fact]
    usages: list[UsageDraft]


class PreparedPart(msgspec.Struct, array_like=True):
    """A part that a pool process drafted, and what it redacted there, by rule."""

    heading: PartHeading
    drafted: DraftedPart
    redactions: dict[str, int]


class BlockFigures(msgspec.Struct, array_like=True):
    """What the sweep counts and keeps of a block besides its sessions; see `Normalized`."""

    end: int
    size: int
    damaged: list[int]
    state: dict[str, Any]
    records: int
    parse_errors: int
    recovered: int
    incomplete_tail: int
    too_long: int
    ignored: dict[str, int]
    missing: dict[str, int]
    unknown: list[tuple[str, str, int]]
    """Version, what and how often."""
    cut: str = ""
    """See `Block`."""

    @classmethod
    def of(cls, block: Block, normalized: Normalized) -> BlockFigures:
        """The figures of a block that was parsed."""
        return cls(
            block.end,
            block.end - block.start + (len(block.tail[1]) if block.tail else 0),
            [*normalized.damaged, *block.long_lines[:DAMAGE_KEPT]],
            normalized.state,
            normalized.records,
            normalized.parse_errors,
            normalized.recovered,
            normalized.incomplete_tail,
            normalized.too_long,
            normalized.ignored,
            normalized.missing,
            [(*what, count) for what, count in normalized.unknown.items()],
            block.cut,
        )


class PreparedBlock(msgspec.Struct, array_like=True):
    """A block that a pool process read."""

    figures: BlockFigures
    hashes: tuple[bytes, bytes]
    """Of the file's two ends up to the end of the block: see core.cursor."""
    parts: list[PreparedPart]


Prepared = list[PreparedBlock]
"""A whole file."""


def heading_of(part: SessionPart) -> PartHeading:
    """The heading of a part as the adapter gave it."""
    parent, cwd = part.parent_external_id, None
    is_own = True
    for fact in part.facts:
        if fact.name == "cwd" and cwd is None and isinstance(fact.value, str):
            cwd = name_to_text(fact.value)
        is_own = is_own and fact.name != "stand_in"
    return PartHeading(
        name_to_text(part.external_id),
        None if parent is None else name_to_text(parent),
        cwd,
        is_own,
        len(part.events),
    )


def draft_part(
    drafter: Drafter, adapter: Adapter, file: SourceFile, part: SessionPart, turns: list[str]
) -> DraftedPart:
    """Redact a part; `turns` carries the latest turns of its session on."""
    events = drafter.events(adapter.name, part, turns, side_files_of(file.path))
    usages = [drafter.usage(adapter.name, usage) for usage in part.usages]
    return DraftedPart(events, drafter.facts(part), usages)


def without_pauses(part: SessionPart, pauses: Pauses) -> SessionPart:
    """A part without what happened while capture was paused."""
    if not pauses:
        return part
    return msgspec.structs.replace(
        part,
        events=[event for event in part.events if not is_paused(pauses, event.at)],
        usages=[usage for usage in part.usages if not is_paused(pauses, usage.at)],
    )


def prepare(
    drafter: Drafter, pauses: Pauses, adapter: Adapter, file: SourceFile, line_cap: int
) -> Iterator[PreparedBlock]:
    """Read and draft a file that no sweep has read before."""
    state: dict[str, object] = {}
    turns: dict[str, list[str]] = {}
    with adapter.open(file) as stream:

        def read(offset: int, length: int) -> bytes:
            stream.seek(offset)
            return stream.read(length)

        for block in adapter.read(file, 0, line_cap):
            normalized = adapter.parse(file, block, state)
            state = normalized.state
            parts: list[PreparedPart] = []
            for raw in normalized.sessions:
                heading = heading_of(raw)
                raw.external_id = heading.external_id
                before = turns.setdefault(raw.external_id, [])
                drafted = draft_part(drafter, adapter, file, without_pauses(raw, pauses), before)
                for draft in drafted.events:
                    draft.text = None  # the answer would be twice as long
                parts.append(PreparedPart(heading, drafted, drafter.redactor.take_counts()))
            yield PreparedBlock(
                BlockFigures.of(block, normalized), prefix_hashes(read, block.end), parts
            )
