"""Cost over time as a drawing."""

from __future__ import annotations

import pytest
from tests.web.test_app_pages import opened, shown

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


@pytest.mark.rows("WEB-19")
def test_a_day_of_the_calendar_leads_to_its_sessions(space: Workspace, work: ClaudeLog) -> None:
    with opened(space) as served:
        assert "make the checkout faster" in shown(served, "/sessions?day=2026-03-02")
        assert "No session fits" in shown(served, "/sessions?day=2026-03-03")
        assert served.ask("/sessions?day=yesterday").status == 400
        assert "a day is written as 2026-03-02" in served.ask("/sessions?day=yesterday").text


@pytest.mark.rows("WEB-12")
def test_cost_over_time_is_drawn_beside_tokens(space: Workspace, work: ClaudeLog) -> None:
    with opened(space) as served:
        page = served.ask("/sessions/1").text
        assert 'aria-label="Tokens over time"' in page and 'aria-label="Cost over time"' in page
