"""What each record of an OpenCode session becomes, wherever the session is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.opencode_reading import (
    PLACES,
    facts,
    of_kind,
    parse_log,
    parse_source,
    part_of,
    told,
)

from session_memory.adapters.common import Block, SourceFile
from session_memory.adapters.opencode.log_builder import START, OpenCodeLog, connect, token_row
from session_memory.adapters.opencode.reader import ADAPTER, discover

STEP = token_row(10, 5)


@pytest.mark.parametrize("place", PLACES)
def test_a_session_says_the_same_wherever_it_is_kept(tmp_path: Path, place: str) -> None:
    log = OpenCodeLog()
    log.info["permission"] = [{"permission": "question", "pattern": "*", "action": "deny"}]
    log.prompt("fix the test")
    log.think("hm")
    log.say("I run it.")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.end_step(STEP, reason="stop")
    bundle = parse_log(log, tmp_path, place)
    assert told(bundle) == [
        ("user_prompt", None, "fix the test"),
        ("reasoning", None, "hm"),
        ("assistant_text", None, "I run it."),
        ("tool_call", None, '{"command":"pytest -q"}'),
        ("tool_result", None, "1 failed"),
        ("system", "step-finish", "stop"),
    ]
    part = part_of(bundle)
    assert part.external_id == log.session_id
    times = [event.at for event in part.events if event.at is not None]
    assert facts(part) == {
        "started_at": min(times),
        "ended_at": max(times),
        "cwd": "/work/shop",
        "client_version": "1.18.33",
        "client_version.first": "1.18.33",
        "title.ai": "Session 1",
        "source_kind": "exec",
        "opened_at": START,
        "model": "claude-sonnet-4-5",
    }
    assert bundle.records == 9  # a session, two messages, six parts
    assert (bundle.parse_errors, dict(bundle.unknown)) == (0, {})
    assert bundle.ignored == {"step-start": 1}


@pytest.mark.rows("CAP-12")
@pytest.mark.parametrize(
    ("tool", "given_", "tool_class", "files"),
    [
        ("read", {"filePath": "/a.py"}, "read", ("/a.py",)),
        ("list", {"path": "/src"}, "read", ("/src",)),
        ("edit", {"filePath": "/a.py", "oldString": "x"}, "edit", ("/a.py",)),
        ("write", {"filePath": "/b.py", "content": ""}, "edit", ("/b.py",)),
        ("apply_patch", {"patchText": "*** Update File: c.py\n+x"}, "edit", ("c.py",)),
        ("bash", {"command": "ls"}, "shell", ()),
        ("grep", {"pattern": "x", "path": "/src"}, "search", ()),
        ("webfetch", {"url": "u"}, "web", ()),
        ("codesearch", {"query": "q"}, "web", ()),
        ("task", {"prompt": "p"}, "agent", ()),
        ("todowrite", {"todos": []}, "plan", ()),
        ("plan_exit", {}, "plan", ()),
        ("memory_mem_search", {"query": "q"}, "mcp", ()),
        ("skill", {"name": "x"}, "other", ()),
    ],
)
def test_tools_fall_into_the_classes_all_flavours_share(
    tmp_path: Path, tool: str, given_: dict[str, Any], tool_class: str, files: tuple[str, ...]
) -> None:
    log = OpenCodeLog()
    log.tool(tool, given_, "out")
    bundle = parse_log(log, tmp_path)
    (call,), (result,) = of_kind(bundle, "tool_call"), of_kind(bundle, "tool_result")
    assert (call.tool, call.tool_class, call.files) == (tool, tool_class, files)
    assert call.command == ("ls" if tool == "bash" else None)
    assert result.call_id == call.call_id is not None
    assert result.origin == ("web" if tool_class == "web" else "tool")


@pytest.mark.parametrize(
    ("error", "label"),
    [
        ("ENOENT: no such file", None),
        ("The user rejected permission to use this specific tool call.", "denied"),
        ("The user has specified a rule which prevents you from using this tool", "denied"),
        ("Tool execution aborted", "interrupted"),
    ],
)
def test_a_failed_call_says_why_it_failed(tmp_path: Path, error: str, label: str | None) -> None:
    log = OpenCodeLog()
    log.tool("bash", {"command": "rm x"}, error=error)
    (result,) = of_kind(parse_log(log, tmp_path), "tool_result")
    assert (result.text, result.is_error, result.label) == (error, True, label)


@pytest.mark.parametrize(("code", "failed"), [(0, False), (1, True), (127, True), (None, False)])
def test_the_exit_code_of_a_command_is_taken_from_its_metadata(
    tmp_path: Path, code: int | None, failed: bool
) -> None:
    log = OpenCodeLog()
    log.tool("bash", {"command": "x"}, "out", exit=code)
    (result,) = of_kind(parse_log(log, tmp_path), "tool_result")
    assert (result.exit_code, result.is_error) == (code, failed)


def test_a_call_that_runs_has_no_result_yet(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.prompt("go")
    part = log.run("sleep 9", "")
    part["state"] = {"status": "running", "input": {"command": "sleep 9"}, "time": {"start": START}}
    bundle = parse_log(log, tmp_path)
    assert [call.command for call in of_kind(bundle, "tool_call")] == ["sleep 9"]
    assert of_kind(bundle, "tool_result") == []


def test_only_what_the_user_wrote_is_a_prompt(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.prompt("look at @a.py")
    log.part({"type": "text", "text": "Called the Read tool with", "synthetic": True})
    log.part(
        {
            "type": "file",
            "mime": "text/plain",
            "filename": "a.py",
            "url": "file:///work/a.py",
            "source": {"type": "file", "path": "/work/a.py", "text": {"value": "@a.py"}},
        }
    )
    log.part({"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"})
    log.part({"type": "agent", "name": "explore"})
    log.part({"type": "subtask", "prompt": "review it", "description": "d", "agent": "general"})
    bundle = parse_log(log, tmp_path)
    assert told(bundle) == [
        ("user_prompt", None, "look at @a.py"),
        ("injected", "synthetic", "Called the Read tool with"),
        ("injected", "file", "/work/a.py"),
        ("injected", "file", "data:image/png;base64"),
        ("injected", "subtask", "review it"),
    ]
    assert [e.origin for e in part_of(bundle).events] == ["user"] + ["harness"] * 4
    assert part_of(bundle).events[2].files == ("/work/a.py",)


def test_a_session_that_names_itself_as_its_parent_has_none(tmp_path: Path) -> None:
    log = OpenCodeLog(3)
    log.info["parentID"] = log.session_id
    log.prompt("fix the test")
    part = part_of(parse_log(log, tmp_path, "storage"))
    assert part.parent_external_id is None
    assert [(event.kind, event.origin) for event in part.events] == [("user_prompt", "user")]
    known = facts(part)
    assert (known["source_kind"], "parent" in known) == ("interactive", False)


def test_a_sub_agent_names_its_parent_and_has_no_user(tmp_path: Path) -> None:
    parent = OpenCodeLog(1)
    child = parent.spawn(2, "list the files")
    child.info["agent"] = "general"
    child.say("three")
    bundle = parse_log(child, tmp_path)
    part = part_of(bundle)
    assert part.parent_external_id == parent.session_id
    assert [(e.kind, e.origin, e.label) for e in part.events] == [
        ("injected", "agent", "subagent_prompt"),
        ("assistant_text", "subagent", None),
    ]
    known = facts(part)
    assert (known["source_kind"], known["parent"]) == ("subagent", parent.session_id)
    assert known["label"] == "general"


def test_a_compaction_is_an_event_and_its_summary_nobodys_words(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.prompt("go on")
    log.compact("so far: nothing", token_row(900, 80))
    bundle = parse_log(log, tmp_path)
    assert told(bundle)[1:] == [
        ("compaction", "compaction", "compaction (automatic)"),
        ("injected", "compact_summary", "so far: nothing"),
        ("system", "step-finish", "stop"),
    ]
    assert [usage.input for usage in part_of(bundle).usages] == [900]


def test_errors_and_interruptions_come_after_what_was_said(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.prompt("go")
    log.say("I st")
    log.fail("MessageAbortedError", "The operation was aborted.")
    log.prompt("again")
    log.fail("APIError", "overloaded")
    log.prompt("again")
    log.say("ok")
    log.part({"type": "retry", "attempt": 1, "error": {"data": {"message": "rate limit"}}})
    bundle = parse_log(log, tmp_path)
    assert [event[:2] for event in told(bundle)] == [
        ("user_prompt", None),
        ("assistant_text", None),
        ("system", "interrupted"),
        ("user_prompt", None),
        ("error", "APIError"),
        ("user_prompt", None),
        ("assistant_text", None),
        ("error", "retry"),
    ]
    errors = of_kind(bundle, "error")
    assert [(e.text, e.is_error) for e in errors] == [
        ("APIError: overloaded", True),
        ("rate limit", True),
    ]
    places = [event.pos for event in part_of(bundle).events]
    assert places == sorted(set(places))


def test_a_plan_is_a_call_of_a_planning_tool(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.plan(("write it", "completed"), ("test it", "pending"))
    (call,) = of_kind(parse_log(log, tmp_path), "tool_call")
    assert (call.tool, call.tool_class) == ("todowrite", "plan")
    assert [todo["status"] for todo in json.loads(call.text)["todos"]] == ["completed", "pending"]


def test_unknown_parts_roles_and_tables_are_named_with_the_client_version(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.prompt("hi")
    log.part({"type": "hologram", "depth": 3})
    log.messages.append(({"id": "msg_z", "role": "oracle", "time": {"created": log.now}}, []))
    log.write(tmp_path)
    db = connect(tmp_path)
    db.execute("CREATE TABLE session_message (id text, session_id text)")
    db.executemany("INSERT INTO session_message VALUES (?, ?)", [("a", log.session_id)] * 2)
    db.commit()
    db.close()
    (source,) = discover(str(tmp_path))
    bundle = parse_source(source)
    assert bundle.unknown == {
        ("1.18.33", "part/hologram"): 1,
        ("1.18.33", "message/oracle"): 1,
        ("1.18.33", "table/session_message"): 2,
    }
    (kept,) = of_kind(bundle, "other")
    assert (kept.label, json.loads(kept.text)["depth"]) == ("hologram", 3)


def test_a_name_the_client_gave_for_want_of_better_is_no_title(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.info["title"] = "New session - 2026-03-02T09:00:00.000Z"
    assert "title.ai" not in facts(part_of(parse_log(log, tmp_path)))


# --- tokens and money ---


def test_each_step_is_one_response_with_its_stated_cost(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.prompt("go")
    log.say("one")
    log.end_step(token_row(100, 20, read=40, write=8), cost=0.25)
    log.say("two")
    log.end_step(token_row(50, 10, reasoning=7))
    bundle = parse_log(log, tmp_path)
    first, second = part_of(bundle).usages
    assert (first.input, first.output, first.cache_read, first.cache_write_5m) == (100, 20, 40, 8)
    assert (first.usd, second.usd) == (0.25, None)
    # Where the total shows that reasoning is not in the output, it is added: it is billed so.
    assert (second.output, second.reasoning) == (17, 7)
    steps = [event for event in of_kind(bundle, "system") if event.label == "step-finish"]
    assert [event.usage_key for event in steps] == [first.key, second.key]


def test_reasoning_that_is_part_of_the_output_is_not_added_again(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.say("x")
    tokens = token_row(50, 10, reasoning=7)
    log.end_step({**tokens, "total": 60})
    del tokens["total"]
    log.say("y")
    log.end_step(tokens)
    assert [usage.output for usage in part_of(parse_log(log, tmp_path)).usages] == [10, 10]


def test_several_steps_of_one_message_count_each_and_the_message_does_not(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.say("x")
    for number in (1, 2):  # clients of 2025 wrote all steps of a turn into one message
        tokens = token_row(100 * number, number)
        log.part({"type": "step-finish", "reason": "stop", "tokens": tokens, "cost": 0.5})
    log.messages[-1][0].update(tokens=token_row(200, 2), cost=1.0)
    usages = part_of(parse_log(log, tmp_path)).usages
    assert [(usage.input, usage.usd) for usage in usages] == [(100, 0.5), (200, 0.5)]


def test_a_message_without_steps_states_its_own_tokens(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.say("x")
    log.messages[-1][0].update(tokens=token_row(11, 3), cost=0.125, finish="stop")
    (usage,) = part_of(parse_log(log, tmp_path)).usages
    assert (usage.input, usage.output, usage.usd) == (11, 3, 0.125)


# --- damage ---


def test_a_damaged_row_costs_only_itself(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.prompt("one")
    log.say("two")
    log.prompt("three")
    log.write(tmp_path)
    db = connect(tmp_path)
    db.execute("UPDATE part SET data = substr(data, 1, 20) WHERE data LIKE '%two%'")
    db.commit()
    db.close()
    (source,) = discover(str(tmp_path))
    bundle = parse_source(source)
    assert [text for _, _, text in told(bundle)] == ["one", "three"]
    assert bundle.parse_errors == 1


def test_a_row_over_the_cap_is_passed_over_and_counted(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.prompt("one")
    log.say("x" * 5000)
    log.prompt("three")
    log.write(tmp_path)
    (source,) = discover(str(tmp_path))
    bundle = parse_source(source, line_cap=4000)
    assert [text for _, _, text in told(bundle)] == ["one", "three"]
    assert bundle.too_long == 1


def test_a_session_file_that_cannot_be_read_still_has_its_messages(tmp_path: Path) -> None:
    log = OpenCodeLog()
    log.prompt("one")
    log.write_files(tmp_path).write_text('{"id": "ses')
    (source,) = discover(str(tmp_path))
    bundle = parse_source(source)
    assert (part_of(bundle).external_id, bundle.parse_errors) == (log.session_id, 1)
    assert [text for _, _, text in told(bundle)] == ["one"]


def test_an_export_whose_ids_were_redacted_keeps_every_message(tmp_path: Path) -> None:
    log = OpenCodeLog()
    for text in ("one", "two", "three"):
        log.prompt(text)
        log.say(f"said {text}")
        log.end_step(token_row(7, 7))
    for info, parts in log.messages:
        for row in (info, *parts):
            row["id"] = "REDACTED"
    log.info["id"] = "REDACTED"
    log.export(tmp_path / "some-export.json")
    (source,) = discover(str(tmp_path))
    part = part_of(parse_source(source))
    assert part.external_id == "some-export"
    assert [e.text for e in part.events if e.kind == "user_prompt"] == ["one", "two", "three"]
    assert len(part.usages) == 3


@given(st.binary(max_size=200) | st.text(max_size=60).map(str.encode))
def test_no_line_whatever_it_holds_stops_the_parser(line: bytes) -> None:
    source = SourceFile("/x/opencode.db#ses_1", 1, 0, 0, 0, 0)
    bundle = ADAPTER.parse(source, Block([(0, line)], 0, len(line)), {})
    assert bundle.records + bundle.parse_errors <= 1


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "state", "time", "text", "tokens", "tool", "role", "error"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(
    kind=st.sampled_from(["text", "tool", "step-finish", "patch", "file", "retry", "x"]),
    part=st.dictionaries(st.sampled_from(["state", "time", "tokens", "files", "text"]), _ODD),
    message=st.dictionaries(st.sampled_from(["role", "time", "tokens", "error", "path"]), _ODD),
)
def test_fields_of_any_shape_are_taken_or_left(
    kind: str, part: dict[str, Any], message: dict[str, Any]
) -> None:
    records = [{"id": "m", "message": message}, {"id": "p", "part": {**part, "type": kind}}]
    lines = [msgspec.json.encode(record) for record in [*records, {"end": True}]]
    block = Block([(1000 * n, line) for n, line in enumerate(lines)], 0, 3000)
    bundle = ADAPTER.parse(SourceFile("/x/opencode.db#ses_1", 1, 0, 0, 0, 0), block, {})
    assert (bundle.records, bundle.parse_errors) == (2, 0)
    msgspec.json.encode(bundle.state)


@pytest.mark.parametrize(
    "stated", [START + 5000, START // 1000 + 5, "2026-03-02T09:00:05Z", "2026-03-02T10:00:05+01:00"]
)
def test_times_are_read_in_every_form_clients_wrote_them(tmp_path: Path, stated: int | str) -> None:
    log = OpenCodeLog()
    log.prompt("hi")
    log.messages[0][0]["time"]["created"] = stated
    (prompt,) = of_kind(parse_log(log, tmp_path), "user_prompt")
    assert prompt.at == START + 5000


def test_databases_of_every_release_channel_are_found_and_other_files_left(tmp_path: Path) -> None:
    logs = [OpenCodeLog(number) for number in (1, 2)]
    for log, name in zip(logs, ("opencode.db", "opencode-beta.db"), strict=True):
        log.prompt("hi")
        log.write(tmp_path / "made").rename(tmp_path / name)
    (tmp_path / "auth.json").write_text('{"info": "a key of a provider"}')
    found = {source.path.rpartition("#")[2] for source in discover(str(tmp_path))}
    assert found == {log.session_id for log in logs}


def test_json_that_is_no_export_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text('{"provider": {"type": "api", "info": {"key": "k"}}}')
    log = OpenCodeLog()
    log.export(tmp_path / "deep" / "export.json")
    assert [Path(source.path).name for source in discover(str(tmp_path))] == ["export.json"]
