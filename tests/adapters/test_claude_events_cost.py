"""What the responses in a Claude log cost, each counted once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.adapters.claude_reading import parse_rows

from session_memory.adapters.claude.log_builder import (
    ClaudeLog,
    call_block,
    text_block,
    thinking_block,
    tokens,
)


def test_one_response_over_several_records_costs_once_and_not_the_placeholder() -> None:
    log = ClaudeLog()
    log.reply(
        thinking_block("hm"),
        text_block("done"),
        call_block("t1", "Bash", {"command": "ls"}),
        usage=tokens(5, 400, read=1000),
        streamed=True,
    )
    (part,) = parse_rows(*log.rows).sessions
    (usage,) = part.usages
    assert (usage.input, usage.output, usage.cache_read) == (5, 400, 1000)
    assert {e.usage_key for e in part.events} == {usage.key}
    message = log.rows[0]["message"]["id"]
    assert usage.key == f"{message}:{log.rows[0]['requestId']}"


def test_a_placeholder_that_comes_after_the_full_count_does_not_replace_it() -> None:
    log = ClaudeLog()
    log.reply(text_block("a"), text_block("b"), usage=tokens(5, 400), streamed=True)
    (usage,) = parse_rows(*reversed(log.rows)).sessions[0].usages
    assert usage.output == 400


def test_records_without_any_message_id_do_not_merge() -> None:
    log = ClaudeLog()
    for _ in range(2):
        row = log.say("x", tokens(1, 1))
        del row["message"]["id"], row["requestId"]
    (part,) = parse_rows(*log.rows).sessions
    assert {u.key for u in part.usages} == {f"{row['uuid']}:" for row in log.rows}


@pytest.mark.parametrize(
    ("usage", "short", "long"),
    [
        ({"cache_creation_input_tokens": 7}, 7, 0),
        ({"cache_creation_input_tokens": 0, "cache_creation": {"x": 1}}, 0, 0),
        (tokens(write_5m=3, write_1h=4), 3, 4),
        ({**tokens(write_5m=3, write_1h=4), "cache_creation_input_tokens": 0}, 3, 4),
        ({**tokens(write_5m=3, write_1h=4), "cache_creation_input_tokens": 10}, 6, 4),
    ],
)
def test_cache_writes_are_split_by_lifetime(usage: Any, short: int, long: int) -> None:
    log = ClaudeLog()
    log.say("x", usage)
    (found,) = parse_rows(*log.rows).sessions[0].usages
    assert (found.cache_write_5m, found.cache_write_1h) == (short, long)


def test_stated_dollars_and_thinking_tokens_are_taken_over() -> None:
    log = ClaudeLog()
    row = log.say("x", {**tokens(), "output_tokens_details": {"thinking_tokens": 9}})
    row["costUSD"] = 0.25
    (found,) = parse_rows(row).sessions[0].usages
    assert (found.usd, found.reasoning, found.sidechain) == (0.25, 9, False)


def test_spend_inside_progress_records_is_that_of_the_sub_agent() -> None:
    log = ClaudeLog()
    log.say("main", tokens(1, 1))
    child = log.subagent("look")
    child.say("sub", tokens(1000, 1000))
    log.repeat(child)
    main, sub = parse_rows(*log.rows).sessions
    assert {usage.input for usage in main.usages} == {1, 100}
    assert [(usage.input, usage.sidechain) for usage in sub.usages] == [(1000, True)]
    assert (sub.external_id, sub.parent_external_id) == (
        f"{log.session_id}:{child.agent_id}",
        log.session_id,
    )


def test_progress_that_names_no_sub_agent_is_only_counted() -> None:
    log = ClaudeLog()
    inner = log.say("sub", tokens(1000, 1000))
    log.rows.clear()
    log.row("progress", data={"type": "agent_progress", "message": inner})
    found = parse_rows(*log.rows)
    assert found.sessions[0].usages == []
    assert found.ignored["progress/agent_progress"] == 1
