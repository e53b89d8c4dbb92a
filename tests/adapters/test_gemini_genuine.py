"""The adapter against genuine Gemini CLI chats, beside counts that know no adapter."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.gemini_reading import parse_home, part_of

from session_memory.adapters.gemini.reader import ADAPTER
from session_memory.testing.workspace import Workspace


def home(shared: Path) -> Path:
    return shared / "client-logs" / "gemini" / "home" / ".gemini"


def steps(shared: Path) -> dict[str, dict[str, Any]]:
    rows = json.loads((shared / "client-logs" / "gemini" / "steps.json").read_text())
    return {row["name"]: json.loads(row["stdout"]) for row in rows}


def swept(shared: Path, tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    space.paths["gemini"] = (str(home(shared)),)
    report = space.sweep()
    assert (report.failed, report.unknown, report.parse_errors) == ([], {}, 0)
    return space


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def plain_tokens(shared: Path) -> Counter[str]:
    """Tokens by session: the last figures of each message id, added up."""
    found: dict[tuple[str, str], int] = {}
    for path in home(shared).rglob("*.jsonl"):
        rows = rows_of(path)
        for row in rows:
            if row.get("tokens"):
                found[rows[0]["sessionId"], row["id"]] = row["tokens"]["total"]
    sums: Counter[str] = Counter()
    for (session, _), total in found.items():
        sums[session] += total
    return sums


@pytest.mark.shared
def test_every_genuine_record_is_understood(shared: Path) -> None:
    found = parse_home(ADAPTER, home(shared))
    assert len(found) == 5
    for path, bundle in found.items():
        assert bundle.records == len(rows_of(path)), path
        assert not (bundle.parse_errors or bundle.incomplete_tail or bundle.unknown), path
        assert set(bundle.ignored) <= {"result_copy"}, path
        events = part_of(bundle).events
        positions = [event.pos for event in events]
        assert positions == sorted(set(positions)), path
        calls = [event.call_id for event in events if event.kind == "tool_call"]
        results = [event.call_id for event in events if event.kind == "tool_result"]
        assert sorted(calls, key=str) == sorted(results, key=str), path
        ids = {call["id"] for row in rows_of(path) for call in row.get("toolCalls", [])}
        assert set(calls) == ids, path


@pytest.mark.shared
def test_tokens_are_what_a_plain_count_and_the_client_say(shared: Path, tmp_path: Path) -> None:
    space, printed = swept(shared, tmp_path), steps(shared)
    plain = plain_tokens(shared)
    assert len(plain) == 4
    for session, total in plain.items():
        assert space.session(session).cost.total_tokens == total
    spent: Counter[str] = Counter()
    for step in printed.values():
        roles = step["stats"]["models"]["fake"]["roles"]
        for role in ("main", "subagent"):  # what a compression cost stands in no chat
            spent[role] += roles.get(role, {}).get("tokens", {}).get("total", 0)
    sessions = space.sessions().values()
    for role, kind in (("main", "interactive"), ("subagent", "subagent")):
        found = sum(s.cost.total_tokens for s in sessions if s.source_kind == kind)
        assert found == spent[role]
    assert sum(session.cost.cache_read for session in sessions) > 0


@pytest.mark.shared
def test_the_failing_command_its_fix_and_the_resume_are_told(shared: Path, tmp_path: Path) -> None:
    space, printed = swept(shared, tmp_path), steps(shared)
    session = printed["work"]["session_id"]
    assert printed["resume"]["session_id"] == session
    digest = space.digest(session)
    assert digest is not None
    assert [(run.exit, run.is_error) for run in digest.commands] == [
        (1, True),
        (0, False),
        (0, False),
    ]
    assert digest.outcome == "success"
    assert {Path(name).name for name in digest.files} == {"calc.py", "test_calc.py"}
    events = space.events(session)
    said = [event.text or "" for event in events if event.kind == "assistant_text"]
    assert printed["work"]["response"] in said
    assert said[-1] == printed["resume"]["response"]
    prompts = [event.text or "" for event in events if event.kind == "user_prompt"]
    assert [prompt.split()[-1] for prompt in prompts] == ["calculator", "again"]
    assert space.session(session).cwd == "/home/dev/agent-client-runs/gemini/proj"


@pytest.mark.shared
def test_two_files_and_a_sub_agent_are_one_family(shared: Path, tmp_path: Path) -> None:
    space, printed = swept(shared, tmp_path), steps(shared)
    parent = printed["agent"]["session_id"]
    assert len(list(home(shared).rglob(f"session-*-{parent[:8]}.jsonl"))) == 2
    assert len(space.sessions()) == 4
    (child,) = [s for s in space.sessions().values() if s.source_kind == "subagent"]
    assert (child.parent_external_id, child.label) == (parent, "generalist")
    events = space.events(parent)
    assert [event.label for event in events].count("session_context") == 1
    prompts = [event.text for event in events if event.kind == "user_prompt"]
    assert prompts[1:] == ["/compress"]
    assert not [e for e in space.events(child.external_id) if e.kind == "user_prompt"]


@pytest.mark.shared
def test_mcp_results_errors_and_the_rest_of_a_large_one_are_kept(
    shared: Path, tmp_path: Path
) -> None:
    space, printed = swept(shared, tmp_path), steps(shared)
    events = space.events(printed["mcp"]["session_id"])
    calls = [event for event in events if event.tool_class == "mcp"]
    assert len(calls) == 5
    results = {event.call_id: event for event in events if event.kind == "tool_result"}
    failed = [call.tool for call in calls if results[call.call_id].is_error]
    assert failed == ["mcp_memprobe_mem_error"]
    (rest,) = [event for event in events if event.label == "overflow"]
    (file,) = home(shared).rglob("tool-outputs/*/*.txt")
    assert (rest.text or "-") in file.read_text()
    assert f"[{len(rest.text or ''):,} characters omitted]" in (results[rest.call_id].text or "")
