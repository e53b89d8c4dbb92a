"""Cursor's sessions: finds them in its three stores and reads them.

One session can be in more than one store, under the same id. The editor's has times and results,
that of the command line mostly so, a transcript neither: the best of them counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from session_memory.adapters.common import Adapter, Block, IsKnown, Json, Normalized, SourceFile
from session_memory.adapters.cursor import AGENT, chats, composers, transcripts
from session_memory.adapters.whole_log import line_log_adapter, made_lines_adapter


def discover(root: str, is_known: IsKnown | None = None) -> Iterator[SourceFile]:
    """Every session of every store."""
    yield from transcripts.discover(root)
    yield from chats.discover(root)
    yield from composers.discover(root, is_known)


_LINES = line_log_adapter(
    AGENT,
    discover=discover,
    is_record=transcripts.is_message,
    is_whole=transcripts.is_line,
    emit=transcripts.emit,
    side_files=transcripts.existing_folder,
)
_TEXTS = made_lines_adapter(
    AGENT,
    discover=discover,
    lines=transcripts.text_lines,
    emit=lambda source, records, bundle: transcripts.emit(source, records, bundle, {}),
)
_CHATS = made_lines_adapter(AGENT, discover=discover, lines=chats.lines, emit=chats.emit)
_COMPOSERS = made_lines_adapter(
    AGENT, discover=discover, lines=composers.lines, emit=composers.emit
)


def _store(file: SourceFile) -> Adapter:
    path = file.path.replace("\\", "/")
    if path.endswith(".txt"):
        return _TEXTS
    if path.endswith(f"/{chats.STORE}"):
        return _CHATS
    return _COMPOSERS if f"/{composers.STORE}" in path else _LINES


def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
    """A session of any store."""
    return _store(file).read(file, offset, line_cap)


def open_lines(file: SourceFile) -> BinaryIO:
    """The bytes that offsets count in."""
    return _store(file).open(file)


def parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """What a session says."""
    return _store(source).parse(source, block, state)


ADAPTER = msgspec.structs.replace(
    _LINES, read=read, open=open_lines, parse=parse, discover_changed=discover
)
