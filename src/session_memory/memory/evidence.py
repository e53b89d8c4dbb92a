"""Why something stands in a memory: the events a line cites, with the session and its words."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import SessionEvent
from session_memory.core.text.masks import error_line, excerpt
from session_memory.core.text.safe_text import one_line
from session_memory.errors import NotFound
from session_memory.memory.layout import MEMORY, memory_root
from session_memory.redact import render
from session_memory.store.memories import Trace
from session_memory.store.port import MemoryStore, SessionReader

CITED = re.compile(r"\[e:(\d{1,18})\]")
_QUOTE_CHARS = 240
_MAX_LINES = 20


class Quote(msgspec.Struct, frozen=True):
    """One cited event."""

    event: int
    kind: str
    at: str | None
    text: str
    """None of it is left where the raw text was evicted."""


class Evidence(msgspec.Struct, frozen=True):
    """A line of a trace and what it rests on."""

    line: str
    trace: str
    session_id: int
    session: str
    root: str
    quotes: tuple[Quote, ...]


def evidence_for(store: MemoryStore, wanted: str, data: Path | None = None) -> list[Evidence]:
    """Evidence for a trace (by its id), an event (`[e:ID]`) or words that stand in a line.

    Words of a MEMORY.md, which lies in `data`, lead to the lines of the traces they were made of.
    """
    found = _lines(store, wanted)
    if not found and data is not None:
        cited = _cited_in_memory(store, wanted, data)
        found = _lines(store, " ".join(f"[e:{event}]" for event in cited)) if cited else []
    if not found:
        raise NotFound(
            f"nothing in memory says {one_line(wanted[:80])!r}",
            hint="name a trace, an [e:ID], or some words of a line; `memory show` has them",
        )
    return [_evidence(store, trace, line) for trace, line in found[:_MAX_LINES]]


def _lines(store: MemoryStore, wanted: str) -> list[tuple[Trace, str]]:
    one = _trace(store, wanted)
    return [
        (trace, line)
        for trace in ([one] if one else _all(store))
        for line in trace.trace_summary.splitlines()
        if CITED.search(line) and (one or _fits(line, wanted))
    ]


def _cited_in_memory(store: MemoryStore, wanted: str, data: Path) -> list[int]:
    """The events behind the lines of any MEMORY.md that say so."""
    words, found = _bare(wanted), list[int]()
    for root in store.memories.roots():
        page = memory_root(data, root) / MEMORY
        if not words or page.is_symlink() or not page.is_file():
            continue
        for line in page.read_text("utf-8", "replace").splitlines():
            if words in _bare(line):
                found += [int(number) for number in CITED.findall(line)]
    return list(dict.fromkeys(found))


def _trace(store: MemoryStore, wanted: str) -> Trace | None:
    try:
        return None if " " in wanted.strip() else store.memories.find(wanted)
    except NotFound:
        return None


def _all(store: MemoryStore) -> list[Trace]:
    return [trace for root in store.memories.roots() for trace in store.memories.of_root(root)]


def _fits(line: str, wanted: str) -> bool:
    asked = {int(number) for number in CITED.findall(wanted)}
    cited = {int(number) for number in CITED.findall(line)}
    if asked:
        return bool(asked & cited)
    return _bare(wanted) in _bare(line)


def _bare(text: str) -> str:
    """Words alone: a line is found however its marks were typed."""
    return " ".join(re.findall(r"\w+", CITED.sub("", text).casefold()))


def _evidence(store: SessionReader, trace: Trace, line: str) -> Evidence:
    session = store.session(trace.session_id)
    wanted = {int(number) for number in CITED.findall(line)}
    quotes: list[Quote] = []
    for event in store.events(trace.session_id):
        if event.id in wanted:
            said = event.command or _words(event, render(store.text(event)))
            shown = one_line(excerpt(said, _QUOTE_CHARS))
            quotes.append(Quote(event.id, event.kind, iso(event.at), shown))
    shown_line = one_line(CITED.sub("", line)).removeprefix("- ")
    named = (session.id, session.external_id)
    return Evidence(shown_line, trace.thread_id, *named, trace.root, tuple(quotes))


def _words(event: SessionEvent, text: str) -> str:
    """Of an output that tells of a failure, the line that says what went wrong."""
    return (error_line(text) or text) if event.kind == "tool_result" else text
