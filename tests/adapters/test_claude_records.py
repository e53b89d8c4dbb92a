"""What Claude Code's records become: calls, results, costs, facts about the session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.adapters.claude_reading import event, events, facts, parse_log, parse_rows

from session_memory.adapters.claude.log_builder import ClaudeLog, thinking_block, tokens
from session_memory.adapters.common import RawEvent, resolve_repo
from session_memory.core.project.disk_tree import DiskTree


def result_of(content: Any, detail: Any = None, **fields: Any) -> RawEvent:
    log = ClaudeLog()
    row = log.result("toolu_1", content, detail, error=fields.pop("error", False))
    return event(parse_rows({**row, **fields}))


@pytest.mark.rows("CAP-03")
def test_a_log_becomes_a_session_with_ordered_events_model_place_and_cost(tmp_path: Path) -> None:
    repo = tmp_path / "shop"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    log = ClaudeLog(3, cwd=str(repo))
    log.prompt("run the tests")
    log.say("I run them.", tokens(10, 20, read=30, write_5m=4, write_1h=5))
    log.run("pytest -q", "1 failed", exit_code=1)
    log.sidechain("look around", "nothing")
    log.title("Run tests", "summary")

    first = parse_log(log, tmp_path)
    (part,) = first.sessions
    known = facts(part)

    kinds = [e.kind for e in part.events]
    assert kinds == [
        "user_prompt",
        "assistant_text",
        "tool_call",
        "tool_result",
        "injected",
        "assistant_text",
    ]
    assert [e.pos for e in part.events] == sorted({e.pos for e in part.events})
    assert part.external_id == log.session_id
    assert known["model"] == log.model
    assert known["title.summary"] == "Run tests"
    assert resolve_repo(str(known["cwd"]), DiskTree()) == str(repo)
    spent = next(u for u in part.usages if u.input == 10)
    assert (spent.output, spent.cache_read, spent.cache_write_5m, spent.cache_write_1h) == (
        20,
        30,
        4,
        5,
    )
    assert parse_log(log, tmp_path) == first


def test_facts_are_said_once_by_their_rule(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.prompt("one")
    log.cwd, log.branch, log.version = "/work/other", "topic", "2.1.99"
    log.model = "claude-opus-4-8"
    log.say("two")
    log.title("first name")
    log.title("second name")
    (part,) = parse_log(log, tmp_path).sessions
    known = facts(part)
    assert len(part.facts) == len(known)
    assert (known["cwd"], known["branch"], known["client_version"]) == (
        "/work/shop",
        "topic",
        "2.1.99",
    )
    assert known["title.custom"] == "second name"
    assert known["ended_at"] == int(known["started_at"]) + 1000
    assert known["opened_at"] == known["started_at"]


@pytest.mark.parametrize(
    ("entrypoint", "kind"),
    [
        ("cli", "interactive"),
        ("claude-vscode", "interactive"),
        (None, "interactive"),
        ("sdk-cli", "exec"),
        ("sdk-py", "exec"),
    ],
)
def test_the_entrypoint_tells_scripts_from_people(entrypoint: str | None, kind: str) -> None:
    log = ClaudeLog()
    log.entrypoint = entrypoint
    (part,) = parse_rows(log.prompt("hello")).sessions
    assert facts(part)["source_kind"] == kind


@pytest.mark.parametrize("origin", ["parent-id", {"sessionId": "parent-id", "messageUuid": "u"}])
def test_a_fork_names_the_session_it_came_from(origin: Any) -> None:
    (part,) = parse_rows(ClaudeLog().prompt("hi", forkedFrom=origin)).sessions
    assert facts(part)["forked_from"] == "parent-id"


def test_a_forked_log_repeats_its_history_under_its_own_id(tmp_path: Path) -> None:
    log = ClaudeLog(1)
    log.prompt("one")
    copy = log.fork(2)
    copy.prompt("two")
    (part,) = parse_log(copy, tmp_path).sessions
    assert part.external_id == copy.session_id != log.session_id
    assert facts(part)["forked_from"] == log.session_id
    assert [e.text for e in part.events] == ["one", "two"]
    original = events(parse_log(log, tmp_path))[0]
    assert (part.events[0].at, part.events[0].identity) == (original.at, original.identity)


def test_names_of_team_members_and_pull_requests_are_facts() -> None:
    log = ClaudeLog()
    row = log.prompt("hi", agentName="tester", teamName="crew")
    link = {"type": "pr-link", "sessionId": log.session_id, "prUrl": "https://example.com/pull/7"}
    (part,) = parse_rows(row, link).sessions
    assert (facts(part)["label"], facts(part)["pr"]) == ("tester@crew", link["prUrl"])


# --- calls and results ---


def test_a_shell_call_carries_its_command_and_input_as_compact_json() -> None:
    log = ClaudeLog()
    call_id = log.call("Bash", {"command": "ls -l", "description": "list"})
    found = event(parse_rows(*log.rows))
    assert (found.kind, found.origin, found.tool, found.tool_class) == (
        "tool_call",
        "agent",
        "Bash",
        "shell",
    )
    assert (found.command, found.call_id) == ("ls -l", call_id)
    assert found.text == '{"command":"ls -l","description":"list"}'


@pytest.mark.parametrize(
    ("tool", "given", "files"),
    [
        ("Read", {"file_path": "/work/shop/a.py"}, ("/work/shop/a.py",)),
        ("NotebookEdit", {"notebook_path": "/n.ipynb"}, ("/n.ipynb",)),
        ("LS", {"path": "/work/shop"}, ()),  # the cwd itself says nothing
        ("Grep", {"pattern": "x", "path": "/work/shop/src"}, ()),
        ("Edit", {"file_path": 7}, ()),
    ],
)
def test_files_are_those_a_call_reads_or_edits(tool: str, given: Any, files: Any) -> None:
    log = ClaudeLog()
    log.call(tool, given)
    assert event(parse_rows(*log.rows)).files == files


@pytest.mark.parametrize(
    ("content", "detail", "error", "code"),
    [
        ("ok", {"stdout": "ok", "stderr": "", "interrupted": False}, False, 0),
        ("Exit code 2\nboom", "Error: Exit code 2\nboom", True, 2),
        ("Exit code 2 was printed", None, False, None),
        ("boom", "Error: boom", True, None),
        ("half", {"stdout": "half", "stderr": "", "interrupted": True}, False, None),
        ("", {"stdout": "", "stderr": "", "backgroundTaskId": "b1"}, False, None),
        ("", {"stdout": "", "stderr": "", "returnCodeInterpretation": "No m"}, False, None),
        ("x", {"stdout": "x", "stderr": "", "exitCode": 3, "status": "completed"}, False, 3),
        ("x", {"stdout": "x", "stderr": "", "exitCode": None, "status": "running"}, False, None),
        ("text", {"filePath": "/a"}, False, None),
        ("text", [{"type": "text", "text": "text"}], False, None),
    ],
)
def test_the_exit_code_is_what_the_log_says_and_nothing_else(
    content: str, detail: Any, error: bool, code: int | None
) -> None:
    found = result_of(content, detail, error=error)
    assert (found.exit_code, found.is_error) == (code, error)
    assert (found.kind, found.call_id) == ("tool_result", "toolu_1")


def test_the_clients_own_copy_of_a_result_is_not_stored_again() -> None:
    detail = {"filePath": "/a.py", "originalFile": "SECOND COPY", "structuredPatch": []}
    found = result_of("The file /a.py has been updated.", detail)
    assert "SECOND COPY" not in repr(found)
    assert found.files == ("/a.py",)
    assert result_of("text", {"type": "text", "file": {"filePath": "/b"}}).files == ("/b",)
    assert result_of("text", {"filePath": ""}).files == ()


def test_results_in_blocks_are_joined_and_pictures_kept_out() -> None:
    data = "A" * 4000
    found = result_of(
        [
            {"type": "text", "text": "first"},
            {"type": "image", "source": {"media_type": "image/png", "data": data}},
            {"type": "tool_reference", "tool_name": "WebFetch"},
        ]
    )
    assert found.text == "first\n[image: image/png, 3000 bytes]\n[tool: WebFetch]"


@pytest.mark.parametrize(
    ("text", "detail", "name"),
    [
        ("cut", {"persistedOutputPath": "C:\\Users\\x\\tool-results\\b1.txt"}, "b1.txt"),
        ("Full output saved to: /home/a b/s/tool-results/b2.txt\n\nPreview", None, "b2.txt"),
        ("Error: Output has been saved to /h/tool-results/m-3.txt.\nFormat", None, "m-3.txt"),
        ("I saved to /h/tool-results/..", None, None),
        ("nothing about it", None, None),
        ("x" * 2000 + "saved to: /h/tool-results/late.txt", None, None),
    ],
)
def test_a_result_that_was_cut_names_the_file_with_the_rest(
    text: str, detail: Any, name: str | None
) -> None:
    assert result_of(text, detail).overflow == name


def test_a_refused_call_is_marked_denied() -> None:
    log = ClaudeLog()
    log.deny("Bash", {"command": "rm -rf build"})
    call, result = events(parse_rows(*log.rows))
    assert (call.label, result.label) == (None, "denied")
    assert result_of("The user doesn't want to proceed with this tool use.").label is None
    old = result_of("The user doesn't want to proceed with this tool use.", error=True)
    assert old.label == "denied"


@pytest.mark.parametrize(
    ("detail", "origin"),
    [
        ({"url": "https://example.com", "code": 200, "codeText": "OK", "result": "x"}, "web"),
        ({"query": "q", "results": [], "durationSeconds": 1.5}, "web"),
        ({"query": "q", "matches": []}, "tool"),
    ],
)
def test_results_from_the_web_are_told_apart(detail: Any, origin: str) -> None:
    assert result_of("text", detail).origin == origin


def test_detail_of_a_record_with_two_results_belongs_to_neither() -> None:
    blocks = [
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {"type": "tool_result", "tool_use_id": "b", "content": "two"},
    ]
    row = ClaudeLog().prompt(blocks, toolUseResult={"stdout": "one", "stderr": ""})
    assert [e.exit_code for e in events(parse_rows(row))] == [None, None]


# --- assistant ---


def test_thinking_without_text_is_counted_not_stored() -> None:
    log = ClaudeLog()
    log.reply(thinking_block("because"), thinking_block(""), {"type": "redacted_thinking"})
    found = parse_rows(*log.rows)
    assert [(e.kind, e.text) for e in events(found)] == [("reasoning", "because")]
    assert found.ignored["thinking_signature"] == 1
    assert found.ignored["redacted_thinking"] == 1


def test_searches_run_by_the_provider_are_calls_and_web_results() -> None:
    log = ClaudeLog()
    results = [{"type": "web_search_result", "title": "Docs", "url": "https://example.com"}]
    refusal = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    log.reply(
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": results},
        {"type": "web_search_tool_result", "tool_use_id": "s2", "content": refusal},
    )
    call, result, failed = events(parse_rows(*log.rows))
    assert (call.kind, call.tool_class) == ("tool_call", "web")
    assert (result.origin, result.call_id) == ("web", "s1")
    assert result.text == "Docs https://example.com"
    assert failed.is_error and not result.is_error


def test_a_model_fallback_is_said_in_words() -> None:
    log = ClaudeLog()
    log.reply({"type": "fallback", "from": {"model": "big"}, "to": {"model": "small"}})
    found = event(parse_rows(*log.rows))
    assert (found.kind, found.label) == ("system", "model_fallback")
    assert found.text == "model fallback: big -> small"


def test_words_the_client_puts_into_the_assistants_mouth_are_not_the_models() -> None:
    log = ClaudeLog()
    log.model = "<synthetic>"
    log.say("API Error: 500", tokens(0, 0))["isApiErrorMessage"] = True
    log.say("No response requested.", tokens(0, 0))
    found = parse_rows(*log.rows)
    assert [(e.kind, e.origin) for e in events(found)] == [
        ("error", "harness"),
        ("system", "harness"),
    ]
    assert found.sessions[0].usages == []
    assert "model" not in facts(found.sessions[0])
