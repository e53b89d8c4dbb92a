"""Sessions that our own calls of models left in an agent's logs are no sessions of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.text.own_text import is_own_call
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def talk(seed: int, cwd: str) -> ClaudeLog:
    log = ClaudeLog(seed, cwd=cwd)
    log.prompt("summarise what these sessions learned")
    log.say("They learned little.")
    return log


@pytest.mark.parametrize("below", ["", "/memory"])
def test_a_session_in_a_folder_made_for_a_call_stays_out(space: Workspace, below: str) -> None:
    space.write(talk(1, f"/tmp/session-memory-call-x1y2{below}"))
    space.write(talk(2, "/work/session-memory"))
    report = space.sweep()
    assert report.sessions == 1
    assert report.excluded == 2


def test_a_session_inside_our_own_data_stays_out(space: Workspace) -> None:
    staging = space.store_directory / "memories" / "0a1b" / "staging"
    space.write(talk(1, str(staging)))
    space.write(talk(2, str(space.store_directory.parent)))
    report = space.sweep()
    assert report.sessions == 1
    assert report.excluded == 2


@pytest.mark.parametrize(
    ("cwd", "own"),
    [
        ("/tmp/session-memory-call-ab", True),
        (r"C:\Temp\session-memory-call-ab\x", True),
        ("session-memory-call-ab", True),
        ("/work/my-session-memory-call-ab", False),
        ("/work/session-memory", False),
    ],
)
def test_a_call_is_known_by_its_folder(cwd: str, own: bool) -> None:
    assert is_own_call(cwd) is own
