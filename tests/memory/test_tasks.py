"""Every request is a task of its own."""

from __future__ import annotations

import re

import pytest
from tests.memory.test_rule_trace import told
from tests.memory.workbench import Bench

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.memory.trace_text import outcomes_in


@pytest.mark.rows("EXT-54")
def test_every_request_is_a_task_of_its_own_with_its_own_outcome(bench: Bench) -> None:
    log = ClaudeLog(1)
    log.prompt("make the header blue on every page")
    log.edit("/work/shop/style.css", "a", "b")
    log.run("npm test", "Tests: 3 passed")
    log.say("The header is blue on every page now.")
    log.prompt("then write the release notes for it")
    log.edit("/work/shop/NOTES.md", "a", "b")
    log.say("The release notes mention the blue header.")
    trace = told(bench, log)
    tasks = re.findall(r"^## Task: (.*?)(?: \[e:\d+\])?$", trace, re.M)
    assert tasks == ["make the header blue on every page", "then write the release notes for it"]
    assert outcomes_in(trace) == ["success", "uncertain"]
