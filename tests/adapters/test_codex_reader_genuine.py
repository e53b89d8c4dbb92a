"""The adapter against every genuine Codex log, beside counts that know no adapter."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.codex_reading import facts, fold, parse_file, parse_split

from session_memory.adapters.codex.reader import discover
from session_memory.adapters.common import Normalized, SessionPart


def roots(shared: Path) -> list[Path]:
    logs = shared / "logs"
    fixture = logs / "mixed/ryoppippi__ccusage/apps/ccusage/test/fixtures/codex"
    return [*sorted((logs / "codex").iterdir()), fixture, shared / "client-logs/codex/home/.codex"]


def read_all(shared: Path) -> dict[Path, list[Normalized]]:
    paths = [Path(file.path) for root in roots(shared) for file in discover(str(root))]
    return {path: parse_file(path) for path in sorted(paths)}


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def clients(shared: Path) -> dict[str, SessionPart]:
    """The threads of the scripted runs by the name of the step that began them."""
    found: dict[str, SessionPart] = {}
    home = shared / "client-logs/codex"
    parts = {
        part.external_id: part
        for path, bundles in read_all(shared).items()
        if home in path.parents
        for part in [fold(bundles)]
    }
    for step in json.loads((home / "steps.json").read_bytes()):
        for line in step["stdout"].splitlines():
            if line.startswith('{"type":"thread.started"'):
                found.setdefault(step["name"], parts[json.loads(line)["thread_id"]])
    return {**found, **parts}


@pytest.mark.shared
def test_every_genuine_row_is_understood(shared: Path) -> None:
    found = read_all(shared)
    assert len(found) == 31
    for path, bundles in found.items():
        assert not any(b.parse_errors or b.incomplete_tail or b.unknown for b in bundles), path
        assert sum(bundle.records for bundle in bundles) == len(rows_of(path)), path
        named = {part.external_id for bundle in bundles for part in bundle.sessions}
        assert len(named) == 1, path


@pytest.mark.shared
@pytest.mark.rows("CAP-07")
def test_tokens_equal_the_last_cumulative_count(shared: Path) -> None:
    for path, bundles in read_all(shared).items():
        last: dict[str, int] = {}
        records: dict[str, dict[str, int]] = {}
        for row in rows_of(path):
            payload = row["payload"]
            if row["type"] == "token_usage_record":
                records[payload["response_id"]] = payload["usage"]
            elif payload.get("type") == "token_count" and payload["info"]:
                last = payload["info"]["total_token_usage"]
        stated = list(records.values()) or [last]
        usages = fold(bundles).usages
        for ours, theirs in (
            (sum(u.input + u.cache_read for u in usages), "input_tokens"),
            (sum(u.cache_read for u in usages), "cached_input_tokens"),
            (sum(u.output for u in usages), "output_tokens"),
            (sum(u.reasoning for u in usages), "reasoning_output_tokens"),
        ):
            assert ours == sum(usage[theirs] for usage in stated), (path, theirs)


@pytest.mark.shared
@pytest.mark.rows("CAP-06")
def test_every_prompt_answer_call_and_output_becomes_one_event(shared: Path) -> None:
    for path, bundles in read_all(shared).items():
        count: Counter[str] = Counter()
        outputs: set[str] = set()
        for row in rows_of(path):
            payload = row["payload"]
            kind = payload.get("type", "")
            kind = payload["item"]["type"] if kind == "item_completed" else kind
            count[kind if row["type"] == "event_msg" else f"{row['type']}/{kind}"] += 1
            if kind.endswith("_call_output"):
                outputs.add(payload["call_id"])
        part = fold(bundles)
        kinds = Counter(event.kind for event in part.events)
        calls = sum(n for name, n in count.items() if name.endswith(("_call", "/function_call")))
        results = [event for event in part.events if event.kind == "tool_result"]
        told = [e for e in part.events if e.kind == "user_prompt" or e.label == "subagent_prompt"]
        assert len(told) == count["user_message"] + count["UserMessage"], path
        assert kinds["assistant_text"] == count["agent_message"] + count["AgentMessage"], path
        assert kinds["tool_call"] == calls, path
        assert outputs <= {event.call_id for event in results}, path
        assert kinds["compaction"] == count["compacted/"], path
        assert len({event.pos for event in part.events}) == len(part.events), path


@pytest.mark.shared
def test_genuine_logs_read_the_same_in_pieces(shared: Path) -> None:
    for path, bundles in read_all(shared).items():
        pieces = parse_split(path.read_bytes(), str(path), [7, 23, 60, 61, 140])
        assert fold(pieces) == fold(bundles), path


@pytest.mark.shared
@pytest.mark.rows("CAP-05")
def test_the_scripted_work_with_its_failing_command_and_fix_is_told(shared: Path) -> None:
    work = clients(shared)["work"]
    ends = [(e.exit_code, e.is_error) for e in work.events if e.kind == "tool_result"]
    assert ends == [(0, False), (0, False), (1, True), (0, False), (0, False)]
    commands = [e.command or "" for e in work.events if e.kind == "tool_call"]
    assert commands[2].endswith("python3 test_calc.py")
    assert "sed -i" in commands[3]
    prompts = [e.text.rpartition("]] ")[2] for e in work.events if e.kind == "user_prompt"]
    # Resumed twice: what came later stands in the same file.
    assert prompts == ["build a calculator", "check again", "again, with a low limit"]
    (summary,) = [e for e in work.events if e.kind == "compaction"]
    assert "Primary request: build calc.py" in summary.text
    assert facts(work)["source_kind"] == "exec"


@pytest.mark.shared
def test_the_scripted_fork_sub_agent_and_servers_are_told(shared: Path) -> None:
    threads = clients(shared)
    work, fork, agent = threads["work"], threads["fork"], threads["agent"]
    assert facts(fork)["forked_from"] == work.external_id
    assert [e.text.rpartition("]] ")[2] for e in fork.events if e.kind == "user_prompt"] == [
        "forked"
    ]
    (child,) = {p.external_id: p for p in threads.values() if p.parent_external_id}.values()
    assert child.parent_external_id == agent.external_id
    assert facts(child)["source_kind"] == "subagent"
    assert not any(e.kind == "user_prompt" for e in child.events)
    (server,) = {
        part.external_id: part
        for part in threads.values()
        if any(event.tool_class == "mcp" for event in part.events)
    }.values()
    calls = [e for e in server.events if e.kind == "tool_call"]
    assert [e.tool_class for e in calls] == ["shell"] + ["mcp"] * 5
    failed = [e.call_id for e in server.events if e.kind == "tool_result" and e.is_error]
    assert failed == [e.call_id for e in calls if e.tool == "mcp__memprobe__mem_error"]
