"""A note whose agent names no session belongs to the one whose log shows the call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.gemini.log_builder import GeminiLog
from session_memory.curate.agent_notes import UNKNOWN, Note, add_note, read_notes
from session_memory.testing.workspace import Workspace

SHOP = "/work/shop"
TEXT = "The linter is ruff."
MINUTE = 60_000


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """A project in which Gemini worked before: forgetting one session leaves the project."""
    made = Workspace(tmp_path)
    write(made, chat(1, "mem_search"))
    sweep(made)
    return made


def chat(seed: int, tool: str, *, after: int = 0, cwd: str = SHOP) -> GeminiLog:
    """A session that calls one tool of ours; `now` is then the time of that call."""
    log = GeminiLog(seed, cwd=cwd)
    log.tick(after)
    log.prompt("remember the linter")
    log.say("I note it.")
    log.call(f"mcp_session-memory_{tool}", {"text": TEXT}, "it waits")
    return log


def write(space: Workspace, *logs: GeminiLog) -> None:
    for log in logs:
        log.say("Done.")
        log.write(space.flavor_home("gemini"))


def command(space: Workspace, *arguments: str) -> str:
    done = space.run("--config", str(space.write_config()), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sweep(space: Workspace) -> None:
    command(space, "sweep")


def note_at(space: Workspace, at: int, flavor: str = "gemini") -> Note:
    note = Note("", "memory", TEXT, SHOP, flavor, UNKNOWN, at)
    return add_note(space.store_directory, note)


def writer(space: Workspace) -> str:
    (note,) = read_notes(space.store_directory)
    return note.session


def forget(space: Workspace, session: str) -> list[dict[str, Any]]:
    answer = command(space, "forget", "--session", session, "--yes", "--json")
    return [one for one in json.loads(answer)["remains"] if one["where"].startswith("note ")]


@pytest.mark.rows("AGT-06")
def test_the_sweep_that_captures_the_session_finds_it(space: Workspace) -> None:
    log = chat(2, "mem_note", after=5 * MINUTE)
    note_at(space, log.now)
    sweep(space)
    assert writer(space) == UNKNOWN  # nothing of it is captured yet
    write(space, log)
    sweep(space)
    assert writer(space) == log.session_id
    assert forget(space, log.session_id) == []
    assert read_notes(space.store_directory) == []


@pytest.mark.rows("AGT-06")
def test_of_sessions_under_way_the_one_that_called_at_that_time_wrote_it(space: Workspace) -> None:
    """Not the newest, not one that only searched, not one of another project."""
    log = chat(2, "mem_memory_write", after=5 * MINUTE)
    at = log.now
    later, reader = chat(3, "mem_note", after=6 * MINUTE), chat(4, "mem_search", after=5 * MINUTE)
    other = chat(5, "mem_note", after=5 * MINUTE, cwd="/work/other")
    for one in (log, later, reader, other):
        one.tick(10 * MINUTE)
    note_at(space, at)
    write(space, log, later, reader, other)
    sweep(space)
    assert writer(space) == log.session_id


@pytest.mark.rows("AGT-06")
def test_notes_that_cannot_be_read_stop_no_sweep(space: Workspace) -> None:
    (space.store_directory / "agent-notes.json").write_text("{")
    log = chat(2, "mem_note", after=5 * MINUTE)
    write(space, log)
    done = space.run("--config", str(space.write_config()), "sweep")
    assert "notes of agents keep an unknown session: cannot read " in done.stdout + done.stderr
    with space.store() as store:
        assert store.own_session(log.session_id, "gemini") is not None
