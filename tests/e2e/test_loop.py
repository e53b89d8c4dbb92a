"""The whole loop as a person runs it: logs, detection, review, files, new sessions, verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.e2e.loop_scene import HOUR, LoopDesk, tree

from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.spool import SpoolRecord
from session_memory.distil import digest as distil_digest
from session_memory.hooks import entry
from session_memory.measure.effect import LEVEL
from session_memory.measure.stats import Share, contrast
from session_memory.settings import Config
from session_memory.store import open_store
from session_memory.store.given_files import read_given
from session_memory.store.sqlite import sources, writer
from session_memory.worker.lessons import pattern_sections

BOTH = {"deploy": 20, "plan": 20}


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[LoopDesk]:
    before = os.umask(0o022)  # the program sets its umask; no other test may inherit that
    yield LoopDesk(tmp_path, capsys, monkeypatch)
    os.umask(before)


def effects(desk: LoopDesk, *words: str) -> dict[str, Any]:
    found = desk.json("--set", "measure.min_effect=0.5", "rules", "measure", *words)["effects"]
    return {one["pattern_id"]: one for one in found}


@pytest.mark.rows("MEA-01", "MEA-03")
def test_what_helped_is_told_from_what_did_not_and_undo_restores_every_byte(
    desk: LoopDesk, tmp_path: Path
) -> None:
    shop, control = desk.repository("shop"), desk.repository("control")
    untouched = tree(shop, control)
    for root in (shop, control):
        desk.sessions(root, 40, BOTH, after=False)
    names = desk.learn()
    for name, text in (("deploy", "Log in before npm run deploy."), ("plan", "Unlock the state.")):
        desk.run("rules", "edit", names[name], "--text", text)
        desk.run("rules", "approve", names[name])
    stages = {one["pattern_id"]: one["stage"] for one in desk.json("rules", "stages")["patterns"]}
    assert {stages[name] for name in names.values()} == {"approved"}
    assert desk.json("rules", "measure")["effects"] == []

    desk.run("rules", "distribute", "--repo", str(shop))
    given = tree(shop, control)
    assert all(
        f"sm-{name}".encode() in (shop / "CLAUDE.md").read_bytes() for name in names.values()
    )
    assert {path: given[path] for path in untouched if "control" in path} == tree(control)
    early = effects(desk)
    assert {one["verdict"] for one in early.values()} == {"insufficient_data"}

    desk.sessions(shop, 40, {"deploy": 2, "plan": 20}, after=True)
    desk.sessions(control, 40, BOTH, after=True)
    desk.run("sweep")
    found = effects(desk)
    deploy, plan = found[names["deploy"]], found[names["plan"]]
    counts = {name: (one["recurred"], one["sessions"]) for name, one in deploy["groups"].items()}
    assert counts == {
        "before": (20, 40),
        "after": (2, 40),
        "control_before": (20, 40),
        "control_after": (20, 40),
    }
    expected = contrast([Share(2, 40), Share(20, 40)], [Share(20, 40), Share(20, 40)], LEVEL)
    gap = deploy["difference"]
    assert [gap["estimate"], gap["low"], gap["high"]] == pytest.approx(
        [expected.estimate, expected.low, expected.high]
    )
    assert (deploy["verdict"], plan["verdict"]) == ("improved", "no_effect")
    assert (deploy["version"], plan["version"]) == (2, 2)
    with open_store(str(desk.data), desk.now) as store:
        assert {(one.pattern_id, one.version) for one in store.effects.all()} == {
            (name, 2) for name in names.values()
        }

    # A proposal, and nothing but a proposal, until a person decides.
    rows = {row["id"]: row for row in desk.json("rules", "list")["patterns"]}
    assert names["deploy"] not in rows
    assert rows[names["plan"]]["retirement"]["verdict"] == "no_effect"
    assert f"rules retire {names['plan']}" in desk.run("rules", "list")
    stages = {one["pattern_id"]: one for one in desk.json("rules", "stages")["patterns"]}
    assert stages[names["plan"]]["stage"] == "retirement_proposed"
    assert stages[names["deploy"]]["stage"] == "measured"
    assert "retirement proposed 1" in desk.run("rules", "stages")
    assert tree(shop, control) == given
    desk.run("rules", "retire", names["plan"], "--reason", "no effect")
    desk.run("rules", "distribute", "--repo", str(shop))
    text = (shop / "CLAUDE.md").read_text()
    assert names["plan"] not in text and names["deploy"] in text

    page = tmp_path / "effects.html"
    assert "improved (before and after" in desk.run("rules", "measure", "--html", str(page))
    assert "<svg" in page.read_text() and "<script" not in page.read_text()
    desk.run("rules", "withdraw", "--all")
    assert tree(shop, control) == untouched


def test_a_retirement_is_turned_down_by_approving_again(desk: LoopDesk) -> None:
    shop = desk.repository("shop")
    desk.sessions(shop, 20, {"deploy": 10, "plan": 10}, after=False)
    name = desk.learn()["deploy"]
    desk.run("rules", "approve", name)
    desk.run("rules", "distribute")
    desk.sessions(shop, 20, {"deploy": 20}, after=True)
    desk.run("sweep")
    assert "regressed" in desk.run("rules", "measure")
    assert desk.json("rules", "show", name)["pattern"]["retirement"]["verdict"] == "regressed"
    desk.run("rules", "approve", name, "--reason", "the server was down")
    assert desk.json("rules", "show", name)["pattern"]["retirement"] is None


def test_a_trial_takes_the_pattern_out_of_files_and_ends_when_told(desk: LoopDesk) -> None:
    shop = desk.repository("shop")
    before = tree(shop)
    desk.sessions(shop, 6, {"deploy": 6}, after=False)
    name = desk.learn()["deploy"]
    desk.run("rules", "trial", "start", name, code=8)  # nobody approved it
    desk.run("rules", "approve", name)
    desk.run("rules", "distribute")
    desk.wire()
    assert desk.json("rules", "trial", "start", name, "--dry-run")["dry_run"] is True
    assert desk.run("rules", "trial", "list") == "no trials\n"
    desk.run("rules", "trial", "start", f"sm-{name[:6]}")
    desk.run("rules", "trial", "start", name, code=8)
    left = desk.json("rules", "distribute")["left_out"]
    assert [row["why"] for row in left if row["pattern"] == name] == [
        "it is under trial: half of the sessions are given it at their start"
    ]
    assert tree(shop) == before
    assert desk.json("rules", "stages")["patterns"][0]["stage"] == "under_trial"
    assert {one["method"] for one in desk.json("rules", "measure")["effects"]} == {
        "before_after",
        "trial",
    }
    assert desk.json("rules", "trial", "stop", name)["trials"][0]["stopped_at"] > 0
    desk.run("rules", "trial", "stop", name, code=1)


def test_a_trial_through_the_hook_tells_the_arms_apart(desk: LoopDesk) -> None:
    shop = desk.repository("shop")
    desk.sessions(shop, 6, {"deploy": 6}, after=False)
    name = desk.learn()["deploy"]
    desk.run("rules", "approve", name)
    desk.wire()
    desk.run("rules", "trial", "start", name)
    desk.run("rules", "distribute")
    with open_store(str(desk.data), desk.now) as store:
        made = pattern_sections(store, desk.data, Config())(str(shop))
    page = {"sections": msgspec.json.decode(msgspec.json.encode(made))}
    arms: list[bool] = []
    records: list[SpoolRecord] = []

    def meets(flavor: str, session: str) -> list[str]:
        """With the pattern nothing fails, without it every second time."""
        text, given, held = entry.compose(page, session)
        arms.append(name in text)
        record = {"id": session, "at": desk.now + HOUR, "flavor": flavor, "session": session}
        told = {**record, "v": 1, "event": "session_start", "given": given, "held": held}
        records.append(msgspec.convert(told, SpoolRecord))
        return ["deploy"] if not arms[-1] and arms.count(False) % 2 == 0 else []

    for _ in range(120):
        desk.session(shop, desk.next_start(), meets)
    desk.run("sweep")
    with open_store(str(desk.data), desk.now) as store:
        store.live.note(records)
    found = {one["method"]: one for one in desk.json("rules", "measure")["effects"]}
    trial = found["trial"]
    assert (trial["verdict"], "before_after" in found) == ("improved", False)
    assert trial["groups"]["given"]["sessions"] == sum(arms)
    assert trial["groups"]["held"]["sessions"] == 120 - sum(arms)
    assert trial["groups"]["given"]["recurred"] == 0
    assert trial["groups"]["held"]["recurred"] == (120 - sum(arms)) // 2
    assert desk.json("rules", "stages")["patterns"][0]["stage"] == "measured"


@pytest.mark.rows("MEA-06")
def test_a_trial_that_would_reach_nobody_does_not_start(desk: LoopDesk) -> None:
    shop = desk.repository("shop")
    desk.sessions(shop, 6, {"deploy": 6}, after=False)
    name = desk.learn()["deploy"]
    desk.run("rules", "approve", name)

    desk.run("rules", "trial", "start", name, code=8)
    assert "no agent has our hook" in desk.notes and "`session-memory init` adds it" in desk.notes
    desk.wire()
    away = shop.rename(shop.with_name("moved"))
    for words in ([], ["--dry-run"]):
        desk.run("rules", "trial", "start", name, *words, code=8)
        assert "no project it is for is on this machine" in desk.notes
        assert f"`session-memory rules show {name}`" in desk.notes
    away.rename(shop)
    asks = shop / ".session-memory.toml"
    asks.write_text("enabled = false\n")
    desk.run("rules", "trial", "start", name, code=8)
    asks.unlink()
    switch = desk.data.parent / "state" / "hook.json"
    switch.write_text(switch.read_text().replace('"inject":true', '"inject":false'))
    desk.run("rules", "trial", "start", name, code=8)
    assert "injection is switched off" in desk.notes
    switch.write_text(switch.read_text().replace('"inject":false', '"inject":true'))
    assert desk.run("rules", "trial", "list") == "no trials\n"
    desk.run("rules", "trial", "start", name)


@pytest.mark.rows("MEA-05")
def test_sessions_distilled_by_another_version_are_not_compared(
    desk: LoopDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = desk.repository("shop")
    with monkeypatch.context() as old:
        for module in (distil_digest, sources, writer):
            old.setattr(module, "DIGEST_VERSION", DIGEST_VERSION - 1)
        desk.sessions(shop, 40, {"deploy": 40}, after=False)
        desk.run("rules", "approve", desk.learn()["deploy"])
        desk.run("rules", "distribute")
        desk.sessions(shop, 40, {}, after=True)
        desk.run("sweep")
    (effect,) = effects(desk).values()
    assert effect["verdict"] == "insufficient_data"
    assert effect["left_out"]["distilled by another version"] == 80
    assert effect["digest_version"] == DIGEST_VERSION
    text = desk.run("rules", "measure")
    assert "80 sessions are not compared: their digests are not of version" in text
    assert "distilled by another version 80" in text
    desk.run("sweep")
    (effect,) = effects(desk).values()
    assert (effect["verdict"], effect["groups"]["before"]["sessions"]) == ("improved", 40)
    assert "distilled by another version" not in effect["left_out"]


def test_forgetting_a_project_takes_its_history_of_giving_along(desk: LoopDesk) -> None:
    shop, other = desk.repository("shop"), desk.repository("other")
    for root in (shop, other):
        desk.sessions(root, 6, {"deploy": 6}, after=False)
    desk.run("rules", "approve", desk.learn()["deploy"])
    desk.run("rules", "distribute")
    assert {one.repo for one in read_given(desk.data)} == {"shop", "other"}
    desk.run("forget", "--project", "other", "--yes")
    assert {one.repo for one in read_given(desk.data)} == {"shop"}
    assert b"other" not in (desk.data / "given.json").read_bytes()


def test_the_module_is_the_verb(desk: LoopDesk) -> None:
    words = [sys.executable, "-m", "session_memory.curate", "trial", "list", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == desk.json("rules", "trial", "list")
