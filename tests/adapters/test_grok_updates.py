"""What the update lines of a Grok Build session become."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.adapters.grok_reading import facts, of_kind, parse_log, part_of, told

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.claude.reader import parse as parse_claude
from session_memory.adapters.common import Block, SourceFile
from session_memory.adapters.grok.log_builder import MODEL, GrokLog, turn_usage
from session_memory.adapters.grok.order import in_order, line_of
from session_memory.core.schema import Usage


def talk() -> GrokLog:
    log = GrokLog()
    log.prompt("fix the test")
    log.think("hm, ", "let me see")
    log.say("I run ", "it.")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.edit("/work/shop/cart.py", "a - b", "a + b")
    log.run("pytest -q", "1 passed")
    log.say("Done.")
    log.end_turn(turn_usage(100, 20, read=40, usd=0.25))
    return log


def test_a_conversation_is_told_in_order_and_chunks_of_a_message_are_one(tmp_path: Path) -> None:
    bundle = parse_log(talk(), tmp_path)
    assert [kind for kind, _ in told(bundle)] == [
        "user_prompt",
        "reasoning",
        "assistant_text",
        *("tool_call", "tool_result") * 3,
        "assistant_text",
        "system",
    ]
    assert ("reasoning", "hm, let me see") in told(bundle)
    assert ("assistant_text", "I run it.") in told(bundle)
    positions = [event.pos for event in part_of(bundle).events]
    assert positions == sorted(set(positions))


def test_chunks_of_a_prompt_join_over_the_hooks_between_them(tmp_path: Path) -> None:
    log = GrokLog()
    log.prompt("run it", " and say done")
    assert told(parse_log(log, tmp_path)) == [("user_prompt", "run it and say done")]


def test_two_answers_without_anything_between_them_stay_two(tmp_path: Path) -> None:
    log = GrokLog()
    log.say("first")
    log.say("second")
    assert [text for _, text in told(parse_log(log, tmp_path))] == ["first", "second"]


@pytest.mark.rows("CAP-12")
def test_the_same_edit_read_and_command_have_one_class_in_every_flavour(tmp_path: Path) -> None:
    grok = GrokLog()
    grok.edit("/work/shop/cart.py", "a", "b")
    grok.tool("write", {"file_path": "/work/shop/new.py"}, "created", kind="write")
    grok.tool("read_file", {"target_file": "/work/shop/cart.py"}, "b", kind="read")
    grok.run("make")
    grok.tool("spawn_subagent", {"prompt": "look"}, "ok", kind="task")
    grok.tool("use_tool", {"tool_name": "memory__find", "tool_input": {}}, "ok")
    claude = ClaudeLog()
    claude.edit("/work/shop/cart.py", "a", "b")
    claude.call("Write", {"file_path": "/work/shop/new.py"})
    claude.read("/work/shop/cart.py", "b")
    claude.run("make", "")
    claude.call("Task", {"prompt": "look"})
    claude.call("mcp__memory__find", {})
    content = claude.dump()
    block = Block([(at, line) for at, line in enumerate(content.splitlines())], 0, len(content))
    theirs = parse_claude(SourceFile("/x/s.jsonl", 0, 0, 0, 0, 0), block, {}).sessions[0]
    ours = of_kind(parse_log(grok, tmp_path), "tool_call")
    calls = [event for event in theirs.events if event.kind == "tool_call"]
    assert [e.tool_class for e in ours] == [e.tool_class for e in calls]
    assert [e.tool_class for e in ours] == ["edit", "edit", "read", "shell", "agent", "mcp"]
    assert [e.files for e in ours] == [e.files for e in calls]
    assert [e.command for e in ours] == [e.command for e in calls]
    assert ours[-1].tool == calls[-1].tool == "mcp__memory__find"


def test_a_command_keeps_its_exit_code_and_is_an_error_where_it_failed(tmp_path: Path) -> None:
    results = of_kind(parse_log(talk(), tmp_path), "tool_result")
    assert [(e.exit_code, e.is_error) for e in results] == [(1, True), (None, False), (0, False)]


@pytest.mark.parametrize(
    ("outcome", "label", "error"),
    [
        ("success", None, False),
        ("error", None, True),
        ("permission_rejected", "denied", True),
        ("hook_denied", "denied", True),
        ("cancelled", "interrupted", True),
    ],
)
def test_how_a_call_ended_is_told_by_the_telemetry(
    tmp_path: Path, outcome: str, label: str | None, error: bool
) -> None:
    log = GrokLog()
    call_id = log.tool("web_fetch", {"url": "x"}, "text", outcome=outcome)
    log.event("tool_completed", tool_call_id=call_id, outcome="success", source="workspace")
    (result,) = of_kind(parse_log(log, tmp_path), "tool_result")
    assert (result.label, result.is_error, result.origin) == (label, error, "web")


def test_a_failed_call_is_an_error_without_any_telemetry(tmp_path: Path) -> None:
    log = GrokLog()
    log.tool("use_tool", {"tool_name": "m__t"}, "no", status="failed", outcome=None)
    (result,) = of_kind(parse_log(log, tmp_path, without=("events.jsonl",)), "tool_result")
    assert result.is_error


def test_an_output_without_content_is_read_from_the_raw_one(tmp_path: Path) -> None:
    log = GrokLog()
    raw = {"type": "MCP", "tool_name": "t", "output": {"OkayOutput": "said by the server"}}
    log.tool("use_tool", {"tool_name": "m__t"}, "", raw=raw)
    del log.updates[-1]["params"]["update"]["content"]
    (result,) = of_kind(parse_log(log, tmp_path), "tool_result")
    assert result.text == "said by the server"


def test_a_cut_output_is_completed_from_its_file(tmp_path: Path) -> None:
    log = GrokLog()
    whole = "".join(f"line {n}\n" for n in range(3000))
    call_id = log.run("make", whole[:9000] + "\n[cut]")
    log.side_files[f"terminal/{call_id}.log"] = whole.encode()
    bundle = parse_log(log, tmp_path)
    (result,) = of_kind(bundle, "tool_result")
    (rest,) = of_kind(bundle, "other")
    assert (rest.label, rest.call_id) == ("overflow", call_id)
    assert result.text[:9000] + rest.text == whole


# --- order ---


def test_lines_that_overtook_each_other_are_put_right_in_each_process(tmp_path: Path) -> None:
    log = talk()
    log.resume()
    log.prompt("again")
    log.say("Still fine.")
    expected = told(parse_log(log, tmp_path / "a"))
    assert expected[-2:] == [("user_prompt", "again"), ("assistant_text", "Still fine.")]
    for at in range(1, len(log.updates) - 1, 2):  # as the genuine logs have it: neighbours swap
        first, second = log.updates[at : at + 2]
        if _number(first) < _number(second):
            log.updates[at : at + 2] = [second, first]
    assert told(parse_log(log, tmp_path / "b")) == expected


def _number(row: dict[str, Any]) -> int:
    return int(row["params"]["_meta"]["eventId"].rpartition("-")[2])


@given(runs=st.lists(st.integers(1, 12), min_size=1, max_size=4), seed=st.integers(0, 999))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_shuffle_within_a_process_gives_one_order(runs: list[int], seed: int) -> None:
    log, rows = GrokLog(), list[dict[str, Any]]()
    for at, count in enumerate(runs):
        log.resume()
        for number in range(count):
            log.update("session_recap", own=True, summary=f"{at}/{number}")
        block = log.updates[-count:]
        random.Random(seed + at).shuffle(block)
        block.sort(key=lambda row: _number(row) // 3)  # lines are late, not lost for minutes
        rows += block
    found = in_order(line for n, row in enumerate(rows) if (line := line_of(n, row)))
    wanted = [f"{run}/{number}" for run, count in enumerate(runs) for number in range(count)]
    assert [line.update["summary"] for line in found] == wanted


def test_lines_of_an_old_client_stay_in_the_order_of_the_file(tmp_path: Path) -> None:
    log = talk()
    expected = told(parse_log(log, tmp_path / "a"))
    log.updates = [row["params"] for row in log.updates]
    for row in log.updates:
        del row["_meta"]
    bundle = parse_log(log, tmp_path / "b")
    assert [kind for kind, _ in told(bundle)] == [kind for kind, _ in expected]
    assert all(event.at is None for event in part_of(bundle).events)


# --- rewinds ---


def test_turns_behind_a_rewind_are_history_and_cost_what_they_cost(tmp_path: Path) -> None:
    log = GrokLog()
    log.prompt("first")
    log.say("one")
    log.prompt("second")
    log.run("rm -r build")
    log.say("two")
    log.end_turn(turn_usage(10, 5))
    log.rewind(1)
    log.prompt("another second")
    log.say("three")
    bundle = parse_log(log, tmp_path)
    live = [text for kind, text in told(bundle) if kind in ("user_prompt", "assistant_text")]
    assert live == ["first", "one", "another second", "three"]
    rewound = [e.text for e in part_of(bundle).events if e.label == "rewound"]
    assert (rewound[0], rewound[-1], len(rewound)) == ("second", "two", 4)
    assert not of_kind(bundle, "tool_call")
    assert len(part_of(bundle).usages) == 1


def test_a_second_rewind_counts_prompts_of_the_branch_that_stands(tmp_path: Path) -> None:
    log = GrokLog()
    for text in ("a", "b", "c"):
        log.prompt(text)
    log.rewind(1)
    log.prompt("B")
    log.rewind(1)
    log.prompt("BB")
    bundle = parse_log(log, tmp_path)
    assert [e.text for e in of_kind(bundle, "user_prompt")] == ["a", "BB"]
    assert [e.text for e in of_kind(bundle, "other")] == ["b", "c", "B"]


# --- cost ---


def test_cost_comes_from_the_end_of_a_turn_only(tmp_path: Path) -> None:
    part = part_of(parse_log(talk(), tmp_path))
    (usage,) = part.usages
    (end,) = [event for event in part.events if event.usage_key]
    assert (usage.model, usage.input, usage.cache_read) == (MODEL, 100, 40)
    assert (usage.output, usage.reasoning, usage.usd) == (20, 10, 0.25)
    assert (end.label, end.usage_key) == ("turn_completed", usage.key)


def test_a_turn_that_used_two_models_is_split_between_them(tmp_path: Path) -> None:
    log = GrokLog()
    rows = {"big": turn_usage(70, 7, written=5, usd=0.5), "small": turn_usage(30, 3)}
    log.end_turn({**turn_usage(100, 10, written=5), "modelUsage": rows})
    usages = {usage.model: usage for usage in part_of(parse_log(log, tmp_path)).usages}
    assert (usages["big"].input, usages["big"].cache_write_5m, usages["big"].usd) == (70, 5, 0.5)
    assert (usages["small"].input, usages["small"].usd) == (30, None)
    assert usages["big"].key != usages["small"].key


def test_a_turn_that_states_no_usage_costs_nothing_known(tmp_path: Path) -> None:
    log = GrokLog()
    log.end_turn()
    log.end_turn({"usageIsIncomplete": True})
    bundle = parse_log(log, tmp_path)
    assert part_of(bundle).usages == list[Usage]()
    assert bundle.ignored["usage_incomplete"] == 1


def test_a_stopped_turn_is_an_interruption(tmp_path: Path) -> None:
    log = GrokLog()
    log.end_turn(reason="cancelled")
    (event,) = part_of(parse_log(log, tmp_path)).events
    assert (event.kind, event.label) == ("system", "interrupted")


# --- other kinds ---


def test_compaction_leaves_its_summary_and_a_mark(tmp_path: Path) -> None:
    log = talk()
    log.compact("the cart is fixed")
    bundle = parse_log(log, tmp_path)
    (summary,) = of_kind(bundle, "injected")
    assert summary.label == "compact_summary"
    assert summary.text.endswith("the cart is fixed")
    assert len(of_kind(bundle, "compaction")) == 1


def test_a_plan_is_a_call_of_a_planning_tool(tmp_path: Path) -> None:
    log = GrokLog()
    log.update("plan", entries=[{"content": "fix it", "status": "pending"}])
    (event,) = of_kind(parse_log(log, tmp_path), "tool_call")
    assert event.tool_class == "plan"
    assert event.text == '{"plan":[{"content":"fix it","status":"pending"}]}'


@pytest.mark.parametrize(
    ("text", "reason", "kind", "label", "kept"),
    [
        ("do it", "", "user_prompt", None, "do it"),
        ("<user_query>\ndo it\n</user_query>", "", "user_prompt", None, "do it"),
        ("wait, not that", "interjection", "user_prompt", None, "wait, not that"),
        ("AGENTS.md says", "project_instructions", "injected", "project_instructions", None),
        ("<system-reminder>x</system-reminder>", "", "injected", "system_reminder", None),
    ],
)
def test_only_what_a_human_typed_is_a_prompt(
    tmp_path: Path, text: str, reason: str, kind: str, label: str | None, kept: str | None
) -> None:
    log = GrokLog()
    log.prompt(text)
    if reason:
        log.updates[0]["params"]["update"]["_meta"]["synthetic_reason"] = reason
    (event,) = part_of(parse_log(log, tmp_path)).events
    assert (event.kind, event.label, event.text) == (kind, label, kept or text)


def test_an_unknown_kind_is_kept_and_counted_under_its_format(tmp_path: Path) -> None:
    log = talk()
    log.update("brand_new_kind", own=True, payload={"a": 1})
    bundle = parse_log(log, tmp_path)
    assert bundle.unknown == {("format 1", "brand_new_kind"): 1}
    (event,) = of_kind(bundle, "other")
    assert '"payload":{"a":1}' in event.text


def test_hooks_that_blocked_or_failed_are_kept_and_the_rest_counted(tmp_path: Path) -> None:
    log = GrokLog()
    runs = [
        {"name": "guard", "status": {"status": "blocked", "detail": "no force push"}},
        {"name": "fine", "status": {"status": "success", "elapsed_ms": 3}},
    ]
    log.update("hook_execution", own=True, event_name="pre_tool_use", runs=runs)
    bundle = parse_log(log, tmp_path)
    assert told(bundle) == [("system", "guard: no force push")]
    assert bundle.ignored["hook_execution"] == 1


def test_facts_come_from_the_summary(tmp_path: Path) -> None:
    log = talk()
    log.summary |= {"generated_title": "Fix the cart", "session_kind": "headless"}
    found = facts(part_of(parse_log(log, tmp_path)))
    assert found["title.ai"] == "Fix the cart"
    assert (found["cwd"], found["branch"]) == ("/work/shop", "main")
    assert (found["source_kind"], found["model"]) == ("exec", MODEL)
    assert found["commit"] == log.summary["head_commit"]
    log.summary["title_is_manual"] = True
    assert facts(part_of(parse_log(log, tmp_path)))["title.custom"] == "Fix the cart"
