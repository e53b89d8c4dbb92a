"""A Grok Build session is a directory: how it is found, and what happens when parts are missing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.adapters.grok_reading import facts, of_kind, parse_log, parse_source, part_of, told

from session_memory.adapters.common import Block, SourceFile
from session_memory.adapters.grok import files as grok_files
from session_memory.adapters.grok.log_builder import GrokLog, lines, turn_usage
from session_memory.adapters.grok.reader import ADAPTER, discover


def talk() -> GrokLog:
    log = GrokLog()
    log.prompt("fix the test")
    log.say("I run it.")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.tool("search_tool", {"query": "x"}, "refused", outcome="permission_rejected")
    log.end_turn(turn_usage(10, 5))
    return log


@pytest.mark.rows("CAP-08")
def test_a_directory_of_three_parts_is_one_session(tmp_path: Path) -> None:
    log = talk()
    bundle = parse_log(log, tmp_path)
    (part,) = bundle.sessions
    assert part.external_id == log.session_id
    assert not bundle.missing
    assert not bundle.parse_errors
    assert not bundle.unknown


@pytest.mark.rows("CAP-08")
@pytest.mark.parametrize("name", grok_files.PARTS)
def test_a_missing_part_is_counted_and_the_others_are_read(tmp_path: Path, name: str) -> None:
    log = talk()
    whole = part_of(parse_log(log, tmp_path / "whole"))
    bundle = parse_log(log, tmp_path / "part", without=(name,))
    part = part_of(bundle)
    assert bundle.missing == {name: 1}
    assert [fact.value for fact in part.facts if fact.name == "missing_part"] == [name]
    assert part.external_id == log.session_id
    assert facts(part)["cwd"] == "/work/shop"
    said = [event.text for event in part.events if event.kind in ("user_prompt", "assistant_text")]
    assert said == ["fix the test", "I run it."]
    if name == "updates.jsonl":  # no times, no turns, no cost
        assert len(part.events) < len(whole.events)
        assert not part.usages
    if name == "events.jsonl":
        assert [e.label for e in of_kind(bundle, "tool_result")] == [None, None]


def test_without_updates_the_history_tells_the_same_conversation(tmp_path: Path) -> None:
    log = talk()
    log.think("done")
    log.summary["last_active_at"] = "2026-03-02T10:00:00Z"
    bundle = parse_log(log, tmp_path, without=("updates.jsonl",))
    results = of_kind(bundle, "tool_result")
    assert [(e.exit_code, e.is_error, e.label) for e in results] == [
        (1, True, None),
        (None, True, "denied"),
    ]
    assert [e.command for e in of_kind(bundle, "tool_call")] == ["pytest -q", None]
    assert ("reasoning", "done") in told(bundle)
    part = part_of(bundle)
    positions = [event.pos for event in part.events]
    assert positions == sorted(set(positions))
    assert facts(part)["ended_at"] == 1_772_445_600_000


def test_an_old_history_of_roles_is_read_like_a_new_one(tmp_path: Path) -> None:
    log = GrokLog()
    function = {"name": "read_file", "arguments": '{"target_file":"a.py"}'}
    log.chat = [
        {"role": "system", "content": "You are Grok."},
        {"role": "user", "content": "look at a.py"},
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "easy",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "x = 1", "tool_call_id": "c1"},
    ]
    bundle = parse_log(log, tmp_path, without=("updates.jsonl",))
    assert told(bundle) == [
        ("user_prompt", "look at a.py"),
        ("reasoning", "easy"),
        ("assistant_text", "I look."),
        ("tool_call", '{"target_file":"a.py"}'),
        ("tool_result", "x = 1"),
    ]
    assert of_kind(bundle, "tool_call")[0].files == ("a.py",)


def test_what_a_fork_copied_into_its_history_is_not_said_again(tmp_path: Path) -> None:
    fork = talk().fork(seed=2)
    fork.prompt("another way")
    bundle = parse_log(fork, tmp_path, without=("updates.jsonl",))
    assert [e.text for e in of_kind(bundle, "user_prompt")] == ["another way"]
    assert "fix the test" in [e.text for e in of_kind(bundle, "other") if e.label == "inherited"]


def test_an_empty_stream_of_updates_gives_way_to_the_history(tmp_path: Path) -> None:
    log = talk()
    log.updates = []
    bundle = parse_log(log, tmp_path)
    assert ("user_prompt", "fix the test") in told(bundle)
    assert bundle.missing == {"updates.jsonl (empty)": 1}


def test_a_stream_that_was_cut_before_the_conversation_gives_way_to_the_history(
    tmp_path: Path,
) -> None:
    log = talk()
    hook = {"sessionUpdate": "hook_execution", "event_name": "session_start", "runs": []}
    first = {"sessionId": log.session_id, "update": hook}
    log.updates = [{"timestamp": 1, "method": "_x.ai/session/update", "params": first}]
    assert ("user_prompt", "fix the test") in told(parse_log(log, tmp_path))


# --- finding ---


def test_only_session_directories_are_found(tmp_path: Path) -> None:
    log = talk()
    directory = log.write(tmp_path)
    (directory.parent / "prompt_history.jsonl").write_text("{}\n")
    (tmp_path / "delegations").mkdir()  # the other grok-cli lives in the same home
    (tmp_path / "delegations" / "updates.jsonl").write_text("{}\n")
    other = tmp_path / "sessions" / "x" / "chats"
    other.mkdir(parents=True)
    (other / "chat_history.jsonl").write_text("{}\n")
    assert [file.path for file in discover(str(tmp_path))] == [str(directory / "updates.jsonl")]


def test_a_folder_without_the_usual_layout_is_searched(tmp_path: Path) -> None:
    log = talk()
    directory = log.write(tmp_path)
    (source,) = discover(str(directory.parent))
    assert part_of(parse_source(source)).external_id == log.session_id


@pytest.mark.parametrize(
    "change",
    [
        lambda d: (d / "summary.json").write_text('{"generated_title": "new"}'),
        lambda d: (d / "events.jsonl").write_text(""),
        lambda d: (d / "subagents").mkdir(),
        lambda d: (d / "updates.jsonl").write_bytes(b"{}"),
        lambda d: (d / "chat_history.jsonl").unlink(),
        lambda d: (d / "events.jsonl").unlink(),
    ],
)
def test_a_change_of_any_part_changes_the_source(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    directory = talk().write(tmp_path)
    for path in directory.rglob("*"):
        os.utime(path, ns=(1, 1))
    (before,) = discover(str(tmp_path))
    (again,) = discover(str(tmp_path))
    assert before == again
    change(directory)
    (after,) = discover(str(tmp_path))
    assert after != before
    assert after.path == before.path


def test_the_working_directory_is_told_by_the_group_where_no_summary_does(tmp_path: Path) -> None:
    log = talk()
    log.summary["info"] = {"id": log.session_id}
    assert facts(part_of(parse_log(log, tmp_path)))["cwd"] == "/work/shop"
    directory = log.directory(tmp_path)
    group = directory.parent.rename(directory.parent.parent / "shop-0123456789abcdef")
    (source,) = discover(str(tmp_path))
    assert "cwd" not in facts(part_of(parse_source(source)))
    (group / ".cwd").write_text("/a/very/long/path/shop\n")
    assert facts(part_of(parse_source(source)))["cwd"] == "/a/very/long/path/shop"


# --- limits and damage ---


def test_a_line_over_the_cap_is_passed_over_and_counted(tmp_path: Path) -> None:
    log = talk()
    log.say("x" * 5000)
    log.say("after it")
    log.write(tmp_path)
    (source,) = discover(str(tmp_path))
    bundle = parse_source(source, line_cap=4000)
    assert bundle.too_long == 1
    assert told(bundle)[-1] == ("assistant_text", "after it")


def test_a_side_file_over_the_cap_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = talk()
    monkeypatch.setattr(grok_files, "SIDE_CAP", len(lines(log.events)) - 1)
    bundle = parse_log(log, tmp_path)
    assert bundle.missing == {"events.jsonl (too large)": 1}
    assert ("user_prompt", "fix the test") in told(bundle)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_side_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    log = talk()
    log.write(tmp_path, without=("summary.json",))
    secret = tmp_path / "elsewhere.json"
    secret.write_text(json.dumps({"generated_title": "not ours"}))
    (log.directory(tmp_path) / "summary.json").symlink_to(secret)
    (source,) = discover(str(tmp_path))
    assert "title.ai" not in facts(part_of(parse_source(source)))


def test_a_torn_summary_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    log = talk()
    directory = log.write(tmp_path)
    (directory / "summary.json").write_text('{"info": {"id"')
    (source,) = discover(str(tmp_path))
    bundle = parse_source(source)
    assert bundle.missing == {"summary.json (damaged)": 1}
    part = part_of(bundle)
    assert (part.external_id, facts(part)["cwd"]) == (log.session_id, "/work/shop")


def test_records_beside_a_torn_one_are_kept(tmp_path: Path) -> None:
    log = talk()
    expected = told(parse_log(log, tmp_path))
    rows = lines(log.updates).splitlines()
    content = b"\n".join([rows[0][:40] + rows[0], b"42", b'{"no":"update"}', *rows[1:]])
    source = SourceFile(str(log.directory(tmp_path) / "updates.jsonl"), 0, 0, 0, 0, 0)
    Path(source.path).write_bytes(content + b'\n{"method":"session/upd')
    bundle = parse_source(source)
    assert told(bundle) == expected
    assert (bundle.parse_errors, bundle.recovered, bundle.incomplete_tail) == (3, 1, 1)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(
    fields=st.dictionaries(
        st.sampled_from(
            sorted(
                {
                    "_meta",
                    "content",
                    "entries",
                    "rawInput",
                    "rawOutput",
                    "runs",
                    "status",
                    "task_snapshot",
                    "toolCallId",
                    "usage",
                    "target_prompt_index",
                    "title",
                    "prompt_id",
                    "checkpoint_file",
                }
            )
        ),
        _JSON,
        max_size=5,
    ),
    side=_JSON,
)
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
def test_no_shape_of_a_record_stops_the_reading(fields: dict[str, object], side: object) -> None:
    kinds = ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "plan"]
    kinds += ["turn_completed", "rewind_marker", "hook_execution", "task_completed", "retry_state"]
    kinds += ["subagent_spawned", "subagent_finished", "compaction_checkpoint", "model_changed"]
    rows = [{"params": {"update": {**fields, "sessionUpdate": kind}}} for kind in kinds]
    chat = [{**fields, "type": kind} for kind in ("user", "assistant", "tool_result", "reasoning")]
    told_by = json.dumps(side).encode()
    beside = {"summary.json": told_by, "events.jsonl": told_by, "subagents/x/meta.json": told_by}
    for name, records in (("updates.jsonl", rows), ("chat_history.jsonl", chat)):
        content = [(n, json.dumps(record).encode()) for n, record in enumerate(records)]
        source = SourceFile(f"/g/x/s/{name}", 0, 0, 0, 0, 0)
        bundle = ADAPTER.parse(source, Block(content, 0, 1, side_files=beside), {})
        assert bundle.records == len(records)
        positions = [event.pos for event in part_of(bundle).events]
        assert positions == sorted(set(positions))
