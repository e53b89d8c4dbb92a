"""What each page says, asked over plain HTTP."""

from __future__ import annotations

import html
import re
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from tests.web.served import Served, serving

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.store.values import SessionQuery
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


@contextmanager
def opened(space: Workspace) -> Generator[Served]:
    with serving(space) as served:
        served.open()
        yield served


def shown(served: Served, path: str) -> str:
    """The text of a page, as a reader sees it."""
    answer = served.ask(path)
    assert answer.status == 200, (path, answer.text)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


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


@pytest.mark.rows("WEB-10")
def test_home_says_what_waits_for_the_user(space: Workspace) -> None:
    write_samples(space.claude)
    space.sweep()
    with opened(space) as served:
        assert "Waits for you" not in shown(served, "/")
        config = str(space.write_config())
        space.run("--config", config, "rules", "detect")
        space.run("--config", config, "rules", "propose")
        space.run("--config", config, "pause")
        with space.store() as store:
            store.jobs.enqueue("distil", "1", 1, space.now)
            while job := store.jobs.claim(("distil",), "token", space.now):
                store.jobs.fail(job, "token", "no luck", space.now)
                space.now += 7 * 86_400_000
        page = shown(served, "/")
        assert "1 rule awaits your decision" in page
        assert "capture is paused" in page
        assert "1 background job failed" in page
        assert '<a href="/rules">1 rule awaits' in served.ask("/").text


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


def number_of(space: Workspace, log: ClaudeLog) -> int:
    with space.store() as store:
        return next(s.id for s in store.sessions(SessionQuery()) if s.external_id == log.session_id)


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
