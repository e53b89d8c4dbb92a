"""What each record of a Qwen Code session becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.gemini_reading import (
    facts,
    of_kind,
    parse_home,
    parse_one,
    part_of,
    told,
)

from session_memory.adapters.common import Normalized
from session_memory.adapters.gemini.log_builder import GeminiLog
from session_memory.adapters.qwen.log_builder import MODEL, VERSION, QwenLog, usage
from session_memory.adapters.qwen.reader import ADAPTER


def parsed(log: QwenLog, tmp_path: Path) -> Normalized:
    log.write(tmp_path)
    return parse_one(ADAPTER, tmp_path)


def test_a_conversation_is_told_in_order(tmp_path: Path) -> None:
    log = QwenLog()
    log.prompt("fix the test")
    log.answer({"text": "which one?", "thought": True}, {"text": "I look."})
    log.write_file("/work/shop/cart.py", "x")
    log.run("pytest -q", "1 failed", exit_code=1)
    bundle = parsed(log, tmp_path)
    assert [(e.kind, e.tool_class, e.exit_code) for e in part_of(bundle).events] == [
        ("user_prompt", None, None),
        ("reasoning", None, None),
        ("assistant_text", None, None),
        ("tool_call", "edit", None),
        ("tool_result", None, None),
        ("tool_call", "shell", None),
        ("tool_result", None, 1),
    ]
    calls, results = of_kind(bundle, "tool_call"), of_kind(bundle, "tool_result")
    assert [call.call_id for call in calls] == [result.call_id for result in results]
    assert (calls[0].files, calls[1].command) == (("/work/shop/cart.py",), "pytest -q")
    assert (bundle.parse_errors, bundle.unknown, bundle.records) == (0, {}, len(log.rows))


def test_the_envelope_gives_the_facts(tmp_path: Path) -> None:
    log = QwenLog()
    log.prompt("hi")
    log.say("hello")
    log.system("custom_title", customTitle="made up", titleSource="auto")
    log.system("custom_title", customTitle="mine", titleSource="manual")
    log.system("parent_session", parentSessionId="above")
    found = facts(part_of(parsed(log, tmp_path)))
    assert found["cwd"] == "/work/shop"
    assert (found["branch"], found["client_version"], found["model"]) == ("main", VERSION, MODEL)
    assert (found["title.ai"], found["title.custom"]) == ("made up", "mine")
    assert (found["parent"], found["source_kind"]) == ("above", "interactive")


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"subtype": "notification"}, "notification"),
        ({"subtype": "cron"}, "cron"),
        ({"provenance": "goal_control"}, "goal_control"),
        ({"provenance": "system"}, "system"),
        ({"externalInputKind": "message"}, "external_input"),
    ],
)
def test_text_of_the_client_is_not_the_humans(
    tmp_path: Path, fields: dict[str, Any], label: str
) -> None:
    log = QwenLog()
    log.prompt("do something", **fields)
    (event,) = part_of(parsed(log, tmp_path)).events
    assert (event.kind, event.origin, event.label) == ("injected", "harness", label)


def test_prompts_typed_late_or_expanded_are_the_humans(tmp_path: Path) -> None:
    log = QwenLog()
    log.prompt("wait", subtype="mid_turn_user_message")
    log.prompt("long text of @a.py", systemPayload={"displayText": "look at @a.py"})
    log.system("mid_turn_user_message", displayText="stop that")
    log.prompt("<system-reminder>\nx\n</system-reminder>\nand go on", provenance=None)
    assert told(parsed(log, tmp_path)) == [
        ("user_prompt", "wait"),
        ("user_prompt", "look at @a.py"),
        ("injected", "long text of @a.py"),
        ("user_prompt", "stop that"),
        ("injected", "<system-reminder>\nx\n</system-reminder>"),
        ("user_prompt", "and go on"),
    ]


def test_a_response_counts_once_whoever_tells_it(tmp_path: Path) -> None:
    log = QwenLog()
    log.say("one", usage(100, 20, cached=40, thoughts=5))
    log.compress("so far", usage(900, 90))
    log.telemetry = False
    log.say("two", usage(10, 2))
    one, summary, two = part_of(parsed(log, tmp_path)).usages
    assert (one.input, one.cache_read, one.output, one.reasoning) == (100, 40, 25, 5)
    assert (summary.input, summary.output) == (900, 90)
    assert (two.input, two.output, two.model) == (10, 2, MODEL)


def test_equal_responses_are_two(tmp_path: Path) -> None:
    log = QwenLog()
    log.say("one", usage(10, 2))
    log.say("two", usage(10, 2))
    log.telemetry = False
    log.say("three", usage(10, 2))
    bundle = parsed(log, tmp_path)
    assert len(part_of(bundle).usages) == 3
    assert len({event.usage_key for event in of_kind(bundle, "assistant_text")}) == 3


def test_thoughts_that_the_server_counts_as_output_are_not_added(tmp_path: Path) -> None:
    log = QwenLog()
    spent = usage(100, 20) | {"thoughtsTokenCount": 15}  # the total is that of prompt and output
    log.say("hm", spent)
    (found,) = part_of(parsed(log, tmp_path)).usages
    assert (found.output, found.reasoning) == (20, 15)


def test_a_compression_is_told_with_its_summary(tmp_path: Path) -> None:
    log = QwenLog()
    log.compress("all done", usage())
    events = part_of(parsed(log, tmp_path)).events
    assert [(e.kind, e.label, e.text) for e in events] == [
        ("compaction", "chat_compression", "manual compaction from 900 to 90 tokens"),
        ("injected", "compact_summary", "<summary>all done</summary>"),
    ]


def test_the_client_about_itself(tmp_path: Path) -> None:
    log = QwenLog()
    log.system("slash_command", phase="invocation", rawCommand="/about")
    shown = [{"type": "info", "text": "version 1"}, {"type": "about"}]
    log.system("slash_command", phase="result", rawCommand="/about", outputHistoryItems=shown)
    log.system("at_command", filesRead=["/work/shop/a.py"], status="success", message="read 1")
    log.system("rewind", truncatedCount=4)
    failed = {"event.name": "qwen-code.api_error", "error_message": "529 overloaded"}
    log.system("ui_telemetry", uiEvent=failed)
    log.system("file_history_snapshot", snapshots=[])
    bundle = parsed(log, tmp_path)
    assert [(e.kind, e.label, e.text) for e in part_of(bundle).events] == [
        ("injected", "command", "/about"),
        ("injected", "local_command_output", "version 1"),
        ("system", "at_command", "read 1"),
        ("system", "rewind", "rewound 4 items"),
        ("error", "api_error", "API error: 529 overloaded"),
    ]
    assert part_of(bundle).events[2].files == ("/work/shop/a.py",)
    assert bundle.ignored["system/file_history_snapshot"] == 1


@pytest.mark.parametrize(
    ("status", "error_type", "output", "label"),
    [
        ("error", "execution_denied", "no", "denied"),
        ("cancelled", None, "User did not allow tool call", "denied"),
        ("cancelled", None, "stopped", "interrupted"),
        ("error", "invalid_tool_params", "Blocked: standalone sleep 6.", None),
    ],
)
def test_a_call_that_failed_says_why(
    tmp_path: Path, status: str, error_type: str | None, output: str, label: str | None
) -> None:
    log = QwenLog()
    log.call("run_shell_command", {"command": "sleep 6"}, output, status=status)
    log.rows[-1]["toolCallResult"]["errorType"] = error_type
    (result,) = of_kind(parsed(log, tmp_path), "tool_result")
    assert (result.is_error, result.exit_code, result.label) == (True, None, label)


def test_plans_and_tools_behind_tools_have_their_class(tmp_path: Path) -> None:
    log = QwenLog()
    log.call("todo_write", {"todos": [{"content": "a", "status": "pending"}]}, "ok")
    log.call("tool_call", {"name": "mcp__shop__find", "arguments": {"q": 1}}, "ok")
    log.call("grep_search", {"pattern": "x"}, "ok")
    calls = of_kind(parsed(log, tmp_path), "tool_call")
    assert [(c.tool, c.tool_class) for c in calls] == [
        ("todo_write", "plan"),
        ("mcp__shop__find", "mcp"),
        ("grep_search", "search"),
    ]
    assert calls[1].text == '{"q":1}'


def test_a_sub_agent_has_a_session_of_its_own_and_its_own_costs(tmp_path: Path) -> None:
    log = QwenLog(1)
    log.prompt("delegate")
    child = log.spawn(2, "count the files", "three files", usage(30, 3))
    deep = child.spawn(3, "count deeper", "two", usage(5, 1))
    paths = [one.write(tmp_path) for one in (log, child, deep)]
    main, agent, below = (part_of(parse_home(ADAPTER, tmp_path)[path]) for path in paths)
    assert (agent.external_id, agent.parent_external_id) == (child.external_id, log.session_id)
    assert (below.external_id, below.parent_external_id) == (deep.external_id, agent.external_id)
    assert [(e.kind, e.origin, e.label) for e in agent.events[:2]] == [
        ("injected", "agent", "subagent_prompt"),
        ("assistant_text", "subagent", None),
    ]
    found = facts(agent)
    assert (found["source_kind"], found["label"]) == ("subagent", "general-purpose")
    assert (found["title.summary"], found["model"]) == ("task 2", MODEL)
    assert [u.input for u in agent.usages] == [30, 100]
    assert [u.input for u in main.usages] == [100]
    assert all(u.sidechain for u in agent.usages)


def test_a_large_output_is_completed_from_the_file_that_will_go(tmp_path: Path) -> None:
    log = QwenLog()
    whole = "".join(f"line {n}\n" for n in range(400))
    name = "call_big.txt"
    text = f"<persisted-output>\nFull output saved to: /x/.qwen/tmp/h/tool-results/{name}\n"
    text += f"Preview (up to 2000 chars):\n{whole[:300]}"
    call_id = log.call("mcp__shop__dump", {}, text)
    folder = tmp_path / "tmp" / "h" / "tool-results"
    folder.mkdir(parents=True)
    (folder / name).write_text(whole)
    events = part_of(parsed(log, tmp_path)).events
    (rest,) = [event for event in events if event.label == "overflow"]
    assert (rest.text, rest.call_id) == (whole[300:], call_id)


def test_unknown_shapes_are_kept_and_named_per_version(tmp_path: Path) -> None:
    log = QwenLog()
    log.row("hologram")
    log.system("aura")
    log.system("ui_telemetry", uiEvent={"event.name": "qwen-code.novelty"})
    log.answer({"smell": "y"})
    bundle = parsed(log, tmp_path)
    assert bundle.unknown == {
        (VERSION, "hologram"): 1,
        (VERSION, "system/aura"): 1,
        (VERSION, "ui_telemetry/novelty"): 1,
        (VERSION, "part/smell"): 1,
    }
    assert [event.kind for event in part_of(bundle).events] == ["other"] * 4


def test_torn_and_glued_lines_give_their_whole_records(tmp_path: Path) -> None:
    log = QwenLog()
    for word in ("one", "two", "three"):
        log.prompt(word)
    path = log.write(tmp_path)
    one, two, three = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([one[:50] + two, b"[1]", b"{}", three, one[:40]]))
    bundle = parse_one(ADAPTER, tmp_path)
    assert [text for _, text in told(bundle)] == ["two", "three"]
    assert (bundle.parse_errors, bundle.recovered, bundle.incomplete_tail) == (3, 1, 1)


def test_documents_and_lines_of_older_builds_are_read(tmp_path: Path) -> None:
    old, newer = GeminiLog(5), QwenLog(6)
    old.prompt("from an older build")
    old.say("indeed")
    newer.prompt("from a newer one")
    document = old.write_document(tmp_path)
    lines = tmp_path / "tmp" / "abc" / "chats" / f"{newer.session_id}.jsonl"
    lines.parent.mkdir(parents=True)
    lines.write_bytes(newer.lines())
    (tmp_path / "tmp" / "abc" / "logs.json").write_text("[]")
    found = parse_home(ADAPTER, tmp_path)
    assert set(found) == {document, lines}
    assert told(found[document])[0] == ("user_prompt", "from an older build")
    assert told(found[lines]) == [("user_prompt", "from a newer one")]


def test_only_logs_of_sessions_are_found(tmp_path: Path) -> None:
    log = QwenLog()
    log.prompt("hi")
    path = log.write(tmp_path / ".qwen")
    (path.parents[1] / "memory.jsonl").write_text("{}\n")
    (tmp_path / ".qwen" / "settings.json").write_text(json.dumps({}))
    for root in (tmp_path, tmp_path / ".qwen", path.parents[1]):
        assert [file.path for file in ADAPTER.discover(str(root))] == [str(path)]
