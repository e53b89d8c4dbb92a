"""Qwen Code sessions through a whole sweep: any split, relatives in any order, damage."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.adapters.gemini_reading import canonical, parse_source, part_of, workspace

from session_memory.adapters.qwen.log_builder import QwenLog, usage
from session_memory.adapters.qwen.reader import ADAPTER, discover
from session_memory.store.port import ObservationQuery
from session_memory.testing.workspace import Workspace

SLOW = [HealthCheck.too_slow]


def talk(seed: int = 1) -> QwenLog:
    log = QwenLog(seed)
    log.prompt("fix the test")
    log.say("I run it.", usage(100, 20, cached=40))
    log.run("pytest -q", "1 failed", exit_code=1)
    log.write_file("/work/shop/cart.py", "a + b")
    log.run("pytest -q", "1 passed")
    log.prompt("go on")
    log.prompt("go on")
    log.system("custom_title", customTitle="the cart")
    log.compress("fixed", usage(900, 90))
    log.say("Done.", usage(7, 3))
    return log


def swept(root: Path, *logs: QwenLog) -> Workspace:
    space = workspace(root, "qwen")
    for log in logs:
        log.write(space.root / "qwen")
    space.sweep()
    return space


# Without signs that assign a value: what stands behind a name of a secret would be redacted.
SPOKEN = st.text(st.characters(exclude_characters="=:"), max_size=12)


@given(words=st.lists(SPOKEN, min_size=1, max_size=4), code=st.integers(0, 255))
@settings(max_examples=12, suppress_health_check=SLOW)
def test_what_a_session_says_comes_back_from_the_store_as_it_went_in(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], code: int
) -> None:
    log = QwenLog()
    for word in words:
        log.prompt(f"say {word}")
        log.run(f"echo {word}", word, exit_code=code)
        log.say(f"said {word}", usage(code, len(words), cached=code))
    space = swept(tmp_path_factory.mktemp("whole"), log)
    (source,) = discover(str(space.root / "qwen"))
    part = part_of(parse_source(ADAPTER, source))
    names = ("kind", "origin", "at", "tool", "tool_class", "call_id", "is_error", "exit_code")
    names += ("files", "command", "label")
    wanted = [[getattr(raw, name) for name in names] + [raw.text] for raw in part.events]
    stored = space.events(log.session_id)
    found = [[getattr(event, name) for name in names] + [event.text or ""] for event in stored]
    assert found == wanted
    cost = space.session(log.session_id).cost
    for name in ("input", "output", "cache_read", "reasoning"):
        assert getattr(cost, name) == sum(getattr(used, name) for used in part.usages)


@given(cuts=st.lists(st.integers(0, 10_000), min_size=1, max_size=4), seed=st.integers(0, 9))
@settings(max_examples=6, suppress_health_check=SLOW)
def test_a_log_that_grew_by_any_bytes_is_the_log_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], seed: int
) -> None:
    log = talk(seed)
    whole = log.lines()
    space = workspace(tmp_path_factory.mktemp("grown"), "qwen")
    path = log.write(space.root / "qwen")
    for cut in [*sorted(cuts), 10_000]:
        path.write_bytes(whole[: len(whole) * cut // 10_000])
        space.sweep()
    at_once = swept(tmp_path_factory.mktemp("whole"), log)
    assert space.dump() == at_once.dump()
    assert not space.findings()


@pytest.mark.parametrize("line", range(0, 24, 3))
def test_a_log_rewritten_shorter_and_grown_again_is_the_new_log(tmp_path: Path, line: int) -> None:
    old, new = talk(1), talk(1)
    new.rows = new.rows[:line]
    new.prompt("another way")
    new.say("so be it")
    space = swept(tmp_path / "steps", old)
    new.write(space.root / "qwen")
    space.sweep()
    whole = swept(tmp_path / "whole", new)
    kept = [(e.kind, e.text) for e in space.events(old.session_id)]
    assert kept == [(e.kind, e.text) for e in whole.events(old.session_id)]
    assert not space.findings()


def family() -> list[QwenLog]:
    parent = talk(1)
    child = parent.spawn(2, "count the files", "three files", usage(30, 3))
    fork = parent.fork(3)
    fork.prompt("in the fork")
    fork.say("forked", usage(5, 5))
    return [parent, child, fork]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_relatives_in_any_order_give_one_family(tmp_path: Path, order: tuple[int, ...]) -> None:
    logs = family()
    space = workspace(tmp_path / "steps", "qwen")
    for at in order:
        logs[at].write(space.root / "qwen")
        space.sweep()
    whole = swept(tmp_path / "whole", *logs)
    assert space.dump() == whole.dump()
    parent, child, fork = (space.session(log.external_id) for log in logs)
    assert (child.parent_external_id, child.parent_id) == (parent.external_id, parent.id)
    assert (child.source_kind, child.cost.input, child.models) == ("subagent", 30, parent.models)
    assert fork.forked_from == parent.external_id
    copied = [event for event in space.events(fork.external_id) if event.inherited]
    assert len(copied) == parent.event_count
    assert (fork.cost.input, fork.cost.output) == (5, 5)


def test_plans_failures_and_costs_reach_digest_and_observations(tmp_path: Path) -> None:
    log = QwenLog()
    log.prompt("ship the cart")
    todos = [
        {"id": "1", "content": "write the cart module", "status": "completed"},
        {"id": "2", "content": "document the cart module", "status": "pending"},
    ]
    log.call("todo_write", {"todos": todos}, "ok")
    log.run("pytest -q", "E   assert 1 == 2\n1 failed", exit_code=1)
    log.run("pytest -q", "1 passed")
    log.compress("so far", usage(10, 1))
    log.say("The tests pass.")
    space = swept(tmp_path, log)
    digest = space.digest(log.session_id)
    assert digest is not None
    assert digest.open_items == ("document the cart module",)
    assert digest.compactions == 1
    assert [(run.command, run.exit) for run in digest.commands] == [
        ("pytest -q", 1),
        ("pytest -q", 0),
    ]
    with space.store() as store:
        found = {(o.type, o.text) for o in store.observations(ObservationQuery())}
    assert ("pending_item", "document the cart module") in found


@pytest.mark.rows("CAP-13", "CAP-14")
def test_damage_costs_only_what_is_damaged_and_a_half_line_waits(tmp_path: Path) -> None:
    space, log = workspace(tmp_path, "qwen"), talk()
    path = log.write(space.root / "qwen")
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = [*lines[:4], b"#### torn\n", *lines[4:]]
    path.write_bytes(b"".join(damaged)[:-40])
    report = space.sweep()
    assert (report.parse_errors, report.incomplete_tail, report.failed) == (1, 1, [])
    path.write_bytes(b"".join(damaged))
    assert space.sweep().incomplete_tail == 0
    whole = swept(tmp_path / "whole", log)
    assert canonical(space)[0]["events"] == canonical(whole)[0]["events"]
    assert space.session(log.session_id).cost == whole.session(log.session_id).cost
