"""Sessions as Markdown, one file each; stored text is fenced so that it cannot break out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from session_memory.clock import iso
from session_memory.core.schema import Digest, Session, SessionEvent
from session_memory.core.text.safe_text import one_line, safe
from session_memory.export.jsonl import Progress
from session_memory.paths import open_private
from session_memory.redact.placeholder import render
from session_memory.store.port import SessionReader

_HEADINGS = {
    "user_prompt": "User",
    "assistant_text": "Agent",
    "reasoning": "Agent, thinking",
    "tool_call": "Call",
    "tool_result": "Result",
}
_BACKTICKS = re.compile("`+")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")
_MARKUP = re.compile(r"([\\`*_\[\]<>#|!&])")


def write_markdown(
    store: SessionReader, directory: Path, sessions: tuple[Session, ...], progress: Progress
) -> int:
    """One file per session; returns bytes written."""
    total = 0
    for number, session in enumerate(sessions):
        progress(number, len(sessions), session.external_id)
        total += write_session(store, directory / file_name(session), session)
    return total


def write_session(store: SessionReader, path: Path, session: Session) -> int:
    """One session into one new file; returns bytes written."""
    total = 0
    with open_private(path, "xb") as stream:
        for part in session_parts(store, session):
            total += stream.write(part.encode("utf-8", "replace"))
    return total


def file_name(session: Session) -> str:
    """Day, flavour, native id, and our number, as file systems ignore some differences in ids."""
    day = (iso(session.started_at) or "undated")[:10]
    name = _NOT_PLAIN.sub("-", f"{day}-{session.flavor}-{session.external_id}")[:120]
    return f"{name}-{session.id}.md"


def session_parts(store: SessionReader, session: Session) -> Iterator[str]:
    """The parts of a session's page, in order."""
    yield f"# {inline(session.title or session.external_id)}\n\n"
    yield from _facts(session)
    digest = store.digest(session.id)
    if digest is not None:
        yield from _digest(digest)
    yield "\n## Events\n"
    empty = True
    for event in store.events(session.id, texts=True):
        empty = False
        yield _event(event)
    if empty:
        yield "\nThe raw text of this session was evicted; the digest above is what is kept.\n"


def _facts(session: Session) -> Iterator[str]:
    facts = {
        "agent": session.flavor,
        "session": session.external_id,
        "project": session.project_key,
        "directory": session.cwd,
        "branch": session.branch,
        "models": ", ".join(session.models),
        "started": iso(session.started_at),
        "ended": iso(session.ended_at),
        "events": session.event_count,
        "tokens": session.cost.total_tokens,
        "cost": None if session.cost.usd is None else f"${session.cost.usd:.2f}",
    }
    for name, value in facts.items():
        if value not in (None, ""):
            yield f"- {name}: {inline(str(value))}\n"


def _digest(digest: Digest) -> Iterator[str]:
    yield f"\n## Digest\n\n- outcome: {digest.outcome} ({digest.confidence})\n"
    if digest.objective:
        yield f"- objective: {inline(digest.objective)}\n"
    for name, items in (("decided", digest.decisions), ("open", digest.open_items)):
        for item in items:
            yield f"- {name}: {inline(item)}\n"
    for path, edits in digest.files.items():
        if edits:
            yield f"- edited: {inline(path)} ({edits})\n"


def _event(event: SessionEvent) -> str:
    heading = _HEADINGS.get(event.kind, event.kind.replace("_", " ").capitalize())
    about = [inline(event.tool)] if event.tool else []
    if event.exit_code is not None:
        about.append(f"exit {event.exit_code}")
    elif event.is_error:
        about.append("failed")
    if event.is_unpaired:
        about.append("unpaired")
    if event.at is not None:
        about.append(iso(event.at) or "")
    title = f"\n### {heading}" + (f" ({', '.join(about)})" if about else "") + "\n"
    text = event.text or ""
    return f"{title}\n{fenced(text)}\n" if text.strip() else title


def fenced(text: str) -> str:
    """Text in a code block that it cannot close, without control characters."""
    shown = safe(render(text))
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{shown}\n{fence}"


def inline(text: str) -> str:
    """Text inside one of our lines, with Markdown escaped."""
    return _MARKUP.sub(r"\\\1", one_line(render(text)))
