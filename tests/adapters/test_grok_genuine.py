"""The adapter against every genuine Grok Build session, beside counts that know no adapter."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.grok_reading import parse_source, part_of

from session_memory.adapters.common import Normalized
from session_memory.adapters.grok.reader import discover
from session_memory.testing.workspace import Workspace

INVENTED = {("format 1", "some_future_extension_kind"): 1}
"""A kind that a fixture's author made up, to see what a reader does with it."""


def roots(shared: Path) -> tuple[Path, Path]:
    return shared / "logs" / "grok", shared / "client-logs" / "grok" / "home" / ".grok"


def read_all(shared: Path) -> dict[Path, Normalized]:
    found = (file for root in roots(shared) for file in discover(str(root)))
    return {Path(file.path): parse_source(file, 1 << 26) for file in found}


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def updates_of(path: Path) -> list[dict[str, Any]]:
    rows = rows_of(path) if path.name == "updates.jsonl" else []
    return [row["params"]["update"] for row in rows]


@pytest.mark.shared
def test_every_genuine_record_is_understood(shared: Path) -> None:
    found = read_all(shared)
    assert len(found) == 10
    unknown: Counter[tuple[str, str]] = Counter()
    for path, bundle in found.items():
        assert bundle.records == len(rows_of(path)), path
        assert not (bundle.parse_errors or bundle.incomplete_tail or bundle.too_long), path
        unknown += bundle.unknown
        events = part_of(bundle).events
        positions = [event.pos for event in events]
        assert positions == sorted(set(positions)), path
        times = [event.at for event in events if event.at is not None]
        assert times == sorted(times), path
    assert unknown == INVENTED


@pytest.mark.shared
def test_every_call_result_and_answer_becomes_one_event(shared: Path) -> None:
    for path, bundle in read_all(shared).items():
        updates = updates_of(path)
        if not updates:
            continue
        kinds = Counter(event.kind for event in part_of(bundle).events)
        named = Counter(update["sessionUpdate"] for update in updates)
        ends = [u for u in updates if u.get("status") in ("completed", "failed")]
        assert kinds["tool_call"] == named["tool_call"] + named["plan"], path
        results = [u for u in ends if u["sessionUpdate"] == "tool_call_update"]
        assert kinds["tool_result"] == len(results), path
        # The clients flush one line a message, so here the numbers agree without any joining.
        assert kinds["assistant_text"] == named["agent_message_chunk"], path
        assert kinds["reasoning"] == named["agent_thought_chunk"], path


@pytest.mark.shared
def test_what_was_said_agrees_with_the_history_the_model_saw(shared: Path) -> None:
    checked = 0
    for path, bundle in read_all(shared).items():
        history = path.with_name("chat_history.jsonl")
        compacted = any(u["sessionUpdate"] == "compaction_checkpoint" for u in updates_of(path))
        if path.name != "updates.jsonl" or not history.is_file() or compacted:
            continue
        rows = [row for row in rows_of(history) if row["type"] == "assistant"]
        events = part_of(bundle).events
        said = [event.text for event in events if event.kind == "assistant_text"]
        assert said == [row["content"] for row in rows if row["content"]], path
        calls = [call["id"] for row in rows for call in row.get("tool_calls", [])]
        assert [event.call_id for event in events if event.kind == "tool_call"] == calls, path
        checked += 1
    assert checked == 3


# --- what the client itself printed at the end of each run ---


def swept(shared: Path, tmp_path: Path) -> tuple[Workspace, dict[str, dict[str, Any]]]:
    space = Workspace(tmp_path)
    space.paths["grok"] = (str(roots(shared)[1]),)
    space.sweep()
    steps = json.loads((shared / "client-logs" / "grok" / "steps.json").read_text())
    return space, {step["name"]: json.loads(step["stdout"]) for step in steps}


@pytest.mark.shared
def test_cost_is_what_the_client_printed(shared: Path, tmp_path: Path) -> None:
    space, steps = swept(shared, tmp_path)
    spent: dict[str, Counter[str]] = {}
    for step in steps.values():
        spent.setdefault(step["sessionId"], Counter()).update(step.get("usage", {}))
    assert len(spent) == 4
    for session_id, tokens in spent.items():
        cost = space.session(session_id).cost
        assert (cost.input, cost.output) == (tokens["input_tokens"], tokens["output_tokens"])
        assert cost.cache_read == tokens["cache_read_input_tokens"]
        assert cost.reasoning == tokens["reasoning_tokens"]
        assert cost.total_tokens == tokens["total_tokens"]
    whole = sum((Counter(tokens) for tokens in spent.values()), Counter[str]())
    total = sum(session.cost.total_tokens for session in space.sessions().values())
    assert total == whole["total_tokens"]  # forks and sub-agents are paid once


@pytest.mark.shared
def test_the_failing_command_and_its_fix_are_told(shared: Path, tmp_path: Path) -> None:
    space, steps = swept(shared, tmp_path)
    digest = space.digest(steps["work"]["sessionId"])
    assert digest is not None
    assert [(run.exit, run.is_error) for run in digest.commands] == [
        (1, True),
        (0, False),
        (0, False),
    ]
    assert (digest.outcome, digest.compactions) == ("success", 1)
    assert {Path(name).name for name in digest.files} == {"calc.py", "test_calc.py"}
    events = space.events(steps["work"]["sessionId"])
    said = "".join(e.text or "" for e in events if e.kind == "assistant_text")
    assert said == "".join(steps[name]["text"] for name in ("work", "resume", "after-compact"))
    prompts = [event.text or "" for event in events if event.kind == "user_prompt"]
    assert [prompt.split()[-1] for prompt in prompts] == ["calculator", "again", "command", "after"]


@pytest.mark.shared
def test_fork_and_sub_agent_are_linked(shared: Path, tmp_path: Path) -> None:
    space, steps = swept(shared, tmp_path)
    sessions = space.sessions()
    origin, fork = steps["work"]["sessionId"], steps["fork"]["sessionId"]
    assert sessions[fork].forked_from == origin
    own = [event for event in space.events(fork) if not event.inherited]
    assert [(e.kind, e.text) for e in own if e.kind == "assistant_text"] == [
        ("assistant_text", steps["fork"]["text"])
    ]
    assert len(space.events(fork)) - len(own) == sessions[origin].event_count
    (child,) = [found for found in sessions.values() if found.source_kind == "subagent"]
    assert child.parent_external_id == steps["agent"]["sessionId"]
    assert child.external_id not in {step["sessionId"] for step in steps.values()}
    report = [e.text for e in space.events(child.external_id) if e.kind == "assistant_text"][-1]
    assert report is not None
    assert report in steps["agent"]["text"]


@pytest.mark.shared
def test_mcp_results_errors_and_the_rest_of_a_large_one_are_kept(
    shared: Path, tmp_path: Path
) -> None:
    space, steps = swept(shared, tmp_path)
    events = space.events(steps["mcp"]["sessionId"])
    calls = [event for event in events if event.tool_class == "mcp"]
    assert len(calls) == 5
    results = {e.call_id: e for e in events if e.kind == "tool_result"}
    failed = [call.tool for call in calls if results[call.call_id].is_error]
    assert failed == ["mcp__memprobe__mem_error"]
    (rest,) = [event for event in events if event.label == "overflow"]
    head = results[rest.call_id].text or ""
    file = next(roots(shared)[1].rglob(f"{rest.call_id}.txt")).read_text()
    assert file.endswith(rest.text or "-")
    assert len(head) + len(rest.text or "") >= len(file)
