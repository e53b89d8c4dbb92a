"""The adapter against genuine Copilot sessions, beside counts that know no adapter."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.copilot_reading import facts, fold, of_kind, parse_file, parse_split

from session_memory.adapters.common import Normalized, SessionPart
from session_memory.adapters.copilot.reader import discover
from session_memory.testing.workspace import Workspace


def roots(shared: Path) -> list[Path]:
    clients = shared / "client-logs/copilot/home/.copilot"
    return [*sorted((shared / "logs/copilot").iterdir()), clients]


def read_all(shared: Path) -> dict[Path, list[Normalized]]:
    paths = [Path(file.path) for root in roots(shared) for file in discover(str(root))]
    return {path: parse_file(path) for path in sorted(paths)}


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def clients(shared: Path) -> tuple[dict[str, str], dict[str, SessionPart]]:
    """What each scripted step asked, and every session of the scripted runs."""
    home = shared / "client-logs/copilot"
    steps = {s["name"]: s["args"][1] for s in json.loads((home / "steps.json").read_bytes())}
    parts = {
        name: part
        for path, bundles in read_all(shared).items()
        if home in path.parents
        for name, part in fold(bundles).items()
    }
    return steps, parts


def asked(parts: dict[str, SessionPart], prompt: str) -> SessionPart:
    """The session a prompt was given to."""
    (found,) = [
        part
        for part in parts.values()
        if any(event.kind == "user_prompt" and event.text == prompt for event in part.events)
    ]
    return found


@pytest.mark.shared
def test_every_genuine_record_is_understood(shared: Path) -> None:
    found = read_all(shared)
    assert len(found) == 15
    for path, bundles in found.items():
        assert not any(b.parse_errors or b.incomplete_tail or b.unknown for b in bundles), path
        assert sum(bundle.records for bundle in bundles) == len(rows_of(path)), path
        own = [name for name, part in fold(bundles).items() if part.parent_external_id is None]
        assert own == [path.parent.name], path


@pytest.mark.shared
def test_tokens_equal_the_totals_the_client_states(shared: Path) -> None:
    stated = 0
    for path, bundles in read_all(shared).items():
        last: dict[str, Any] = {}
        extra: Counter[str] = Counter()
        for row in rows_of(path):
            if row["type"] == "session.shutdown":
                last = row["data"]["modelMetrics"]
            elif row["type"] == "session.compaction_complete":  # in no total
                used = row["data"]["compactionTokensUsed"]
                extra.update({k: n for k, n in used.items() if k.endswith("Tokens")})
        usages = [usage for part in fold(bundles).values() for usage in part.usages]
        for ours, theirs in (
            (sum(u.input + u.cache_read + u.cache_write_5m for u in usages), "inputTokens"),
            (sum(u.cache_read for u in usages), "cacheReadTokens"),
            (sum(u.output for u in usages), "outputTokens"),
        ):
            total = sum(metrics["usage"][theirs] for metrics in last.values()) + extra[theirs]
            if not last and theirs == "outputTokens":  # all that a session without an end states
                total += sum(row["data"].get(theirs, 0) for row in rows_of(path))
            assert ours == total, (path, theirs)
            stated += total
    assert stated > 300_000


@pytest.mark.shared
def test_every_prompt_answer_call_and_result_becomes_one_event(shared: Path) -> None:
    for path, bundles in read_all(shared).items():
        count: Counter[str] = Counter()
        for row in rows_of(path):
            count[row["type"]] += 1
            count["answers"] += row["type"] == "assistant.message" and row["data"]["content"] != ""
        events = [event for part in fold(bundles).values() for event in part.events]
        kinds = Counter(event.kind for event in events)
        told = [e for e in events if e.kind == "user_prompt" or e.label == "subagent_prompt"]
        assert len(told) == count["user.message"], path
        assert kinds["assistant_text"] == count["answers"], path
        assert kinds["tool_call"] == count["tool.execution_start"], path
        assert kinds["tool_result"] == count["tool.execution_complete"], path
        calls = {e.call_id for e in events if e.kind == "tool_call"}
        assert calls == {e.call_id for e in events if e.kind == "tool_result"}, path
        assert len({event.pos for event in events}) == len(events), path
        assert not any("<current_datetime>" in e.text for e in events if e.kind == "user_prompt")


@pytest.mark.shared
def test_genuine_logs_read_the_same_in_pieces(shared: Path) -> None:
    for path in read_all(shared):
        whole = parse_split(path.read_bytes(), str(path), [])
        pieces = parse_split(path.read_bytes(), str(path), [7, 23, 60, 61, 140])
        assert fold(pieces) == fold(whole), path


@pytest.mark.shared
def test_the_scripted_work_with_its_failing_command_fix_and_resumption_is_told(
    shared: Path,
) -> None:
    steps, parts = clients(shared)
    work = asked(parts, steps["work"])
    assert asked(parts, steps["resume"]) is work
    calls = of_kind(work, "tool_call")
    assert [event.tool_class for event in calls] == ["edit", "edit", "shell", "shell", "shell"]
    ends = [(event.exit_code, event.is_error) for event in of_kind(work, "tool_result")]
    assert ends == [(None, False), (None, False), (1, True), (0, False), (0, False)]
    assert "sed -i" in (calls[3].command or "")
    assert [Path(path).name for e in calls[:2] for path in e.files] == ["calc.py", "test_calc.py"]
    assert [e.label for e in of_kind(work, "system")] == ["resume"]
    found = facts(work)
    assert (found["source_kind"], found["client_version"]) == ("exec", "1.0.102")
    assert found["title.ai"] == steps["work"]


@pytest.mark.shared
def test_the_scripted_server_sub_agent_and_compaction_are_told(shared: Path) -> None:
    steps, parts = clients(shared)
    server = asked(parts, steps["mcp"])
    calls = [event for event in of_kind(server, "tool_call") if event.tool_class == "mcp"]
    assert len(calls) == 5
    failed = [e.call_id for e in of_kind(server, "tool_result") if e.is_error]
    assert failed == [e.call_id for e in calls if e.tool == "mcp__memprobe__mem_error"]
    lead = asked(parts, steps["agent"])
    (child,) = [part for part in parts.values() if part.parent_external_id]
    assert child.parent_external_id == lead.external_id
    assert not of_kind(child, "user_prompt")
    assert [e.tool_class for e in of_kind(child, "tool_call")] == ["shell"]
    assert [e.tool_class for e in of_kind(lead, "tool_call")] == ["agent"]
    (summary,) = of_kind(lead, "compaction")
    assert "Primary request: build calc.py" in summary.text


@pytest.mark.shared
def test_a_sweep_over_the_genuine_sessions_leaves_nothing_unexplained(
    shared: Path, tmp_path: Path
) -> None:
    space = Workspace(tmp_path / "space")
    space.paths["copilot"] = tuple(str(root) for root in roots(shared))
    report = space.sweep()
    assert (report.ingested, report.failed, report.parse_errors) == (15, [], 0)
    assert not report.unknown
    assert len(space.sessions()) == 16
    assert space.findings() == []
