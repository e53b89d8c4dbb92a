"""What prompts quote: memory, notes that wait, candidate rules and cures, each fenced as data."""

from __future__ import annotations

import secrets
from importlib.resources import files
from pathlib import Path
from string import Template

import msgspec

from session_memory.core.loop.catalog import seen_in
from session_memory.core.schema import Project
from session_memory.core.text.safe_text import fence, one_line, safe
from session_memory.curate.agent_notes import read_notes, waiting
from session_memory.curate.catalog import read_catalog
from session_memory.detect.fix import fix
from session_memory.mcp.agent_tools import sessions_of
from session_memory.memory.briefing import briefing_of
from session_memory.memory.handoff import handoff_of, newest_session
from session_memory.memory.instructions import INSTRUCTIONS, read_instructions
from session_memory.memory.layout import MEMORY, SUMMARY, memory_root
from session_memory.store.port import Store

MEMORY_CHARS = 8_000
RULES = 12
_NONE = "Nothing is known yet."


class PromptContext(msgspec.Struct, frozen=True):
    """What a prompt is made from."""

    store: Store
    data: Path
    project: Project
    argument: str = ""
    only: str | None = None
    """The project of a server that answers for it alone."""


def text_of(file: str, values: dict[str, str]) -> str:
    """The text of a prompt; placeholders inside a value are not replaced."""
    template = (files("session_memory.mcp") / "prompts" / file).read_text(encoding="utf-8")
    return Template(template).substitute(values)


def project_memory_and_notes(context: PromptContext) -> dict[str, str]:
    """What a new session is told, MEMORY.md, and what waits for the user."""
    root = context.project.root or ""
    known_text = read_instructions(root, INSTRUCTIONS)
    briefing = [line.text for line in briefing_of(context.store, context.project, known_text)]
    notes = [
        f"{note.id} ({note.kind}, by {note.flavor}): {note.text}"
        for note in waiting(read_notes(context.data), root)
    ]
    memory = [*(f"- {line}" for line in briefing), _page(context, MEMORY)]
    return {
        "memory": _quoted("\n".join(filter(None, memory)) or _NONE, "memory"),
        "notes": _quoted("\n".join(notes), "unconfirmed notes") if notes else "No note waits.",
    }


def handoff(context: PromptContext) -> dict[str, str]:
    """What the log of the project's newest session shows."""
    session = newest_session(context.store, context.project.key)
    made = handoff_of(context.store, session, session.flavor) if session else None
    lines = [f"- {one_line(line.text)}" for line in made.lines] if made else []
    return {"handoff": _quoted("\n".join(lines) or _NONE, "newest session")}


def project_memory(context: PromptContext) -> dict[str, str]:
    """MEMORY.md and one line for each recent session."""
    pages = [_page(context, MEMORY), _page(context, SUMMARY)]
    return {"memory": _quoted("\n\n".join(filter(None, pages)) or _NONE, "memory")}


def candidate_rules(context: PromptContext) -> dict[str, str]:
    """Candidates that wait for a decision, best first, with their quotes."""
    proposals = read_catalog(context.data).proposals.values()
    ranked = sorted(proposals, key=lambda entry: (entry.rank or RULES, entry.id))
    seen = [(entry, seen_in(entry.evidence, context.only)) for entry in ranked]
    lines: list[str] = []
    for entry, evidence in [each for each in seen if each[1] is not None][:RULES]:
        sessions = len({item.session for item in evidence or ()})
        lines.append(f"{entry.id} ({sessions} sessions): {one_line(entry.text or entry.locus)}")
        lines += [f'  "{one_line(item.quote)[:200]}"' for item in (evidence or ())[:2]]
    text = "\n".join(lines) or "No candidate waits; `session-memory rules` finds new ones."
    return {"rules": _quoted(text, "candidate rules")}


def cures(context: PromptContext) -> dict[str, str]:
    """What worked after an error."""
    among = sessions_of(context.store, context.project.key)
    answer = fix(context.store.patterns, context.argument, among)
    lines = [f"{cure.command} (worked in {cure.worked})" for cure in answer.cures] if answer else []
    error = _quoted(one_line(context.argument)[:1_000], "error")
    return {"error": error, "cures": _quoted("\n".join(lines) or _NONE, "cures")}


def _page(context: PromptContext, name: str) -> str:
    path = memory_root(context.data, context.project.root or context.project.key) / name
    if path.is_symlink() or not path.is_file():
        return ""
    return path.read_text(encoding="utf-8", errors="replace")[:MEMORY_CHARS]


def _quoted(text: str, name: str) -> str:
    return fence(safe(text), secrets.token_hex(8), name)
