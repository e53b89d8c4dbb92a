"""Grok Build sessions through a whole sweep: growth, rewrites, relatives, in any order."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.adapters.grok_reading import parse_source, part_of

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.grok.files import PARTS
from session_memory.adapters.grok.log_builder import GrokLog, turn_usage
from session_memory.adapters.grok.reader import discover
from session_memory.core.schema import Cost, Session, SessionEvent
from session_memory.testing.workspace import Workspace


def workspace(root: Path) -> Workspace:
    space = Workspace(root)
    space.paths["grok"] = (str(root / "grok"),)
    (root / "grok").mkdir(parents=True)
    return space


def put(space: Workspace, *logs: GrokLog, without: tuple[str, ...] = ()) -> None:
    for log in logs:
        log.write(space.root / "grok", without=without)


def canonical(space: Workspace) -> list[dict[str, Any]]:
    """The dump without the number of events ever captured: half-written messages count there."""
    entries = space.dump()
    for entry in entries:
        del entry["session"]["event_count"]
    return entries


def talk(seed: int = 1) -> GrokLog:
    log = GrokLog(seed)
    log.prompt("fix ", "the test")
    log.say("I run ", "it.")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.edit("/work/shop/cart.py", "a - b", "a + b")
    log.tool("web_fetch", {"url": "u"}, "no", outcome="permission_rejected")
    log.end_turn(turn_usage(100, 20, read=40, usd=0.25))
    log.resume()
    log.prompt("another way")
    log.say("Hm.")
    log.rewind(1)
    log.prompt("go on")
    log.run("pytest -q", "1 passed")
    log.compact("fixed")
    log.say("Done.")
    log.end_turn(turn_usage(50, 10, usd=0.5))
    return log


@pytest.mark.rows("CAP-01")
def test_a_grok_session_and_a_claude_session_are_values_of_the_same_types(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    ours, theirs = talk(), ClaudeLog(2)
    theirs.prompt("fix the test")
    theirs.run("pytest -q", "1 failed", exit_code=1)
    put(space, ours)
    space.write(theirs)
    space.sweep()
    for log in (ours, theirs):
        session = space.session(log.session_id)
        events = space.events(log.session_id)
        assert (type(session), type(session.cost)) == (Session, Cost)
        assert {type(event) for event in events} == {SessionEvent}
        command = next(event for event in events if event.command)
        assert (command.command, command.tool_class) == ("pytest -q", "shell")
        result = next(event for event in events if event.kind == "tool_result")
        assert (result.exit_code, result.is_error, result.paired) == (1, True, True)
    cost = space.session(ours.session_id).cost
    assert (cost.input, cost.output, cost.cache_read, cost.usd) == (150, 30, 40, 0.75)


@pytest.mark.rows("CAP-01")
@given(words=st.lists(st.text(max_size=12), min_size=1, max_size=4), code=st.integers(0, 255))
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
def test_what_a_grok_log_says_comes_back_from_the_store_as_it_went_in(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], code: int
) -> None:
    log = GrokLog()
    for word in words:
        log.prompt(f"say {word}")
        log.run(f"echo {word}", word, exit_code=code)
        log.say(f"said {word}")
    log.end_turn(turn_usage(code, len(words), usd=code / 4))
    space = workspace(tmp_path_factory.mktemp("whole"))
    put(space, log)
    space.sweep()
    (source,) = discover(str(space.root / "grok"))
    part = part_of(parse_source(source))
    names = ("kind", "origin", "at", "tool", "tool_class", "call_id", "is_error", "exit_code")
    names += ("files", "command", "label")
    wanted = [[getattr(raw, name) for name in names] + [raw.text] for raw in part.events]
    stored = space.events(log.session_id)
    found = [[getattr(event, name) for name in names] + [event.text or ""] for event in stored]
    assert found == wanted
    cost, (usage,) = space.session(log.session_id).cost, part.usages
    for name in ("input", "output", "cache_read", "reasoning", "usd"):
        assert getattr(cost, name) == getattr(usage, name)


@given(
    cuts=st.lists(st.integers(0, 60), max_size=2),
    titles=st.lists(st.text("abc", min_size=1, max_size=3), max_size=2),
    seed=st.integers(0, 99),
)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
def test_a_session_that_grew_is_the_session_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], titles: list[str], seed: int
) -> None:
    log = talk(seed)
    space = workspace(tmp_path_factory.mktemp("grown"))
    updates = log.updates
    for cut, title in itertools.zip_longest(sorted(cuts), titles, fillvalue=None):
        log.updates = updates[: cut or 0]
        log.summary["generated_title"] = title or "x"
        put(space, log)
        space.sweep()
    log.updates = updates
    log.summary["generated_title"] = "the last title"
    put(space, log)
    space.sweep()
    whole = workspace(tmp_path_factory.mktemp("whole"))
    put(whole, log)
    whole.sweep()
    assert canonical(space) == canonical(whole)
    assert space.session(log.session_id).title == "the last title"
    assert not space.findings()


def test_a_change_beside_the_log_alone_is_noticed_and_nothing_else_is_read(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), talk()
    put(space, log)
    space.sweep()
    held = space.dump()[0]["events"]
    assert space.sweep().ingested == 0
    log.summary |= {"generated_title": "mine", "title_is_manual": True}
    put(space, log)
    report = space.sweep()
    assert (report.ingested, report.events, report.superseded) == (1, 0, 0)
    assert space.session(log.session_id).title == "mine"
    assert space.dump()[0]["events"] == held


def test_a_message_still_being_written_is_replaced_by_the_whole_one(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), GrokLog()
    log.say("one ", "two ", "three")
    rows, log.updates = log.updates, log.updates[:2]
    put(space, log)
    space.sweep()
    assert [e.text for e in space.events(log.session_id)] == ["one two "]
    log.updates = rows
    put(space, log)
    space.sweep()
    assert [e.text for e in space.events(log.session_id)] == ["one two three"]


def family() -> list[GrokLog]:
    parent = talk(1)
    child = parent.spawn(2, "look around")
    child.prompt("list the files")
    child.say("three files")
    child.end_turn(turn_usage(7, 7))
    parent.end_turn(turn_usage(30, 9))
    fork = parent.fork(3)
    fork.prompt("in the fork")
    fork.say("forked")
    fork.end_turn(turn_usage(5, 5))
    return [parent, child, fork]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_relatives_in_any_order_give_one_family(tmp_path: Path, order: tuple[int, ...]) -> None:
    logs = family()
    space = workspace(tmp_path / "steps")
    for at in order:
        put(space, logs[at])
        space.sweep()
    whole = workspace(tmp_path / "whole")
    put(whole, *logs)
    whole.sweep()
    assert space.dump() == whole.dump()
    parent, child, fork = (space.session(log.session_id) for log in logs)
    assert (child.parent_external_id, child.parent_id) == (parent.external_id, parent.id)
    assert child.source_kind == "subagent"
    assert fork.forked_from == parent.external_id
    copied = [event for event in space.events(fork.external_id) if event.inherited]
    assert len(copied) == parent.event_count
    assert (fork.cost.input, fork.cost.output) == (5, 5)


def test_a_fork_without_its_parents_overflow_files_still_holds_copies(tmp_path: Path) -> None:
    space, log = workspace(tmp_path), GrokLog()
    whole = "".join(f"line {n}\n" for n in range(3000))
    call_id = log.run("make", whole[:9000])
    log.side_files[f"terminal/{call_id}.log"] = whole.encode()
    fork = log.fork(2)
    fork.prompt("go on")
    put(space, log, fork)
    space.sweep()
    results = [e for e in space.events(fork.session_id) if e.kind == "tool_result"]
    assert [event.inherited for event in results] == [True]
    (rest,) = [e for e in space.events(log.session_id) if e.label == "overflow"]
    assert rest.text == whole[9000:]


def test_a_sub_agent_is_paid_by_the_turn_that_started_it(tmp_path: Path) -> None:
    space, logs = workspace(tmp_path), family()
    put(space, *logs)
    report = space.sweep()
    assert space.session(logs[1].session_id).cost.total_tokens == 0
    assert report.ignored["usage_in_parent"] == 1
    prompts = [e for e in space.events(logs[1].session_id) if e.kind == "injected"]
    assert [(e.label, e.origin) for e in prompts] == [("subagent_prompt", "agent")]


def test_a_parent_that_names_a_lost_sub_agent_makes_no_session_of_it(tmp_path: Path) -> None:
    space, logs = workspace(tmp_path), family()
    put(space, logs[0])
    space.sweep()
    assert list(space.sessions()) == [logs[0].session_id]


@pytest.mark.rows("CAP-08")
@pytest.mark.parametrize("name", PARTS)
def test_a_sweep_over_a_session_with_a_missing_part_succeeds(tmp_path: Path, name: str) -> None:
    space, log, other = workspace(tmp_path), talk(1), talk(2)
    put(space, log, without=(name,))
    put(space, other)
    report = space.sweep()
    assert (report.ingested, report.failed) == (2, [])
    assert report.missing_parts == {f"grok: {name}": 1}
    assert set(space.sessions()) == {log.session_id, other.session_id}


def command(space: Workspace, *words: str) -> str:
    return space.run("--config", str(space.write_config()), *words).stdout


def as_json(space: Workspace, *words: str) -> dict[str, Any]:
    return json.loads(command(space, *words, "--json"))


@pytest.mark.rows("CAP-08")
@pytest.mark.parametrize("name", ["updates.jsonl", "chat_history.jsonl"])
def test_a_part_that_is_removed_is_told_by_every_command_until_it_is_back(
    tmp_path: Path, name: str
) -> None:
    space, log, whole = workspace(tmp_path), talk(1), talk(2)
    put(space, log, whole)
    assert "missing" not in command(space, "sweep")
    part = log.directory(space.root / "grok") / name
    kept = part.read_bytes()
    part.unlink()
    words = f"grok: 1 session captured without {name}, such as {log.session_id}"

    assert f"missing    grok: {name}, in 1 log:" in command(space, "sweep")
    assert "missing    " not in command(space, "sweep")  # nothing was read this time
    assert words in command(space, "status")
    assert words in command(space, "config", "agents")
    assert words in command(space, "doctor", "--quick")
    told = {"flavor": "grok", "part": name, "sessions": 1, "example": log.session_id}
    assert as_json(space, "status")["missing_parts"] == [told]
    agents = as_json(space, "config", "agents")["agents"]
    assert {a["flavor"]: a["missing_parts"] for a in agents}["grok"] == [told]

    part.write_bytes(kept)
    assert as_json(space, "sweep")["missing_parts"] == {}
    assert as_json(space, "status")["missing_parts"] == []
    assert "captured without" not in command(space, "doctor", "--quick")


@pytest.mark.rows("CAP-08")
def test_a_dry_run_names_a_missing_part_too(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    put(space, talk(), without=("events.jsonl",))
    assert as_json(space, "sweep", "--dry-run")["missing_parts"] == {"grok: events.jsonl": 1}


def test_shuffled_neighbours_give_the_same_dump(tmp_path: Path) -> None:
    log = talk()
    plain = workspace(tmp_path / "plain")
    put(plain, log)
    plain.sweep()
    chance = random.Random(7)
    for at in range(0, len(log.updates) - 1, 2):
        pair = log.updates[at : at + 2]
        same = len({row["params"]["_meta"]["eventId"] > "" for row in pair}) == 1
        if same and chance.random() < 0.5 and _rises(pair):
            log.updates[at : at + 2] = pair[::-1]
    mixed = workspace(tmp_path / "mixed")
    put(mixed, log)
    mixed.sweep()
    assert mixed.dump() == plain.dump()


def _rises(pair: list[dict[str, dict[str, dict[str, str]]]]) -> bool:
    first, second = (int(row["params"]["_meta"]["eventId"].rpartition("-")[2]) for row in pair)
    return first < second


@pytest.mark.rows("CAP-20")
@pytest.mark.parametrize("emptied", [False, True])
def test_without_its_updates_a_session_keeps_what_they_said_and_nothing_is_doubled(
    tmp_path: Path, emptied: bool
) -> None:
    space, log = workspace(tmp_path), talk(1)
    put(space, log)
    space.sweep()
    before = space.dump()[0]["events"]
    part = log.directory(space.root / "grok") / "updates.jsonl"
    kept = part.read_bytes()
    if emptied:
        part.write_bytes(b"")
    else:
        part.unlink()
    space.sweep()
    assert space.dump()[0]["events"] == before
    assert space.findings() == []
    part.write_bytes(kept)
    space.sweep()
    assert space.dump()[0]["events"] == before


@pytest.mark.rows("CAP-20")
def test_updates_that_turn_up_later_replace_the_history(tmp_path: Path) -> None:
    space, whole, log = workspace(tmp_path / "a"), workspace(tmp_path / "b"), talk(1)
    put(space, log, without=("updates.jsonl",))
    space.sweep()
    assert space.events(log.session_id)
    put(space, log)
    space.sweep()
    put(whole, log)
    whole.sweep()
    assert space.dump()[0]["events"] == whole.dump()[0]["events"]
