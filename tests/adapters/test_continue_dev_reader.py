"""Sessions of Continue: one document each, with much that repeats."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.common import LINE_CAP, SessionPart
from session_memory.adapters.continue_dev.log_builder import ContinueDevLog
from session_memory.adapters.registry import adapter
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-29")


def read(log: ContinueDevLog, home: Path) -> SessionPart:
    log.write(home)
    return only_part("continue_dev", home)


def test_a_session_has_prompts_answers_calls_folder_and_model(tmp_path: Path) -> None:
    log = ContinueDevLog(1, cwd="/work/my%20shop")
    log.prompt("fix the test")
    log.run("pytest -q", "1 failed", exit_code=2)
    log.say("It fails.")
    part = read(log, tmp_path)
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("tool_call", None, '{"command":"pytest -q"}'),
        ("tool_result", None, "1 failed\nExit code: 2"),
        ("assistant_text", None, "It fails."),
    ]
    call, result = part.events[1:3]
    assert (call.command, call.tool_class, call.call_id) == ("pytest -q", "shell", result.call_id)
    assert (result.exit_code, result.is_error) == (2, True)
    said = facts(part)
    assert (said["cwd"], said["model"]) == ("/work/my shop", "qwen2.5-coder")
    assert (said["started_at"], said["ended_at"]) == (log.created, log.created)
    assert {event.at for event in part.events} == {None}


@pytest.mark.rows("CAP-27")
def test_a_session_that_the_list_does_not_name_has_the_time_of_its_file(tmp_path: Path) -> None:
    log = ContinueDevLog(1, listed=False)
    log.prompt("go")
    path = log.write(tmp_path)
    said = facts(only_part("continue_dev", tmp_path))
    assert said["time_source"] == "file"
    assert said["started_at"] == path.stat().st_mtime_ns // 1_000_000


def test_what_a_session_repeats_is_not_even_read(tmp_path: Path) -> None:
    log = ContinueDevLog(1)
    log.prompt("go", contextItems=[{"content": "a whole file"}])
    log.say("done")
    log.write(tmp_path)
    reader = adapter("continue_dev")
    (source,) = reader.discover(str(tmp_path))
    (block,) = reader.read(source, 0, LINE_CAP)
    content = b"".join(line for _, line in block.lines)
    assert b"repeated prompt" not in content and b"whole file" not in content
    assert b'"doc"' not in content
    assert reader.parse(source, block, {}).ignored["attachments"] == 1


def test_thinking_is_told_apart_in_both_forms(tmp_path: Path) -> None:
    log = ContinueDevLog(1)
    log.prompt("go")
    log.say("<think>\nhm\n</think>\n\nold form")
    log.say("new form", reasoning={"text": "aha", "startAt": log.created + 5, "active": False})
    part = read(log, tmp_path)
    assert told(part.events)[1:] == [
        ("reasoning", None, "hm"),
        ("assistant_text", None, "old form"),
        ("reasoning", None, "aha"),
        ("assistant_text", None, "new form"),
    ]
    assert [event.at for event in part.events[1:]] == [None, None, log.created + 5, None]


@pytest.mark.parametrize(
    ("title", "kept"),
    [("<think> the user wants", None), ("New Session", None), ("Cart totals", "Cart totals")],
)
def test_a_title_that_is_raw_output_is_none(tmp_path: Path, title: str, kept: str | None) -> None:
    log = ContinueDevLog(1)
    log.document["title"] = title
    log.prompt("go")
    assert facts(read(log, tmp_path)).get("title.ai") == kept


def test_failure_is_the_state_of_a_call_and_a_result_is_told_once(tmp_path: Path) -> None:
    log = ContinueDevLog(1)
    log.prompt("go")
    log.tool("read_file", {"filepath": "/a"}, "", "errored")
    log.tool("read_file", {"filepath": "/b"}, "", "calling")
    entry = log.tool("read_file", {"filepath": "/c"}, "content")
    call_id = entry["toolCallStates"][0]["toolCallId"]
    log.entry("tool", "content", toolCallId=call_id)
    older = log.tool("read_file", {"filepath": "/d"}, "d")
    older["toolCallState"] = older.pop("toolCallStates")[0]
    log.write(tmp_path)
    (bundle,) = parse_home("continue_dev", tmp_path)
    results = [e for e in bundle.sessions[0].events if e.kind == "tool_result"]
    assert [(e.text, e.is_error) for e in results] == [
        ("errored", True),
        ("content", False),
        ("d", False),
    ]
    assert bundle.ignored["repeated result"] == 1
    assert [e.files for e in bundle.sessions[0].events if e.kind == "tool_call"] == [
        ("/a",),
        ("/b",),
        ("/c",),
        ("/d",),
    ]


def test_a_state_may_be_short_and_its_output_a_text(tmp_path: Path) -> None:
    log = ContinueDevLog(1)
    call = {"id": "c1", "function": {"name": "edit_file", "arguments": '{"path": "/a"}'}}
    state = {"toolCallId": "c1", "status": "done", "output": "edit applied"}
    log.say("editing", toolCalls=[call], toolCallStates=[state])
    assert told(read(log, tmp_path).events) == [
        ("assistant_text", None, "editing"),
        ("tool_call", None, '{"path":"/a"}'),
        ("tool_result", None, "edit applied"),
    ]


def test_an_answer_that_grows_in_place_is_told_as_it_stands(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home, log = space.flavor_home("continue_dev"), ContinueDevLog(1)
    log.prompt("go")
    entry = log.say("It fa")
    log.write(home)
    space.sweep()
    entry["message"]["content"] = "It fails."
    log.write(home)
    space.sweep()
    assert [event.text for event in space.events(log.session_id)] == ["go", "It fails."]


def test_the_tokens_of_a_session_are_one_figure_that_is_replaced(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home, log = space.flavor_home("continue_dev"), ContinueDevLog(1)
    log.prompt("go")
    for tokens in (100, 250):
        usage = {"promptTokens": tokens, "completionTokens": 20, "totalCost": 0.5}
        log.document["usage"] = usage
        log.say("done")
        log.write(home)
        space.sweep()
    assert space.session(log.session_id).cost.input == 250


def test_unknown_roles_are_counted_and_the_list_of_sessions_is_none(tmp_path: Path) -> None:
    log = ContinueDevLog(1)
    log.prompt("go")
    log.entry("hologram", "unheard of")
    log.entry("system", "you are")
    log.write(tmp_path)
    (bundle,) = parse_home("continue_dev", tmp_path)
    assert dict(bundle.unknown) == {("", "message/hologram"): 1}
    assert bundle.ignored["system prompt"] == 1


@pytest.mark.rows("CAP-22")
@pytest.mark.parametrize(
    "garbage",
    [b'{"type": "user", "mess\x00\xff\n', b"}]\n"],
    ids=["line", "brackets"],
)
def test_garbage_around_a_session_costs_none_of_its_entries(tmp_path: Path, garbage: bytes) -> None:
    log = ContinueDevLog(1)
    log.prompt("mend the walrus pump")
    log.say("mended")
    path = log.write(tmp_path)
    whole = told(only_part("continue_dev", tmp_path).events)
    path.write_bytes(garbage + path.read_bytes() + garbage)
    (bundle,) = parse_home("continue_dev", tmp_path)
    assert told(bundle.sessions[0].events) == whole
    assert bundle.parse_errors == 1
