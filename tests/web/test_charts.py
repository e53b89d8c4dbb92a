"""Cost over time as a drawing."""

from __future__ import annotations

import pytest
from tests.web.test_app_pages import opened, shown

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


@pytest.fixture
def work(space: Workspace) -> ClaudeLog:
    """A session with an error and its cure, edits, a sub-agent and a very long output."""
    log = ClaudeLog(seed=4)
    log.prompt("make the checkout faster")
    log.run("pytest", "E   ModuleNotFoundError: No module named 'yaml'", exit_code=1)
    log.run("pip install pyyaml", "Successfully installed pyyaml-6.0")
    log.run("pytest", "6 passed in 0.19s")
    log.edit("/work/shop/cart.py", "total = slow()\nreturn total", "total = quick()\nreturn total")
    log.edit("/work/shop/cart.py", "import slow", "import quick")
    failed = {"file_path": "/work/shop/no.py", "old_string": "a", "new_string": "b"}
    log.result(log.call("Edit", failed), "String to replace not found in file.", error=True)
    child = log.subagent("List every page that loads the old checkout script.")
    child.say("Two pages do.")
    log.run("cat build.log", "begin" + "x" * 30_000 + "the very end")
    log.say("The checkout is faster now.")
    space.write(log, child)
    space.sweep()
    return log


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
