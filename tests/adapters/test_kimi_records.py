"""Kimi's logs: what their records mean, in both forms, and whose they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters import whole_log
from session_memory.adapters.kimi.log_builder import MODEL, KimiLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-43")


def test_a_session_has_times_a_folder_a_model_and_tokens(tmp_path: Path) -> None:
    log = KimiLog(7)
    log.prompt("fix the test")
    log.say("I look.", thought="where is it?")
    log.write(tmp_path)
    part = only_part("kimi", tmp_path)
    assert part.external_id == log.session_id
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("reasoning", None, "where is it?"),
        ("assistant_text", None, "I look."),
    ]
    assert part.events[0].at == log.rows[1]["time"]
    said = facts(part)
    assert (said["cwd"], said["model"], said["opened_at"]) == (
        "/work/shop",
        MODEL,
        log.state["createdAt"],
    )
    (usage,) = part.usages  # the record that repeats it does not count
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write_5m) == (100, 20, 30, 40)
    assert part.events[2].usage_key == usage.key


def test_tokens_that_no_step_states_are_taken_from_the_other_record(tmp_path: Path) -> None:
    log = KimiLog(1)
    log.prompt("go")
    log.event("content.part", part={"type": "text", "text": "well"})
    log.event("step.end", finishReason="stop")
    log.row("usage.record", model=MODEL, usage={"inputOther": 7, "output": 3})
    log.write(tmp_path)
    assert [(u.input, u.output) for u in only_part("kimi", tmp_path).usages] == [(7, 3)]


def test_calls_and_results_are_paired_and_failures_flagged(tmp_path: Path) -> None:
    log = KimiLog(1)
    log.prompt("go")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.tool("ReadFile", {"path": "/work/a.py"}, "content")
    log.write(tmp_path)
    part = only_part("kimi", tmp_path)
    call, result, read, content = part.events[1:]
    assert (call.tool, call.command, call.call_id) == ("Shell", "pytest -q", result.call_id)
    assert (result.is_error, result.exit_code) == (True, 1)
    assert (read.tool_class, read.files, content.is_error) == ("read", ("/work/a.py",), False)
    assert call.usage_key == part.usages[0].key  # though its result stands before the step's end


def test_turns_that_were_taken_back_are_marked_and_their_tokens_stay(tmp_path: Path) -> None:
    log = KimiLog(1)
    log.prompt("first")
    log.say("one")
    for _ in range(2):
        log.prompt("second")
        log.say("two")
        log.undo()
    log.prompt("third")
    log.undo(7)
    log.undo()
    log.prompt("last")
    log.write(tmp_path)
    part = only_part("kimi", tmp_path)
    assert [event.text for event in part.events if event.label != "rewound"] == ["last"]
    assert len([event for event in part.events if event.label == "rewound"]) == 7
    assert len(part.usages) == 3


def test_agents_other_than_the_main_one_are_sub_agents(tmp_path: Path) -> None:
    log, child = KimiLog(1), KimiLog(1, agent="scout")
    log.prompt("go")
    child.prompt("look around")
    log.write(tmp_path)
    child.write(tmp_path)
    parts = {part.external_id: part for b in parse_home("kimi", tmp_path) for part in b.sessions}
    other = parts[f"{log.session_id}:scout"]
    assert (other.parent_external_id, facts(other)["source_kind"]) == (log.session_id, "subagent")
    assert told(other.events) == [("injected", "subagent_prompt", "look around")]


@pytest.mark.parametrize(
    "state", [{}, {"sessionId": "other", "workDir": "/work/x", "createdAt": "2026-03-02T09:00:00Z"}]
)
def test_the_state_of_a_session_may_say_less_or_say_it_otherwise(
    tmp_path: Path, state: dict[str, str]
) -> None:
    log = KimiLog(1)
    log.prompt("go")
    log.state = dict(state)
    log.write(tmp_path)
    part = only_part("kimi", tmp_path)
    assert part.external_id == state.get("sessionId", log.session_id)
    assert facts(part)["cwd"] == state.get("workDir", "/work/shop")


def test_a_session_of_the_older_cli_has_no_model_and_is_not_doubled(tmp_path: Path) -> None:
    log = KimiLog(1, cwd="/work/old")
    function = {"name": "Shell", "arguments": json.dumps({"command": "ls"})}
    usage = {"input_other": 5, "output": 2, "input_cache_read": 1, "input_cache_creation": 0}
    log.write_old(
        tmp_path,
        ("TurnBegin", {"user_input": [{"type": "text", "text": "look"}]}),
        ("StepBegin", {"n": 1}),
        ("ContentPart", {"type": "think", "think": "hm"}),
        ("ContentPart", {"type": "text", "text": "I look."}),
        ("ToolCall", {"id": "c", "function": function}),
        ("ToolResult", {"tool_call_id": "c", "return_value": {"is_error": True, "output": "no"}}),
        ("StatusUpdate", {"token_usage": usage, "context_tokens": 8}),
        ("TurnEnd", {}),
    )
    part = only_part("kimi", tmp_path)
    assert told(part.events) == [
        ("user_prompt", None, "look"),
        ("reasoning", None, "hm"),
        ("assistant_text", None, "I look."),
        ("tool_call", None, '{"command":"ls"}'),
        ("tool_result", None, "no"),
    ]
    assert (part.events[0].at, part.events[1].at) == (log.now, log.now + 2000)
    assert part.events[4].is_error
    assert facts(part)["cwd"] == "/work/old"
    assert [(u.input, u.output, u.cache_read) for u in part.usages] == [(5, 2, 1)]


def test_small_tasks_of_the_desktop_app_are_no_sessions(tmp_path: Path) -> None:
    log = KimiLog(1)
    log.prompt("go")
    path = log.write(tmp_path)
    session = path.parents[2]
    for name in ("ctitle-1", "sklsum-1", "dvlt-1", "conv-1"):
        copy = session.with_name(name)
        (copy / "agents" / "main").mkdir(parents=True)
        (copy / "agents" / "main" / "wire.jsonl").write_bytes(path.read_bytes())
    names = {part.external_id for b in parse_home("kimi", tmp_path) for part in b.sessions}
    assert names == {log.session_id, "conv-1"}


def test_records_of_unknown_type_are_kept_and_counted(tmp_path: Path) -> None:
    log = KimiLog(1)
    log.prompt("go")
    log.row("hologram", shape="unheard of")
    log.event("hologram", shape="unheard of")
    log.write(tmp_path)
    (bundle,) = parse_home("kimi", tmp_path)
    assert dict(bundle.unknown) == {("", "hologram"): 1, ("", "event/hologram"): 1}


def test_a_log_that_only_names_its_folder_is_no_session(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "wd_x" / "session_1" / "agents" / "main"
    folder.mkdir(parents=True)
    row = {"type": "config.update", "cwd": "/work/x", "modelAlias": "kimi"}
    (folder / "wire.jsonl").write_text(json.dumps(row) + "\n")
    (bundle,) = parse_home("kimi", tmp_path)
    assert (bundle.records, bundle.parse_errors, bundle.sessions) == (1, 0, [])


def test_a_log_that_is_too_large_as_a_whole_is_read_as_far_as_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = KimiLog(1)
    log.prompt("go")
    log.write(tmp_path)
    monkeypatch.setattr(whole_log, "WHOLE_CAP", 10)
    (bundle,) = parse_home("kimi", tmp_path)
    assert (bundle.too_long, bundle.sessions) == (len(log.rows), [])


def test_a_log_that_grew_is_the_log_read_at_once(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("kimi")
    log = KimiLog(1)
    log.prompt("go")
    log.say("one")
    log.write(home)
    space.sweep()
    log.prompt("no")
    log.undo()
    log.prompt("yes")
    log.write(home)
    space.sweep()
    whole = space.with_store("whole")
    whole.sweep()
    assert [entry["events"] for entry in space.dump()] == [e["events"] for e in whole.dump()]
    prompts = [e.text for e in space.events(log.session_id) if e.kind == "user_prompt"]
    assert prompts == ["go", "yes"]
