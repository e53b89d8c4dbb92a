"""Every known way to count a response twice or not at all, through the whole sweep, per agent."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog, text_block, thinking_block
from session_memory.adapters.claude.log_builder import tokens as claude_tokens
from session_memory.adapters.codex.log_builder import CodexLog, tokens
from session_memory.adapters.grok.log_builder import GrokLog, turn_usage
from session_memory.testing.workspace import Workspace

Log = ClaudeLog | CodexLog | GrokLog
Spent = tuple[int, int, int, int, int]
"""Input, output, cache read, cache written for 5 minutes, for an hour."""


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return prepared(tmp_path / "space")


def prepared(root: Path) -> Workspace:
    space = Workspace(root)
    for flavor in ("codex", "grok"):
        (root / flavor).mkdir()
        space.paths[flavor] = (str(root / flavor),)
    return space


def put(space: Workspace, *logs: Log) -> list[Path]:
    homes = {ClaudeLog: "claude", CodexLog: "codex", GrokLog: "grok"}
    return [log.write(space.root / homes[type(log)]) for log in logs]


def total(space: Workspace) -> Spent:
    """What the store says was spent in all, by every way of asking it."""
    with space.store() as store:
        sums: list[Spent] = []
        for group in ("day", "model", "flavor", "session", "project"):
            costs = [row.cost for row in store.usage(group, None, None)]
            sums.append(
                (
                    sum(cost.input for cost in costs),
                    sum(cost.output for cost in costs),
                    sum(cost.cache_read for cost in costs),
                    sum(cost.cache_write_5m for cost in costs),
                    sum(cost.cache_write_1h for cost in costs),
                )
            )
    (only,) = set(sums)
    return only


def in_every_order(tmp_path: Path, *logs: Log) -> Iterator[Workspace]:
    """The same logs at once, and one after the other with a sweep between, in each order."""
    at_once = prepared(tmp_path / "once")
    put(at_once, *logs)
    at_once.sweep()
    yield at_once
    for number, order in enumerate(itertools.permutations(logs)):
        space = prepared(tmp_path / f"order{number}")
        for log in order:
            put(space, log)
            space.sweep()
        yield space


# --- Claude ---


def claude(seed: int = 1) -> ClaudeLog:
    """A conversation that cost (12, 100, 900, 30, 20)."""
    log = ClaudeLog(seed)
    log.prompt("go")
    log.reply(thinking_block("hm"), text_block("a"), usage=claude_tokens(5, 40, read=900))
    log.say("b", claude_tokens(7, 60, write_5m=30, write_1h=20))
    return log


ONE: Spent = (12, 100, 900, 30, 20)


def test_claude_a_response_over_several_records_counts_once(space: Workspace) -> None:
    log = claude()
    log.rows += [dict(row) for row in log.rows]  # and the whole history once more
    put(space, log)
    space.sweep()
    assert total(space) == ONE


def test_claude_a_response_under_several_session_ids_counts_once(tmp_path: Path) -> None:
    first = claude()
    second = first.resume_copy(2)
    third = second.resume_copy(3)
    third.say("own", claude_tokens(1, 2))
    payers: set[tuple[int, ...]] = set()
    for space in in_every_order(tmp_path, first, second, third):
        assert total(space) == (13, 102, 900, 30, 20)
        # Copies to the byte do not tell who was first; one of them pays, always the same.
        costs = [space.session(log.session_id).cost.output for log in (first, second, third)]
        assert costs in ([100, 0, 2], [0, 100, 2], [0, 0, 102])
        payers.add(tuple(costs))
    assert len(payers) == 1


def test_claude_a_fork_pays_only_for_what_it_did_itself(tmp_path: Path) -> None:
    parent = claude()
    fork = parent.fork(2)
    fork.say("own", claude_tokens(1, 2))
    for space in in_every_order(tmp_path, parent, fork):
        assert total(space) == (13, 102, 900, 30, 20)
        assert space.session(fork.session_id).cost.output == 2


def test_claude_a_sub_agent_given_its_parents_history_pays_only_for_its_own(tmp_path: Path) -> None:
    parent = claude()
    child = parent.subagent("look")
    child.say("seen", claude_tokens(3, 9))
    envelope = {"agentId": child.agent_id, "isSidechain": True}
    child.rows = [*({**row, **envelope} for row in parent.rows), *child.rows]
    spent = (115, 159, 900, 30, 20)  # with the call that started it
    for space in in_every_order(tmp_path, parent, child):
        assert total(space) == spent
        (own,) = [s for s in space.sessions().values() if s.parent_external_id]
        assert (own.cost.input, own.cost.output) == (3, 9)


def test_claude_what_a_parent_repeats_of_its_sub_agent_counts_once(tmp_path: Path) -> None:
    parent = claude()
    child = parent.subagent("look")
    said = child.say("seen", claude_tokens(3, 9))
    data = {"type": "agent_progress", "message": said, "agentId": child.agent_id}
    parent.row("progress", data=data)
    for space in in_every_order(tmp_path, parent, child):
        assert total(space) == (115, 159, 900, 30, 20)


@pytest.mark.parametrize("order", [1, -1])
def test_claude_placeholders_of_a_stream_never_win(space: Workspace, order: int) -> None:
    log = ClaudeLog()
    usage = claude_tokens(5, 400, read=900)
    log.reply(thinking_block("hm"), text_block("a"), text_block("b"), usage=usage, streamed=True)
    log.rows = log.rows[::order]
    put(space, log)
    space.sweep()
    assert total(space) == (5, 400, 900, 0, 0)


@pytest.mark.parametrize("flat", [0, 50, None])
def test_claude_cache_writes_of_both_lifetimes_count_once(
    space: Workspace, flat: int | None
) -> None:
    log = ClaudeLog()
    usage = claude_tokens(1, 1, write_5m=30, write_1h=20)
    if flat is None:
        del usage["cache_creation_input_tokens"]
    else:  # some versions wrote 0 beside a filled object
        usage["cache_creation_input_tokens"] = flat
    log.say("x", usage)
    put(space, log)
    space.sweep()
    assert total(space) == (1, 1, 0, 30, 20)


@pytest.mark.parametrize("streamed", [True, False])
def test_claude_a_response_whose_records_straddle_two_sweeps_counts_once(
    space: Workspace, streamed: bool
) -> None:
    log = ClaudeLog()
    log.prompt("go")
    usage = claude_tokens(5, 400, read=900)
    log.reply(*(text_block(f"part {n}") for n in range(4)), usage=usage, streamed=streamed)
    rows = log.rows
    for end in range(2, len(rows) + 1):
        log.rows = rows[:end]
        put(space, log)
        space.sweep()
    assert total(space) == (5, 400, 900, 0, 0)


# --- Codex ---


def codex(seed: int = 1) -> CodexLog:
    """A thread that cost (180, 30, 120, 0, 0)."""
    log = CodexLog(seed).header().turn().prompt("go").answer("a")
    return log.spend(tokens(100, 40, 10, 4)).spend(tokens(200, 80, 20, 8))


THREAD: Spent = (180, 30, 120, 0, 0)


@pytest.mark.rows("CAP-07")
def test_codex_a_count_told_again_costs_nothing_wherever_a_sweep_falls(space: Workspace) -> None:
    log = codex()
    again = tokens(200, 80, 20, 8)
    put(space, log)
    space.sweep()
    log.count(again).turn().count(again)
    put(space, log)
    space.sweep()
    # Behind a compaction the same total comes with an estimate in the place of a response.
    log.count({**tokens(0), "total_tokens": 7000}).prompt("more").answer("b").count(again)
    put(space, log)
    space.sweep()
    assert total(space) == THREAD


@pytest.mark.rows("CAP-07")
@pytest.mark.parametrize("restamped", [True, False])
def test_codex_a_fork_that_replays_its_parent_pays_only_for_its_own(
    tmp_path: Path, restamped: bool
) -> None:
    parent = codex()
    fork = parent.fork(2, restamped=restamped)
    fork.at += 5000
    fork.turn().prompt("other").answer("b").spend(tokens(50, 0, 5))
    second = fork.fork(3, restamped=restamped)
    second.at += 5000
    second.turn().prompt("third way").answer("c").spend(tokens(7, 0, 1))
    for space in in_every_order(tmp_path, parent, fork, second):
        assert total(space) == (237, 36, 120, 0, 0)
        assert space.session(fork.thread).cost.total_tokens == 55
        assert space.session(second.thread).cost.total_tokens == 8


@pytest.mark.parametrize("restamped", [True, False])
def test_codex_a_fork_does_not_pay_for_a_parent_whose_log_is_gone(
    space: Workspace, restamped: bool
) -> None:
    fork = codex().fork(2, restamped=restamped)
    fork.at += 5000
    put(space, fork.turn().prompt("other").answer("b").spend(tokens(50, 0, 5)))
    space.sweep()
    assert total(space) == (50, 5, 0, 0, 0)


@pytest.mark.parametrize("replay", [True, False])
def test_codex_a_sub_agent_pays_for_its_own_with_or_without_a_replay(
    tmp_path: Path, replay: bool
) -> None:
    parent = codex()
    child = parent.fork(2) if replay else CodexLog(2, at=parent.at + 60_000).header()
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": parent.thread, "depth": 1}}}
    child.rows[0]["payload"]["source"] = spawned
    child.at += 5000
    child.turn().prompt("look").answer("seen").spend(tokens(70, 10, 7))
    for space in in_every_order(tmp_path, parent, child):
        assert total(space) == (240, 37, 130, 0, 0)
        found = space.session(child.thread)
        assert (found.source_kind, found.parent_external_id) == ("subagent", parent.thread)
        assert found.cost.total_tokens == 77


@pytest.mark.rows("CAP-07")
def test_codex_exact_records_and_counts_beside_them_count_once(space: Workspace) -> None:
    log = CodexLog(1, mode="paginated").header().turn().prompt("go").answer("a")
    log.spend(tokens(100, 40, 10, 4), record=True).count(tokens(100, 40, 10, 4))
    put(space, log)
    space.sweep()  # between a response's record and what repeats it
    log.rows.append(dict(log.rows[-3]))
    log.spend(tokens(200, 80, 20, 8), record=True)
    log.spent = tokens(90_000)
    log.count(tokens(90_000))  # a count that disagrees
    put(space, log)
    space.sweep()
    assert total(space) == THREAD


def test_codex_a_rollout_that_lies_in_the_archive_too_counts_once(space: Workspace) -> None:
    log = codex()
    (path,) = put(space, log)
    archive = space.root / "codex" / "archived_sessions"
    archive.mkdir()
    (archive / path.name).write_bytes(log.dump())
    space.sweep()
    assert total(space) == THREAD


# --- Grok ---


def grok(seed: int = 1) -> GrokLog:
    """A session that cost (100, 20, 40, 8, 0)."""
    log = GrokLog(seed)
    log.prompt("go")
    log.say("a")
    log.end_turn(turn_usage(100, 20, read=40, written=8))
    return log


TURN: Spent = (100, 20, 40, 8, 0)


def test_grok_a_turn_whose_end_is_told_twice_counts_once(space: Workspace) -> None:
    log = grok()
    put(space, log)
    space.sweep()
    log.end_turn(turn_usage(100, 20, read=40, written=8))  # the same prompt's
    put(space, log)
    space.sweep()
    assert total(space) == TURN


def test_grok_the_size_of_the_context_is_no_spend(space: Workspace) -> None:
    log = grok()
    for row in log.updates:
        row["params"]["_meta"]["totalTokens"] = 90_000
    put(space, log)
    space.sweep()
    assert total(space) == TURN


def test_grok_a_fork_that_replays_its_parent_pays_only_for_its_own(tmp_path: Path) -> None:
    parent = grok()
    fork = parent.fork(2)
    fork.prompt("other")
    fork.say("b")
    fork.end_turn(turn_usage(5, 6))
    for space in in_every_order(tmp_path, parent, fork):
        assert total(space) == (105, 26, 40, 8, 0)
        assert space.session(fork.session_id).cost.total_tokens == 11


def test_grok_a_sub_agent_is_paid_once_by_the_turn_that_started_it(tmp_path: Path) -> None:
    parent = grok()
    parent.prompt("delegate")
    child = parent.spawn(2, "look")
    child.prompt("look")
    child.say("seen")
    child.end_turn(turn_usage(30, 9))
    parent.update("subagent_finished", own=True, child_session_id=child.session_id, tokens_used=39)
    parent.end_turn(turn_usage(60, 20))  # of which the sub-agent's 30 and 9
    for space in in_every_order(tmp_path, parent, child):
        assert total(space) == (160, 40, 40, 8, 0)


def test_grok_a_turn_that_straddles_two_sweeps_counts_once(space: Workspace) -> None:
    log = grok()
    rows = log.updates
    for end in range(1, len(rows) + 1):
        log.updates = rows[:end]
        put(space, log)
        space.sweep()
    assert total(space) == TURN


# --- all of them ---


def spaced(row: Any) -> str:
    return json.dumps(row, separators=(", ", ": "))


def compact(row: Any) -> str:
    return json.dumps(row, separators=(",", ":"))


def reordered(row: Any) -> str:
    return json.dumps(row, sort_keys=True, indent=None)


@pytest.mark.parametrize("style", [spaced, compact, reordered])
@pytest.mark.parametrize("make, spent", [(claude, ONE), (codex, THREAD), (grok, TURN)])
def test_how_the_json_is_written_makes_no_difference(
    space: Workspace, make: Callable[[], Log], spent: Spent, style: Callable[[Any], str]
) -> None:
    (written,) = put(space, make())
    files = list(written.rglob("*.jsonl")) if written.is_dir() else [written]
    for path in files:
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        path.write_text("".join(f"{style(row)}\n" for row in rows), encoding="utf-8")
    space.sweep()
    assert total(space) == spent


@pytest.mark.parametrize("make, spent", [(claude, ONE), (codex, THREAD), (grok, TURN)])
def test_a_last_record_without_its_newline_is_paid_once(
    space: Workspace, make: Callable[[], Log], spent: Spent
) -> None:
    (written,) = put(space, make())
    path = written / "updates.jsonl" if written.is_dir() else written
    content = path.read_bytes()
    for end in (len(content) - 40, len(content) - 1, len(content)):
        path.write_bytes(content[:end])
        space.sweep()
    assert total(space) == spent
    assert space.findings() == []
