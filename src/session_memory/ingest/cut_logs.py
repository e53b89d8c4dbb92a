"""Whether a log that was replaced was only cut: then memory keeps what it said before."""

from __future__ import annotations

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.adapters.packed import unpacked_name
from session_memory.core.cursor import prefix_hashes
from session_memory.store.port import EventDraft, LostEvent

_CLOSING = b'"}]) \n'
"""What a reader may put behind the text of a record that was cut off."""


def only_grows(adapter: Adapter, file: SourceFile) -> bool:
    """Whether its agent adds to a log and takes nothing out, so that a smaller one was cut."""
    return adapter.incremental or unpacked_name(file.path).endswith(".jsonl")


def is_torn(news: list[EventDraft], lost: LostEvent | None) -> bool:
    """Whether the only event that is new is the beginning of the one that is missing."""
    if lost is None or len(news) != 1 or (news[0].kind, news[0].at) != (lost.kind, lost.at):
        return False
    return lost.text.encode().startswith(news[0].body.rstrip(_CLOSING))


def file_hashes(adapter: Adapter, file: SourceFile, end: int) -> tuple[bytes, bytes]:
    """Of the two ends of a file up to there: see core.cursor."""
    with adapter.open(file) as stream:

        def read(offset: int, length: int) -> bytes:
            stream.seek(offset)
            return stream.read(length)

        return prefix_hashes(read, end)
