"""Redacting stored sessions again: a part at a time, resumed after a kill, seen in `status`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.rescan import RescanState
from session_memory.forget.rescan import RescanPart, finish, rescan, scan
from session_memory.ingest.rules_version import (
    is_rescan_due,
    note_first_rules,
    rescan_state,
    rules_version,
)
from session_memory.redact import Redactor, Rule
from session_memory.settings import Redact, UserRule
from session_memory.store.port import Store
from session_memory.testing.workspace import Workspace

WOOD = Rule(id="wood", pattern=b"zebrawood", keywords=("zebrawood",))
SET_RULE = 'redact.rules=[{"id": "wood", "pattern": "zebrawood"}]'
PART = RescanPart(rules="new", seconds=0)


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    for seed in range(1, 4):
        log = ClaudeLog(seed)
        log.prompt(f"order {seed} of zebrawood")
        log.say("ordered")
        space.write(log)
    space.sweep()
    return space


def run(space: Workspace, *words: str) -> subprocess.CompletedProcess[str]:
    return space.run("--config", str(space.write_config()), "--set", SET_RULE, *words)


def go_on(store: Store, part: RescanPart = PART) -> tuple[int, int]:
    report = rescan(store, Redactor(store.tag_key, [WOOD]), part=part)
    return report.sessions, report.remaining


@pytest.mark.rows("RED-06")
def test_a_rescan_does_a_part_and_goes_on_where_it_was(space: Workspace) -> None:
    with space.store() as store:
        assert [go_on(store) for _ in range(4)] == [(1, 2), (1, 1), (1, 0), (0, 0)]
        assert not scan(store, Redactor(store.tag_key, [WOOD])).has_matches
        assert is_rescan_due(store, "new"), "what was made of sessions is still to be looked at"
        finish(store, "new")
        assert not is_rescan_due(store, "new")
        assert store.traces("zebrawood") == []
    assert space.findings() == []


@pytest.mark.rows("RED-06")
def test_newer_rules_start_from_the_first_session(space: Workspace) -> None:
    with space.store() as store:
        go_on(store)
        assert rescan_state(store, "new") == RescanState(sessions=3, done=1, finished=False)
        assert rescan_state(store, "newer") == RescanState(sessions=3, done=0, finished=False)
        assert go_on(store, replace(PART, rules="newer")) == (0, 2)
        assert go_on(store, replace(PART, rules="newer", start_over=True)) == (0, 2)


@pytest.mark.rows("RED-06")
def test_a_rescan_that_is_cut_off_loses_nothing(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with space.store() as store:
        rewrite = store.rewrite
        calls: list[int] = []

        def cut_off(session_id: int, edit: object) -> int:
            calls.append(session_id)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return rewrite(session_id, edit)  # type: ignore[arg-type]

        monkeypatch.setattr(store, "rewrite", cut_off)
        with pytest.raises(KeyboardInterrupt):
            go_on(store, RescanPart(rules="new"))
    with space.store() as store:
        assert go_on(store, RescanPart(rules="new")) == (2, 0)
        assert store.traces("zebrawood") == []


def test_a_new_store_has_nothing_to_rescan(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    space.sweep()
    with space.store() as store:
        rules = rules_version(Redact())
        note_first_rules(store, "other")
        assert not is_rescan_due(store, rules)


def test_the_version_knows_the_users_own_rules(tmp_path: Path) -> None:
    own = Redact(rules=(UserRule(id="wood", pattern="zebrawood"),))
    assert rules_version(Redact()) == rules_version(Redact()) != rules_version(own)
    gitleaks = tmp_path / "gitleaks.toml"
    with_file = Redact(gitleaks=str(gitleaks))
    before = rules_version(with_file)
    gitleaks.write_text("[[rules]]")
    assert rules_version(with_file) != before


@pytest.mark.rows("RED-06")
def test_a_sweep_catches_up_and_status_shows_it(space: Workspace) -> None:
    def status() -> dict[str, object]:
        return json.loads(run(space, "status", "--json").stdout)["rescan"]

    assert status() == {"sessions": 3, "done": 0, "finished": False}
    shown = run(space, "status").stdout
    assert "0 of 3 sessions looked at again by newer rules" in shown
    done = run(space, "sweep")
    assert done.returncode == 0
    assert "newer rules redacted 3 events in 3 stored sessions" in done.stderr
    assert status() == {"sessions": 0, "done": 0, "finished": True}
    with space.store() as store:
        assert store.traces("zebrawood") == []


@pytest.mark.rows("RED-06")
def test_a_path_with_a_secret_is_told_and_stays(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1, cwd="/work/zebrawood-shop")
    log.prompt("hello")
    space.write(log)
    space.sweep()
    scanned = run(space, "store", "secrets", "scan")
    assert "paths or ids of project 1 hold something and stay as they are" in scanned.stdout
