"""What each record of a Gemini CLI chat becomes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

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
from session_memory.adapters.gemini.log_builder import MODEL, GeminiLog, tokens
from session_memory.adapters.gemini.reader import ADAPTER, log_deletion


def parsed(log: GeminiLog, tmp_path: Path) -> Normalized:
    log.write(tmp_path)
    return parse_one(ADAPTER, tmp_path)


def test_a_conversation_is_told_in_order(tmp_path: Path) -> None:
    log = GeminiLog()
    log.context()
    log.prompt("fix the test")
    log.say("I run it.", thought="which one?")
    log.run("pytest -q", "1 failed", exit_code=1)
    bundle = parsed(log, tmp_path)
    assert [event.kind for event in part_of(bundle).events] == [
        "injected",
        "user_prompt",
        "reasoning",
        "assistant_text",
        "tool_call",
        "tool_result",
    ]
    assert [(e.text, e.origin) for e in of_kind(bundle, "user_prompt")] == [
        ("fix the test", "user")
    ]
    assert (bundle.parse_errors, bundle.unknown) == (0, {})
    assert bundle.records == len(log.rows)


def test_a_later_line_replaces_the_message_and_keeps_its_time(tmp_path: Path) -> None:
    log = GeminiLog()
    row = log.say("half")
    log.again(row, content="half of it, and the rest")
    bundle = parsed(log, tmp_path)
    assert told(bundle) == [("assistant_text", "half of it, and the rest")]
    assert len(part_of(bundle).usages) == 1


@pytest.mark.parametrize("form", ["lines", "document"])
def test_an_id_that_stands_for_several_messages_merges_none_of_them(
    tmp_path: Path, form: str
) -> None:
    log = GeminiLog()
    log.prompt("one")
    log.say("first", tokens(10, 1))
    log.prompt("two")
    log.say("second", tokens(20, 2))
    log.say("third", tokens(30, 3))
    for row in log.rows:
        if "id" in row:
            row["id"] = "REDACTED"
    path = log.write(tmp_path)
    if form == "document":
        whole = log.header | {"messages": [row for row in log.rows if "id" in row]}
        path.with_suffix(".json").write_text(json.dumps(whole))
        path.unlink()
    bundle = parse_one(ADAPTER, tmp_path)
    assert [text for _, text in told(bundle)] == ["one", "first", "two", "second", "third"]
    assert sorted(usage.input for usage in part_of(bundle).usages) == [10, 20, 30]


def test_calls_and_results_are_one_pair_however_often_they_are_written(tmp_path: Path) -> None:
    log = GeminiLog()
    log.prompt("go")
    log.say("I write and run.")
    first = log.write_file("/work/shop/cart.py", "x")
    second = log.run("pytest -q", "ok")
    log.resume()
    bundle = parsed(log, tmp_path)
    calls, results = of_kind(bundle, "tool_call"), of_kind(bundle, "tool_result")
    assert [call.call_id for call in calls] == [first, second]
    assert [result.call_id for result in results] == [first, second]
    assert [(c.tool_class, c.files, c.command) for c in calls] == [
        ("edit", ("/work/shop/cart.py",), None),
        ("shell", (), "pytest -q"),
    ]
    assert results[0].files == ("/work/shop/cart.py",)
    assert results[1].text == "Output: ok\nProcess Group PGID: 7"


def test_a_result_whose_call_was_never_finished_in_the_log_is_told(tmp_path: Path) -> None:
    log = GeminiLog()
    part = {"functionCall": {"id": "c1", "name": "read_file", "args": {"file_path": "/a"}}}
    log.message("gemini", [part], model=MODEL)
    answer = {"id": "c1", "name": "read_file", "response": {"output": "text"}}
    log.message("user", [{"functionResponse": answer}])
    bundle = parsed(log, tmp_path)
    assert [(e.kind, e.call_id, e.text) for e in part_of(bundle).events] == [
        ("tool_call", "c1", '{"file_path":"/a"}'),
        ("tool_result", "c1", "text"),
    ]


@pytest.mark.parametrize(
    ("output", "status", "exit_code", "label"),
    [
        ("Output: x\nExit Code: 2\nProcess Group PGID: 1", "success", 2, None),
        ("Output: x\nExit Code: 0\nSignal: (none)", "success", 0, None),
        ("Output: x\nProcess Group PGID: 1", "success", 0, None),
        ("Output: x\nSignal: SIGKILL\nProcess Group PGID: 1", "success", None, None),
        ("Command moved to background (PID: 9).", "success", None, None),
        ("[Operation Cancelled] Reason: User did not allow tool call", "cancelled", None, "denied"),
        ("User cancelled tool execution.", "cancelled", None, "interrupted"),
        ("Tool execution denied by policy.", "error", None, "denied"),
        ("no such tool", "error", None, None),
    ],
)
def test_how_a_command_ended(
    tmp_path: Path, output: str, status: str, exit_code: int | None, label: str | None
) -> None:
    log = GeminiLog()
    log.say("I run it.")
    log.call("run_shell_command", {"command": "make"}, output, status=status)
    (result,) = of_kind(parsed(log, tmp_path), "tool_result")
    assert (result.exit_code, result.label) == (exit_code, label)
    assert result.is_error == (status != "success" or exit_code == 2)


def test_a_call_that_still_runs_has_no_result(tmp_path: Path) -> None:
    log = GeminiLog()
    row = log.say("I run it.")
    call = {"id": "c1", "name": "glob", "args": {"pattern": "*"}, "status": "executing"}
    log.again(row, toolCalls=[call])
    bundle = parsed(log, tmp_path)
    assert [event.kind for event in part_of(bundle).events] == ["assistant_text", "tool_call"]


def test_tokens_are_billed_once_with_thoughts_as_output(tmp_path: Path) -> None:
    log = GeminiLog()
    row = log.say("one", tokens(100, 20, cached=40, thoughts=7, tool=3))
    log.again(row, toolCalls=[])
    log.say("two", tokens(10, 2))
    log.resume()
    one, two = part_of(parsed(log, tmp_path)).usages
    assert (one.input, one.cache_read, one.output, one.reasoning) == (103, 40, 27, 7)
    assert (two.input, two.cache_read, two.output, two.reasoning) == (10, 0, 2, 0)
    assert {one.model, two.model} == {MODEL}


def test_plans_are_calls_of_the_class_plan(tmp_path: Path) -> None:
    log = GeminiLog()
    log.say("I plan.")
    todos = [{"description": "write", "status": "completed"}]
    log.call("write_todos", {"todos": todos}, "ok")
    (call,) = of_kind(parsed(log, tmp_path), "tool_call")
    assert (call.tool, call.tool_class) == ("write_todos", "plan")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("<session_context>\nx\n</session_context>", "session_context"),
        ("This is the Gemini CLI. We are setting up the context for our chat.", "session_context"),
        ("<hook_context>\nx\n</hook_context>", "hook_feedback"),
        ("--- Content from referenced files ---\nx", "referenced_files"),
        ("System: Please continue.", "continue"),
    ],
)
def test_text_of_the_client_is_not_the_humans(tmp_path: Path, text: str, label: str) -> None:
    log = GeminiLog()
    log.prompt(text)
    (event,) = part_of(parsed(log, tmp_path)).events
    assert (event.kind, event.origin, event.label) == ("injected", "harness", label)


def test_what_was_typed_stands_apart_from_what_was_made_of_it(tmp_path: Path) -> None:
    log = GeminiLog()
    log.prompt("look at @a.py", displayContent=[{"text": "look at @a.py"}])
    log.message("user", "Act as a reviewer.", displayContent="/review")
    log.message("user", "<loaded_context>\nrules\n</loaded_context>\nand now fix it")
    assert [(e.kind, e.text) for e in part_of(parsed(log, tmp_path)).events] == [
        ("user_prompt", "look at @a.py"),
        ("user_prompt", "/review"),
        ("injected", "Act as a reviewer."),
        ("injected", "<loaded_context>\nrules\n</loaded_context>"),
        ("user_prompt", "and now fix it"),
    ]


def test_the_client_about_itself(tmp_path: Path) -> None:
    log = GeminiLog()
    log.message("info", "Chat history compressed from 900 to 90 tokens.")
    log.message("info", "Request cancelled.")
    log.message("warning", "slow")
    log.message("error", "[API Error: quota]")
    events = part_of(parsed(log, tmp_path)).events
    assert [(e.kind, e.label, e.is_error) for e in events] == [
        ("compaction", "compress", False),
        ("system", "interrupted", False),
        ("system", "warning", False),
        ("error", "error", True),
    ]


def test_a_compression_is_told_with_its_summary_and_loses_nothing(tmp_path: Path) -> None:
    log = GeminiLog()
    log.context()
    log.prompt("go")
    log.say("done")
    log.compress("all done")
    log.prompt("more")
    bundle = parsed(log, tmp_path)
    assert [(e.kind, e.label) for e in part_of(bundle).events][1:] == [
        ("user_prompt", None),
        ("assistant_text", None),
        ("compaction", "compress"),
        ("injected", "compact_summary"),
        ("user_prompt", None),
    ]
    assert bundle.ignored["acknowledgement"] == 1


def test_a_summary_without_a_mark_is_known_by_what_it_replaced(tmp_path: Path) -> None:
    log = GeminiLog()
    log.prompt("go")
    row = {"id": "s", "timestamp": log.tick(), "type": "user", "content": [{"text": "so far: x"}]}
    log.patch(messages=[row])
    events = part_of(parsed(log, tmp_path)).events
    assert [(e.kind, e.label) for e in events[1:]] == [
        ("compaction", "compress"),
        ("injected", "compact_summary"),
    ]


def test_what_was_rewound_stays_as_history_and_stays_paid(tmp_path: Path) -> None:
    log = GeminiLog()
    log.prompt("one")
    log.say("first")
    wrong = log.prompt("wrong way")
    log.say("second")
    log.rewind(wrong)
    log.prompt("right way")
    bundle = parsed(log, tmp_path)
    assert [(e.kind, e.label, e.text) for e in part_of(bundle).events] == [
        ("user_prompt", None, "one"),
        ("assistant_text", None, "first"),
        ("other", "rewound", "wrong way"),
        ("other", "rewound", "second"),
        ("system", "rewind", f"rewound to before {wrong['id']}"),
        ("user_prompt", None, "right way"),
    ]
    assert len(part_of(bundle).usages) == 2


def test_a_large_output_is_completed_from_the_file_beside(tmp_path: Path) -> None:
    log = GeminiLog()
    log.say("I look.")
    whole = "".join(f"line {n}\n" for n in range(200)) + "end"
    call_id = log.large(whole)
    bundle = parsed(log, tmp_path)
    (rest,) = [event for event in part_of(bundle).events if event.label == "overflow"]
    assert (rest.text, rest.call_id) == (whole[80:-100], call_id)


def test_unknown_shapes_are_kept_and_named(tmp_path: Path) -> None:
    log = GeminiLog()
    log.message("hologram", "x")
    log.rows.append({"novel": 1})
    log.patch(mood="good")
    log.message("user", [{"smell": "y"}])
    bundle = parsed(log, tmp_path)
    assert bundle.unknown == {
        ("jsonl", "message/hologram"): 1,
        ("jsonl", "record/novel"): 1,
        ("jsonl", "$set/mood"): 1,
        ("jsonl", "part/smell"): 1,
    }
    assert [event.kind for event in part_of(bundle).events] == ["other"] * 3


def test_a_document_says_what_lines_say(tmp_path: Path) -> None:
    log = GeminiLog()
    log.prompt("go")
    log.say("I run it.")
    log.run("make", "bad", exit_code=2)
    lines = parsed(log, tmp_path / "lines")
    log.write_document(tmp_path / "document")
    document = parse_one(ADAPTER, tmp_path / "document")
    assert told(document) == told(lines)
    assert part_of(document).usages == part_of(lines).usages


def test_a_torn_document_gives_its_whole_messages(tmp_path: Path) -> None:
    log = GeminiLog()
    log.prompt("one")
    log.say("two")
    log.say("three")
    path = log.write_document(tmp_path)
    path.write_bytes(path.read_bytes()[:-250])
    bundle = parse_one(ADAPTER, tmp_path)
    assert [text for _, text in told(bundle)] == ["one", "two"]
    assert part_of(bundle).external_id == log.session_id
    assert (bundle.parse_errors, bundle.recovered) == (1, 3)


def test_torn_and_glued_lines_give_their_whole_records(tmp_path: Path) -> None:
    log = GeminiLog()
    log.prompt("one")
    log.prompt("two")
    path = log.write(tmp_path)
    lines = path.read_bytes().splitlines()
    whole = json.dumps({"id": "z", "timestamp": log.tick(), "type": "user", "content": "three"})
    damaged = [lines[0], lines[1][:30] + lines[3], b"\xff\xfe", whole.encode() + b'\n{"id": "half']
    path.write_bytes(b"\n".join(damaged))
    bundle = parse_one(ADAPTER, tmp_path)
    assert [text for _, text in told(bundle)] == ["two", "three"]
    assert (bundle.parse_errors, bundle.recovered, bundle.incomplete_tail) == (2, 1, 1)


# --- where it ran, and who started it ---


@pytest.mark.parametrize("way", [".project_root", "projects.json", "hash", "call", "context"])
def test_the_place_is_found_from_what_there_is(tmp_path: Path, way: str) -> None:
    log = GeminiLog(cwd="/work/shop")
    log.say("I write.")
    if way == "call":
        log.write_file("/work/shop/src/cart.py", "x")
    if way == "context":
        log.rows.insert(1, {"id": "c", "timestamp": log.tick(), "type": "user", "content": (
            "<session_context>\n- **Workspace Directories:**\n  - /work/shop\n</session_context>"
        )})  # fmt: skip
    path = log.write(tmp_path)
    project = path.parents[1]
    if way == ".project_root":
        assert (project / ".project_root").is_file()
    else:
        (project / ".project_root").unlink()
    if way == "projects.json":
        named = {"projects": {"/work/other": "other", "/work/shop": "shop"}}
        (tmp_path / "projects.json").write_text(json.dumps(named))
    if way == "hash":
        project.rename(project.with_name(hashlib.sha256(b"/work/shop").hexdigest()))
        named = {"projects": {"/work/other": "shop", "/work/shop": "x"}}
        (tmp_path / "projects.json").write_text(json.dumps(named))
    assert facts(part_of(parse_one(ADAPTER, tmp_path)))["cwd"] == "/work/shop"


def test_a_place_nobody_names_is_not_guessed(tmp_path: Path) -> None:
    log = GeminiLog()
    log.say("Hello.")
    path = log.write(tmp_path)
    (path.parents[1] / ".project_root").unlink()
    assert "cwd" not in facts(part_of(parse_one(ADAPTER, tmp_path)))


def test_a_sub_agent_belongs_to_the_session_whose_folder_it_is_in(tmp_path: Path) -> None:
    log = GeminiLog(1)
    log.say("I delegate.")
    child = log.spawn(2, "count the files", "three files")
    paths = (log.write(tmp_path), child.write(tmp_path))
    parent, agent = (parse_home(ADAPTER, tmp_path)[path] for path in paths)
    part = part_of(agent)
    assert (part.external_id, part.parent_external_id) == (child.session_id, log.session_id)
    assert facts(part)["source_kind"] == "subagent"
    assert [(e.kind, e.origin, e.label) for e in part.events] == [
        ("injected", "agent", "subagent_prompt"),
        ("assistant_text", "subagent", None),
    ]
    link = parent.sessions[1]
    assert (link.external_id, link.events) == (child.session_id, [])
    assert facts(link) == {"parent": log.session_id, "label": "generalist"}
    assert of_kind(parent, "tool_call")[0].tool_class == "agent"


def test_only_chats_are_sessions(tmp_path: Path) -> None:
    log = GeminiLog()
    log.prompt("hi")
    path = log.write(tmp_path / ".gemini")
    project = path.parents[1]
    (project / "logs.json").write_text('[{"sessionId": "x", "type": "user", "message": "hi"}]')
    (project / "checkpoint-a.json").write_text("[]")
    (tmp_path / ".gemini" / "settings.json").write_text("{}")
    for root in (tmp_path, tmp_path / ".gemini", project):
        assert [file.path for file in ADAPTER.discover(str(root))] == [str(path)]


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ({}, 30),
        ({"general": {"sessionRetention": {"maxAge": "2w"}}}, 14),
        ({"general": {"sessionRetention": {"enabled": False}}}, None),
        ({"general": {"sessionRetention": {"maxAge": "soon"}}}, 30),
    ],
)
def test_its_own_deletion_is_known(
    tmp_path: Path, settings: dict[str, object], days: int | None
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    found = log_deletion(str(tmp_path))
    assert (found.days if found else None) == days
