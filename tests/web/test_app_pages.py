"""What each page says, asked over plain HTTP."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from urllib.parse import quote

import pytest
from tests.web.served import Served, serving

from session_memory.adapters.claude.log_builder import START, ClaudeLog, tokens
from session_memory.clock import now_ms
from session_memory.core.event_ids import event_id
from session_memory.memory.layout import MEMORY, memory_root
from session_memory.store.sqlite.connection import SCHEMA_VERSION
from session_memory.store.values import SessionQuery
from session_memory.testing.old_stores import back_to_version_20
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace
from session_memory.web.app import DECISIONS, PAGES
from session_memory.web.markdown import rendered


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
        page = shown(served, "/")
        assert "Your sessions were not yet looked through for rules: do it now" in page
        assert "not checked in this run: see whether all is well" in page
        assert served.ask("/rules").status == 200
        assert "looked through for rules" not in shown(served, "/")
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


def test_the_cost_of_the_week_is_the_sum_of_its_projects(space: Workspace) -> None:
    log = ClaudeLog(start=now_ms() - 60_000)
    log.prompt("count the pages")
    child = log.subagent("Count them.")
    child.say("Two.", usage=tokens(output=400_000))
    log.say("There are two.", usage=tokens(output=200_000))
    space.write(log, child)
    space.now = now_ms()
    space.sweep()
    with opened(space) as served:
        week = shown(served, "/").partition("The last 7 days")[2]
    (whole,) = re.findall(r"1 session, (\$[0-9.]+) at", week)
    assert re.findall(r" 1 \d (\$[0-9.]+) ", week)[:2] == [whole, whole]


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


@pytest.mark.rows("WEB-05")
def test_hostile_text_in_any_field_of_a_log_is_shown_as_text(space: Workspace) -> None:
    hostile = (
        "<script>document.title='owned'</script><img src=x onerror=alert(1)>\u202e {{ 7 * 7 }}"
    )
    folder = "<img src=x onerror=alert(2)>"
    log = ClaudeLog(seed=8, cwd=f"/work/{folder}")
    log.branch, log.version, log.model = hostile, hostile, hostile
    log.prompt(f"look {hostile}")
    log.edit(f"/work/{folder}/{hostile}.py", hostile, f"{hostile} changed")
    log.result(log.call(hostile, {"command": hostile}), hostile, error=True)
    log.title(hostile)
    child = log.subagent(hostile)
    child.say(hostile)
    space.write(log, child)
    space.sweep()
    key = quote(f"{folder}")
    paths = (
        *("/", "/sessions", "/search?q=look", "/usage?by=model&days=", "/usage?by=project&days="),
        *("/sessions/1", "/sessions/2", "/sessions/1/diff", "/sessions/2/diff", "/memory"),
        *(f"/memory/{key}", "/privacy", "/rules", "/effect", f"/sessions?project={key}"),
        *("/health", "/health/check", f"/search?q={quote(hostile)}&note={quote(hostile)}"),
        f"/memory/{key}?why={quote(hostile)}&note={quote(hostile)}",
        *("/forget?text=owned", "/sessions/1?find=%3Cscript%3E", "/search?q=%3Cscript%3E"),
    )
    with opened(space) as served:
        whole = ""
        for path in paths:
            answer = served.ask(path)
            assert answer.status == 200, (path, answer.text[-600:])
            assert "<script>document" not in answer.text, path
            assert "<img" not in answer.text, path
            assert "\u202e" not in answer.text, path
            whole += answer.text
    assert "&lt;script&gt;document" in whole and "{{ 7 * 7 }}" in whole


@pytest.mark.rows("WEB-01")
@pytest.mark.parametrize("name", sorted({*PAGES.values(), *DECISIONS.values()}))
def test_every_address_has_a_function_behind_it(name: str) -> None:
    module, _, function = name.partition(".")
    assert callable(getattr(import_module(f"session_memory.web.{module}"), function))


@pytest.mark.rows("WEB-19")
def test_a_call_stands_with_its_result_and_a_sub_agent_can_be_read_in_place(
    space: Workspace, work: ClaudeLog
) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        page = served.ask(f"/sessions/{number}").text
        calls = page.count('class="event tool_call')
        assert calls == page.count('class="result"') + 1, "only the sub-agent's has none here"
        assert 'class="event tool_result' not in page
        child = re.search(r'data-load="(/sessions/\d+)"', page)
        assert child is not None
        part = served.ask(child[1], headers={"X-Part": "results"}).text
        assert "Two pages do." in part and "<html" not in part


@pytest.mark.rows("WEB-19")
def test_a_session_is_saved_as_json_lines_and_one_event_as_markdown(
    space: Workspace, work: ClaudeLog
) -> None:
    number = number_of(space, work)
    with opened(space) as served:
        answer = served.ask(f"/sessions/{number}.jsonl")
        first, *events = map(json.loads, answer.text.splitlines())
        assert first["record"] == "session" and len(events) == 17
        assert served.ask(f"/sessions/{number}/events/0.md").text == "make the checkout faster"


@pytest.mark.rows("WEB-19")
def test_a_day_of_the_calendar_leads_to_its_sessions(space: Workspace, work: ClaudeLog) -> None:
    with opened(space) as served:
        assert "make the checkout faster" in shown(served, "/sessions?day=2026-03-02")
        assert "No session fits" in shown(served, "/sessions?day=2026-03-03")
        assert served.ask("/sessions?day=yesterday").status == 400
        assert "a day is written as 2026-03-02" in served.ask("/sessions?day=yesterday").text


@pytest.mark.rows("WEB-19")
def test_markdown_becomes_a_few_harmless_elements() -> None:
    text = (
        "# Head\n1. one **bold**\n   - two `x < y`\n[here](javascript:alert(1)) <b>\n"
        "```js\n<script>\n"
    )
    made = str(rendered(text))
    assert '<p class="heading">Head</p>' in made
    assert "<strong>bold</strong>" in made and "<code>x &lt; y</code>" in made
    assert "here (javascript:alert(1))" in made and "href" not in made
    assert "&lt;script&gt;" in made and "<script>" not in made and "<b>" not in made


@pytest.mark.rows("WEB-01")
def test_a_store_of_an_older_program_is_brought_up_to_date(space: Workspace) -> None:
    write_samples(space.claude)
    space.sweep()
    back_to_version_20(space.store_directory)
    with opened(space) as served:
        assert "$" in shown(served, "/usage?days=")
    with space.store() as store:
        assert store.info().schema_version == SCHEMA_VERSION


@pytest.mark.rows("WEB-23")
def test_quotes_of_a_rule_lead_to_their_events_and_the_rule_says_where_it_cannot_be_written(
    space: Workspace,
) -> None:
    for seed in range(31, 37):
        log = ClaudeLog(seed=seed, cwd="/gone/shop", start=START + seed * 3_600_000)
        log.prompt(f"make the checkout of part {seed} faster")
        log.run("make test", "E   ModuleNotFoundError: No module named 'yaml'", exit_code=1)
        log.run("pip install pyyaml", "Successfully installed pyyaml-6.0")
        log.run("make test", "6 passed in 0.19s")
        log.say("It is faster now.", tokens(2_000, 900))
        space.write(log)
    space.run("--config", str(space.write_config()), "sweep")
    with opened(space) as served:
        rule = re.findall(r'href="(/rules/[^"]+)"', served.ask("/rules").text)[0]
        assert "Where it cannot be written /gone/shop" in shown(served, rule)
        when = re.findall(r'href="(/sessions/[0-9]+\?when=[0-9]+)"', served.ask(rule).text)[0]
        answer = served.ask(when)
        assert answer.status == 303
        led_to = re.fullmatch(r"/sessions/[0-9]+\?at=([0-9]+)#e\1", answer.headers["location"])
        assert led_to and int(led_to[1]) > 0
        assert served.ask(when.partition("=")[0] + "=5").status == 200
        served.ask(f"{rule}/decide", form={"action": "approve", "form_token": token_of(served)})
        assert "Approved, and cannot be written /gone/shop" in shown(served, "/rules")


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


@pytest.mark.rows("WEB-12")
def test_cost_over_time_is_drawn_beside_tokens(space: Workspace, work: ClaudeLog) -> None:
    with opened(space) as served:
        page = served.ask("/sessions/1").text
        assert 'aria-label="Tokens over time"' in page and 'aria-label="Cost over time"' in page


def token_of(served: Served) -> str:
    return re.findall(r'name="form_token" value="([^"]+)"', served.ask("/rules").text)[0]
