"""Events of a session on its page."""

from __future__ import annotations

import re

import pytest
from tests.web.served import number_of
from tests.web.test_app_pages import opened, shown

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


@pytest.mark.rows("WEB-11")
def test_finding_in_a_session_leaves_the_events_that_hold_the_words_and_marks_them(
    space: Workspace, work: ClaudeLog
) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        page = served.ask(f"/sessions/{number}?find=YAML+module").text
        assert page.count("<article") == 1
        assert "<mark>yaml</mark>" in page and "<mark>Module</mark>NotFoundError" in page
        assert "No event holds all these words" in shown(served, f"/sessions/{number}?find=nowhere")
        assert served.ask(f"/sessions/{number}?find=%3Cscript%3E+(").status == 200


@pytest.mark.rows("WEB-12")
def test_errors_and_cures_and_sub_agents_are_marked_at_their_events(
    space: Workspace, work: ClaudeLog
) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        page = shown(served, f"/sessions/{number}")
        assert "Cured by pip install pyyaml" in page
        assert "This cured" in page
        assert "sub-agent List every page that loads the old checkout script." in page
        assert "Tokens and cost over time" in page


@pytest.mark.rows("WEB-12")
def test_a_long_event_opens_whole(space: Workspace, work: ClaudeLog) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        page = served.ask(f"/sessions/{number}").text
        assert "the very end" not in page
        link = re.search(r'href="(/sessions/\d+/events/\d+)"', page)
        assert link is not None
        assert "the very end" in served.ask(link[1]).text
        assert served.ask(f"/sessions/{number}/events/9999").status == 404


@pytest.mark.rows("WEB-19")
def test_a_call_stands_with_its_result_and_a_sub_agent_can_be_read_in_place(
    space: Workspace, work: ClaudeLog
) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        page = served.ask(f"/sessions/{number}").text
        calls = page.count('class="event tool_call')
        assert calls == page.count('class="result"') + 1, "only the sub-agent's has none here"
        assert 'class="event tool_result' not in page
        child = re.search(r'data-load="(/sessions/\d+)"', page)
        assert child is not None
        part = served.ask(child[1], headers={"X-Part": "results"}).text
        assert "Two pages do." in part and "<html" not in part
