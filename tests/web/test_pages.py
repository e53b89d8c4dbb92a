"""What each page says, asked over plain HTTP."""

from __future__ import annotations

import html
import re
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from tests.web.served import Served, serving

from session_memory.adapters.claude.log_builder import ClaudeLog
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
