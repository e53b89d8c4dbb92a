"""`sessions` fits the terminal."""

from __future__ import annotations

import pytest
from tests.cli.test_output import run_at_terminal, swept

from session_memory.testing.workspace import Workspace

__all__ = ["swept"]


@pytest.mark.rows("CLI-30")
@pytest.mark.parametrize("wide", [40, 80, 120])
def test_no_line_of_sessions_is_wider_than_the_terminal(swept: Workspace, wide: int) -> None:
    shown = run_at_terminal(swept, "sessions", {"TERM": "dumb"}, wide=wide)
    assert max(map(len, shown.splitlines())) <= wide
    assert "question number 3 about" in " ".join(shown.split())
