"""The page of a session."""

from __future__ import annotations

import json

import pytest
from tests.web.served import number_of
from tests.web.test_app_pages import opened, shown

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


@pytest.mark.rows("WEB-09")
def test_a_session_without_a_title_is_called_by_what_was_asked(space: Workspace) -> None:
    log = ClaudeLog(seed=1)
    log.prompt("fix the flaky checkout test")
    log.run("pytest", "1 passed")
    log.say("Done.")
    space.write(log)
    space.sweep()
    with opened(space) as served:
        for path in ("/", "/sessions", "/sessions/1", "/search?q=flaky", "/forget?text=flaky"):
            page = shown(served, path)
            assert "fix the flaky checkout test" in page, path
            assert log.session_id not in page, path


@pytest.mark.rows("WEB-11")
def test_all_edits_of_a_session_stand_on_one_page_by_file(
    space: Workspace, work: ClaudeLog
) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        page = shown(served, f"/sessions/{number}/diff")
        assert "-total = slow() +total = quick() return total" in page
        assert "-import slow +import quick" in page
        assert page.count("/work/shop/cart.py") == 1
        assert "no.py" not in page, "an edit that failed changed nothing"


@pytest.mark.rows("WEB-11")
def test_a_session_is_downloaded_as_markdown(space: Workspace, work: ClaudeLog) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        answer = served.ask(f"/sessions/{number}.md")
        assert answer.status == 200 and answer.headers["content-type"].startswith("text/markdown")
        assert "attachment" in answer.headers["content-disposition"]
        assert "The checkout is faster now." in answer.text


@pytest.mark.rows("WEB-19")
def test_a_session_is_saved_as_json_lines_and_one_event_as_markdown(
    space: Workspace, work: ClaudeLog
) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        answer = served.ask(f"/sessions/{number}.jsonl")
        first, *events = map(json.loads, answer.text.splitlines())
        assert first["record"] == "session" and len(events) == 17
        assert served.ask(f"/sessions/{number}/events/0.md").text == "make the checkout faster"
