"""What somebody who has read no document finds in a browser, with the mouse and the keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.web.browsing import Watched, watching
from tests.web.served import serving

from session_memory.adapters.claude.log_builder import START, ClaudeLog, tokens
from session_memory.testing.workspace import Workspace
from session_memory.web.rules import QUICK

ERROR = "ModuleNotFoundError: No module named 'yaml'"


@pytest.fixture
def visitor(browser: Browser, space: Workspace) -> Iterator[Watched]:
    """A machine after its first sweep: five sessions that met the same error and cured it."""
    repository = space.root / "shop"
    (repository / ".git").mkdir(parents=True)
    for seed in range(31, 37):
        log = ClaudeLog(seed=seed, cwd=str(repository), start=START + seed * 3_600_000)
        log.prompt(f"make the checkout of part {seed} faster")
        log.run("make test", f"E   {ERROR}", exit_code=1)
        log.run("pip install pyyaml", "Successfully installed pyyaml-6.0")
        log.run("make test", "6 passed in 0.19s")
        log.say("It is faster now.", tokens(2_000, 900, read=9_000))
        space.write(log)
    space.run("--config", str(space.write_config()), "sweep")
    with serving(space) as served:
        yield from watching(browser, served)


def press_until(page: Page, words: str, key: str = "Tab") -> None:
    """Go on with a key until what has the focus says these words, then press Enter."""
    for _ in range(200):
        page.keyboard.press(key)
        if words in page.evaluate("document.activeElement.textContent"):
            page.keyboard.press("Enter")
            return
    pytest.fail(f"the keyboard does not reach {words!r}")


@pytest.mark.rows("WEB-20")
def test_a_visitor_finds_everything_with_the_mouse(visitor: Watched) -> None:
    page = visitor.page
    page.click("text=make the checkout of part 33 faster")
    assert "It is faster now." in page.inner_text("main")
    page.click("nav >> text=Home")
    page.fill("main input[name=q]", ERROR)
    page.click("main button >> text=Search")
    assert "What fixed this error" in page.inner_text("main")
    assert "pip install pyyaml" in page.inner_text(".fix")
    page.click(".fix a")
    assert "Cured by pip install pyyaml" in page.inner_text("main")
    page.click("nav >> text=Rules")
    rule = page.inner_text(".rule h3 >> nth=0")
    page.click(".rule >> nth=0 >> button:has-text('Approve')")
    assert "It is approved now" in page.inner_text("main")
    assert rule in page.inner_text("section[aria-labelledby=decided]")
    page.click("nav >> text=Usage")
    page.wait_for_url("**/usage")  # loaded, its script too: a choice made before is not sent
    page.select_option("select[name=days]", "")
    page.wait_for_url("**days=*")
    assert "$" in page.inner_text(".summary strong")
    assert visitor.errors == [] and visitor.foreign == []


@pytest.mark.rows("WEB-20", "WEB-04")
def test_a_visitor_finds_everything_with_the_keyboard(visitor: Watched) -> None:
    page = visitor.page
    press_until(page, "make the checkout of part 33 faster")
    page.wait_for_url("**/sessions/*")
    page.keyboard.press("/")
    page.keyboard.type("pyyaml")
    page.keyboard.press("Enter")
    page.wait_for_url("**find=pyyaml*")
    assert page.locator("mark").count() > 0
    press_until(page, "Search")
    page.wait_for_url("**/search")
    page.locator("main input[name=q]:focus").wait_for()  # letters typed before would be lost
    page.keyboard.type(ERROR)
    page.locator(".fix").wait_for()
    press_until(page, "Rules", "Shift+Tab")
    page.wait_for_url("**/rules")
    press_until(page, "Approve")
    page.wait_for_url("**note=*")
    assert "It is approved now" in page.inner_text("main")
    press_until(page, "Usage")
    page.wait_for_url("**/usage")
    assert visitor.errors == []


@pytest.mark.rows("WEB-19")
def test_a_session_is_copied_and_a_sub_agent_unfolds_in_place(
    browser: Browser, space: Workspace
) -> None:
    log = ClaudeLog(seed=41)
    log.prompt("look around")
    child = log.subagent("List every page that loads the old script.")
    child.say("Two pages do.")
    log.say("Done.")
    space.write(log, child)
    space.sweep()
    with serving(space) as served:
        for visitor in watching(browser, served):
            page = visitor.page
            page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            visitor.goto("/sessions/1")
            page.click("text=Read it here")
            page.locator(".child .said >> text=Two pages do.").wait_for()
            page.click("text=Copy as Markdown")
            page.locator("button >> text=copied").wait_for()
            assert "look around" in page.evaluate("navigator.clipboard.readText()")
            assert visitor.errors == [] and visitor.foreign == []


@pytest.mark.rows("WEB-18")
@pytest.mark.parametrize("script", [True, False])
def test_health_is_shown_at_once_and_checked_after(
    browser: Browser, space: Workspace, script: bool
) -> None:
    space.write(ClaudeLog(seed=42))
    space.sweep()
    with serving(space) as served:
        for visitor in watching(browser, served, script=script):
            visitor.goto("/health")
            if not script:
                visitor.page.click("text=Check now")
            visitor.page.locator("td >> text=forget marks").wait_for()
            assert visitor.page.locator("h1").count() == 1
            assert visitor.errors == [] and visitor.foreign == []


@pytest.mark.rows("WEB-18")
def test_home_says_what_the_doctor_finds_once_it_is_shown(
    browser: Browser, space: Workspace
) -> None:
    space.write(ClaudeLog(seed=43))
    space.sweep()
    with serving(space) as served:
        for visitor in watching(browser, served):
            visitor.page.locator(
                "section[aria-labelledby=waits] >> text=/of the doctor/"
            ).wait_for()
            assert visitor.errors == [] and visitor.foreign == []


@pytest.mark.rows("WEB-24")
@pytest.mark.parametrize("script", [True, False])
def test_many_sessions_are_looked_through_after_the_page_is_shown(
    browser: Browser, space: Workspace, script: bool
) -> None:
    for seed in range(1, QUICK + 7):
        log = ClaudeLog(seed=seed, start=START + seed * 60_000)
        log.prompt(f"make part {seed} faster")
        if seed < 7:
            log.run("make test", f"E   {ERROR}", exit_code=1)
            log.run("pip install pyyaml", "Successfully installed pyyaml-6.0")
            log.run("make test", "6 passed in 0.19s")
        space.write(log)
    space.run("--config", str(space.write_config()), "sweep")
    with serving(space) as served:
        for visitor in watching(browser, served, script=script):
            visitor.goto("/rules")
            if not script:
                assert visitor.page.locator(".rule").count() == 0
                visitor.page.click("text=Look through them now")
            visitor.page.locator(".rule >> text=pyyaml >> nth=0").wait_for()
            assert visitor.page.locator("h1").count() == 1
            visitor.goto("/rules")
            assert "Look through them now" not in visitor.page.inner_text("main")
            assert visitor.errors == [] and visitor.foreign == []
