"""What of an item is found by which words: the same words, in the same way, as in a local store.

The words come from the tokenizer of the local index itself, so both always agree on them.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import cast

import apsw
import msgspec

from session_memory.core.index_text import BEFORE, index_text, is_turn, window_text
from session_memory.core.schema import EventKind, ToolClass
from session_memory.core.sharing.wire import EventBody
from session_memory.core.text.searchable import searchable

EVENT, TURN, LESSON = 1, 2, 3
"""The fields of the index: events alone, turns with the two before them, lessons."""
MOST_OFTEN = 127
"""More occurrences in one document count as so many; BM25 tells no difference up there."""
MOST_DOCUMENTS = 255
"""In one run: numbers of documents and occurrences share 15 bits."""
_TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])
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
    """Word to (document << 7) + how often."""
    stems: list[str] | None = None
    """The words of each document in their order; of events alone."""


def words_of(text: str) -> list[str]:
    """A text as the words of the index, in order."""
    tokenizer = getattr(_local, "tokenizer", None)
    if tokenizer is None:
        _local.connection = apsw.Connection(":memory:")
        tokenizer = _local.connection.fts5_tokenizer(*_TOKENIZER)
        _local.tokenizer = tokenizer
    found = tokenizer(
        # A lone surrogate is no UTF-8, and a zero byte no text in PostgreSQL.
        text.replace("\0", " ").encode("utf-8", "replace"),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return [word[:MAX_TERM] for word in cast("list[str]", found)]


def lesson_runs(text: str) -> list[Run]:
    """The index entries of a lesson."""
    run = _run(LESSON, [(0, searchable(text))]) if text else None
    return [run] if run else []


def event_runs(events: Sequence[EventBody]) -> list[Run]:
    """The index entries of a run of events."""
    alone: list[tuple[int, str]] = []
    windows: list[tuple[int, str]] = []
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
        alone.append((event.seq, text))
        if is_turn(kind):
            windows.append((event.seq, window_text(text, turns)))
            turns = [*turns, text][-BEFORE:]
    runs = (_run(EVENT, alone), _run(TURN, windows))
    return [run for run in runs if run is not None]


def _run(field: int, documents: list[tuple[int, str]]) -> Run | None:
    seqs: list[int] = []
    lengths: list[int] = []
    postings: dict[str, list[int]] = {}
    stems: list[str] = []
    for number, (seq, text) in enumerate(documents[:MOST_DOCUMENTS]):
        words = words_of(text)
        seqs.append(seq)
        lengths.append(len(words))
        stems.append(" ".join(words))
        for word, count in Counter(words).items():
            postings.setdefault(word, []).append(number << 7 | min(count, MOST_OFTEN))
    if not seqs:
        return None
    return Run(field, seqs, lengths, postings, stems if field == EVENT else None)
