"""The page of a search."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest
from tests.web.served import Served, number_of
from tests.web.test_app_pages import opened, shown
from tests.web.test_rules_decisions import post, served, token

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.event_ids import event_id
from session_memory.memory.layout import MEMORY, memory_root
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

__all__ = ["served"]


@pytest.mark.rows("WEB-13")
def test_an_error_is_answered_with_what_fixed_it_and_hits_show_why_they_matched(
    space: Workspace, work: ClaudeLog
) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        path = "/search?q=ModuleNotFoundError%3A+No+module+named+%27yaml%27"
        page = shown(served, path)
        assert "What fixed this error" in page
        assert "pip install pyyaml worked in 1 of 1 sessions" in page
        assert f"/sessions/{number}?at=" in served.ask(path).text
        assert "What fixed" not in shown(served, "/search?q=faster")
        assert "<mark>faster</mark>" in served.ask("/search?q=faster").text
        assert "Nothing found" in shown(served, "/search?q=faster&days=7")


@pytest.mark.rows("WEB-22")
def test_a_line_of_memory_that_answers_stands_on_the_page(
    space: Workspace, work: ClaudeLog
) -> None:
    number = number_of(space, work)
    with space.store() as store:
        project = next(iter(store.projects()))
    folder = memory_root(space.store_directory, project.root or "")
    folder.mkdir(parents=True)
    line = f"- <b>Tiles</b> are kept in the cellar [e:{event_id(number, 0)}]\n"
    (folder / MEMORY).write_text(f"# Memory\n\n{line}", encoding="utf-8")
    with opened(space) as served:
        path = "/search?q=tiles+in+the+cellar"
        assert "In memory and knowledge" in shown(served, path)
        text = served.ask(path).text
        assert "&lt;b&gt;" in text and "<b>" not in text
        assert f"/sessions/{number}?at=0#e0" in text and f'href="/memory/{project.key}"' in text
        page = served.ask(f"/memory/{project.key}").text
        assert f'<a href="/sessions/{number}?at=0#e0">{number}:0</a>' in page and "<b>" not in page


@pytest.mark.rows("WEB-13")
def test_a_search_without_a_word_shows_what_is_newest(space: Workspace) -> None:
    write_samples(space.claude)
    space.sweep()
    with opened(space) as served:
        for words in ("!!", "...", "\0"):
            answer = served.ask(f"/search?q={quote(words)}")
            assert answer.status == 200 and "?at=" in answer.text, words


@pytest.mark.rows("WEB-13")
def test_more_hits_are_a_link_away(space: Workspace) -> None:
    log = ClaudeLog(seed=6)
    log.prompt("count")
    for count in range(40):
        log.run(f"echo {count}", f"needle number {count}")
    space.write(log)
    space.sweep()
    with opened(space) as served:
        page = served.ask("/search?q=needle").text
        assert page.count("?at=") == 20 and "more=1" in page
        assert served.ask("/search?q=needle&more=1").text.count("?at=") > 20


@pytest.mark.rows("WEB-15")
def test_a_search_is_saved_by_name_found_again_and_dropped(served: Served) -> None:
    page = post(served, "/search/save", q="linter", project="shop", name="lint")
    assert "It is saved" in page
    link = re.search(r'href="(/search\?[^"]+)">lint</a>', served.ask("/search").text)
    assert link is not None
    kept = served.ask(link[1].replace("&amp;", "&")).text
    assert 'value="linter"' in kept and "<option selected>shop</option>" in kept
    post(served, "/search/drop", name="lint")
    assert ">lint</a>" not in served.ask("/search").text


@pytest.mark.rows("WEB-15")
def test_a_saved_search_goes_with_the_text_that_is_forgotten(
    served: Served, space: Workspace
) -> None:
    post(served, "/search/save", q="linter", name="lint")
    post(served, "/search/save", q="discount", name="other")
    answer = served.ask("/forget", form={"form_token": token(served), "text": "linter"})
    assert answer.status == 200
    saved = json.loads((space.store_directory / "saved-searches.json").read_text("utf-8"))
    assert [search["name"] for search in saved] == ["other"]
