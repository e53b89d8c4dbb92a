"""A workspace of its own for every test of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.web.browsing import QUIET, program

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, started once for a file of tests."""
    path = program()
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=list(QUIET))
        yield started
        started.close()


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
