"""`help TOPIC` explains words and commands, one small screen each."""

from __future__ import annotations

import pytest
from tests.cli.test_overview import space

from session_memory.cli.topics import TOPICS
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.rows("CLI-03")
def test_help_explains_words_and_commands(space: Workspace) -> None:
    contents = space.run("help").stdout
    assert all(name in contents for name in TOPICS)
    assert "Enough: `approved`" in space.run("help", "rules").stdout
    assert "Usage: session-memory rules approve" in space.run("help", "rules", "approve").stdout
    wrong = space.run("help", "nonsense")
    assert wrong.returncode == 1 and "topics: words" in wrong.stderr


@pytest.mark.rows("CLI-03")
@pytest.mark.parametrize("name", TOPICS)
def test_a_page_of_help_fits_a_small_terminal(name: str) -> None:
    assert max(map(len, TOPICS[name].text.splitlines())) <= 79
