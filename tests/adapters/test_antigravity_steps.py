"""Conversations of Antigravity: steps in any order, results without ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.antigravity.log_builder import AntigravityLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-30")


def test_a_conversation_has_times_prompts_calls_results_folder_and_model(tmp_path: Path) -> None:
    home = tmp_path / "antigravity-cli"
    log = AntigravityLog(1)
    log.prompt("fix the test", model="Gemini 3.5 Pro (High)")
    log.say("", thinking="where is it?")
    log.run("pytest -q", "1 failed", exit_code=2)
    log.say("It fails.", input_tokens=100, output_tokens=20)
    log.write(home)
    part = only_part("antigravity", home)
    assert part.external_id == f"antigravity-cli:{log.conversation}"
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("reasoning", None, "where is it?"),
        ("tool_call", None, '{"CommandLine":"pytest -q"}'),
        ("tool_result", None, "The command exited with code 2.\nOutput:\n1 failed"),
        ("assistant_text", None, "It fails."),
    ]
    call, result = part.events[2:4]
    assert (call.command, call.tool_class, call.call_id) == ("pytest -q", "shell", result.call_id)
    assert (result.exit_code, result.is_error) == (2, True)
    assert all(event.at for event in part.events)
    said = facts(part)
    assert (said["cwd"], said["model"]) == ("/work/shop", "Gemini 3.5 Pro (High)")
    assert [(usage.input, usage.output) for usage in part.usages] == [(100, 20)]


def test_steps_are_told_in_order_and_a_later_one_replaces_its_number(tmp_path: Path) -> None:
    log = AntigravityLog(1)
    log.prompt("go")
    pending = log.tool("run_command", {"CommandLine": "make"}, "", status="RUNNING")
    log.say("done")
    done = {**pending, "status": "DONE", "content": "built", "exit_code": 3}
    log.rows = [log.rows[3], *log.rows[:3], done]
    log.write(tmp_path)
    (bundle,) = parse_home("antigravity", tmp_path)
    assert [text for _, _, text in told(bundle.sessions[0].events)] == [
        "go",
        '{"CommandLine":"make"}',
        "built",
        "done",
    ]
    result = bundle.sessions[0].events[2]
    assert (result.exit_code, result.is_error) == (3, True)
    assert dict(bundle.ignored) == {"step written again": 1}


@pytest.mark.parametrize(("full", "cut", "text"), [(1, 3, "cut"), (3, 3, "full"), (3, 0, "full")])
def test_the_transcript_with_more_steps_is_read_and_never_both(
    tmp_path: Path, full: int, cut: int, text: str
) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("antigravity")
    for name, steps in (("full", full), ("cut", cut)):
        log = AntigravityLog(1)
        for _ in range(steps):
            log.prompt(name)
        if steps:
            log.write(home, "transcript.jsonl" if name == "cut" else "transcript_full.jsonl")
    report = space.sweep()
    assert (report.discovered, report.ingested) == (1, 1)
    texts = {event.text for event in space.events(f"antigravity:{log.conversation}")}
    assert texts == {text}


def test_results_answer_the_oldest_call_and_errors_do_too(tmp_path: Path) -> None:
    log = AntigravityLog(1)
    log.prompt("go")
    calls = [{"name": "view_file", "args": {"AbsolutePath": f'"/{n}.py"'}} for n in "abc"]
    log.say("", tool_calls=calls)
    log.step("MODEL", "VIEW_FILE", "content of a")
    log.step("SYSTEM", "ERROR_MESSAGE", "no such file")
    log.step("MODEL", "GENERIC", "", status="ERROR", error="timed out")
    log.step("SYSTEM", "ERROR_MESSAGE", "overloaded")
    log.write(tmp_path)
    events = only_part("antigravity", tmp_path).events[1:]
    assert [e.files for e in events[:3]] == [("/a.py",), ("/b.py",), ("/c.py",)]
    assert [e.call_id for e in events[3:6]] == [e.call_id for e in events[:3]]
    assert [(e.kind, e.text, e.is_error) for e in events[3:]] == [
        ("tool_result", "content of a", False),
        ("tool_result", "no such file", True),
        ("tool_result", "timed out", True),
        ("error", "overloaded", True),
    ]


def test_only_a_request_is_a_prompt(tmp_path: Path) -> None:
    log = AntigravityLog(1)
    log.step("SYSTEM", "SYSTEM_MESSAGE", "from another agent")
    log.step("SYSTEM", "CONVERSATION_HISTORY", "titles")
    log.step("USER_EXPLICIT", "USER_INPUT", {"text": "plain"})
    log.step("SYSTEM", "CHECKPOINT", "earlier parts were truncated")
    log.step("SYSTEM", "HOLOGRAM", "unheard of")
    log.write(tmp_path)
    (bundle,) = parse_home("antigravity", tmp_path)
    assert [(kind, label) for kind, label, _ in told(bundle.sessions[0].events)] == [
        ("injected", "system_message"),
        ("injected", "conversation_history"),
        ("user_prompt", None),
        ("compaction", "compaction"),
        ("other", "HOLOGRAM"),
    ]
    assert dict(bundle.unknown) == {("", "HOLOGRAM"): 1}


@pytest.mark.parametrize(
    ("changes", "cwd"),
    [
        ({}, "/work/shop"),
        ({"conversationId": ""}, "/work/shop"),
        ({"conversationId": "", "display": "something else"}, None),
        ({"conversationId": "", "timestamp": 1}, None),
        ({"conversationId": "another"}, None),
    ],
)
def test_the_folder_is_that_of_the_prompt_history(
    tmp_path: Path, changes: dict[str, object], cwd: str | None
) -> None:
    log = AntigravityLog(1)
    log.prompt("go")
    log.history = [{**row, **changes} for row in log.history]
    log.write(tmp_path)
    assert facts(only_part("antigravity", tmp_path)).get("cwd") == cwd


def test_one_id_in_two_homes_is_two_sessions_and_children_know_their_parent(
    tmp_path: Path,
) -> None:
    space = Workspace(tmp_path)
    homes = [tmp_path / name for name in ("antigravity-cli", "antigravity-ide")]
    space.paths["antigravity"] = tuple(map(str, homes))
    child, parent = AntigravityLog(2), AntigravityLog(1)
    child.step("SYSTEM", "SYSTEM_MESSAGE", "count the files")
    parent.prompt("go")
    told = json.dumps([{"conversationId": child.conversation}, {"conversationId": "x"}])
    parent.tool("invoke_subagent", {}, f"Created the following subagents: {told}")
    for home in homes:
        parent.write(home)
    child.write(homes[0])
    assert space.sweep().sessions == 3
    session = space.session(f"antigravity-cli:{child.conversation}")
    assert session.parent_external_id == f"antigravity-cli:{parent.conversation}"
