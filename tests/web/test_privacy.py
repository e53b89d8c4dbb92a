"""The page of privacy."""

from __future__ import annotations

import re

import pytest
from tests.web.served import Served
from tests.web.test_app_pages import opened, shown
from tests.web.test_rules_decisions import post, served

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace

__all__ = ["served"]


@pytest.mark.rows("WEB-14")
def test_privacy_counts_redactions_by_rule_and_lists_jobs(space: Workspace) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    log = ClaudeLog(seed=7)
    log.prompt(f"use the token {secret}")
    log.say("Done.")
    space.write(log)
    for _ in range(2):  # a sweep with nothing new does not hide what earlier ones found
        space.run("--config", str(space.write_config()), "sweep")
    with space.store() as store:
        store.jobs.enqueue("distil", "1", 1, space.now)
    with opened(space) as served:
        page = shown(served, "/privacy")
        found = re.search(r"by the rule that found them Rule Times (\S+ [1-9])", page)
        assert found
        space.run("--config", str(space.write_config()), "forget", "--text", "Done.", "--yes")
        assert found[1] in shown(served, "/privacy")
        assert secret not in page
        assert "distil" in page and "session-memory doctor" in page


@pytest.mark.rows("WEB-18")
def test_the_doctor_and_the_retention_plan_stand_on_the_page(served: Served) -> None:
    page = served.ask("/health").text
    assert 'href="/health/check">Check now' in page and "forget marks" not in page
    page = served.ask("/health/check").text
    assert "forget marks" in page and "database" in page
    assert "forget marks" in served.ask("/health").text
    assert "Check again" in post(served, "/health")
    assert "What retention would do now" in served.ask("/privacy").text
