"""Only what one would write down is reported; the rest is counted by reason and shown on demand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.detect.digests import mined, signal

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.core.loop.patterns import Candidate, Mined
from session_memory.core.schema import RuleStatement
from session_memory.detect.cluster import cluster
from session_memory.detect.rank import rank
from session_memory.testing.workspace import Workspace

HOUR = 3_600_000


def found(*sessions: Mined) -> list[Candidate]:
    return rank(cluster(lambda: sessions), START)


def reasons(*sessions: Mined) -> dict[str, str]:
    return {one.locus: one.left_out for one in found(*sessions)}


def twice(*signals: Any) -> tuple[Mined, Mined]:
    return mined(1, *signals), mined(2, *signals)


def check(command: str) -> Any:
    return signal("verified_recipe", command, rule=f"Verify with `{command}`.")


@pytest.mark.rows("DET-10")
def test_what_no_rule_follows_from_is_left_out_with_the_reason() -> None:
    told = reasons(
        *twice(
            signal("long_search", "shop"),
            signal("recurring_error", "boom"),
            signal("recurring_error", "crash"),
            signal("cure", "Edit <args>", about="boom", tried=1),
            signal("verified_recipe", "pytest <args>"),
        )
    )
    assert told == {
        "shop": "only a count",
        "boom": "helped on one occasion, or every agent finds it by itself",
        "crash": "no cure is known",
        "Edit <args>": "helped on one occasion, or every agent finds it by itself",
        "pytest <args>": "no check of a whole project",
    }


@pytest.mark.rows("DET-10", "DET-11")
def test_one_cause_is_told_once_with_how_often_its_cure_worked() -> None:
    cures = [
        signal("cure", "tool without -x", about=error, tried=1, rule="Do not pass `-x` to `tool`.")
        for error in ("bad flag", "odd flag")
    ]
    sessions = [
        mined(1, cures[0], signal("recurring_error", "bad flag")),
        mined(2, cures[0], signal("recurring_error", "bad flag")),
        mined(3, cures[1], signal("recurring_error", "odd flag")),
        mined(4, signal("recurring_error", "odd flag"), signal("recurring_error", "bad flag")),
    ]
    (rule, *others) = found(*sessions)
    assert (rule.rule, rule.sessions, rule.left_out) == ("Do not pass `-x` to `tool`.", 3, "")
    assert rule.problems == ("bad flag", "odd flag")
    assert rule.sure == "worked in 3 of 3 sessions that met it"
    assert {one.left_out for one in others} == {"listed with its cure"}
    assert all(one.cures for one in others)


@pytest.mark.rows("DET-10")
def test_a_check_is_told_with_its_directory_only() -> None:
    told = reasons(*twice(check("go test ./... in src"), check("go test ./...")))
    assert told == {
        "go test ./... in src": "",
        "go test ./...": "another check of its kind is listed",
    }


@pytest.mark.rows("DET-11")
def test_a_cure_is_measured_by_the_sessions_of_its_own_project() -> None:
    error = signal("recurring_error", "found errors")
    cure = signal("cure", "fix it", about="found errors", tried=1, rule="Fix it with `fix`.")
    here = [mined(1, error, cure), mined(2, error, cure), mined(3, error)]
    elsewhere = [mined(at, error, repo="tool") for at in (4, 5)]
    (rule,) = [one for one in found(*here, *elsewhere) if not one.left_out]
    assert rule.sure == "worked in 2 of 3 sessions that met it"


@pytest.mark.rows("DET-10")
def test_a_check_that_a_project_has_moved_on_from_is_not_told() -> None:
    old, new = check("npm test"), check("bun test")
    months = 90 * 24 * HOUR
    sessions = [mined(at, old) for at in range(1, 5)]
    sessions += [mined(at, new, at=START + months) for at in (5, 6)]
    assert [one.locus for one in found(*sessions) if not one.left_out] == ["bun test"]


@pytest.mark.rows("DET-10")
def test_what_many_later_sessions_did_not_meet_again_is_past() -> None:
    cure = signal("cure", "python3 not python", about="x", tried=1, rule="Use `python3`.")
    later = [mined(at, signal("retry_loop", "make"), at=START + at * HOUR) for at in range(3, 13)]
    idle = [mined(at, at=START + at * HOUR) for at in range(20, 30)]
    told = reasons(*twice(cure), *later)
    assert told["python3 not python"] == "not met any more: the project moved on"
    assert reasons(*twice(cure), *later[1:], *idle)["python3 not python"] == ""
    elsewhere = [msgspec.structs.replace(each, repo="tool") for each in later]
    assert reasons(*twice(cure), *elsewhere)["python3 not python"] == ""


@pytest.mark.rows("DET-10")
def test_an_error_that_says_what_to_do_is_told_once() -> None:
    rule = "The shell is zsh: quote it."
    error = signal("recurring_error", "unquoted", rule=rule)
    cure = signal("cure", "unquoted", about="another error", tried=1, rule=rule)
    assert [one.type for one in found(*twice(error, cure)) if not one.left_out] == [
        "recurring_error"
    ]


@pytest.mark.rows("DET-10")
def test_of_checks_of_one_kind_the_one_most_sessions_pass_is_told() -> None:
    often, seldom, lint = check("npm test"), check("npm run test:unit"), check("npm run lint")
    sessions = (*twice(often, seldom, lint), mined(3, often))
    told = {one.locus: one.left_out for one in found(*sessions)}
    assert told == {
        "npm test": "",
        "npm run lint": "",
        "npm run test:unit": "another check of its kind is listed",
    }


def said(
    session: int, text: str, intent: str | None = None, day: int | None = None, **fields: Any
) -> Mined:
    """A session in which the user said something that may be a rule."""
    statement = RuleStatement(
        text, 1, START + (day or session) * 24 * HOUR, "does not want it", False, "against", intent
    )
    return mined(session, signal("stated_rule", text, said=statement, quote=text), **fields)


@pytest.mark.rows("DET-12")
def test_what_a_user_repeats_is_one_rule_in_the_users_words() -> None:
    one = said(1, "don't run visual tests in the browser")
    other = said(2, "don't start visual tests in the browser", flavor="codex")
    (rule,) = found(one, other)
    assert rule.rule.startswith("The user said: \"don't ") and rule.cross_flavor
    assert rule.sure == "the user said so in 2 sessions, last on 2026-03-02"
    assert {quote.text for quote in rule.quotes} == {
        "don't run visual tests in the browser",
        "don't start visual tests in the browser",
    }
    assert found(one, said(2, "don't forget the milk")) == []


@pytest.mark.rows("DET-12")
def test_a_wish_said_once_in_each_of_two_projects_is_no_habit_yet() -> None:
    name = "keep it short and simple"
    here, there = said(1, "keep it simple", name), said(2, "keep it short", name, repo="tool")
    (once,) = found(here, there)
    assert once.left_out == "said once, taken back, or no rule by itself"
    (again,) = found(here, there, said(3, "too complicated", name, repo="game"))
    assert (again.rule, again.left_out) == ("Keep it short and simple.", "")


@pytest.mark.rows("DET-12")
def test_a_remark_on_one_text_needs_more_sessions_than_a_way_of_working() -> None:
    name = "keep it short and simple"
    twice_said = [said(1, "keep it simple", name), said(2, "keep it short", name)]
    assert all(rule.left_out for rule in found(*twice_said))
    (rule,) = found(*twice_said, said(3, "too complicated", name))
    assert rule.left_out == ""
    (rule,) = found(said(1, "always keep it simple", name), twice_said[1])
    assert rule.left_out == ""


@pytest.mark.rows("DET-12")
@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("don't mention the workers", 1),
        ("don't do those tests in the browser", None),
        ("don't make a plan for B now", None),
        ("the visual tests are what nobody asked for", None),
        ("don't run the slow browser tests on the old server", None),
    ],
    ids=[
        "one day, two agents",
        "points at the screen",
        "an option by its letter",
        "cannot be read aloud",
        "one long text given to two agents",
    ],
)
def test_what_holds_only_in_its_moment_is_no_rule(text: str, day: int | None) -> None:
    told = found(said(1, text, day=day), said(2, text, day=day, flavor="codex"))
    assert all(rule.left_out for rule in told)


@pytest.mark.rows("DET-12")
def test_what_a_sub_agent_is_told_is_no_rule_of_the_user() -> None:
    text = "don't run visual tests in the browser"
    assert found(said(1, text), said(2, text, counts_as=1)) == []


@pytest.mark.rows("DET-07", "DET-12")
def test_a_stated_rule_keeps_the_name_it_was_decided_under() -> None:
    sessions = [said(1, "don't run visual tests here"), said(2, "don't do visual tests here")]
    (first,) = found(*sessions)
    later = [*sessions, said(3, "don't bother with visual tests here")]
    for name in (first.id, *first.merged):
        (again,) = cluster(lambda: later, {name: "rejected"})
        assert (again.id, again.status, again.sessions) == (name, "rejected", 3)


def asks(log: ClaudeLog | CodexLog, wish: str) -> ClaudeLog | CodexLog:
    """A session in which the user had to say something, and a command failed."""
    log.prompt("make the header blue")
    log.run("git push origin b", "fatal: refused by the remote", exit_code=1)
    log.prompt(wish)
    log.run("make all", "done")
    return log


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path / "space")
    asks(ClaudeLog(1), "we should discuss before you edit it").write(space.claude)
    late = CodexLog(2, at=START + 24 * HOUR).header().turn()
    asks(late, "please don't change the code yet").write(space.flavor_home("codex"))
    space.sweep()
    return space


def told(space: Workspace, *arguments: str) -> str:
    done = space.run("--config", str(space.write_config()), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.rows("DET-10", "DET-12")
def test_the_report_begins_with_what_users_said_and_counts_what_it_leaves_out(
    space: Workspace,
) -> None:
    text = told(space, "rules", "detect")
    rule = "Propose first and wait for the user's agreement before you edit anything."
    assert text.startswith(f"  1. {rule} [CROSS-FLAVOR]\n     sure: the user said so in 2 sessions")
    assert '"we should discuss before you edit it" claude' in text and "2026-03-02" in text
    assert "git push" not in text and "(its failures have no cure in common)" in text
    assert text.rstrip().endswith("--all shows them")
    everything = told(space, "rules", "detect", "--all")
    assert "command keeps failing: git push <args>" in everything
    assert (
        "left out: its failures have no cure in common" in everything and "--all" not in everything
    )


@pytest.mark.rows("DET-02", "DET-10")
def test_json_carries_rule_and_reason(space: Workspace) -> None:
    shown = json.loads(told(space, "rules", "detect", "--json"))
    assert shown and all(row["rule"] and row["sure"] and not row["left_out"] for row in shown)
    everything = json.loads(told(space, "rules", "detect", "--all", "--json"))
    assert [row for row in everything if not row["left_out"]] == shown
    assert all(row["rule"] or row["left_out"] for row in everything)


@pytest.mark.rows("DET-12")
def test_a_stated_rule_can_be_reviewed_and_is_gone_with_its_session(space: Workspace) -> None:
    told(space, "rules", "detect")
    told(space, "rules", "propose")
    rows = json.loads(told(space, "rules", "list", "--json"))["patterns"]
    assert {row["type"] for row in rows} == {"stated_rule", "verified_recipe"}  # what is reported
    (rule,) = [row for row in rows if row["type"] == "stated_rule"]
    assert rule["text"].startswith("Propose first and wait")
    told(space, "forget", "--session", ClaudeLog(1).session_id, "--yes")
    with space.store() as store:
        assert store.traces("we should discuss before you edit it") == []
    assert "Propose first" not in told(space, "rules", "detect")
