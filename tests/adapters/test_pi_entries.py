"""Every kind of entry in a pi session, and what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.pi_reading import facts, of_kind, only, parse_file, parse_log, parse_rows, said

from session_memory.adapters.pi.log_builder import MODEL, PiLog, spent
from session_memory.adapters.pi.reader import ADAPTER, discover
from session_memory.adapters.registry import homes


@pytest.mark.rows("CAP-12")
def test_calls_and_results_are_joined_and_classed(tmp_path: Path) -> None:
    log = PiLog()
    log.run("pytest -q", "1 failed", exit_code=1)
    log.run("pytest -q", "1 passed")
    log.tool("edit", {"path": "cart.py", "oldText": "a", "newText": "b"}, "ok")
    log.tool("read", {"path": "cart.py"}, "b")
    log.tool("todo", {"action": "add", "text": "more"}, "1 item")
    log.tool("subagent", {"task": "look"}, "found")
    bundle = parse_log(log, tmp_path)
    calls, results = of_kind(bundle, "tool_call"), of_kind(bundle, "tool_result")
    classes = [event.tool_class for event in calls]
    assert classes == ["shell", "shell", "edit", "read", "plan", "agent"]
    assert [event.call_id for event in calls] == [event.call_id for event in results]
    assert [event.command for event in calls[:2]] == ["pytest -q", "pytest -q"]
    assert [event.files for event in calls[2:4]] == [("cart.py",), ("cart.py",)]
    ends = [(event.exit_code, event.is_error) for event in results]
    assert ends == [(1, True), (0, False)] + [(None, False)] * 4


def test_a_command_the_user_ran_is_a_call_of_theirs(tmp_path: Path) -> None:
    log = PiLog()
    log.shell("make", "boom", exit_code=2)
    call, result = only(parse_log(log, tmp_path)).events
    assert (call.origin, call.command, call.tool_class) == ("user", "make", "shell")
    assert (result.call_id, result.exit_code, result.is_error) == (call.call_id, 2, True)


def test_thoughts_answers_errors_and_interruptions_are_told_apart(tmp_path: Path) -> None:
    log = PiLog()
    log.answer({"type": "thinking", "thinking": "hm"}, "Yes.")
    log.answer({"type": "thinking", "thinking": "", "thinkingSignature": "x"})
    log.answer("Half", stopReason="aborted", errorMessage="Request was aborted.")
    log.answer(stopReason="error", errorMessage="529 overloaded")
    bundle = parse_log(log, tmp_path)
    assert said(bundle) == [
        ("reasoning", None, "hm"),
        ("assistant_text", None, "Yes."),
        ("assistant_text", None, "Half"),
        ("system", "interrupted", "Request was aborted."),
        ("error", "api_error", "529 overloaded"),
    ]
    assert of_kind(bundle, "error")[0].is_error
    assert bundle.ignored["reasoning/encrypted"] == 1


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("fix it", [("user_prompt", None, "fix it")]),
        ("<b> is bold", [("user_prompt", None, "<b> is bold")]),
        (
            '<skill name="x" location="/s">\nbody\n</skill>\n\nfix it',
            [
                ("injected", "skill", '<skill name="x" location="/s">\nbody\n</skill>'),
                ("user_prompt", None, "fix it"),
            ],
        ),
        (
            '<file name="a.txt">one</file>\n<file name="b.txt">two</file>\nwhy?',
            [
                ("injected", "file", '<file name="a.txt">one</file>'),
                ("injected", "file", '<file name="b.txt">two</file>'),
                ("user_prompt", None, "why?"),
            ],
        ),
        (
            'Conversation info (untrusted metadata):\n```json\n{"a": 1}\n```\n\nhello',
            [
                (
                    "injected",
                    "metadata",
                    'Conversation info (untrusted metadata):\n```json\n{"a": 1}\n```',
                ),
                ("user_prompt", None, "hello"),
            ],
        ),
        ("Read HEARTBEAT.md now", [("injected", "heartbeat", "Read HEARTBEAT.md now")]),
    ],
)
def test_what_no_human_typed_is_injected(
    tmp_path: Path, text: str, pieces: list[tuple[str, str | None, str]]
) -> None:
    log = PiLog()
    log.prompt(text)
    assert said(parse_log(log, tmp_path)) == pieces


def test_extensions_compaction_and_bookmarks(tmp_path: Path) -> None:
    log = PiLog()
    log.entry("custom", customType="state", data={"n": 1})
    log.entry("custom_message", customType="lint", content="2 warnings", display=True)
    log.message("custom", customType="lint", content=[{"type": "text", "text": "3 warnings"}])
    log.compact("so far: nothing")
    log.entry("label", targetId=log.leaf, label="here")
    log.entry("session_info", name="The cart")
    bundle = parse_log(log, tmp_path)
    assert said(bundle) == [
        ("injected", "lint", "2 warnings"),
        ("injected", "lint", "3 warnings"),
        ("compaction", "compaction", "so far: nothing"),
        ("system", "bookmark", "here"),
    ]
    assert facts(bundle)["title.custom"] == "The cart"
    assert bundle.ignored["custom"] == 1


def test_what_nobody_knows_is_kept_and_named_by_the_version_of_the_format(tmp_path: Path) -> None:
    log = PiLog()
    log.entry("hologram", shape="cube")
    log.message("oracle", content="42")
    bundle = parse_log(log, tmp_path)
    assert bundle.unknown == {("format 3", "hologram"): 1, ("format 3", "message/oracle"): 1}
    assert [event.kind for event in only(bundle).events] == ["other", "other"]
    assert "cube" in only(bundle).events[0].text


def test_cost_is_what_pi_states_and_zero_states_nothing(tmp_path: Path) -> None:
    log = PiLog()
    log.answer("a", usage=spent(100, 20, read=50, usd=0.25), responseId="r1")
    log.answer("b", usage=spent(10, 2))
    log.answer("c", usage=spent(0, 0))
    log.message("toolResult", toolCallId="t", toolName="subagent", usage=spent(7, 3))
    usages = only(parse_log(log, tmp_path)).usages
    assert [(u.input, u.output, u.cache_read, u.usd) for u in usages] == [
        (100, 20, 50, 0.25),
        (10, 2, 0, None),
        (7, 3, 0, None),
    ]
    assert usages[0].key == "r1"
    assert len({usage.key for usage in usages}) == 3
    assert {usage.model for usage in usages} == {MODEL}


def test_the_header_says_where_and_from_whom(tmp_path: Path) -> None:
    log = PiLog(1, cwd="/work/tea")
    log.prompt("go")
    fork = log.fork(2)
    log.write(tmp_path)
    bundle = parse_log(fork, tmp_path)
    assert (only(bundle).external_id, facts(bundle)["cwd"]) == (fork.session_id, "/work/tea")
    assert facts(bundle)["forked_from"] == log.session_id
    assert facts(bundle)["opened_at"] == fork.opened
    # What it copied is not its own, so nothing of its own has happened yet.
    assert "started_at" not in facts(bundle)


def test_the_first_format_has_no_ids_and_one_branch(tmp_path: Path) -> None:
    log = PiLog(version=1)
    log.prompt("one")
    log.answer("two")
    log.rows[0] |= {"provider": "anthropic", "modelId": "claude-x", "branchedFrom": "/a/b_c.jsonl"}
    bundle = parse_log(log, tmp_path)
    assert [kind for kind, _, _ in said(bundle)] == ["user_prompt", "assistant_text"]
    assert facts(bundle)["forked_from"] == "b_c"
    log.entry("hologram")
    assert parse_log(log, tmp_path).unknown == {("format 1", "hologram"): 1}


@pytest.mark.rows("CAP-13")
def test_torn_and_foreign_lines_cost_nothing_but_themselves(tmp_path: Path) -> None:
    log = PiLog()
    log.prompt("one")
    log.answer("two")
    log.prompt("three")
    log.answer("four")
    lines = log.dump().splitlines(keepends=True)
    lines[2] = lines[2][:40] + b"\n"
    lines[3] = b'{"type":"message","id":"ab' + lines[3]
    path = tmp_path / f"x_{log.session_id}.jsonl"
    path.write_bytes(b"".join([lines[0], b"[1]\n", b"\n", *lines[1:]]) + b'{"type":"mess')
    bundle = parse_file(path)
    # The chain runs through the torn line: what stands before it is still the live branch.
    assert [text for _, _, text in said(bundle)] == ["one", "three", "four"]
    assert [kind for kind, _, _ in said(bundle)] == ["user_prompt", "user_prompt", "assistant_text"]
    assert (bundle.parse_errors, bundle.recovered, bundle.incomplete_tail) == (3, 1, 1)


def test_odd_values_do_no_harm(tmp_path: Path) -> None:
    odd = (None, 7, "x", [], {}, [None], [[1]], {"role": 3}, {"role": "assistant", "content": 1})
    roles = ("user", "assistant", "toolResult", "bashExecution", "custom")
    for value in odd:
        rows: list[Any] = [{"type": "session", "id": value}, {"type": "message", "message": value}]
        for role in roles:
            said = {"role": role, "content": value, "usage": value, "timestamp": value}
            rows.append({"type": "message", "id": "a", "parentId": "a", "message": said})
        bundle = parse_rows(tmp_path, *rows)
        assert bundle.records == 7
        json.dumps([event.text for event in only(bundle).events])


def test_homes_and_files_of_pi_and_openclaw(tmp_path: Path) -> None:
    log = PiLog()
    written = log.write(tmp_path / ".pi" / "agent")
    (found,) = homes(ADAPTER, {}, str(tmp_path))
    assert [file.path for file in discover(found)] == [str(written)]
    assert [file.path for file in discover(str(tmp_path / ".pi"))] == [str(written)]
    named = homes(ADAPTER, {"PI_CODING_AGENT_DIR": "~/other"}, str(tmp_path))
    assert named == [str(tmp_path / "other")]
    claw = tmp_path / ".openclaw" / "agents" / "main" / "sessions"
    claw.mkdir(parents=True)
    stamp = "2026-06-01T00-00-00.000Z"
    kept = {"a.jsonl", f"b.jsonl.reset.{stamp}", f"c.jsonl.deleted.{stamp}"}
    for name in (*kept, "sessions.json", "a.jsonl.lock", "a.trajectory.jsonl"):
        (claw / name).write_bytes(log.dump())
    names = {Path(file.path).name for file in discover(str(tmp_path / ".openclaw"))}
    assert names == kept
