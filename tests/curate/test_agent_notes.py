"""What agents noted for the user: confirmed, taken back, forgotten."""

from __future__ import annotations

import pytest
from tests.curate.test_note_sessions import (
    MINUTE,
    SHOP,
    TEXT,
    chat,
    command,
    forget,
    note_at,
    space,
    sweep,
    write,
    writer,
)

from session_memory.curate.agent_notes import UNKNOWN, read_notes
from session_memory.memory.layout import memory_root
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.rows("AGT-06")
def test_a_confirmed_line_names_the_session_and_goes_with_it(space: Workspace) -> None:
    log = chat(2, "mem_note", after=5 * MINUTE)
    note = note_at(space, log.now)
    command(space, "project", "memory", "confirm", note.id)
    page = memory_root(space.store_directory, SHOP) / "MEMORY.md"
    assert f"{TEXT} (noted by gemini in session unknown)" in page.read_text()
    write(space, log)
    sweep(space)
    assert f"{TEXT} (noted by gemini in session {log.session_id})" in page.read_text()
    forget(space, log.session_id)
    assert TEXT not in page.read_text()


@pytest.mark.rows("AGT-06")
def test_a_line_the_user_took_out_by_hand_does_not_come_back(space: Workspace) -> None:
    log = chat(2, "mem_note", after=5 * MINUTE)
    note = note_at(space, log.now)
    command(space, "project", "memory", "confirm", note.id)
    page = memory_root(space.store_directory, SHOP) / "MEMORY.md"
    page.write_text(page.read_text().replace(f"- {TEXT} (noted by gemini in session unknown)", ""))
    write(space, log)
    sweep(space)
    assert writer(space) == log.session_id and TEXT not in page.read_text()


@pytest.mark.rows("AGT-06")
def test_forget_names_notes_of_an_unknown_session(space: Workspace) -> None:
    log = chat(2, "mem_search", after=5 * MINUTE)
    note = note_at(space, log.now)
    write(space, log)
    sweep(space)
    assert writer(space) == UNKNOWN
    (remains,) = forget(space, log.session_id)
    assert remains["where"] == f"note {note.id}" and "forget --text" in remains["why"]
    project = command(space, "forget", "--project", "shop", "--yes", "--json")
    assert note.id not in project and read_notes(space.store_directory) == []


@pytest.mark.rows("AGT-06")
def test_forgetting_a_project_in_part_names_them_too(space: Workspace) -> None:
    log = chat(2, "mem_search", after=5 * MINUTE)
    note = note_at(space, log.now)
    write(space, log)
    sweep(space)
    since = ("--since", "2026-03-02T09:04:00Z")
    output = command(space, "forget", "--project", "shop", *since, "--yes")
    assert f"not touched: note {note.id}: its agent did not say" in output
