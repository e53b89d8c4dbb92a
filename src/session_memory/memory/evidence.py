"""The evidence for a line of a memory: the events it cites, with their session and text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from session_memory.clock import iso
from session_memory.core.event_ids import split
from session_memory.core.schema import SessionEvent
from session_memory.core.text.masks import error_line, excerpt
from session_memory.core.text.safe_text import one_line
from session_memory.errors import NotFound
from session_memory.memory.briefing import briefing_of
from session_memory.memory.layout import MEMORY, memory_root
from session_memory.memory.line_history import read_history
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
    """Empty if the raw text was evicted."""


class Evidence(msgspec.Struct, frozen=True):
    """A line of a trace or a memory, and the events of one session it rests on."""

    line: str
    trace: str
    session_id: int
    session: str
    root: str
    quotes: tuple[Quote, ...]
    not_told: str = ""
    """Why MEMORY.md does not have the line, or no longer has it."""


def evidence_for(store: MemoryStore, query: str, data: Path | None = None) -> list[Evidence]:
    """Evidence for a trace (by its id), an event (`[e:ID]`) or words of a line.

    Words of a MEMORY.md, which is in `data`, lead to the lines of the traces it was made of.
    """
    evidence = [
        _evidence(store, trace, line) for trace, line in _find_lines(store, query)[:_MAX_LINES]
    ]
    in_memory = _memory_evidence(store, query, data) if data is not None else []
    if evidence:  # what a trace says may have been retired since
        evidence = [*(item for item in in_memory if item.not_told), *evidence]
    evidence = evidence or in_memory or _briefing_evidence(store, query)
    if not evidence:
        raise NotFound(
            f"nothing in memory says {one_line(query[:80])!r}",
            hint="name a trace, an [e:ID], or some words of a line; `project memory show` has them",
        )
    return evidence[:_MAX_LINES]


class _MemoryLine(msgspec.Struct, frozen=True):
    """A line of a MEMORY.md, or one that was left out of it."""

    text: str
    events: tuple[int, ...]
    why_omitted: str = ""


def _memory_evidence(store: MemoryStore, query: str, data: Path) -> list[Evidence]:
    """Evidence for lines that a MEMORY.md has, had before, or left out."""
    cited, words = set(_cited_events(query)), _words(query)
    evidence: list[Evidence] = []
    for root in store.memories.roots() if cited or words else ():
        traces = {trace.session_id: trace for trace in store.memories.of_root(root)}
        for line in _lines_of(memory_root(data, root)):
            if cited & set(line.events) if cited else words in _words(line.text):
                evidence += _evidence_of(store, line, traces) or _by_code(store, line, traces)
    return evidence


def _lines_of(folder: Path) -> list[_MemoryLine]:
    page = folder / MEMORY
    text = "" if page.is_symlink() or not page.is_file() else page.read_text("utf-8", "replace")
    current = [
        _MemoryLine(line, tuple(_cited_events(line)))
        for line in text.splitlines()
        if line.startswith("- ")
    ]
    history = read_history(folder)
    retired = [
        _MemoryLine(line.text, line.events, f"retired {line.retired}: {line.reason}")
        for line in history.retired
    ]
    left_out = [
        _MemoryLine(line.text, line.events, f"left out: {line.reason}") for line in history.left_out
    ]
    return [*current, *retired, *left_out]


def _evidence_of(
    store: SessionReader, line: _MemoryLine, traces: Mapping[int, Trace]
) -> list[Evidence]:
    """One piece of evidence for each session whose events a line cites."""
    by_session: dict[int, set[int]] = {}
    for event in line.events:
        by_session.setdefault(split(event)[0], set()).add(event)
    return [
        _quotes_of(store, line, traces[session_id], events)
        for session_id, events in by_session.items()
        if session_id in traces
    ]


def _quotes_of(store: SessionReader, line: _MemoryLine, trace: Trace, events: set[int]) -> Evidence:
    session = store.session(trace.session_id)
    cited = (event for event in store.events(trace.session_id) if event.id in events)
    return Evidence(
        line=one_line(CITED.sub("", line.text)).removeprefix("- "),
        trace=trace.thread_id,
        session_id=session.id,
        session=session.external_id,
        root=trace.root,
        quotes=tuple(_quote(store, event) for event in cited),
        not_told=line.why_omitted,
    )


def _by_code(
    store: SessionReader, line: _MemoryLine, traces: Mapping[int, Trace]
) -> list[Evidence]:
    """For a line that cites no event: the lines of traces about the files it names."""
    named = re.findall(r"`[^`]+`", line.text)
    return [
        _evidence(store, trace, trace_line)
        for trace in traces.values()
        for trace_line in trace.trace_summary.splitlines()
        if CITED.search(trace_line) and any(f"- {code}" in trace_line for code in named)
    ]


def _briefing_evidence(store: MemoryStore, query: str) -> list[Evidence]:
    """Evidence for a line that new sessions are told, which no trace need hold."""
    words = _words(query)
    evidence: list[Evidence] = []
    for project in store.projects() if words else ():
        for line in briefing_of(store, project):
            if words not in _words(line.text):
                continue
            for session_id in dict.fromkeys(reference.session for reference in line.evidence):
                seqs = {ref.seq for ref in line.evidence if ref.session == session_id}
                evidence.append(_briefing_quotes(store, session_id, seqs, line.text))
    return evidence


def _briefing_quotes(store: SessionReader, session_id: int, seqs: set[int], line: str) -> Evidence:
    session = store.session(session_id)
    cited = (event for event in store.events(session_id) if event.seq in seqs)
    return Evidence(
        line=one_line(line),
        trace=session.external_id,
        session_id=session.id,
        session=session.external_id,
        root=session.cwd or "",
        quotes=tuple(_quote(store, event) for event in cited),
    )


def _quote(store: SessionReader, event: SessionEvent) -> Quote:
    text = event.command or _quoted_text(event, render(store.text(event)))
    return Quote(event.id, event.kind, iso(event.at), one_line(excerpt(text, _QUOTE_CHARS)))


def _find_lines(store: MemoryStore, query: str) -> list[tuple[Trace, str]]:
    """Lines with citations: all lines of one trace, or those that match in all traces."""
    memories = store.memories
    named = _find_trace(store, query)
    traces = [named] if named else [t for root in memories.roots() for t in memories.of_root(root)]
    return [
        (trace, line)
        for trace in traces
        for line in trace.trace_summary.splitlines()
        if CITED.search(line) and (named or _matches(line, query))
    ]


def _find_trace(store: MemoryStore, query: str) -> Trace | None:
    try:
        return None if " " in query.strip() else store.memories.find(query)
    except NotFound:
        return None


def _matches(line: str, query: str) -> bool:
    events = set(_cited_events(query))
    if events:
        return bool(events & set(_cited_events(line)))
    return _words(query) in _words(line)


def _cited_events(text: str) -> list[int]:
    return [int(number) for number in CITED.findall(text)]


def _words(text: str) -> str:
    """Only the words of a line, so that punctuation need not be typed."""
    return " ".join(re.findall(r"\w+", CITED.sub("", text).casefold()))


def _evidence(store: SessionReader, trace: Trace, line: str) -> Evidence:
    session = store.session(trace.session_id)
    cited = set(_cited_events(line))
    events = store.events(trace.session_id)
    quotes = [_quote(store, event) for event in events if event.id in cited]
    return Evidence(
        line=one_line(CITED.sub("", line)).removeprefix("- "),
        trace=trace.thread_id,
        session_id=session.id,
        session=session.external_id,
        root=trace.root,
        quotes=tuple(quotes),
    )


def _quoted_text(event: SessionEvent, text: str) -> str:
    """The text to quote: of a failed tool's output, the line with the error."""
    return (error_line(text) or text) if event.kind == "tool_result" else text
