"""What a project's agents are told and what is remembered of it, each line with its evidence."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import quote

import msgspec

from session_memory.core.event_ids import split
from session_memory.core.schema import Project
from session_memory.curate.agent_notes import waiting
from session_memory.errors import NotFound
from session_memory.journal import daily
from session_memory.journal.files import read_text
from session_memory.journal.knowledge import read_knowledge
from session_memory.journal.paths import journal_paths
from session_memory.memory.briefing import BriefingLine, briefing_of
from session_memory.memory.evidence import Evidence, evidence_for
from session_memory.memory.instructions import read_instructions
from session_memory.memory.layout import MEMORY, memory_root, normalised
from session_memory.plain_files import read_plain
from session_memory.recall.scope import find_project
from session_memory.store.line_choices import (
    LineChoice,
    as_chosen,
    choose,
    read_choices,
    take_back,
)
from session_memory.store.port import Store
from session_memory.web.context import WebContext
from session_memory.web.notes import known_notes, of_root, shown_notes
from session_memory.web.page import GoTo, Page, PageRequest

_CHARS_PER_TOKEN = 4
_DAYS = 60
_DONE = {
    "pin": "Agents will always be given this line.",
    "correct": "Agents will be given the line in your words.",
    "retire": "Agents will no longer be given this line.",
}
_MEMORY_BYTES = 1 << 20


class ProjectMemory(msgspec.Struct, frozen=True):
    """A project in the list."""

    key: str
    root: str | None
    traces: int
    notes: int
    """What agents noted and waits for a decision."""


def memory_list(web: WebContext, page_request: PageRequest) -> Page:
    """Every project, those where notes wait first, then those with a memory.

    A note about a folder that is no longer a project is decided on here.
    """
    notes, trouble = known_notes(web)
    with web.reading() as store:
        traces, projects = store.memories.roots(), store.projects()
        roots = {normalised(each.root or each.key) for each in projects}
        others = [note for note in waiting(notes) if normalised(note.root) not in roots]
        shown = shown_notes(store, others, trouble, "")
    waits = Counter(normalised(note.root) for note in waiting(notes))
    listed = [
        ProjectMemory(each.key, each.root, traces.get(root, 0), waits[root])
        for each in projects
        for root in [normalised(each.root or each.key)]
    ]
    listed.sort(key=lambda each: (-each.notes, -each.traces))
    return Page(
        "memory_list.html",
        {"projects": listed, "note": page_request.query.get("note", ""), "notes": shown},
    )


def memory_page(web: WebContext, page_request: PageRequest) -> Page:
    """One project: what a new session is told right now, MEMORY.md, and its traces."""
    with web.reading() as store:
        project = find_project(store.projects(), page_request.path["project"])
        lines = _briefing_lines(web, store, project)
        choices = read_choices(web.paths.data, project.key)
        chosen = as_chosen([line.text for line in lines], choices)
        root = normalised(project.root or project.key)
        traces = store.memories.of_root(root)
        why = page_request.word("why")
        evidence = _evidence(web, store, why) if why else []
        numbers = {trace.session_id for trace in traces} | {item.session_id for item in evidence}
        sessions = {number: store.session(number) for number in numbers}
        notes, trouble = known_notes(web)
        shown = shown_notes(store, of_root(notes, root), trouble, project.key)
    return Page(
        "memory.html",
        {
            "project": project,
            "lines": chosen,
            "retired": [each.line for each in choices if each.choice == "retire"],
            "tokens": sum(len(text) for text, _ in chosen) // _CHARS_PER_TOKEN,
            "note": page_request.query.get("note", ""),
            "memory": _page_of(web, root),
            "traces": traces,
            "why": why,
            "evidence": evidence,
            "places": {q.event: split(q.event)[1] for item in evidence for q in item.quotes},
            **_journal(web, project, page_request),
            "sessions": sessions,
            "notes": shown,
        },
    )


def _evidence(web: WebContext, store: Store, line: str) -> list[Evidence]:
    try:
        return evidence_for(store, line, web.paths.data)
    except NotFound:  # a line in the user's own words, or of sessions that are gone
        return []


def decide_on_line(web: WebContext, page_request: PageRequest) -> GoTo:
    """Pin a line, reword it, retire it, or return to what sessions show."""
    with web.reading() as store:
        project = find_project(store.projects(), page_request.path["project"])
    line, choice = page_request.form.get("line", ""), page_request.form.get("choice", "")
    here = f"/memory/{quote(page_request.path['project'], safe='')}"
    if choice == "as it was":
        take_back(web.paths.data, project.key, line)
        return GoTo(here, "Agents will be given the line as sessions show it.")
    if choice not in ("pin", "correct", "retire") or not line:
        raise NotFound(f"There is no decision {choice!r}")
    text = " ".join(page_request.form.get("text", "").split()) if choice == "correct" else ""
    choose(web.paths.data, LineChoice(project.key, line, choice, text))
    return GoTo(here, _DONE[choice])


def _briefing_lines(web: WebContext, store: Store, project: Project) -> list[BriefingLine]:
    if not project.root:
        return []
    names = [name for name in web.config.distribute.targets if name.endswith(".md")]
    return briefing_of(store, project, read_instructions(normalised(project.root), names))


def _journal(web: WebContext, project: Project, page_request: PageRequest) -> dict[str, Any]:
    """The days and articles of the project's journal, and the one that the address names."""
    journal = journal_paths(web.paths.data, project.root or project.key, web.config.journal.vault)
    days = [path.stem for path in daily.days(journal)]
    articles = read_knowledge(journal).articles
    day, article = page_request.word("day"), page_request.word("article")
    if (day and day not in days) or (article and article not in articles):
        raise NotFound("The journal of this project has no such page")
    text = (read_text(journal.day(day)) or "") if day else ""
    return {
        "days": days[:_DAYS],
        "articles": list(articles.values()),
        "journal_title": day or (articles[article].title if article else ""),
        "journal_text": text or (articles[article].body if article else ""),
    }


def _page_of(web: WebContext, root: str) -> str:
    try:
        page = read_plain(memory_root(web.paths.data, root) / MEMORY, _MEMORY_BYTES)
    except OSError:  # not made yet, or being replaced
        return ""
    return page.decode("utf-8", "replace")
