"""Sessions of Cursor in its three stores: transcripts, the command line's, the editor's."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.__main__ import main
from session_memory.adapters.common import LINE_CAP
from session_memory.adapters.cursor.log_builder import CursorLog
from session_memory.adapters.cursor.text import stated_time
from session_memory.adapters.cursor.transcripts import slug_of
from session_memory.adapters.registry import adapter
from session_memory.plain_files import UnfitFile
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-26")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def built(seed: int = 1, cwd: str = "/work/shop", *, stamped: bool = True) -> CursorLog:
    log = CursorLog(seed, cwd=cwd, stamped=stamped)
    log.prompt("fix the test")
    log.run("pytest -q", "1 failed", exit_code=2)
    log.say("It fails.")
    return log


# --- transcripts ---


def test_a_transcript_has_prompts_calls_and_answers_and_no_results(tmp_path: Path) -> None:
    log = built()
    log.write(tmp_path)
    part = only_part("cursor", tmp_path)
    assert part.external_id == log.session_id
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("tool_call", None, '{"command":"pytest -q"}'),
        ("assistant_text", None, "It fails."),
    ]
    assert {event.at for event in part.events} == {1_772_442_060_000}  # to the minute
    assert (part.events[1].command, part.events[1].call_id) == ("pytest -q", None)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Sunday, Aug 2, 2026, 3:51 AM (UTC-7)", 1_785_667_860_000),
        ("Sunday, Aug 2, 2026, 12:05 PM (UTC)", 1_785_672_300_000),
        ("Sunday, Aug 2, 2026, 12:05 AM (UTC+5:30)", 1_785_609_300_000),
        ("Sunday, Aug 32, 2026, 12:05 AM (UTC+5)", None),
        ("Sonntag, 2. August 2026", None),
    ],
)
def test_the_time_in_front_of_a_prompt_is_read(text: str, at: int | None) -> None:
    assert stated_time(text) == at


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "<external_links>\nmany pages\n</external_links>\n<user_query>\ngo\n</user_query>",
            [("user_prompt", None, "go")],
        ),
        (
            "<user_query>\nold\n</user_query>\n<user_query>\nnew\n</user_query>",
            [("user_prompt", None, "new")],
        ),
        (
            "<attached_files>\na.py\n</attached_files>",
            [("injected", "context", "<attached_files>\na.py\n</attached_files>")],
        ),
        ("go on", [("user_prompt", None, "go on")]),
    ],
)
def test_a_prompt_is_what_stands_in_the_last_query(
    tmp_path: Path, text: str, kept: list[tuple[str, str | None, str]]
) -> None:
    log = CursorLog(1)
    log.line("user", {"type": "text", "text": text})
    log.write(tmp_path)
    assert told(only_part("cursor", tmp_path).events) == kept


def test_the_end_of_a_turn_tells_failure_and_a_removed_thought_is_nothing(tmp_path: Path) -> None:
    log = CursorLog(1)
    log.prompt("go")
    log.say("[REDACTED]")
    for row in ({"status": "success"}, {"status": "error", "error": "x"}, {"status": "aborted"}):
        log.rows.append({"type": "turn_ended", **row})
    log.rows.append({"type": "hologram"})
    log.write(tmp_path)
    (bundle,) = parse_home("cursor", tmp_path)
    assert [(e.kind, e.label) for e in bundle.sessions[0].events[1:]] == [
        ("error", "turn_failed"),
        ("system", "interrupted"),
        ("other", "line/hologram"),
    ]
    assert dict(bundle.unknown) == {("", "line/hologram"): 1}
    assert dict(bundle.ignored) == {"text/empty": 1, "turn_ended": 1}


def test_a_transcript_of_turn_ends_alone_is_no_session(tmp_path: Path) -> None:
    log = CursorLog(1)
    log.rows.append({"type": "turn_ended", "status": "success"})
    log.write(tmp_path)
    (bundle,) = parse_home("cursor", tmp_path)
    assert (bundle.sessions, bundle.records) == ([], 1)


@pytest.mark.rows("CAP-27")
def test_without_times_the_session_has_that_of_its_file_marked_as_such(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = built(stamped=False)
    path = log.write(home / ".cursor")
    main(["-q", "sweep"])
    capsys.readouterr()
    assert main(["show", log.session_id]) == 0
    out = capsys.readouterr().out
    assert "(of its file: the log holds no times)" in out
    assert "--:--:-- USER" in out
    part = only_part("cursor", home / ".cursor")
    assert {event.at for event in part.events} == {None}
    assert facts(part)["ended_at"] == path.stat().st_mtime_ns // 1_000_000


def test_sub_agents_are_below_their_parent(tmp_path: Path) -> None:
    log = built()
    child = log.path(tmp_path).parent / "subagents" / "c-1.jsonl"
    child.parent.mkdir(parents=True)
    log.write(tmp_path).rename(child)
    part = only_part("cursor", tmp_path)
    assert (part.external_id, part.parent_external_id) == ("c-1", log.session_id)
    assert told(part.events)[0] == ("injected", "subagent_prompt", "fix the test")


def test_other_places_of_transcripts(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "work-shop" / "agent-transcripts"
    path = built(1).write(tmp_path)
    (folder / "s-1").mkdir()
    path.rename(folder / "s-1" / "transcript.jsonl")
    built(2).write(tmp_path).rename(folder / "s-2.jsonl")
    (folder / "s-2.txt").write_text("user:\nthe same once more\n")
    (folder / "s-3.txt").write_text("user:\nold\n")
    parts = [part for bundle in parse_home("cursor", tmp_path) for part in bundle.sessions]
    assert sorted(part.external_id for part in parts) == ["s-1", "s-2", "s-3"]


def test_a_transcript_of_plain_text(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "work-shop" / "agent-transcripts"
    folder.mkdir(parents=True)
    (folder / "s-1.txt").write_text(
        "user:\n<user_query>\nfix it\n</user_query>\n\nassistant:\n[Thinking] let me see\n"
        "[Tool call] Shell\n  command=ls -l\n[Tool result] Shell\n  a.py\nassistant:\ndone\n"
    )
    part = only_part("cursor", tmp_path)
    assert told(part.events) == [
        ("user_prompt", None, "fix it"),
        ("reasoning", None, "let me see"),
        ("tool_call", None, '{"command":"ls -l"}'),
        ("tool_result", None, "a.py"),
        ("assistant_text", None, "done"),
    ]
    assert facts(part)["entrypoint"] == "plain text transcript"


def test_the_folder_is_found_by_its_name_in_paths_that_tools_were_given(tmp_path: Path) -> None:
    log = CursorLog(1, cwd="/no/such/my.shop")
    log.prompt("go")
    log.tool("read_file", {"target_file": "/no/such/my.shop/src/a.py"}, "")
    log.write(tmp_path)
    assert facts(only_part("cursor", tmp_path))["cwd"] == "/no/such/my.shop"


def test_or_on_the_disk_where_only_one_folder_has_that_name(tmp_path: Path) -> None:
    shop = tmp_path / "my-shop"
    shop.mkdir()
    log = CursorLog(1, cwd=str(shop))
    log.prompt("go")
    log.write(tmp_path / "cursor")
    assert slug_of(str(shop)) == log.path(tmp_path).parents[2].name.replace("_", "-")
    assert facts(only_part("cursor", tmp_path / "cursor"))["cwd"] == str(shop)
    (tmp_path / "my.shop").mkdir()
    assert "cwd" not in facts(only_part("cursor", tmp_path / "cursor"))


def test_a_transcript_that_cursor_empties_takes_nothing_with_it(space: Workspace) -> None:
    log = built()
    path = log.write(space.flavor_home("cursor"))
    space.sweep()
    path.write_bytes(b"")
    space.sweep()
    assert next(e.text for e in space.events(log.session_id)) == "fix the test"


# --- the command line's store ---


def test_a_chat_of_the_command_line_has_times_results_and_a_folder(tmp_path: Path) -> None:
    log = built()
    log.message("user", {"type": "text", "text": "<user_info>\nOS: linux\n</user_info>"})
    log.message("system", {"type": "text", "text": "you are"})
    log.write_chat(tmp_path, workspacePath="/work/shop", lastUsedModel="gpt-5")
    (bundle,) = parse_home("cursor", tmp_path)
    (part,) = bundle.sessions
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("tool_call", None, '{"command":"pytest -q"}'),
        ("tool_result", None, "1 failed\nExit code: 2"),
        ("assistant_text", None, "It fails."),
        ("injected", "context", "<user_info>\nOS: linux\n</user_info>"),
    ]
    call, result = part.events[1:3]
    assert (call.call_id, result.exit_code, result.is_error) == (result.call_id, 2, True)
    said = facts(part)
    assert (said["cwd"], said["model"], said["title.ai"]) == ("/work/shop", "gpt-5", "A chat")


def test_an_answer_that_was_left_for_another_is_told_with_the_rest(tmp_path: Path) -> None:
    log = built()
    log.write_chat(tmp_path)
    log.messages[-1] = {"role": "assistant", "content": [{"type": "text", "text": "It works."}]}
    log.write_chat(tmp_path)  # what was left stays in the database
    texts = [event.text for event in only_part("cursor", tmp_path).events]
    assert (texts.count("It fails."), texts.count("It works.")) == (1, 1)
    assert texts.count("fix the test") == 1


def test_the_file_next_to_a_chat_names_its_folder(tmp_path: Path) -> None:
    path = built().write_chat(tmp_path)
    path.with_name("meta.json").write_text(json.dumps({"cwd": "/work/shop", "title": "Carts"}))
    said = facts(only_part("cursor", tmp_path))
    assert (said["cwd"], said["title.ai"]) == ("/work/shop", "Carts")


def test_a_chat_that_is_encrypted_is_reported_and_its_key_is_not_kept(space: Workspace) -> None:
    home, log = space.flavor_home("cursor"), built()
    log.messages = []
    path = log.write_chat(home, blobEncryptionKey="c2VjcmV0LWtleQ")
    report = space.sweep()
    assert [failure.path for failure in report.failed] == [str(path)]
    assert "may be encrypted" in report.failed[0].reason
    reader = adapter("cursor")
    (source,) = reader.discover(str(home))
    with pytest.raises(UnfitFile):
        list(reader.read(source, 0, LINE_CAP))
    log = built()
    log.write_chat(home, blobEncryptionKey="c2VjcmV0LWtleQ")
    (block,) = reader.read(next(reader.discover(str(home))), 0, LINE_CAP)
    assert all(b"c2VjcmV0" not in line for _, line in block.lines)


# --- the editor's store ---


def test_a_session_of_the_editor_is_in_the_order_of_its_headers(tmp_path: Path) -> None:
    log = built()
    log.think("so it is")
    log.bubble(2, text="Spent.", tokenCount={"inputTokens": 9, "outputTokens": 4})
    log.bubble(2, text="Free.", tokenCount={"inputTokens": 0, "outputTokens": 0})
    log.composer |= {"name": "The test", "modelConfig": {"modelName": "default"}}
    log.bubbles[0]["createdAt"] = log.bubbles[-1]["createdAt"]  # times are not the order
    log.write_editor(tmp_path)
    part = only_part("cursor", tmp_path)
    assert [text for _, _, text in told(part.events)] == [
        "fix the test",
        '{"command":"pytest -q"}',
        "1 failed\nExit code: 2",
        "It fails.",
        "so it is",
        "Spent.",
        "Free.",
    ]
    assert [(usage.input, usage.output) for usage in part.usages] == [(9, 4)]
    said = facts(part)
    assert (said["cwd"], said["title.ai"], "model" in said) == ("/work/shop", "The test", False)


def test_older_editors_hold_the_messages_in_the_session_and_no_folder(tmp_path: Path) -> None:
    log = built()
    log.composer["conversation"], log.bubbles = log.bubbles, []
    log.write_editor(tmp_path, headers=False)
    part = only_part("cursor", tmp_path)
    assert (len(part.events), "cwd" in facts(part)) == (4, False)


@pytest.mark.parametrize(
    ("fields", "text", "code", "label"),
    [
        ({"status": "error", "error": "{}"}, "{}", None, None),
        (
            {"status": "error", "error": {"clientVisibleErrorMessage": "File not found"}},
            "File not found",
            None,
            None,
        ),
        ({"status": "cancelled", "error": "skipped"}, "skipped", None, None),
        ({"result": '{"output":"x","exitCode":1}'}, '{"output":"x","exitCode":1}', 1, None),
        ({"result": {"output": "x", "rejected": True}}, None, None, "denied"),
        ({"additionalData": {"status": "error"}, "result": "odd"}, "odd", None, None),
    ],
)
def test_a_call_that_did_not_succeed_says_so_in_one_of_many_ways(
    tmp_path: Path, fields: dict[str, object], text: str | None, code: int | None, label: str | None
) -> None:
    log = CursorLog(1)
    log.prompt("go")
    tool = {"name": "run_terminal_command_v2", "toolCallId": "c", "status": "completed"}
    log.bubble(2, toolFormerData={**tool, "params": {"command": "make"}, **fields})
    log.write_editor(tmp_path)
    call, result = only_part("cursor", tmp_path).events[1:]
    assert (call.command, call.tool_class) == ("make", "shell")
    assert (result.is_error, result.exit_code, result.label) == (True, code, label)
    assert text is None or result.text == text


def test_errors_compaction_and_plain_thinking_of_the_editor(tmp_path: Path) -> None:
    log = CursorLog(1)
    log.prompt("go")
    log.bubble(2, thinking="plain")
    log.bubble(2, capabilityType=22)
    log.bubble(2, errorDetails={"message": "overloaded"})
    log.write_editor(tmp_path)
    assert [event.kind for event in only_part("cursor", tmp_path).events[1:]] == [
        "reasoning",
        "compaction",
        "error",
    ]


def test_a_session_that_names_its_parent_is_a_sub_agent(tmp_path: Path) -> None:
    log = CursorLog(1)
    log.composer["subagentInfo"] = {"parentComposerId": "p-1"}
    log.prompt("count the files")
    log.write_editor(tmp_path)
    part = only_part("cursor", tmp_path)
    assert (part.parent_external_id, part.events[0].label) == ("p-1", "subagent_prompt")


def test_a_message_that_grows_in_place_is_told_as_it_stands(space: Workspace) -> None:
    home, log = space.flavor_home("cursor"), built()
    log.bubbles[-1]["text"] = "It fa"
    log.write_editor(home)
    space.sweep()
    log.bubbles[-1]["text"] = "It fails."
    log.now += 1000
    log.write_editor(home)
    space.sweep()
    assert [event.text for event in space.events(log.session_id)][-1] == "It fails."
    assert len(space.events(log.session_id)) == 4


def test_a_tool_that_failed_and_a_message_that_is_gone(tmp_path: Path) -> None:
    log = CursorLog(1)
    log.prompt("go")
    log.tool("read_file", {"target_file": "/a"}, "no such file", "error")
    log.say("lost")
    path = log.write_editor(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM cursorDiskKV WHERE key LIKE 'bubbleId:%:b-2'")
    (bundle,) = parse_home("cursor", tmp_path)
    assert bundle.sessions[0].events[-1].is_error
    assert dict(bundle.missing) == {"message": 1}


def test_a_sub_agent_of_the_editor_belongs_to_its_parent(space: Workspace) -> None:
    home = space.flavor_home("cursor")
    child, parent = built(2), built(1)
    child.composer["isSubagent"] = True
    parent.composer["subComposerIds"] = [child.session_id, "t-1"]
    only_transcript = built(3)
    only_transcript.session_id = "t-1"
    for log in (child, parent):
        log.write_editor(home)
    only_transcript.write(home)
    space.sweep()
    assert space.session(child.session_id).parent_external_id == parent.session_id
    assert space.events(child.session_id)[0].kind == "injected"
    # That a parent names it does not make its transcript a copy of something better.
    assert len(space.events("t-1")) == 3


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_session_in_three_stores_counts_once_by_the_best_of_them(
    space: Workspace, order: tuple[int, ...]
) -> None:
    home, log = space.flavor_home("cursor"), built()
    log.think("so it is")
    write = (log.write, log.write_chat, log.write_editor)
    for number in order:
        write[number](home)
        space.sweep()
    events = space.events(log.session_id)
    assert [event.kind for event in events] == [
        "user_prompt",
        "tool_call",
        "tool_result",
        "assistant_text",
        "reasoning",
    ]
    assert len({event.at for event in events}) == len(events) - 1  # call and result are one row


def test_a_session_that_changed_is_read_again_and_drafts_are_none(space: Workspace) -> None:
    home, log = space.flavor_home("cursor"), built()
    CursorLog(9).write_editor(home)
    log.write_editor(home)
    assert space.sweep().sessions == 1
    log.say("And now it works.")
    log.write_editor(home)
    report = space.sweep()
    assert (report.ingested, report.events) == (1, 1)


def test_of_the_editors_database_only_sessions_are_read(tmp_path: Path) -> None:
    path = built().write_editor(tmp_path)
    (alone,) = parse_home("cursor", tmp_path)
    others = ("checkpointId:s:1", "codeBlockDiff:s:1", "messageRequestContext:s:1")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO ItemTable VALUES ('aiService.prompts', 'private words')")
        for key in others:
            db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, '{"text": "private words"}'))
    reader = adapter("cursor")
    (source,) = reader.discover(str(tmp_path))
    lines = [line for block in reader.read(source, 0, LINE_CAP) for _, line in block.lines]
    assert not any(b"private words" in line for line in lines)
    (bundle,) = parse_home("cursor", tmp_path)
    assert told(bundle.sessions[0].events) == told(alone.sessions[0].events)


def test_a_damaged_message_costs_only_itself(tmp_path: Path) -> None:
    log = built()
    path = log.write_editor(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE cursorDiskKV SET value = '{' WHERE key LIKE 'bubbleId:%:b-1'")
        db.execute("INSERT INTO cursorDiskKV VALUES ('composerData:odd', 'no json')")
    bundles = parse_home("cursor", tmp_path)
    assert sum(bundle.parse_errors for bundle in bundles) == 2
    (part,) = [part for bundle in bundles for part in bundle.sessions]
    assert [event.text for event in part.events] == ["fix the test", "It fails."]
    assert json.loads(json.dumps(facts(part)))["cwd"] == "/work/shop"
