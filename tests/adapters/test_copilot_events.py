"""Every kind of record in a Copilot session, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.copilot_reading import (
    facts,
    fold,
    of_kind,
    only,
    parse_log,
    parse_split,
    said,
)

from session_memory.adapters.copilot.log_builder import MODEL, CopilotLog, spent


def started(seed: int = 1, version: str = "1.0.102") -> CopilotLog:
    log = CopilotLog(seed, version=version)
    log.start()
    return log


@pytest.mark.rows("CAP-12")
def test_calls_and_results_are_joined_and_classed() -> None:
    log = started()
    log.run("pytest -q", "1 failed", exit_code=1)
    log.tool("bash", {"command": "make"}, "ok\n<exited with exit code 0>")
    log.tool("create", {"path": "a.py", "file_text": "x"}, "made", fileEdits=[{"path": "/w/a.py"}])
    log.tool("view", {"path": "a.py"}, "x")
    log.tool("str_replace_editor", {"command": "view", "path": "b.py"}, "y")
    log.tool("apply_patch", "*** Begin Patch\n*** Update File: c.py\n", "done")
    log.tool("update_todo", {"todos": "- [ ] one"}, "ok")
    log.tool("sql", {"query": "INSERT INTO todos VALUES (1)"}, "ok")
    log.tool("sql", {"query": "SELECT 1"}, "1")
    log.tool("read_bash", {"shellId": "1"}, "more")
    log.tool("web_fetch", {"url": "u"}, "page")
    part = only(parse_log(log))
    calls, results = of_kind(part, "tool_call"), of_kind(part, "tool_result")
    assert [event.tool_class for event in calls] == [
        *("shell", "shell", "edit", "read", "read", "edit", "plan", "plan", "other", "shell", "web")
    ]
    assert [event.call_id for event in calls] == [event.call_id for event in results]
    assert [event.files for event in calls[2:6]] == [("a.py",), ("a.py",), ("b.py",), ("c.py",)]
    assert results[2].files == ("/w/a.py",)
    assert [(e.exit_code, e.is_error) for e in results[:3]] == [
        (1, True),
        (0, False),
        (None, False),
    ]
    assert [event.origin for event in results[-2:]] == ["tool", "web"]
    # The detailed form repeats the input of an edit.
    assert results[2].text == "made"


def test_a_call_that_only_its_execution_tells_is_there_too() -> None:
    log = started()
    log.row("tool.execution_start", toolCallId="c", toolName="bash", arguments={"command": "ls"})
    log.end("c", "x")
    log.row("tool.user_requested", toolCallId="d", toolName="bash", arguments={"command": "pwd"})
    log.row("tool.execution_start", toolCallId="d", toolName="bash", arguments={"command": "pwd"})
    calls = of_kind(only(parse_log(log)), "tool_call")
    assert [(e.command, e.origin) for e in calls] == [("ls", "agent"), ("pwd", "user")]


def test_tools_of_servers_are_known_by_server_and_name() -> None:
    log = started()
    log.ask("c", "mem-find", {"query": "x"}, mcpServerName="mem", mcpToolName="find")
    log.end("c", "", success=False, result=None, error={"code": "failure", "message": "no scope"})
    part = only(parse_log(log))
    (call,), (result,) = of_kind(part, "tool_call"), of_kind(part, "tool_result")
    assert (call.tool, call.tool_class) == ("mcp__mem__find", "mcp")
    assert (result.text, result.is_error, result.label) == ("no scope", True, None)


@pytest.mark.parametrize("kind", ["denied-interactively-by-user", "denied-by-rules"])
def test_what_was_refused_is_denied(kind: str) -> None:
    log = started()
    log.ask("c", "bash", {"command": "rm -r /"})
    log.row("permission.requested", requestId="r", permissionRequest={"kind": "shell"})
    log.row("permission.completed", requestId="r", toolCallId="c", result={"kind": kind})
    log.end("c", "", success=False, result=None, error={"code": "failure", "message": "no"})
    log.ask("d", "bash", {"command": "x"})
    log.end("d", "", success=False, result=None, error={"code": "rejected", "message": "no"})
    log.ask("e", "bash", {"command": "x"})
    log.end("e", "", success=False, result=None, error={"code": "aborted", "message": "stop"})
    results = of_kind(only(parse_log(log)), "tool_result")
    assert [event.label for event in results] == ["denied", "denied", "interrupted"]
    assert all(event.is_error for event in results)


@pytest.mark.parametrize(
    ("text", "data", "told"),
    [
        ("fix it", {}, ("user_prompt", "user", None)),
        ("fix it", {"source": "user", "delivery": "queued"}, ("user_prompt", "user", None)),
        ("do it", {"source": "agent-x"}, ("injected", "agent", "subagent_prompt")),
        ("pdf", {"source": "skill-pdf"}, ("injected", "harness", "skill-pdf")),
        ("/init", {"source": "command-1"}, ("injected", "harness", "command")),
        ("<system_reminder>x", {}, ("injected", "harness", "system_reminder")),
    ],
)
def test_who_wrote_a_message_is_told(text: str, data: Any, told: tuple[str, str, str]) -> None:
    log = started()
    log.prompt(text, **data)
    (event,) = only(parse_log(log)).events
    assert (event.kind, event.origin, event.label) == told
    assert event.text == text  # not the form that the client sent


def test_thoughts_news_and_failures_are_told_apart() -> None:
    log = started()
    log.answer("Yes.", reasoningText="hm")
    log.row("assistant.reasoning", reasoningId="r", content="first")
    log.answer("So.", reasoningText="first")
    log.answer("Then.", reasoningText="second")
    log.row("assistant.reasoning", reasoningId="s", content="second")
    log.answer("", reasoningOpaque="x")
    log.row("abort", reason="user_initiated")
    done = {"type": "shell_completed", "shellId": "3", "exitCode": 2}
    log.row("system.notification", content="shell 3 has completed", kind=done)
    log.row("session.error", errorType="quota", message="no quota")
    log.row("session.info", infoType="folder", message="trusted")
    log.row("hook.end", hookType="preToolUse", success=False, error={"message": "crashed"})
    log.row("hook.end", hookType="sessionStart", success=True, output={"additionalContext": "be"})
    log.row("session.task_complete", summary="all done")
    log.row("session.truncation", messagesRemovedDuringTruncation=4)
    bundle = parse_log(log)
    assert said(bundle) == [
        ("reasoning", None, "hm"),
        ("assistant_text", None, "Yes."),
        ("reasoning", None, "first"),
        ("assistant_text", None, "So."),
        ("reasoning", None, "second"),
        ("assistant_text", None, "Then."),
        ("system", "interrupted", "user_initiated"),
        ("injected", "shell_completed", "shell 3 has completed"),
        ("error", "session_error", "no quota"),
        ("system", "info", "trusted"),
        ("system", "hook_errors", "preToolUse: crashed"),
        ("injected", "hook_context", "be"),
        ("system", "task_complete", "all done"),
        ("compaction", "truncation", "4 messages removed"),
    ]
    assert of_kind(only(bundle), "injected")[0].exit_code == 2
    assert bundle.ignored["reasoning/encrypted"] == 1


def test_facts_of_a_session() -> None:
    log = CopilotLog(cwd="/work/tea")
    log.start(unattended=True)
    log.prompt("go")
    log.row("session.model_change", newModel="gpt-5.5")
    log.row("session.title_changed", title="Tea")
    log.row("session.context_changed", cwd="/work/tea/pot", branch="steam")
    part = only(parse_log(log))
    found = facts(part)
    assert part.external_id == log.session_id
    assert (found["cwd"], found["branch"], found["commit"]) == ("/work/tea", "steam", "c0ffee")
    assert (found["client_version"], found["source_kind"]) == ("1.0.102", "exec")
    assert {f.value for f in part.facts if f.name == "model"} == {MODEL, "gpt-5.5"}
    assert found["title.ai"] == "Tea"
    assert facts(only(parse_log(started())))["source_kind"] == "interactive"


def test_a_history_copied_from_another_session_names_its_origin() -> None:
    log, other = started(1), started(2, version="1.0.64")
    other.shutdown(spent(100, 20))
    log.rows = [*other.rows]
    part = only(parse_log(log))
    assert (part.external_id, facts(part)["forked_from"]) == (log.session_id, other.session_id)
    # What it copied was paid once, by the session it comes from.
    assert [u.key for u in part.usages] == [u.key for u in only(parse_log(other)).usages] != []


def test_sub_agents_are_sessions_of_their_own_under_their_parent() -> None:
    log = started()
    log.prompt("delegate")
    agent = log.delegate("look around")
    log.run("ls", "a.py")
    log.answer("One file.", usage=spent(40, 4))
    log.rejoin("One file.")
    log.answer("Done.", usage=spent(50, 5))
    parent, child = parse_log(log).sessions
    assert (child.external_id, child.parent_external_id) == (
        f"{log.session_id}:{agent}",
        log.session_id,
    )
    found = facts(child)
    assert (found["source_kind"], found["label"]) == ("subagent", "Explorer")
    assert found["cwd"] == "/work/shop"
    assert [(e.kind, e.origin) for e in child.events] == [
        ("injected", "agent"),
        ("tool_call", "subagent"),
        ("tool_result", "tool"),
        ("assistant_text", "subagent"),
    ]
    assert [e.label for e in of_kind(parent, "system")] == [
        "subagent_started",
        "subagent_completed",
    ]
    assert [e.text for e in of_kind(parent, "tool_result")] == ["One file."]
    assert sum(u.input for u in child.usages) == 140
    assert all(u.sidechain for u in child.usages) and not any(u.sidechain for u in parent.usages)


def test_old_sub_agents_are_known_by_the_call_that_started_them() -> None:
    log = started(version="0.0.400")
    log.row("subagent.started", toolCallId="t1", agentName="explore")
    log.row("user.message", content="look", parentToolCallId="t1")
    log.row("assistant.message", content="Seen.", parentToolCallId="t1")
    log.row("subagent.failed", toolCallId="t1", agentName="explore", error="boom")
    parent, child = parse_log(log).sessions
    assert child.external_id == f"{log.session_id}:t1"
    assert [e.text for e in child.events] == ["look", "Seen."]
    told = [(event.kind, event.text) for event in parent.events]
    assert told == [("system", "explore"), ("error", "boom")]


def test_each_response_counts_once_and_totals_only_where_no_record_tells_it() -> None:
    log = started()
    log.answer("a", usage=spent(100, 20, read=30, written=10))
    log.answer("b", usage=spent(50, 10))
    log.compact("short", spent(30, 5))
    log.shutdown(spent(150, 30, read=30, written=10))
    part = only(parse_log(log))
    assert [(u.input, u.output, u.cache_read, u.cache_write_5m) for u in part.usages] == [
        (60, 20, 30, 10),
        (50, 10, 0, 0),
        (30, 5, 0, 0),
    ]
    texts = [e.usage_key for e in part.events if e.kind == "assistant_text"]
    assert texts == [usage.key for usage in part.usages[:2]]


def test_totals_go_on_over_resumption_and_zeros_are_no_statement() -> None:
    log = started(version="1.0.64")
    log.answer("a", outputTokens=20)
    log.shutdown(spent(0, 0))
    assert [usage.output for usage in only(parse_log(log)).usages] == [20]
    log.compact("short", spent(30, 5))
    log.shutdown(spent(100, 20, read=40))
    log.resume()
    log.answer("b", outputTokens=5)
    log.shutdown(spent(150, 25, read=60))
    (usage,) = only(parse_log(log)).usages
    assert (usage.input, usage.cache_read, usage.output, usage.model) == (90, 60, 25, MODEL)


def test_what_nobody_knows_is_kept_and_named_by_client_version() -> None:
    log = started(version="1.9.0")
    log.row("hologram.shown", shape="cube")
    bundle = parse_log(log)
    assert bundle.unknown == {("1.9.0", "hologram.shown"): 1}
    assert "cube" in only(bundle).events[0].text


@pytest.mark.rows("CAP-13")
def test_torn_and_foreign_lines_cost_nothing_but_themselves() -> None:
    log = started()
    log.prompt("one")
    log.answer("two")
    lines = log.dump().splitlines(keepends=True)
    lines[2] = b'{"type":"user.message","data":{"con' + lines[2]
    content = b"".join([lines[0], b"[1]\n", b'{"no":"type"}\n', b"garbage\n", *lines[1:]])
    (bundle,) = parse_split(content, str(log.path(Path("/x"))), [])
    assert [event.text for event in only(bundle).events] == ["one", "two"]
    assert (bundle.parse_errors, bundle.recovered) == (4, 1)


VALUES = st.sampled_from(
    [
        None,
        7,
        1.5,
        True,
        "x",
        "",
        [],
        {},
        [None],
        [[1]],
        {"a": 1},
        [{"toolCallId": 3}],
        {"usage": 1},
    ]
)
KEYS = (
    *("content", "toolRequests", "arguments", "result", "error", "usage", "modelMetrics", "kind"),
    *("context", "attachments", "compactionTokensUsed", "toolCallId", "output", "legacySession"),
)
KINDS = (
    *("session.start", "user.message", "assistant.message", "tool.execution_start", "hook.end"),
    *("tool.execution_complete", "session.usage_record", "session.shutdown", "subagent.started"),
    *("session.compaction_complete", "system.notification", "session.import_legacy"),
)


@settings(max_examples=100)
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4))
def test_odd_values_do_no_harm(kind: str, data: dict[str, Any]) -> None:
    log = started()
    log.row(kind, **data)
    log.rows.append({"type": kind, "data": data.get("content"), "agentId": data.get("kind")})
    assert parse_log(log).records == 4


def busy() -> CopilotLog:
    """A log in which nearly every record needs an earlier one."""
    log = started()
    log.prompt("go")
    log.ask("c", "bash", {"command": "make"})
    log.row("permission.completed", toolCallId="c", result={"kind": "denied-by-rules"})
    log.end("c", "", success=False, result=None, error={"message": "no"})
    log.row("assistant.reasoning", content="hm")
    log.answer("So.", usage=spent(9, 3), reasoningText="hm")
    log.delegate("look")
    log.run("ls", "x", exit_code=2)
    log.rejoin("seen")
    log.compact("short")
    log.shutdown(spent(500, 90))
    log.resume()
    log.prompt("again")
    log.answer("Done.", usage=spent(8, 2))
    return log


@settings(max_examples=60)
@given(st.lists(st.integers(0, 60), max_size=6))
def test_splits_do_not_show(cuts: list[int]) -> None:
    log = busy()
    content, path = log.dump(), str(log.path(Path("/home/.copilot")))
    whole, pieces = parse_split(content, path, []), parse_split(content, path, cuts)
    assert fold(pieces) == fold(whole)
    assert pieces[-1].state == whole[-1].state
