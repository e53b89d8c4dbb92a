"""Memory, journal and told lines of a project on the page."""

from __future__ import annotations

import html
import re

import pytest
from tests.web.served import Served
from tests.web.test_app_pages import opened, shown
from tests.web.test_rules_decisions import post, served

from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

__all__ = ["served"]


@pytest.mark.rows("WEB-14")
def test_the_journal_of_a_project_is_listed_and_read(space: Workspace) -> None:
    write_samples(space.claude)
    space.sweep()
    config = str(space.write_config())
    space.run("--config", config, "project", "journal", "flush", "--all")
    space.run("--config", config, "project", "journal", "compile")
    with opened(space) as served:
        page = served.ask("/memory/shop").text
        assert 'href="?day=2026-03-02#journal"' in page
        assert "discount" in shown(served, "/memory/shop?day=2026-03-02").partition("Journal")[2]
        assert served.ask("/memory/shop?day=../../x").status == 404


@pytest.mark.rows("WEB-23")
def test_what_a_session_is_told_leads_to_the_events_it_rests_on(
    space: Workspace,
) -> None:
    write_samples(space.claude)
    space.sweep()
    with opened(space) as served:
        page = served.ask("/memory/shop").text
        why = html.unescape(re.findall(r'href="(\?why=[^"]+)#why"', page)[0])
        evidence = served.ask(f"/memory/shop{why}").text.partition('id="why"')[2]
        address = re.findall(r'href="(/sessions/[0-9]+\?at=([0-9]+)#e[0-9]+)"', evidence)[0]
        assert f'id="e{address[1]}"' in served.ask(address[0].partition("#")[0]).text


@pytest.mark.rows("WEB-17")
def test_a_told_line_is_retired_corrected_and_told_again(served: Served, space: Workspace) -> None:
    def lines() -> list[str]:
        page = served.ask("/memory/shop").text
        return re.findall(r'name="line" value="([^"]+)">\s*<input[^>]+value="correct"', page)

    (first, *others) = lines()
    post(served, "/memory/shop/line", line=first, choice="retire")
    assert lines() == others
    config = str(space.write_config())
    output = space.run("--config", config, "project", "memory", "briefing", "--project", "shop")
    assert first not in output.stdout
    post(served, "/memory/shop/line", line=first, choice="as it was")
    assert first in lines()
    page = post(served, "/memory/shop/line", line=first, choice="correct", text="Use make check.")
    assert "Use make check." in page and "in your words" in page
    output = space.run("--config", config, "project", "memory", "briefing", "--project", "shop")
    assert "- Use make check." in output.stdout
