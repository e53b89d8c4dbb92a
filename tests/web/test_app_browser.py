"""The page in a real browser, on sessions of our own builders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser
from tests.web.browsing import Watched, watching
from tests.web.served import Served, serving

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace

HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    " <svg onload=alert(1)> </pre></main><style>body{display:none}</style>"
    " \u202eright to left\u202c \x1b[31mred\x1b[0m {{ 7 * 7 }} " + "w" * 4000
)
PATHS = (
    *("/", "/sessions", "/sessions/1", "/search?q=checkout", "/usage?days=", "/rules"),
    *("/sessions/1?find=checkout", "/sessions/1/diff", "/sessions/1/events/1"),
    *(
        "/search?q=1+failed%3A+checkout+timed+out",
        "/memory",
        "/memory/shop",
        "/memory/shop/files",
        "/privacy",
        "/forget?text=checkout",
        "/effect",
        "/health",
        "/health/check",
        "/usage?days=&by=model",
        "/sessions?day=2026-03-02",
    ),
)


@pytest.fixture
def served(space: Workspace) -> Iterator[Served]:
    log = ClaudeLog(seed=1)
    log.prompt("fix the flaky checkout test")
    log.run("pytest tests/checkout", "1 failed: checkout timed out", exit_code=1)
    log.run("pytest tests/checkout", "1 passed")
    log.say("The checkout test passes now.")
    hostile = ClaudeLog(seed=2)
    hostile.prompt(f"look at checkout {HOSTILE}")
    hostile.run(f"echo '{HOSTILE}'", HOSTILE, exit_code=1)
    hostile.say(HOSTILE)
    repository = space.root / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "CLAUDE.md").write_text("# Notes\n", encoding="utf-8")
    other = ClaudeLog(seed=3, cwd=str(repository))
    other.prompt("say hello")
    other.say("Hello.")
    space.write(log, hostile, other)
    space.sweep()
    with serving(space) as page:
        yield page


@pytest.fixture
def watched(browser: Browser, served: Served) -> Iterator[Watched]:
    yield from watching(browser, served)


@pytest.mark.rows("WEB-04")
def test_every_screen_is_accessible_and_fits_and_stays_here(watched: Watched) -> None:
    for path in PATHS:
        for width, scheme in ((400, "dark"), (1600, "light")):
            watched.page.set_viewport_size({"width": width, "height": 800})
            watched.page.emulate_media(color_scheme=scheme)
            watched.goto(path)
            wide = watched.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (path, width, wide)
            found = Axe().run(watched.page).response["violations"]
            serious = [v["id"] for v in found if v["impact"] in ("serious", "critical")]
            assert serious == [], (path, scheme, found)
    assert watched.errors == []
    assert watched.foreign == []


@pytest.mark.rows("WEB-05")
def test_hostile_text_is_shown_as_text(watched: Watched) -> None:
    for path in (*PATHS, "/sessions/2", "/search?q=" + "owned"):
        watched.goto(path)
        assert watched.page.title() != "owned"
        assert watched.page.locator("main").is_visible()
        assert watched.page.locator("main svg[onload], main img").count() == 0
        assert "\u202e" not in watched.page.content()
    watched.goto("/sessions/2")
    assert "<script>" in watched.page.inner_text("main")
    assert "{{ 7 * 7 }}" in watched.page.inner_text("main")
    assert watched.errors == []


@pytest.mark.rows("WEB-06")
def test_search_answers_while_one_types_and_leads_to_the_event(watched: Watched) -> None:
    watched.goto("/search")
    # By itself, but a moment after the page has loaded: letters typed before would be lost.
    watched.page.locator("main input[name=q]:focus").wait_for()
    watched.page.keyboard.type("timed out")
    hit = watched.page.locator(".hits a[href*='at=']").first
    hit.wait_for()
    assert "q=timed" in watched.page.url
    hit.focus()
    watched.page.keyboard.press("Enter")
    watched.page.wait_for_url("**/sessions/1?at=*")
    target = watched.page.evaluate("location.hash.slice(1)")
    assert watched.page.locator(f"#{target}").is_visible()
    assert watched.errors == []


@pytest.mark.rows("WEB-06")
def test_search_works_without_script(browser: Browser, served: Served) -> None:
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(served.link)
    plain.goto(f"http://{served.host}/search")
    plain.fill("form.filters input[name=q]", "flaky")
    plain.click("form.filters button")
    assert plain.locator(".hits h2").count() == 1
    plain.context.close()


@pytest.mark.rows("WEB-07")
def test_a_rule_is_added_written_into_a_file_and_taken_out_again(
    watched: Watched, space: Workspace
) -> None:
    page, target = watched.page, space.root / "repository" / "CLAUDE.md"
    before = target.read_bytes()
    watched.goto("/rules")
    page.fill("textarea[name=text]", "Run the checkout tests twice.")
    page.select_option("select[name=project]", "repository")
    page.click("text=Add")
    watched.goto("/rules")
    assert "Run the checkout tests twice." in page.inner_text(".diff")
    page.click("text=see what would change")
    assert page.url.endswith("#preview")
    page.click("text=Write these files")
    assert b"Run the checkout tests twice." in target.read_bytes()
    page.click("text=Take all of it out again")
    assert target.read_bytes() == before
    assert watched.errors == []


@pytest.mark.rows("WEB-08")
def test_what_is_forgotten_on_the_page_is_gone_and_the_page_proves_it(
    watched: Watched, space: Workspace
) -> None:
    page = watched.page
    watched.goto("/privacy")
    page.fill("#main input[name=text]", "flaky")
    page.click("text=Preview")
    assert "cannot be undone" in page.inner_text("main")
    page.click("text=Forget it for good")
    assert "in no row, text, index or file" in page.inner_text("main")
    assert "flaky" not in "".join(map(str, space.dump()))
    watched.goto("/search?q=flaky")
    assert page.locator(".hits").count() == 0
