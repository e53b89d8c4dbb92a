"""At session start the agent is given what the worker prepared for its project, and no more."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.hook_process import Ran, run_hook, spooled, state

from session_memory.core.spool import SpoolRecord, decode
from session_memory.hooks import entry

TEXT = "# Memory\n- tests run with `make test`\n"


def write_page(root: Path, **page: Any) -> None:
    """Prepare memory for a project, as the worker does, and the settings, as the installer does."""
    folder = state() / "inject"
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()
    content = {"v": 1, "text": TEXT, "sections": [], "made_at": 1, **page}
    (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    settings = state() / "hook.json"
    if not settings.exists():
        settings.write_text(json.dumps({"inject": True}))


def project(tmp_path: Path, name: str = "proj") -> Path:
    root = tmp_path / "home" / "code" / name
    (root / ".git").mkdir(parents=True)
    return root


def start(cwd: Path, session: str = "s1", client: str = "claude", **variables: str) -> Ran:
    payload = {"session_id": session, "hook_event_name": "SessionStart", "cwd": str(cwd)}
    return run_hook("SessionStart", client, payload={**payload, "source": "startup"}, **variables)


def context(ran: Ran) -> str:
    assert ran.code == 0 and ran.err == b""
    output = json.loads(ran.out)
    assert set(output) == {"hookSpecificOutput"}
    inner = output["hookSpecificOutput"]
    assert set(inner) == {"hookEventName", "additionalContext"}
    assert inner["hookEventName"] == "SessionStart"
    return inner["additionalContext"]


@pytest.mark.parametrize("client", ["claude", "codex", "qwen", "gemini", "pi"])
def test_a_session_is_given_its_projects_memory_and_the_date(tmp_path: Path, client: str) -> None:
    root = project(tmp_path)
    write_page(root, sections=[{"id": "p1", "text": "Use ruff: né", "trial": None}])
    (root / "src" / "deep").mkdir(parents=True)
    day = time.strftime("%Y-%m-%d")
    given = context(start(root / "src" / "deep", client=client))
    assert given in {
        f"Today is {date}.\n\n{TEXT.rstrip()}\n\nUse ruff: né"
        for date in (day, time.strftime("%Y-%m-%d"))
    }
    (record,) = spooled()
    assert (record["given"], record["held"]) == (["p1"], [])
    assert TEXT not in json.dumps(record)
    assert isinstance(decode(json.dumps(record).encode()), SpoolRecord)


def tool(cwd: Path, session: str = "s1", event: str = "PostToolUse", **more: str) -> Ran:
    """A tool of Grok has run, or something else happened in its session."""
    payload = {"sessionId": session, "hookEventName": entry.snake(event), "cwd": str(cwd)}
    return run_hook(event, "grok", payload={**payload, **more})


def test_grok_is_told_beside_the_result_of_the_first_tool_and_once(tmp_path: Path) -> None:
    root = project(tmp_path)
    write_page(root, sections=[{"id": "p1", "text": "Use ruff", "trial": None}])
    assert tool(root, event="SessionStart").out == b""
    told = json.loads(tool(root).out)["hookSpecificOutput"]
    assert told["hookEventName"] == "PostToolUse"
    assert told["additionalContext"].endswith(f"{TEXT.rstrip()}\n\nUse ruff")
    assert spooled()[-1]["given"] == ["p1"]
    assert tool(root).out == b"" and "given" not in spooled()[-1]
    assert tool(root, session="s2").out != b""


@pytest.mark.parametrize("event", ["PreCompact", "SessionEnd"])
def test_grok_is_told_again_where_the_model_has_lost_it(tmp_path: Path, event: str) -> None:
    root = project(tmp_path)
    write_page(root)
    assert tool(root).out != b""
    assert tool(root, event=event).out == b""
    assert tool(root).out != b"" and tool(root).out == b""


def test_a_subagent_of_grok_is_told_nothing(tmp_path: Path) -> None:
    root = project(tmp_path)
    write_page(root)
    assert tool(root, subagentType="general-purpose").out == b""
    assert not (state() / "told").exists()


def test_copilot_reads_context_from_the_top_of_the_answer(tmp_path: Path) -> None:
    root = project(tmp_path)
    write_page(root)
    payload = {"sessionId": "s1", "cwd": str(root), "source": "new"}
    told = json.loads(run_hook("sessionStart", "copilot", payload=payload).out)
    assert set(told) == {"additionalContext"}
    assert told["additionalContext"].endswith(TEXT.rstrip())


def test_opencode_is_told_where_its_session_is_made(tmp_path: Path) -> None:
    root = project(tmp_path)
    write_page(root)
    payload = {"sessionID": "ses_1", "directory": str(root)}
    assert context(run_hook("session.created", "opencode", payload=payload)).endswith("`")
    assert run_hook("session.end", "opencode", payload=payload) == Ran(0, b"", b"")
    assert [record["event"] for record in spooled()] == ["session_created", "session_end"]


def test_an_unknown_client_is_given_nothing(tmp_path: Path) -> None:
    write_page(project(tmp_path))
    assert start(project(tmp_path, "other"), client="unknown").out == b""
    assert start(tmp_path / "home/code/proj", client="unknown") == Ran(0, b"", b"")
    assert "given" not in spooled()[-1]


def test_grok_running_claudes_hook_is_given_nothing(tmp_path: Path) -> None:
    root = project(tmp_path)
    write_page(root)
    assert start(root, session="s1", GROK_SESSION_ID="s1") == Ran(0, b"", b"")


@pytest.mark.parametrize("event", ["SessionEnd", "Stop", "UserPromptSubmit", "PreCompact"])
def test_other_events_print_nothing(tmp_path: Path, event: str) -> None:
    root = project(tmp_path)
    write_page(root)
    payload = {"session_id": "s1", "hook_event_name": event, "cwd": str(root)}
    assert run_hook(event, "claude", payload=payload) == Ran(0, b"", b"")


def test_the_nearest_repository_counts_and_home_is_none(tmp_path: Path, home: Path) -> None:
    (home / ".git").mkdir()
    write_page(home, text="never")
    inner = project(tmp_path) / "vendor" / "lib"
    inner.mkdir(parents=True)
    (inner / ".git").write_text("gitdir: elsewhere")  # a worktree or submodule is a root, too
    write_page(inner, text="inner")
    write_page(tmp_path / "home/code/proj", text="outer")
    assert context(start(inner)).endswith("inner")
    assert context(start(inner.parent)).endswith("outer")
    plain = home / "plain" / "sub"
    plain.mkdir(parents=True)
    assert start(plain).out == b""
    write_page(plain, text="without git")
    assert context(start(plain)).endswith("without git")


def test_a_trial_splits_sessions_and_stays_the_same_for_each(tmp_path: Path) -> None:
    root = project(tmp_path)
    sections = [
        {"id": "t1", "text": "on trial", "trial": "pat-1"},
        {"id": "p1", "text": "for all", "trial": None},
    ]
    write_page(root, sections=sections)
    page = json.loads(next((state() / "inject").iterdir()).read_text())
    arms = {f"s{n}": entry.compose(page, f"s{n}") for n in range(400)}
    held = [session for session, (_, _, held) in arms.items() if held == ["t1"]]
    assert 150 < len(held) < 250
    for text, given, kept_back in arms.values():
        assert sorted(given + kept_back) == ["p1", "t1"] and "p1" in given
        assert ("on trial" in text) == ("t1" in given)
    one, other = held[0], next(session for session in arms if session not in held)
    assert "on trial" not in context(start(root, one)) and "on trial" in context(start(root, other))
    assert [(r["given"], r["held"]) for r in spooled()] == [(["p1"], ["t1"]), (["t1", "p1"], [])]


def test_it_stays_below_the_limit_in_whole_sections_and_lines() -> None:
    many = [{"id": f"p{n}", "text": "x" * 1000, "trial": None} for n in range(20)]
    text, given, _ = entry.compose({"text": "head", "sections": many}, "s1")
    assert len(text) <= 9_500 and given == [f"p{n}" for n in range(9)]
    assert text.count("x") == 9_000
    text, given, _ = entry.compose({"text": "a line of text\n" * 2_000, "sections": many}, "s1")
    assert len(text) <= 9_500 and given == []
    assert text.endswith("a line of text\n[shortened]")


def test_both_arms_of_a_trial_see_the_same_of_the_rest() -> None:
    trial = {"id": "t", "text": "y" * 9_000, "trial": "pat-1"}
    rest = {"id": "p", "text": "x" * 1_000, "trial": None}
    arms = [entry.compose({"sections": [trial, rest]}, f"s{n}")[1:] for n in range(20)]
    assert sorted({(*given, *held) for given, held in arms}) == [("t",)]
    assert {bool(given) for given, _ in arms} == {True, False}


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    root = project(tmp_path)
    write_page(root)
    assert start(root).out != b""
    assert start(root, SESSION_MEMORY_INJECT="0").out == b""
    file = root / ".session-memory.toml"
    for text, given in (
        ("enabled = false\n", False),
        ("exclude = ['secret']\n", True),
        ("enabled = true\n", True),
        ("enabled = 'no'\n", False),
        ("= broken", False),
    ):
        file.write_text(text)
        assert (start(root).out != b"") == given, text
    file.unlink()
    (state() / "hook.json").write_text('{"inject": false}')
    assert start(root).out == b""
    (state() / "hook.json").unlink()
    assert start(root).out == b""
    assert len(spooled()) == 9  # noted all the same


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes")
def test_a_hostile_repository_cannot_hang_the_hook(tmp_path: Path) -> None:
    root = project(tmp_path)
    write_page(root)
    os.mkfifo(root / ".session-memory.toml")
    assert start(root) == Ran(0, b"", b"")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"v": 2, "text": "newer"}', '{"text": "x"}', '{"v": 1, "text": "x"']
)
def test_a_page_that_cannot_be_read_is_not_given(tmp_path: Path, content: str) -> None:
    root = project(tmp_path)
    write_page(root)
    next((state() / "inject").iterdir()).write_text(content)
    assert start(root) == Ran(0, b"", b"")
    assert len(spooled()) == 1
