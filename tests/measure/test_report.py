"""Reports: plots that are to scale, words that are escaped, figures that are said."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace
from tests.measure.measured_sessions import GIVEN, NOW, POLICY, SUBJECT, row

from session_memory.core.loop.effects import Effect, Interval
from session_memory.measure.effect import before_after
from session_memory.measure.report import NOTHING, bar, html_page, report
from session_memory.measure.stages import latest_effects

EVIL = '<script>alert(1)</script>\x1b[31m & "quoted"'


def effect(before: int, after: int, size: int = 40, later: int = 40) -> Effect:
    timeline = row(size, before, after=False) + row(later, after, after=True)
    return before_after(SUBJECT, timeline, GIVEN, POLICY, NOW)


def test_the_text_says_verdict_groups_cost_and_caveats() -> None:
    text = report([effect(20, 4)], {"p1": EVIL})
    assert "p1 version 1  <script>" in text and "\x1b" not in text
    assert "improved (before and after, fewer is better): rate changed by -40.0 points" in text
    assert re.search(r"before +50% +20/40 \[ *\|-+o-+\| *\]", text)
    assert re.search(r"after +10% +4/40 \[ *\|-+o-+\| *\]", text)
    assert "dollars a session: +0.00 (median" in text and "success rate: +40.0 points" in text
    assert "note: no untouched repositories" in text
    assert report([], {}) == NOTHING


def test_too_little_data_says_how_much_is_missing() -> None:
    few = report([effect(100, 3, 200, 10)], {})
    assert "too little data" in few and "a verdict probably takes 630 more sessions" in few
    assert "try a trial" in report([effect(10, 3, 19, 19)], {})
    worse = report([effect(8, 28)], {})
    assert "regressed" in worse and "`session-memory rules retire p1`" in worse


@pytest.mark.parametrize(
    "interval,shown",
    [
        (Interval(0.5, 0.0, 1.0), "|----o----|"),
        (Interval(0.0, 0.0, 0.2), "o-|        "),
        (Interval(1.0, 1.0, 1.0), "          o"),
    ],
)
def test_bars_are_to_scale(interval: Interval, shown: str) -> None:
    assert bar(interval, 11) == shown


def test_the_page_holds_no_script_and_escapes_every_word() -> None:
    page = html_page([effect(20, 4)], {"p1": EVIL})
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            assert not any(name.startswith("on") or name == "src" for name, _ in attrs)

    Tags().feed(page)
    assert {"svg", "circle", "section"} <= set(tags) and "script" not in tags
    assert "&lt;script&gt;" in page and "default-src 'none'" in page and "\x1b" not in page
    assert NOTHING in html_page([], {})


def test_a_decided_effect_speaks_before_an_open_one_and_a_trial_before_the_rest() -> None:
    good, few = effect(20, 4), effect(100, 3, 200, 10)
    open_trial, worse_trial = replace(few, method="trial"), replace(effect(8, 28), method="trial")
    assert latest_effects([good, open_trial])["p1"] == good
    assert latest_effects([worse_trial, good])["p1"] == worse_trial
    assert latest_effects([good, replace(few, version=2)])["p1"].version == 2
