"""Chats of Copilot Chat in VS Code: a log of changes, the document before it, and exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.common import SessionPart
from session_memory.adapters.copilot_chat.log_builder import CopilotChatLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-25")


def read(log: CopilotChatLog, home: Path) -> SessionPart:
    log.write(home)
    return only_part("copilot_chat", home)


def test_a_chat_has_prompt_answer_calls_times_folder_and_model(tmp_path: Path) -> None:
    log = CopilotChatLog(7)
    log.prompt("fix the test")
    log.think("where is it?")
    log.run("pytest -q", "1 failed", exit_code=2)
    log.say("It fails.")
    log.document["customTitle"] = "The test"
    log.change(1, ["customTitle"], "The test")
    part = read(log, tmp_path)
    assert part.external_id == log.session_id
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("reasoning", None, "where is it?"),
        ("tool_call", None, '{"command":"pytest -q"}'),
        ("tool_result", None, "1 failed\nCommand exited with code 2"),
        ("assistant_text", None, "It fails."),
    ]
    assert {event.at for event in part.events} == {log.request["timestamp"]}
    call, result = part.events[2:4]
    assert (call.command, call.tool_class, call.call_id) == ("pytest -q", "shell", result.call_id)
    assert (result.exit_code, result.is_error) == (2, True)
    said = facts(part)
    assert (said["cwd"], said["model"], said["title.custom"]) == ("/work/shop", "gpt-5", "The test")


def test_both_forms_say_the_same_and_the_log_of_changes_counts_once(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("copilot_chat")
    log = CopilotChatLog(1)
    log.prompt("go", promptTokens=100, completionTokens=20)
    log.run("ls", "a")
    log.say("done")
    old = log.write_document(home)
    before = told(only_part("copilot_chat", home).events)
    space.sweep()
    log.write(home)
    assert old.exists()
    assert told(only_part("copilot_chat", home).events) == before
    space.sweep()
    assert [e.text for e in space.events(log.session_id)] == [text for _, _, text in before]
    assert space.session(log.session_id).cost.input == 100


def test_an_array_is_cut_before_it_is_appended_to(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    log.prompt("first")
    log.prompt("second, taken back")
    replaced = {**log.request, "message": {"text": "another way"}}
    log.change(2, ["requests"], [replaced], i=1)
    assert [text for _, _, text in told(read(log, tmp_path).events)] == ["first", "another way"]


def test_a_deleted_field_is_gone_and_a_change_without_a_place_is_counted(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    log.prompt("go")
    log.set("result", {"errorDetails": {"message": "no quota"}})
    log.change(3, ["requests", 0, "result"])
    log.change(1, ["requests", 9, "result"], {})
    log.write(tmp_path)
    (bundle,) = parse_home("copilot_chat", tmp_path)
    assert told(bundle.sessions[0].events) == [("user_prompt", None, "go")]
    assert dict(bundle.missing) == {"change without a place": 1}


def test_a_log_written_anew_and_shorter_keeps_the_chat(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("copilot_chat")
    log = CopilotChatLog(1)
    log.prompt("go")
    log.say("one ")
    log.say("two")
    log.write(home)
    space.sweep()
    log.rows = [{"kind": 0, "v": log.document}]
    log.write(home)
    space.sweep()
    assert [e.text for e in space.events(log.session_id)] == ["go", "one two"]


def test_text_and_references_are_joined_without_separators(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    log.prompt("where?")
    log.say("See ")
    log.item({"kind": "inlineReference", "inlineReference": {"path": "/work/shop/cart.py"}})
    log.say(", line 3.")
    assert told(read(log, tmp_path).events)[1:] == [
        ("assistant_text", None, "See cart.py, line 3.")
    ]


def test_the_wrapped_prompt_and_attachments_are_not_kept(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    log.prompt("go", variableData={"variables": [{"value": "the whole file"}]})
    log.run("ls", "a")
    log.write(tmp_path)
    (bundle,) = parse_home("copilot_chat", tmp_path)
    texts = " ".join(event.text for event in bundle.sessions[0].events)
    assert "wrapped" not in texts and "whole file" not in texts
    assert bundle.ignored["attachments"] == 1


def test_a_call_is_found_by_id_then_in_order_by_its_tool_else_left_unpaired(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    log.prompt("go")
    log.tool("copilot_createFile", "create_file", {"filePath": "/a"}, "made", same_id=False)
    log.tool("copilot_readFile", "read_file", {"filePath": "/b"}, "b", same_id=False)
    log.tool("copilot_getErrors", "unlike", {"filePath": "/c"}, "c", same_id=False)
    log.write(tmp_path)
    (bundle,) = parse_home("copilot_chat", tmp_path)
    events = bundle.sessions[0].events[1:]
    assert [(e.kind, e.tool_class, e.files, e.text) for e in events] == [
        ("tool_call", "edit", ("/a",), '{"filePath":"/a"}'),
        ("tool_result", None, (), "made"),
        ("tool_call", "read", ("/b",), '{"filePath":"/b"}'),
        ("tool_result", None, (), "b"),
        ("tool_call", "other", (), "Using copilot_getErrors"),
    ]
    assert bundle.ignored["tool call without a place in the answer"] == 1


@pytest.mark.parametrize("confirmed", [False, {"type": 0}])
def test_a_failed_or_refused_call_is_complete_all_the_same(tmp_path: Path, confirmed: Any) -> None:
    log = CopilotChatLog(1)
    log.prompt("go")
    log.tool("copilot_readFile", "read_file", {}, "ERROR while calling tool: no such file")
    log.tool("copilot_readFile", "read_file", {}, "", isConfirmed=confirmed)
    failed, refused = [e for e in read(log, tmp_path).events if e.kind == "tool_result"]
    assert (failed.is_error, failed.label) == (True, None)
    assert (refused.is_error, refused.label) == (True, "denied")


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"isSystemInitiated": True}, "system_initiated"),
        ({"confirmation": "Allow"}, "confirmation"),
    ],
)
def test_what_the_editor_asks_is_no_prompt(
    tmp_path: Path, fields: dict[str, Any], label: str
) -> None:
    log = CopilotChatLog(1)
    log.prompt("the command has ended", **fields)
    assert told(read(log, tmp_path).events) == [("injected", label, "the command has ended")]


def test_a_result_may_stand_in_the_call_itself(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    log.prompt("go")
    command = {"commandLine": {"original": "go build"}, "terminalCommandOutput": {"text": "oops"}}
    ended = {**command, "terminalCommandState": {"exitCode": 1}}
    item = {"kind": "toolInvocationSerialized", "toolCallId": "a"}
    log.item({**item, "toolId": "run_in_terminal", "toolSpecificData": ended})
    details = {"input": "x", "output": [{"type": "embed", "value": "none"}], "isError": True}
    log.item({**item, "toolCallId": "b", "toolId": "mcp_docs_find", "resultDetails": details})
    events = read(log, tmp_path).events[1:]
    assert [(e.kind, e.text, e.exit_code, e.is_error) for e in events] == [
        ("tool_call", '{"command":"go build"}', None, False),
        ("tool_result", "oops", 1, True),
        ("tool_call", "", None, False),
        ("tool_result", "none", None, True),
    ]
    assert events[2].tool_class == "mcp"


def test_a_chat_may_name_its_folder_itself(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    log.workspace = {}
    log.change(1, ["workingDirectory"], "file:///work/else")
    log.prompt("go")
    assert facts(read(log, tmp_path))["cwd"] == "/work/else"


def test_a_document_that_grows_in_place_is_told_as_it_stands(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home, log = space.flavor_home("copilot_chat"), CopilotChatLog(1)
    log.prompt("go")
    for text in ("It fa", "It fails."):
        log.request["response"] = [{"value": text}]
        log.write_document(home)
        space.sweep()
    assert [event.text for event in space.events(log.session_id)] == ["go", "It fails."]


def test_tokens_of_the_result_and_of_the_request_are_one_statement(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    log.prompt("go", promptTokens=100, completionTokens=20, modelId="copilot/auto")
    metadata = {"promptTokens": 90, "outputTokens": 10}
    log.set("result", {"details": "Grok Code Fast 1 • 1x", "metadata": metadata})
    part = read(log, tmp_path)
    (usage,) = part.usages
    assert (usage.input, usage.output, usage.model) == (90, 10, "Grok Code Fast 1")


def test_an_export_names_its_session_in_the_results(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    log.prompt("go")
    log.set("result", {"metadata": {"sessionId": "abc"}})
    del log.document["sessionId"], log.document["creationDate"]
    (tmp_path / "chat.json").write_text(json.dumps(log.document))
    part = only_part("copilot_chat", tmp_path)
    assert (part.external_id, "cwd" in facts(part)) == ("abc", False)


def test_a_file_of_another_shape_is_counted_and_not_guessed(tmp_path: Path) -> None:
    made_by_hand = {"timestamp": 1_772_442_000_000, "prompt": "go", "completion": "done"}
    content = {"version": 3, "requests": [made_by_hand]}
    (tmp_path / "copilot-chat.json").write_text(json.dumps(content))
    (bundle,) = parse_home("copilot_chat", tmp_path)
    assert dict(bundle.unknown) == {("", "request"): 1}
    assert [e.kind for e in bundle.sessions[0].events] == ["other"]


def test_a_damaged_document_keeps_its_whole_requests(tmp_path: Path) -> None:
    log = CopilotChatLog(1)
    for text in ("first", "second", "third"):
        log.prompt(text)
    path = log.write_document(tmp_path)
    content = path.read_text()
    path.write_text(content[: content.index("third")])
    (bundle,) = parse_home("copilot_chat", tmp_path)
    assert [e.text for e in bundle.sessions[0].events] == ["first", "second"]
    assert (bundle.parse_errors, bundle.sessions[0].external_id) == (1, log.session_id)


def test_only_chats_of_an_editor_are_looked_at(tmp_path: Path) -> None:
    storage = tmp_path / "User" / "workspaceStorage"
    log = CopilotChatLog(1)
    log.prompt("go")
    log.write(storage)
    other = storage / "abc" / "GitHub.copilot-chat" / "transcripts"
    other.mkdir(parents=True)
    (other / "x.jsonl").write_text("{}\n")
    empty = CopilotChatLog(2)
    empty.prompt("no folder")
    folder = tmp_path / "User" / "globalStorage" / "emptyWindowChatSessions"
    folder.mkdir(parents=True)
    empty.write(tmp_path / "x").rename(folder / f"{empty.session_id}.jsonl")
    for root in (storage, tmp_path / "User"):
        parts = [p for bundle in parse_home("copilot_chat", root) for p in bundle.sessions]
        assert parts[-1].external_id == log.session_id
    assert len(parts) == 2
    assert parse_home("copilot_chat", storage / "abc" / "GitHub.copilot-chat" / "x") == []


@pytest.mark.parametrize(
    ("workspace", "cwd"),
    [
        ({"folder": "file:///work/my%20shop"}, "/work/my shop"),
        ({"folder": "file:///c%3A/work"}, "c:/work"),
        ({"workspace": "file:///work/all.code-workspace"}, "/work"),
        ({"folder": "vscode-remote://ssh-remote%2Bhost/work"}, None),
        ({}, None),
    ],
)
def test_the_folder_is_that_of_the_editor(
    tmp_path: Path, workspace: dict[str, str], cwd: str | None
) -> None:
    log = CopilotChatLog(1)
    log.workspace = workspace
    log.prompt("go")
    assert facts(read(log, tmp_path)).get("cwd") == cwd
