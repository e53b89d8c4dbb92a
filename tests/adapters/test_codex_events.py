"""What the rows of a Codex rollout become: facts, events, pairs of calls and outputs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.adapters.codex_reading import (
    block_of,
    facts,
    of_kind,
    only,
    parse_log,
    parse_rows,
    said,
    source,
)

from session_memory.adapters.codex.log_builder import (
    MODEL,
    CodexLog,
    Mode,
    call,
    exec_text,
    message,
    output,
)
from session_memory.adapters.codex.reader import parse

MODES: list[Mode] = ["legacy", "paginated"]


def bare_header(**fields: Any) -> dict[str, Any]:
    return {"id": "t-2025", "timestamp": "2025-06-01T10:00:00.000Z", **fields}


@pytest.mark.rows("CAP-04", "CAP-05")
@pytest.mark.parametrize("mode", MODES)
def test_every_envelope_type_has_its_place(mode: Mode) -> None:
    log = CodexLog(1, mode=mode).header().turn().prompt("fix it").answer("fixed")
    log.event("turn_aborted", reason="interrupted")
    bundle = parse_log(log)
    part = only(bundle)
    assert part.external_id == log.thread
    known = facts(part)
    assert known["cwd"] == "/work/shop"
    assert (known["branch"], known["commit"], known["model"]) == ("main", "a" * 40, MODEL)
    assert (known["source_kind"], known["entrypoint"]) == ("interactive", "codex-tui")
    assert said(bundle) == [
        ("user_prompt", None, "fix it"),
        ("assistant_text", None, "fixed"),
        ("system", "interrupted", "turn aborted: interrupted"),
    ]
    assert not bundle.parse_errors and not bundle.unknown
    assert not any("coding agent" in event.text for event in part.events)


@pytest.mark.rows("CAP-04")
def test_bare_lines_of_2025_are_read_and_other_lines_are_parse_errors() -> None:
    bundle = parse_rows(
        bare_header(git={"branch": "dev"}, instructions="be nice"),
        {"record_type": "state"},
        message("user", "hello"),
        call("c1", "shell", {"command": ["bash", "-lc", "ls"]}),
        {"timestamp": "2025-06-01T10:00:00Z", "what": 1},
        {"type": "event_msg"},
        [1],
        42,
    )
    assert (bundle.records, bundle.parse_errors) == (4, 4)
    part = only(bundle)
    assert part.external_id == "t-2025"
    assert next((e.kind, e.text, e.at) for e in part.events) == ("user_prompt", "hello", None)
    assert part.events[1].command == "ls"
    assert facts(part)["branch"] == "dev"
    assert facts(part)["started_at"] == 1_748_772_000_000


@pytest.mark.rows("CAP-04")
def test_a_document_of_2025_gives_one_session_with_its_items_in_order() -> None:
    items = [message("user", "hello"), message("assistant", "hi"), "odd"]
    bundle = parse_rows({"session": bare_header(), "items": items})
    assert only(bundle).external_id == "t-2025"
    assert [text for _, _, text in said(bundle)] == ["hello", "hi"]
    assert [event.pos for event in only(bundle).events] == [0, 1]


@pytest.mark.rows("CAP-05")
def test_unknown_types_are_kept_as_other_and_counted_under_the_client_version() -> None:
    log = CodexLog(1).header()
    log.row("brand_new", {"a": 1})
    log.item({"type": "new_item"})
    log.event("new_event")
    log.finished("NewItem")
    bundle = parse_log(log)
    assert [event.kind for event in only(bundle).events] == ["other"] * 4
    assert dict(bundle.unknown) == {
        ("0.142.4", "brand_new"): 1,
        ("0.142.4", "response_item/new_item"): 1,
        ("0.142.4", "event_msg/new_event"): 1,
        ("0.142.4", "item_completed/NewItem"): 1,
    }


@pytest.mark.parametrize("mode", MODES)
def test_a_thing_told_in_both_forms_is_one_event_and_a_repetition_is_two(mode: Mode) -> None:
    log = CodexLog(1, mode=mode).header()
    log.prompt("again").answer("done").prompt("again").answer("done")
    assert [text for _, _, text in said(parse_log(log))] == ["again", "done"] * 2


def test_a_log_with_events_only_reads_the_same_words_as_one_with_items_only() -> None:
    whole = CodexLog(1).header().prompt("ask").answer("tell")
    whole.event("agent_reasoning", text="hm")
    whole.item({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]})
    texts = [text for _, _, text in said(parse_log(whole))]
    assert texts == ["ask", "tell", "hm"]
    for kept in ("event_msg", "response_item"):
        rows = [row for row in whole.rows if row["type"] in ("session_meta", kept)]
        assert [text for _, _, text in said(parse_rows(*rows))] == texts


@pytest.mark.rows("CAP-06")
def test_calls_and_outputs_meet_by_call_id_and_orphans_stay_unpaired() -> None:
    log = CodexLog(1).header()
    log.item(call("c1", "exec_command", {"cmd": "make"}))
    log.item(call("c2", "exec_command", {"cmd": "make test"}))
    log.item(output("c2", exec_text("boom", 2)))
    log.item(output("c1", exec_text("", 0)))
    log.item(call("lonely", "exec_command", {"cmd": "sleep 9"}))
    log.item(output("stray", "late"))
    bundle = parse_log(log)
    calls = {event.call_id: event for event in of_kind(bundle, "tool_call")}
    results = {event.call_id: event for event in of_kind(bundle, "tool_result")}
    assert set(calls) == {"c1", "c2", "lonely"}
    assert set(results) == {"c1", "c2", "stray"}
    assert calls["c2"].command == "make test"
    assert (results["c2"].exit_code, results["c2"].is_error) == (2, True)
    assert (results["c1"].exit_code, results["c1"].is_error) == (0, False)


@pytest.mark.parametrize(
    ("text", "exit_code", "failed", "kept"),
    [
        ('{"output":"no","metadata":{"exit_code":3,"duration_seconds":0.1}}', 3, True, "no"),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nx", 1, True, None),
        ("Wall time: 1.0 seconds\nOutput:\nExit code: 7", None, False, None),
        ("the text says Exit code: 7", None, False, None),
        ("apply_patch verification failed: no such line", None, True, None),
        ([{"type": "input_text", "text": "Wall time: 0.1 seconds\nOutput:"},
          {"type": "input_text", "text": "PLAIN"}], None, False,
         "Wall time: 0.1 seconds\nOutput:\nPLAIN"),
        ([{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}], None, False,
         "[image: image/png, 3 bytes]"),
        ({"content": "bad", "success": False}, None, True, "bad"),
    ],
)  # fmt: skip
def test_outputs_of_every_version_say_how_the_call_ended(
    text: Any, exit_code: int | None, failed: bool, kept: str | None
) -> None:
    log = CodexLog(1).header()
    log.item(output("c", text))
    (event,) = of_kind(parse_log(log), "tool_result")
    assert (event.exit_code, event.is_error) == (exit_code, failed)
    assert event.text == (kept if kept is not None else text)


def test_the_end_of_a_call_is_lent_to_its_output() -> None:
    log = CodexLog(1, mode="paginated").header()
    log.item(call("m", "find", {"q": 1}, "mcp__wiki"))
    log.finished("McpToolCall", id="m", server="wiki", tool="find", status="failed", result={})
    log.item(output("m", "Wall time: 0.1 seconds\nOutput:\n{}"))
    log.item(call("d", "exec_command", {"cmd": "rm x"}))
    log.finished("CommandExecution", id="d", command=["rm", "x"], status="declined")
    log.item(output("d", "no"))
    bundle = parse_log(log)
    first, second = of_kind(bundle, "tool_result")
    assert first.is_error and first.label is None
    assert second.is_error and second.label == "denied"
    assert [event.tool for event in of_kind(bundle, "tool_call")] == [
        "mcp__wiki__find",
        "exec_command",
    ]


def test_commands_inside_a_script_of_calls_stand_for_themselves() -> None:
    log = CodexLog(1, mode="paginated").header()
    log.item({"type": "custom_tool_call", "name": "exec", "input": "await run()", "call_id": "js"})
    log.finished(
        "CommandExecution",
        id="inner",
        command=["/bin/bash", "-lc", "make"],
        status="failed",
        aggregated_output="boom",
        exit_code=2,
    )
    log.item({"type": "custom_tool_call_output", "call_id": "js", "output": "done"})
    bundle = parse_log(log)
    outer, inner = of_kind(bundle, "tool_call")
    assert (outer.command, inner.command, inner.call_id) == (None, "make", "inner")
    nested, _ = of_kind(bundle, "tool_result")
    assert (nested.call_id, nested.exit_code, nested.text) == ("inner", 2, "boom")


@pytest.mark.rows("CAP-12")
def test_one_action_has_one_class_whatever_carries_it() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b c.py\n*** End Patch"
    )
    log = CodexLog(1).header()
    log.item({"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "1"})
    log.item(call("2", "shell", {"command": ["apply_patch", patch]}))
    log.item(call("3", "exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"}))
    edits = of_kind(parse_log(log), "tool_call")
    assert [event.tool_class for event in edits] == ["edit"] * 3
    assert {event.files for event in edits} == {("a.py", "b c.py")}
    log = CodexLog(1).header()
    log.item(call("4", "update_plan", {"plan": []}))
    log.item(call("5", "spawn_agent", {"message": "go"}, "multi_agent_v1"))
    log.item({"type": "local_shell_call", "call_id": "6", "action": {"command": ["ls", "a b"]}})
    log.item({"type": "web_search_call", "action": {"type": "search", "query": "q"}})
    log.event("web_search_end", call_id="ws", query="q", action={"type": "search", "query": "q"})
    found = of_kind(parse_log(log), "tool_call")
    assert [event.tool_class for event in found] == ["plan", "agent", "shell", "web"]
    assert found[2].command == "ls 'a b'"


def test_a_compaction_is_told_once_and_its_new_history_is_not_read_again() -> None:
    log = CodexLog(1).header().prompt("first")
    log.item(message("assistant", "summary"), metadata={"compaction_output": True})
    log.row("compacted", {"message": "summary", "replacement_history": [message("user", "first")]})
    log.event("context_compacted")
    log.row("compacted", {"message": "", "replacement_history": []})
    log.event("context_compacted")
    kinds = [(kind, text) for kind, _, text in said(parse_log(log))]
    assert kinds == [
        ("user_prompt", "first"),
        ("compaction", "summary"),
        ("compaction", "context compacted; the summary is encrypted"),
    ]


def test_thoughts_are_kept_as_summaries_and_never_encrypted() -> None:
    log = CodexLog(1).header()
    log.item({"type": "reasoning", "summary": [], "encrypted_content": "gAAAAsecret"})
    log.finished("Reasoning", id="r", summary_text=["one", "two"], raw_content=[])
    parts = [{"type": "summary_text", "text": text} for text in ("one", "two")]
    log.item({"type": "reasoning", "summary": parts, "encrypted_content": "gAAAAsecret"})
    bundle = parse_log(log)
    assert [text for _, _, text in said(bundle)] == ["one", "two"]
    assert "gAAAAsecret" not in json.dumps([event.text for event in only(bundle).events])


def test_errors_rollbacks_and_names_are_kept() -> None:
    log = CodexLog(1).header()
    log.event("task_complete", turn_id="t", error={"message": "usage limit reached"})
    log.event("thread_rolled_back", num_turns=2)
    log.event("thread_name_updated", thread_name="Fix the shop")
    log.event("turn_aborted", reason="budget_limited")
    bundle = parse_log(log)
    assert said(bundle) == [
        ("error", "turn_error", "usage limit reached"),
        ("system", "thread_rolled_back", '{"num_turns":2}'),
        ("system", "turn_aborted", "turn aborted: budget_limited"),
    ]
    assert facts(only(bundle))["title.custom"] == "Fix the shop"


def test_a_field_of_another_type_costs_that_field_alone() -> None:
    log = CodexLog(1).header()
    log.item({"type": "function_call", "name": 5, "arguments": '{"cmd":"ls"}', "call_id": "c"})
    log.item({"type": "function_call_output", "id": [], "call_id": "c", "output": "done"})
    log.event("agent_message", message="said", id=7)
    log.finished("Plan", text="first this", id=None)
    found = only(parse_log(log)).events
    assert [(event.kind, event.text, event.call_id) for event in found] == [
        ("tool_call", '{"cmd":"ls"}', "c"),
        ("tool_result", "done", "c"),
        ("assistant_text", "said", None),
        ("assistant_text", "first this", None),
    ]
    assert found[0].tool is None


def test_what_is_kept_as_it_is_has_the_fields_that_are_never_read() -> None:
    log = CodexLog(1).header()
    log.item({"type": "novel", "odd": [1]}, metadata={"shard": 3})
    log.event("thread_goal_updated", turn_id="t", goal={"text": "ship"})
    log.finished("ExitedReviewMode", review="fine")
    texts = [text for _, _, text in said(parse_log(log))]
    assert texts[:2] == [
        '{"type":"novel","odd":[1],"_metadata":{"shard":3}}',
        '{"goal":{"text":"ship"}}',
    ]
    assert '"review":"fine"' in texts[2]


def test_only_an_event_names_a_thread_or_sets_its_model() -> None:
    log = CodexLog(1).header().turn()
    log.event("thread_name_updated", thread_name="Fix the shop")
    log.row("world_state", {"type": "thread_name_updated", "thread_name": "no"})
    log.row("compacted", {"type": "thread_settings_applied", "thread_settings": {"model": "no"}})
    known = facts(only(parse_log(log)))
    assert (known["title.custom"], known["model"]) == ("Fix the shop", MODEL)


def test_exit_codes_and_patched_files_stand_at_the_beginning_of_a_line() -> None:
    log = CodexLog(1).header()
    patch = "*** Begin Patch\n*** Update File: a.py \n+*** Add File: no\n**** Add File: no\n"
    patch += "*** Move to: b.py\n*** Delete File: c.py"
    log.item({"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "c"})
    text = "Wall time: 1\nlast Exit code: 3\nExit code: 4 or 5\nExit code: 6\nOutput:\nExit code: 7"
    log.item(output("c", text))
    found = only(parse_log(log)).events
    assert found[0].files == ("a.py", "b.py", "c.py")
    assert (found[1].exit_code, found[1].is_error) == (6, True)


def test_a_damaged_line_is_counted_and_whole_rows_in_it_are_kept() -> None:
    log = CodexLog(1).header().prompt("first").prompt("second")
    lines = log.dump().splitlines()
    torn = lines[0] + b"\n" + lines[1][:60] + lines[3] + b"\n{broken\n"
    bundle = parse(source("/x.jsonl"), block_of(torn), {})
    assert (bundle.parse_errors, bundle.recovered) == (2, 1)
    assert [text for _, _, text in said(bundle)] == ["second"]
