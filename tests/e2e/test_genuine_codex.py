"""Every genuine Codex log through the whole sweep, against the files and the client's own words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.core.schema import Cost
from session_memory.ingest.report import SweepReport
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.shared

Step = dict[str, Any]
Tokens = tuple[int, int, int, int]
"""Input with what came from the cache, cached input, output, reasoning."""
NAMES = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, SweepReport]]:
    shared = Path(__file__).resolve().parents[3] / "shared"
    if not shared.is_dir():
        pytest.skip("genuine logs (../shared) are not here")
    space = Workspace(tmp_path_factory.mktemp("genuine"))
    homes = [*sorted((shared / "logs" / "codex").iterdir())]
    homes.append(shared / "client-logs" / "codex" / "home" / ".codex")
    space.paths = {"codex": tuple(str(home) for home in homes)}
    yield space, space.sweep()


def rollouts(space: Workspace) -> dict[str, list[Step]]:
    """Rows of every rollout by the thread its name speaks of."""
    found: dict[str, list[Step]] = {}
    for home in space.paths["codex"]:
        for path in sorted(Path(home).rglob("rollout-*.jsonl")):
            rows = [json.loads(line) for line in path.read_bytes().splitlines()]
            found[path.stem[-36:]] = rows
    return found


def of(cost: Cost) -> Tokens:
    return cost.input + cost.cache_read, cost.cache_read, cost.output, cost.reasoning


def test_every_genuine_rollout_becomes_one_session(swept: tuple[Workspace, SweepReport]) -> None:
    space, report = swept
    threads = rollouts(space)
    assert (report.discovered, report.ingested, report.failed) == (30, 30, [])
    assert (report.parse_errors, report.incomplete_tail, report.too_long) == (0, 0, 0)
    assert report.unknown == Counter()
    assert set(space.sessions()) == set(threads)
    assert {found.state for found in space.sessions().values()} == {"analyzed"}
    assert space.findings() == []


def test_tokens_of_each_thread_are_its_last_count_or_its_records(
    swept: tuple[Workspace, SweepReport],
) -> None:
    space, _ = swept
    whole = [0, 0, 0, 0]
    for thread, rows in rollouts(space).items():
        records = {
            row["payload"]["response_id"]: row["payload"]["usage"]
            for row in rows
            if row["type"] == "token_usage_record"
        }
        counts = [
            row["payload"]["info"]["total_token_usage"]
            for row in rows
            if row["payload"].get("type") == "token_count" and row["payload"]["info"]
        ]
        stated = list(records.values()) or counts[-1:]
        plain = [sum(usage[name] for usage in stated) for name in NAMES]
        assert list(of(space.session(thread).cost)) == plain, thread
        whole = [a + b for a, b in zip(whole, plain, strict=True)]
    with space.store() as store:
        (row,) = store.usage("flavor", None, None)
    assert list(of(row.cost)) == whole


def test_prompts_answers_and_commands_of_each_thread_are_those_of_its_file(
    swept: tuple[Workspace, SweepReport],
) -> None:
    space, _ = swept
    for thread, rows in rollouts(space).items():
        events = [row["payload"] for row in rows if row["type"] == "event_msg"]
        items = [row["item"] for row in events if row["type"] == "item_completed"]
        told = Counter(row["type"] for row in events) + Counter(item["type"] for item in items)
        kinds = Counter(event.kind for event in space.events(thread))
        answers = told["agent_message"] + told["AgentMessage"]
        assert kinds["assistant_text"] == answers, thread
        calls = sum(row["payload"].get("type") == "function_call" for row in rows)
        custom = sum(row["payload"].get("type") == "custom_tool_call" for row in rows)
        assert kinds["tool_call"] >= calls + custom, thread
        pairs = [e for e in space.events(thread) if e.kind == "tool_result"]
        assert all(event.paired for event in pairs), thread


# --- the scripted run of a real client ---


@pytest.fixture
def steps(shared: Path) -> dict[str, list[Step]]:
    """What the client itself printed in each step, line by line."""
    path = shared / "client-logs" / "codex" / "steps.json"
    found: dict[str, list[Step]] = {}
    for step in json.loads(path.read_bytes()):
        lines = [line for line in step["stdout"].splitlines() if line.startswith('{"type"')]
        found[step["name"]] = [json.loads(line) for line in lines]
    return found


def thread_of(step: list[Step]) -> str:
    return next(line["thread_id"] for line in step if line["type"] == "thread.started")


def printed(step: list[Step]) -> Tokens:
    """Cumulative for the thread, and a fork's goes on from its parent's."""
    usage = step[-1]["usage"]
    return tuple(usage[name] for name in NAMES)


def said(step: list[Step]) -> list[str]:
    items = [line["item"] for line in step if line["type"] == "item.completed"]
    return [item["text"] for item in items if item["type"] == "agent_message"]


def test_cost_is_what_the_client_printed(
    swept: tuple[Workspace, SweepReport], steps: dict[str, list[Step]]
) -> None:
    space, _ = swept
    work = thread_of(steps["work"])
    # Resumed and compacted, the thread's count goes on: the last one holds the request that
    # made the summary too.
    assert of(space.session(work).cost) == printed(steps["compact"])
    for name in ("agent", "secret"):
        assert of(space.session(thread_of(steps[name])).cost) == printed(steps[name]), name
    own = tuple(
        a - b for a, b in zip(printed(steps["fork"]), printed(steps["compact"]), strict=True)
    )
    assert of(space.session(thread_of(steps["fork"])).cost) == own


def test_a_resumed_and_compacted_thread_stays_one_session(
    swept: tuple[Workspace, SweepReport], steps: dict[str, list[Step]]
) -> None:
    space, _ = swept
    names = ("work", "resume", "compact")
    (work,) = {thread_of(steps[name]) for name in names}
    events = space.events(work)
    answers = [event.text for event in events if event.kind == "assistant_text"]
    assert answers == [text for name in names for text in said(steps[name])]
    kinds = [event.kind for event in events]
    assert kinds.count("compaction") == 1
    # The summary stands between what was said before and after it.
    texts = [event.text for event in events]
    before, after = texts.index(answers[-2]), texts.index(answers[-1], texts.index(answers[-2]))
    assert before < kinds.index("compaction") < after


def test_the_failing_command_and_its_fix_are_told(
    swept: tuple[Workspace, SweepReport], steps: dict[str, list[Step]]
) -> None:
    space, _ = swept
    digest = space.digest(thread_of(steps["work"]))
    assert digest is not None
    executed = [
        line["item"]
        for name in ("work", "resume", "compact")
        for line in steps[name]
        if line["type"] == "item.completed" and line["item"]["type"] == "command_execution"
    ]
    runs = [run.exit for run in digest.commands for _ in range(run.count)]
    assert runs == [item["exit_code"] for item in executed]
    assert (digest.outcome, digest.confidence, digest.compactions) == ("success", "high", 1)
    assert digest.turns == 3


def test_the_fork_begins_where_its_parent_ended_and_holds_only_its_own(
    swept: tuple[Workspace, SweepReport], steps: dict[str, list[Step]]
) -> None:
    space, _ = swept
    fork = space.session(thread_of(steps["fork"]))
    assert fork.forked_from == thread_of(steps["work"])
    events = space.events(fork.external_id)
    assert [e.text for e in events if e.kind == "assistant_text"] == said(steps["fork"])
    assert not any(event.inherited for event in events)  # it points at history, it has no copy


def test_the_sub_agent_is_linked_and_paid_by_itself(
    swept: tuple[Workspace, SweepReport], steps: dict[str, list[Step]]
) -> None:
    space, _ = swept
    parent = space.session(thread_of(steps["agent"]))
    (child,) = (s for s in space.sessions().values() if s.parent_external_id)
    assert (child.parent_external_id, child.parent_id) == (parent.external_id, parent.id)
    assert (child.source_kind, child.cwd) == ("subagent", parent.cwd)
    assert child.project_id == parent.project_id
    report = [e.text for e in space.events(child.external_id) if e.kind == "assistant_text"][-1]
    assert (report or "").startswith("SUBAGENT-REPORT")
    # What the client prints of the parent is without it: they have no response in common.
    ids = [
        {row["payload"]["response_id"] for row in rows if row["type"] == "token_usage_record"}
        for thread, rows in rollouts(space).items()
        if thread in (child.external_id, parent.external_id)
    ]
    assert ids[0] and ids[1] and not ids[0] & ids[1]
    assert child.cost.total_tokens > 0
    assert not any(event.kind == "user_prompt" for event in space.events(child.external_id))


def test_the_assigned_key_is_redacted_wherever_it_was_told(
    swept: tuple[Workspace, SweepReport], steps: dict[str, list[Step]]
) -> None:
    space, _ = swept
    secret = re.compile(r"sk-fake-[0-9a-z]{8,}")
    assert any(secret.search(text) for text in said(steps["secret"]))  # the client printed it
    thread = thread_of(steps["secret"])
    events = space.events(thread)
    assert not any(secret.search((e.text or "") + (e.command or "")) for e in events)
    hidden = [event for event in events if "[REDACTED_SECRET:" in (event.text or "")]
    assert {event.kind for event in hidden} >= {"tool_result", "assistant_text"}


def test_the_genuine_store_has_three_projects(swept: tuple[Workspace, SweepReport]) -> None:
    space, _ = swept
    keys = Counter(found.project_key for found in space.sessions().values())
    assert keys == {"agentv": 13, "planetfall-seed-signalkit": 11, "proj": 6}
