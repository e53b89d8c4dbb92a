"""Long output goes through the pager of a terminal."""

from __future__ import annotations

import pytest
from tests.cli.test_output import run_at_terminal, swept

from session_memory.testing.workspace import Workspace

__all__ = ["swept"]


@pytest.mark.rows("CLI-33")
def test_long_output_goes_through_the_pager_of_a_terminal(swept: Workspace) -> None:
    pager = {"PAGER": "sed s/^/paged/"}
    assert "paged" in run_at_terminal(swept, "sessions", pager)
    assert "paged" not in run_at_terminal(swept, "sessions --limit 1", pager)
    assert "paged" not in run_at_terminal(swept, "sessions --no-pager", pager)
    assert "paged" not in run_at_terminal(swept, "sessions", pager | {"NO_PAGER": "1"})
