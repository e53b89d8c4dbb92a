"""`detect` and `fix` on swept logs: from digests only, kept, told the same in text and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.core.loop.patterns import Candidate
from session_memory.detect.mine import mine
from session_memory.detect.run import DetectQuery, detect
from session_memory.store import open_store
from session_memory.store.values import SessionQuery
from session_memory.testing.store_drafts import evict
from session_memory.testing.workspace import Workspace

ERROR = "Error: Cannot find module 'left-pad'"


def claude(seed: int) -> ClaudeLog:
    """A log of its own hour: equal words at equal times would be a fork."""
    return ClaudeLog(seed, start=START + seed * 3_600_000)


def cured(log: ClaudeLog | CodexLog) -> ClaudeLog | CodexLog:
    """A session in which an install cured a failing build."""
    log.prompt("make the build work")
    log.run("npm run build", ERROR, exit_code=1)
    log.run("npm install", "added 1 package")
    log.run("npm run build", "built in 3 s")
    return log


def lonely(seed: int) -> ClaudeLog:
    log = claude(seed)
    log.prompt("push it")
    for at in range(10):
        log.run(f"git push origin b{at}", "fatal: refused by the remote", exit_code=1)
    return log


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path / "space")
    for seed in (1, 2):
        cured(claude(seed)).write(space.claude)
    cured(CodexLog(3)).write(space.flavor_home("codex"))
    space.write(lonely(4))
    space.sweep()
    return space


def detected(space: Workspace, **wanted: Any) -> list[Candidate]:
    with open_store(str(space.store_directory), space.now) as opened:
        patterns = opened.patterns
        return detect(patterns, DetectQuery(**wanted), space.now)


def stored(space: Workspace) -> dict[str, tuple[str, int]]:
    import apsw

    connection = apsw.Connection(str(space.store_directory / "store.db"))
    found = connection.execute("SELECT id, status, frequency FROM pattern").fetchall()
    connection.close()
    return {row[0]: (row[1], row[2]) for row in found}


def printed(space: Workspace, *arguments: str) -> str:
    done = space.run("--config", str(space.write_config()), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.rows("DET-01", "DET-02", "DET-05")
def test_text_and_json_tell_the_same_candidates_across_agents_first(space: Workspace) -> None:
    rows = json.loads(printed(space, "rules", "detect", "--json"))
    assert isinstance(rows, list) and rows
    crossed = [row["cross_flavor"] for row in rows]
    assert crossed == sorted(crossed, reverse=True) and crossed[0]
    config = str(space.write_config())
    text = space.run_process("--config", config, "--json", module="session_memory.detect").stdout
    assert json.loads(text) == rows
    report = printed(space, "rules", "detect")
    places = [report.index(row["id"]) for row in rows]
    assert places == sorted(places)
    assert report.count("[CROSS-FLAVOR]") == sum(crossed)
    assert all(set(row["cost_impact"]) == {"usd", "minutes"} for row in rows)


@pytest.mark.rows("DET-01")
def test_it_works_when_the_raw_text_has_gone(space: Workspace) -> None:
    with space.store() as store:
        evict(store, *(raw.session_id for raw in store.raw_sessions()))
    found = {one.type for one in detected(space)}
    assert {"missing_tool", "cure"} <= found


@pytest.mark.rows("DET-03", "DET-08", "DET-09")
def test_a_floor_drops_only_what_occurred_less_often(space: Workspace) -> None:
    def listed(*options: str) -> list[dict[str, Any]]:
        return json.loads(printed(space, "rules", "detect", "--json", *options))

    whole = listed("--min-frequency", "1")
    assert {one["kind"] for one in whole} == {"problem", "success"}
    with open_store(str(space.store_directory), space.now) as opened:
        counted = {
            signal.pattern
            for mined in opened.patterns.evidence()
            for signal in mined.signals
            if signal.count
        }
    assert {name for one in whole for name in (one["id"], *one["merged"])} == counted
    pushes = [one for one in whole if one["locus"] == "git push <args>"]
    assert [(one["frequency"], one["sessions"]) for one in pushes] == [(10, 1)]
    for floor in (2, 3, 4, 10, 11):
        expected = [one for one in whole if one["frequency"] >= floor]
        assert listed("--min-frequency", str(floor)) == expected
    recurring = listed("--all")
    assert {one["id"] for one in recurring} == {one["id"] for one in whole if one["sessions"] > 1}
    assert {one["id"] for one in listed()} == {
        one["id"] for one in recurring if not one["left_out"]
    }
    assert "git push <args>" in printed(space, "rules", "detect", "--min-frequency", "3")


@pytest.mark.rows("DET-04")
def test_every_signal_names_its_session_and_flavour(space: Workspace) -> None:
    with open_store(str(space.store_directory), space.now) as opened:
        mine(opened.patterns)
        sessions = {
            one.id: (one.flavor, one.external_id) for one in opened.sessions(SessionQuery())
        }
        mined = list(opened.patterns.evidence())
    assert {one.session: (one.flavor, one.external_id) for one in mined} == sessions
    assert {one.flavor for one in mined} == {"claude", "codex"}
    assert all(one.counts_as == one.session and one.signals for one in mined)
    builds = [one for one in detected(space) if one.locus == "npm run build"]
    assert [(one.type, one.sessions) for one in builds if one.kind == "success"] == [
        ("verified_recipe", 3)
    ]


def test_a_floor_does_not_change_what_is_kept_for_review(space: Workspace) -> None:
    detected(space)
    kept = stored(space)
    detected(space, min_frequency=1)
    assert stored(space) == kept


@pytest.mark.rows("DET-06", "DET-07")
def test_candidates_are_kept_and_a_decision_outlives_new_evidence(space: Workspace) -> None:
    first = {one.id: one for one in detected(space)}
    assert {name: ("candidate", one.frequency) for name, one in first.items()} == stored(space)
    assert {one.id for one in detected(space)} == set(stored(space)) == set(first)
    missing = next(one for one in first.values() if one.type == "missing_tool")
    with open_store(str(space.store_directory), space.now) as opened:
        patterns = opened.patterns
        patterns.decide(missing.id, "rejected", space.now)
    cured(claude(9)).write(space.claude)
    space.sweep()
    again = {one.id: one for one in detected(space)}
    assert again[missing.id].status == "rejected"
    assert stored(space)[missing.id] == ("rejected", missing.frequency + 1)


def test_only_new_and_changed_digests_are_mined(space: Workspace) -> None:
    with open_store(str(space.store_directory), space.now) as opened:
        patterns = opened.patterns
        assert (mine(patterns), mine(patterns)) == (4, 0)
    cured(claude(9)).write(space.claude)
    grown = lonely(4)
    grown.run("git push origin again", "fatal: refused by the remote", exit_code=1)
    grown.write(space.claude)
    space.sweep()
    with open_store(str(space.store_directory), space.now) as opened:
        patterns = opened.patterns
        assert mine(patterns) == 2


def test_a_narrow_look_changes_nothing_that_is_kept(space: Workspace) -> None:
    detected(space)
    before = stored(space)
    assert detected(space, since=space.now) == []
    assert detected(space, repo="no-such") == []
    assert detected(space, repo="shop")
    assert stored(space) == before


@pytest.mark.rows("BRF-08")
def test_fix_says_what_worked_in_how_many_sessions_and_with_whom(space: Workspace) -> None:
    answer = printed(space, "fix", f"npm ERR!\n{ERROR}")
    assert "`npm install` worked in 3 of 3 sessions, in Claude Code and Codex" in answer
    (cure,) = json.loads(printed(space, "fix", ERROR, "--json"))["cures"]
    assert (cure["command"], cure["worked"], cure["tried"]) == ("npm install", 3, 3)
    dashes = space.run("--config", str(space.write_config()), "fix", "--- FAIL: TestNobodyKnows")
    assert dashes.returncode == 1 and "no session had" in dashes.stderr  # an error, not an option
    done = space.run("--config", str(space.write_config()), "fix", "quite another thing entirely")
    assert done.returncode == 1 and "no session had" in done.stderr


def test_forgetting_a_session_takes_its_words_and_keeps_the_decision(space: Workspace) -> None:
    lonely(5).write(space.claude)
    space.sweep()
    push = next(one for one in detected(space) if one.locus == "git push <args>")
    with open_store(str(space.store_directory), space.now) as opened:
        patterns = opened.patterns
        patterns.decide(push.id, "approved", space.now)
    space.forget(sessions=(ClaudeLog(4).session_id, ClaudeLog(5).session_id))
    with space.store() as store:
        assert store.traces("refused by the remote") == []
        assert store.traces("git push <args>") == []
    assert stored(space)[push.id][0] == "approved"
    detected(space)
    assert stored(space)[push.id] == ("approved", 0)
    assert space.findings() == []
