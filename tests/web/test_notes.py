"""What agents noted waits on the page of its project for a yes or a no."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.web.browsing import watching
from tests.web.served import Served, serving

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.curate.agent_notes import NOTES, Kind, Note, add_note, read_notes
from session_memory.testing.workspace import Workspace


@pytest.fixture
def served(space: Workspace) -> Iterator[Served]:
    """A project in which an agent noted a line for memory and a rule."""
    log = ClaudeLog(seed=51, cwd="/home/dev/shop")
    log.prompt("run the linter")
    log.say("It passes.")
    space.write(log)
    space.sweep()
    note_of(space, "memory", "The linter is <ruff>.", log.session_id)
    note_of(space, "rule", "Run ruff check twice.", log.session_id)
    with serving(space) as page:
        page.open()
        yield page


def note_of(space: Workspace, kind: Kind, text: str, session: str, root: str = "") -> Note:
    root = root or "/home/dev/shop"
    note = Note("", kind, text, root, "claude", session, space.now)
    return add_note(space.store_directory, note)


def states(space: Workspace) -> dict[str, str]:
    return {note.kind: note.state for note in read_notes(space.store_directory)}


def decide(served: Served, note: str, **form: str) -> str:
    """Send a form as the page does; the page that it leads to."""
    found = re.search(r'name="form_token" value="([^"]+)"', served.ask("/rules").text)
    assert found is not None
    form = {"form_token": found[1], "project": "shop", **form}
    answer = served.ask(f"/notes/{note}/decide", form=form)
    assert answer.status == 303, answer.text
    return served.ask(answer.headers["location"]).text


@pytest.mark.rows("WEB-21", "WEB-10")
def test_home_and_the_list_of_projects_count_what_waits(served: Served, space: Workspace) -> None:
    assert '<a href="/memory">2 notes of agents wait for your decision</a>' in served.ask("/").text
    assert '<a href="/memory/shop#notes">2</a>' in served.ask("/memory").text
    overview = space.run("--config", str(space.write_config())).stdout
    assert "2 notes of agents wait for your decision" in overview


@pytest.mark.rows("WEB-21")
def test_a_note_says_who_wrote_it_and_is_confirmed_and_taken_back(
    served: Served, space: Workspace
) -> None:
    line, rule = read_notes(space.store_directory)
    page = served.ask("/memory/shop").text
    assert "The linter is &lt;ruff&gt;." in page
    assert re.search(r"by claude in session <a[^>]+>run the linter</a>", page)
    page = decide(served, line.id, choice="confirm")
    assert "It is in your part of MEMORY.md now." in page
    assert "noted by claude in session" in page
    decide(served, rule.id, choice="confirm")
    assert "Run ruff check twice." in served.ask("/rules").text
    assert states(space) == {"memory": "confirmed", "rule": "confirmed"}
    for note in (line, rule):
        page = decide(served, note.id, choice="undo")
    assert "noted by claude in session" not in page
    assert states(space) == {"memory": "waiting", "rule": "waiting"}


@pytest.mark.rows("WEB-21")
def test_a_note_is_rejected_once_and_only_with_the_token(served: Served, space: Workspace) -> None:
    line, _ = read_notes(space.store_directory)
    form = {"choice": "reject", "project": "shop"}
    assert served.ask(f"/notes/{line.id}/decide", form=form).status == 403
    assert states(space)["memory"] == "waiting"
    assert "no session is given it" in decide(served, line.id, choice="reject")
    assert "is rejected already" in decide(served, line.id, choice="confirm")
    assert states(space)["memory"] == "rejected"


@pytest.mark.rows("WEB-21")
def test_a_note_about_no_project_is_decided_on_in_the_list(
    served: Served, space: Workspace
) -> None:
    lost = note_of(space, "correction", "It moved.", "gone", "/home/dev/old")
    assert "It moved." not in served.ask("/memory/shop").text
    assert "It moved." in served.ask("/memory").text
    decide(served, lost.id, choice="reject", project="")
    assert "It moved." not in served.ask("/memory").text


@pytest.mark.rows("WEB-21")
def test_notes_that_cannot_be_read_leave_the_rest_of_the_page(
    served: Served, space: Workspace
) -> None:
    (space.store_directory / NOTES).write_text("[{", encoding="utf-8")
    for path in ("/", "/memory", "/memory/shop"):
        answer = served.ask(path)
        assert answer.status == 200 and "cannot read " in answer.text, path


@pytest.mark.rows("WEB-21")
@pytest.mark.parametrize("script", [True, False])
def test_notes_are_decided_on_in_a_browser(
    browser: Browser, space: Workspace, served: Served, script: bool
) -> None:
    with serving(space) as again:  # the link of `served` is used
        for visitor in watching(browser, again, script=script):
            page = visitor.page
            visitor.goto("/")
            page.click("text=2 notes of agents wait")
            page.click("td a >> text=2")
            page.click("button >> text=Confirm >> nth=0")
            page.click("button >> text=Reject >> nth=0")
            assert states(space) == {"memory": "confirmed", "rule": "rejected"}
            page.click(".card:has-text('confirmed') >> button >> text=Undo")
            assert states(space) == {"memory": "waiting", "rule": "rejected"}
            assert visitor.errors == [] and visitor.foreign == []
