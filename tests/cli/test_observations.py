"""`observations` lists what was observed, narrows it, and draws the same sample again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import START, ClaudeLog, text_block
from session_memory.testing.workspace import Workspace

FIRST, SECOND = ClaudeLog(1).session_id, ClaudeLog(2).session_id


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path / "space")
    one, two = ClaudeLog(1), ClaudeLog(2)
    one.prompt("Please port the reader. Never touch the writer.")
    one.reply(text_block("Decision: keep the old format\n\nPending: write the \x1b[31mdocs"))
    one.prompt("ok")
    two.prompt("Make the viewer show dates in UTC")
    two.edit("/work/shop/src/viewer.py", "a", "b")
    two.run("npm test", "12 passed")
    two.reply(text_block("The viewer shows all dates in UTC from now on, with a test."))
    space.write(one, two)
    space.sweep()
    return space


def told(space: Workspace, *arguments: str) -> str:
    done = space.run("--config", str(space.write_config()), "project", "observations", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(space: Workspace, *arguments: str) -> list[dict[str, Any]]:
    return json.loads(told(space, "--json", *arguments))["observations"]


def test_it_lists_one_line_each_and_nothing_a_terminal_would_obey(space: Workspace) -> None:
    lines = told(space).splitlines()
    assert any("decision" in line and "keep the old format" in line for line in lines)
    (first,) = {str(row["session_id"]) for row in rows(space) if row["session"] == FIRST}
    assert any(first in line.split() and "Never touch the writer" in line for line in lines)
    assert "\x1b" not in "".join(lines)
    assert not any(line.endswith("  ok") for line in lines)


def test_it_narrows_by_session_type_time_and_value(space: Workspace) -> None:
    assert {row["session"] for row in rows(space, "--session", SECOND)} == {SECOND}
    kinds = rows(space, "--type", "decision", "--type", "constraint")
    assert {row["type"] for row in kinds} == {"decision", "constraint"}
    assert rows(space, "--since", "2099-01-01") == []
    assert "ok" not in [row["text"] for row in rows(space)]
    assert "ok" in [row["text"] for row in rows(space, "--all")]
    assert len(rows(space, "--limit", "1")) == 1


def test_a_row_tells_where_it_comes_from(space: Workspace) -> None:
    (row,) = rows(space, "--type", "decision")
    assert row["origin"] == "agent"
    assert row["status"] == "active"
    assert row["source"] == "turn_extract"
    assert row["at"].endswith("Z")
    assert isinstance(row["event"], int)


def test_the_same_seed_draws_the_same_sample(space: Workspace) -> None:
    drawn = told(space, "--sample", "3", "--seed", "4")
    assert len(drawn.splitlines()) == 3
    assert told(space, "--sample", "3", "--seed", "4") == drawn
    everything = told(space).splitlines()
    assert set(told(space, "--sample", "999").splitlines()) == set(everything)


@pytest.mark.rows("OBS-12")
def test_a_rule_is_shown_once_with_how_often_it_was_stated(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    for seed, words in (
        (1, "we should discuss before you edit the code"),
        (2, "discuss with me before you change the code"),
    ):
        log = ClaudeLog(seed)
        log.prompt("Look at the parser for empty files")
        log.say("The parser reads empty files as one line, which the tests do not cover.")
        log.prompt(words)
        space.write(log)
    space.sweep()
    (rule,) = rows(space, "--type", "constraint")
    assert rule["status"] == "promoted"
    assert (rule["times"], rule["sessions"]) == (2, 2)
    assert "stated 2 times in 2 sessions, last 20" in rule["sure"]
    assert rule["text"].startswith("discuss first: ")
    assert told(space, "--type", "constraint").count("discuss first: ") == 1
    assert rule["sure"] in told(space, "--type", "constraint")
    left_out = [row for row in rows(space, "--type", "constraint", "--all") if row["left_out"]]
    assert [row["left_out"] for row in left_out] == ["said again in other words"]


@pytest.mark.rows("OBS-12")
def test_a_rule_that_was_taken_back_is_left_out(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    for seed, words in ((1, "we never mock the database"), (2, "you can mock the database")):
        log = ClaudeLog(seed)
        log.wait(seed * 3600)
        log.prompt("Look at the parser for empty files")
        log.say("The parser reads empty files as one line, which the tests do not cover.")
        log.prompt(words)
        space.write(log)
    space.sweep()
    assert rows(space, "--type", "constraint") == []
    (row,) = rows(space, "--type", "constraint", "--all")
    assert row["left_out"] == "taken back later"
    assert "[left out: taken back later]" in told(space, "--all")


@pytest.mark.rows("OBS-12")
def test_what_the_user_says_in_any_place_may_be_a_rule(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = ClaudeLog(1)
    log.prompt("Look at the parser for empty files")
    log.say("The parser reads empty files as one line, which the tests do not cover.")
    log.queue("please don't amend commits")
    space.write(log)
    space.sweep()
    (row,) = rows(space, "--type", "constraint")
    assert row["text"] == "don't amend commits"
    assert row["sure"] == "stated once, firmly"


@pytest.mark.rows("OBS-12")
@pytest.mark.parametrize(
    "words",
    [
        "do not change the code just yet",
        "let's discuss first",
        "i don't want to use the activity page",
        "lets get back to main again",
        "i mean we must accept that an agent may be killed",
        "don't use those colours",
    ],
)
def test_an_order_about_the_step_at_hand_is_no_rule(tmp_path: Path, words: str) -> None:
    space = Workspace(tmp_path / "space")
    log = ClaudeLog(1)
    log.prompt("Look at the parser for empty files")
    log.say("The parser reads empty files as one line, which the tests do not cover.")
    log.prompt(words)
    space.write(log)
    space.sweep()
    assert rows(space, "--type", "constraint") == []


@pytest.mark.rows("OBS-12")
def test_a_repeated_wish_is_shown_in_words_that_tell_it(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    wish = "don't run the visual tests in the browser"
    for seed, words in ((1, wish), (2, f"{wish} again")):
        log = ClaudeLog(seed, start=START + seed * 86_400_000)
        log.prompt("Look at the parser for empty files")
        log.say("The parser reads empty files as one line, which the tests do not cover.")
        log.prompt(words)
        space.write(log)
    space.sweep()
    assert [row["text"] for row in rows(space, "--type", "constraint")] == [wish]


@pytest.mark.rows("OBS-12")
def test_an_order_that_is_done_is_told_by_its_summary_only(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = ClaudeLog(1)
    order = "we never print to the console in themes"
    log.prompt(order)
    log.edit("/work/shop/src/text.py", "a", "b")
    log.run("npm test", "12 passed")
    log.say("`setTheme` returns its error now, and the caller decides how to show it.")
    space.write(log)
    space.sweep()
    (row,) = rows(space)
    assert row["type"] == "session_summary" and row["text"].startswith(order)
    left_out = {row["left_out"] for row in rows(space, "--type", "constraint", "--all")}
    assert left_out == {"a summary tells what came of it"}


@pytest.mark.rows("OBS-12")
def test_a_wish_that_says_it_lasts_is_a_rule_whatever_its_words(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = ClaudeLog(1)
    log.prompt("Look at the parser for empty files")
    log.say("The parser reads empty files as one line, which the tests do not cover.")
    log.prompt("from now on don't use bright colours in the themes")
    space.write(log)
    space.sweep()
    assert len(rows(space, "--type", "constraint")) == 1


@pytest.mark.rows("OPN-04")
def test_an_item_that_a_later_session_ended_is_shown_only_with_all(space: Workspace) -> None:
    items = rows(space, "--all", "--type", "pending_item")
    assert [row["status"] for row in items] == ["active"]
    later = ClaudeLog(3, start=START + 3_600_000)
    later.prompt("Make the search find words in quotes")
    later.reply(text_block("The search finds words in quotes now, with a test."))
    space.write(later)
    space.sweep()
    assert rows(space, "--type", "pending_item") == []
    items = rows(space, "--all", "--type", "pending_item")
    assert [row["status"] for row in items] == ["superseded"]
    assert items[0]["left_out"] == "done, dropped or overtaken since"


@pytest.mark.rows("OBS-13")
def test_a_turn_is_told_once_a_check_or_a_commit_shows_that_its_work_lasted(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = ClaudeLog(1)
    asked = "Make the parser accept empty files"
    log.prompt(asked)
    log.edit("/work/shop/src/parse.py", "a", "b")
    log.run("git commit -am x", "[main 1a2b3c4] Parser: accept empty files\n 1 file changed")
    log.say("The parser accepts empty files.\n\nDone: `read_line` skips blanks")
    log.prompt("Rename the reader to LineReader in src/reader.py")
    log.edit("/work/shop/src/reader.py", "a", "b")
    log.say("Renamed the reader to `LineReader`.")
    space.write(log)
    space.sweep()
    shown = [row["text"] for row in rows(space)]
    left_out = {row["text"]: row["left_out"] for row in rows(space, "--all") if row["left_out"]}
    assert shown == [f"{asked} → Parser: accept empty files [edited parse.py]"]
    assert left_out[asked] == "a summary tells what came of it, or nothing did"
    assert left_out["`read_line` skips blanks"].startswith("a step: ")
    assert any("LineReader" in text and "nothing shows" in why for text, why in left_out.items())


@pytest.mark.rows("OBS-13")
def test_what_two_sessions_hold_alike_is_told_once(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    for seed in (1, 2):
        log = ClaudeLog(seed, start=START + seed * 3_600_000)
        log.prompt("Make the parser accept empty files")
        log.edit("/work/shop/src/parse.py", "a", "b")
        log.run("npm test", "12 passed")
        log.say("The parser accepts empty files; `read_line` gives a line of zero length.")
        space.write(log)
    space.sweep()
    assert len(rows(space, "--type", "session_summary")) == 1
    both = rows(space, "--type", "session_summary", "--all")
    assert [row["left_out"] for row in both] == [None, "the same was noted in an older session"]


@pytest.mark.rows("OBS-12")
@pytest.mark.parametrize(
    "words",
    [
        ("Make the impl that works same for both agents, keep the simplest implementation",),
        ("we should rename to publish.yml given that access is already set up for publish.yml",),
    ],
)
def test_an_order_of_its_task_is_no_rule(tmp_path: Path, words: tuple[str, ...]) -> None:
    space = Workspace(tmp_path / "space")
    for seed, said in enumerate(words, 1):
        log = ClaudeLog(seed)
        log.prompt("Look at the parser for empty files")
        log.say("The parser reads empty files as one line, which the tests do not cover.")
        log.prompt(said)
        space.write(log)
    space.sweep()
    assert rows(space, "--type", "constraint") == []
