"""What each page says, asked over plain HTTP."""

from __future__ import annotations

import html
import re
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module

import pytest
from tests.web.served import Served, serving

from session_memory.adapters.claude.log_builder import START, ClaudeLog, tokens
from session_memory.clock import now_ms
from session_memory.store.sqlite.connection import SCHEMA_VERSION
from session_memory.testing.old_stores import back_to_version_20
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace
from session_memory.web.app import DECISIONS, PAGES


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


@pytest.mark.rows("WEB-01")
@pytest.mark.parametrize("name", sorted({*PAGES.values(), *DECISIONS.values()}))
def test_every_address_has_a_function_behind_it(name: str) -> None:
    module, _, function = name.partition(".")
    assert callable(getattr(import_module(f"session_memory.web.{module}"), function))


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


def token_of(served: Served) -> str:
    return re.findall(r'name="form_token" value="([^"]+)"', served.ask("/rules").text)[0]
