"""The words under which an item is found: the same as in a local store.

The words come from the tokenizer of the local index itself, so both always agree on them.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, cast

import apsw
import msgspec

from session_memory.core.index_text import BEFORE, index_text, is_turn, window_text
from session_memory.core.schema import EventKind, ToolClass
from session_memory.core.sharing.wire import EventBody
from session_memory.core.text.searchable import searchable

EVENT, TURN, LESSON = 1, 2, 3
"""The fields of the index: events alone, turns with the two before them, lessons."""
MOST_OFTEN = 127
"""At most this many occurrences in a document count; BM25 scores barely differ above it."""
MOST_DOCUMENTS = 255
"""In one run: numbers of documents and occurrences share 15 bits."""
_TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])
MOST_WORDS = 65_535
"""A longer document counts as this long: lengths have 16 bits."""
FEW_HITS = 2
"""Documents of a posting that are not listed as bits too."""
MAX_TERM = 200
"""Longer words are noise, and an index entry has a limit."""

_local = threading.local()


class Run(msgspec.Struct, frozen=True):
    """The documents of one item in one field, and where each word stands."""

    field: int
    seqs: list[int]
    """The event of each document; of a lesson 0."""
    lengths: list[int]
    """How many words each document has."""
    postings: dict[str, list[int]]
    """Word to (words of the document << 15) + (document << 7) + how often."""
    times: list[int | None]
    """When each document was written, where that is known."""
    stems: list[str]
    """The words of each document in their order; of events alone."""


class _Document(NamedTuple):
    """A text that is indexed as one document."""

    seq: int
    at: int | None
    text: str


def words_of(text: str) -> list[str]:
    """A text as the words of the index, in order."""
    tokenizer = getattr(_local, "tokenizer", None)
    if tokenizer is None:
        _local.connection = apsw.Connection(":memory:")
        tokenizer = _local.connection.fts5_tokenizer(*_TOKENIZER)
        _local.tokenizer = tokenizer
    tokens = tokenizer(
        # A lone surrogate is no UTF-8, and a zero byte no text in PostgreSQL.
        text.replace("\0", " ").encode("utf-8", "replace"),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return [word[:MAX_TERM] for word in cast("list[str]", tokens)]


def documents_of(hits: Sequence[int]) -> str:
    """Which documents a word stands in, the first as the highest of 256 bits, as hex digits.

    Nothing for one or two, which the hits themselves show as quickly.
    """
    if len(hits) <= FEW_HITS:
        return ""
    bits = 0
    for hit in hits:
        bits |= 1 << 255 - (hit >> 7 & 255)
    return f"{bits:064x}"


def lesson_runs(text: str) -> list[Run]:
    """The index entries of a lesson."""
    run = _run(LESSON, [_Document(0, None, searchable(text))]) if text else None
    return [run] if run else []


def event_runs(events: Sequence[EventBody]) -> list[Run]:
    """The index entries of a run of events."""
    alone: list[_Document] = []
    windows: list[_Document] = []
    turns: list[str] = []
    for event in events:
        kind = cast("EventKind", event.kind)
        text = index_text(
            kind,
            event.text,
            is_error=event.is_error,
            tool=event.tool,
            tool_class=cast("ToolClass | None", event.tool_class),
            command=event.command,
            files=event.files,
            label=event.label,
        )
        if not text:
            continue
        alone.append(_Document(event.seq, event.at, text))
        if is_turn(kind):
            windows.append(_Document(event.seq, event.at, window_text(text, turns)))
            turns = [*turns, text][-BEFORE:]
    runs = (_run(EVENT, alone), _run(TURN, windows))
    return [run for run in runs if run is not None]


def _run(field: int, documents: list[_Document]) -> Run | None:
    lengths: list[int] = []
    postings: dict[str, list[int]] = {}
    stems: list[str] = []
    indexed = documents[:MOST_DOCUMENTS]
    for number, document in enumerate(indexed):
        words = words_of(document.text)
        lengths.append(len(words))
        if field == EVENT:
            stems.append(" ".join(words))
        prefix = min(len(words), MOST_WORDS) << 15 | number << 7
        for word, count in Counter(words).items():
            postings.setdefault(word, []).append(prefix | min(count, MOST_OFTEN))
    if not indexed:
        return None
    seqs, times = [document.seq for document in indexed], [document.at for document in indexed]
    return Run(field, seqs, lengths, postings, times, stems)
