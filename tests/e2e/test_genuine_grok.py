"""Every genuine Grok Build session through the whole sweep, against the files themselves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.ingest.report import SweepReport
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.shared

Update = dict[str, Any]
INVENTED = "grok format 1: some_future_extension_kind"
"""A kind that a fixture's author made up, to see what a reader does with it."""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, SweepReport]]:
    shared = Path(__file__).resolve().parents[3] / "shared"
    if not shared.is_dir():
        pytest.skip("genuine logs (../shared) are not here")
    space = Workspace(tmp_path_factory.mktemp("genuine"))
    homes = [*sorted((shared / "logs" / "grok").iterdir())]
    homes.append(shared / "client-logs" / "grok" / "home" / ".grok")
    space.paths = {"grok": tuple(str(home) for home in homes)}
    yield space, space.sweep()


def updates(space: Workspace) -> dict[str, list[Update]]:
    """The updates of every session that has such a log, by the session they name."""
    found: dict[str, list[Update]] = {}
    for home in space.paths["grok"]:
        for path in sorted(Path(home).rglob("updates.jsonl")):
            rows = [json.loads(line)["params"] for line in path.read_bytes().splitlines()]
            found[rows[0]["sessionId"]] = [row["update"] for row in rows]
    return found


@pytest.fixture
def steps(shared: Path) -> dict[str, dict[str, Any]]:
    """What the client itself printed at the end of each step."""
    path = shared / "client-logs" / "grok" / "steps.json"
    return {step["name"]: json.loads(step["stdout"]) for step in json.loads(path.read_bytes())}


def test_every_genuine_directory_becomes_one_session(
    swept: tuple[Workspace, SweepReport],
) -> None:
    space, report = swept
    assert (report.discovered, report.ingested, report.failed) == (10, 10, [])
    assert (report.parse_errors, report.incomplete_tail, report.too_long) == (0, 0, 0)
    assert report.unknown == Counter({INVENTED: 1})
    sessions = space.sessions()
    assert len(sessions) == 10
    assert set(updates(space)) <= set(sessions)
    assert {found.state for found in sessions.values()} == {"analyzed"}
    assert space.findings() == []


def test_parts_that_are_missing_are_said(swept: tuple[Workspace, SweepReport]) -> None:
    space, report = swept
    missing: Counter[str] = Counter()
    folders = {
        path.parent
        for home in space.paths["grok"]
        for name in ("updates.jsonl", "chat_history.jsonl")
        for path in Path(home).rglob(name)
    }
    for folder in folders:
        for name in ("updates.jsonl", "chat_history.jsonl", "events.jsonl", "summary.json"):
            missing[f"grok: {name}"] += not (folder / name).is_file()
    assert len(folders) == 10
    assert report.missing_parts == +missing


def test_tokens_of_all_sessions_are_those_of_each_turn_once(
    swept: tuple[Workspace, SweepReport],
) -> None:
    space, _ = swept
    sessions = space.sessions()
    turns: dict[str, Update] = {}
    for name, rows in updates(space).items():
        if sessions[name].source_kind == "subagent":
            continue  # part of the turn that started it
        for row in rows:
            if row["sessionUpdate"] == "turn_completed" and "usage" in row:
                turns[row["prompt_id"]] = row["usage"]
    with space.store() as store:
        (row,) = store.usage("flavor", None, None)
    cost = row.cost
    assert cost.total_tokens == sum(usage["totalTokens"] for usage in turns.values())
    assert cost.output == sum(usage["outputTokens"] for usage in turns.values())
    assert cost.cache_read == sum(usage["cachedReadTokens"] for usage in turns.values())
    assert row.responses == len(turns) == 8


def test_a_sub_agents_model_calls_are_in_the_turn_that_started_it(
    swept: tuple[Workspace, SweepReport], steps: dict[str, dict[str, Any]]
) -> None:
    """Why its own log is not added: the parent counts more calls than it had rounds itself."""
    space, _ = swept
    rows = updates(space)
    parent = steps["agent"]["sessionId"]
    (child,) = (s for s in space.sessions().values() if s.parent_external_id == parent)
    (whole,) = (row["usage"] for row in rows[parent] if "usage" in row)
    (part,) = (row["usage"] for row in rows[child.external_id] if "usage" in row)
    assert whole["modelCalls"] == whole["numTurns"] + part["modelCalls"]
    assert (child.source_kind, child.cost.total_tokens) == ("subagent", 0)
    assert child.project_id == space.session(parent).project_id


def test_what_was_said_and_run_is_what_the_updates_say(
    swept: tuple[Workspace, SweepReport],
) -> None:
    space, _ = swept
    for name, rows in updates(space).items():
        told = Counter(row["sessionUpdate"] for row in rows)
        kinds = Counter(event.kind for event in space.events(name))
        assert kinds["tool_call"] == told["tool_call"] + told["plan"], name
        assert kinds["assistant_text"] == told["agent_message_chunk"], name
        assert kinds["compaction"] == told["compaction_checkpoint"], name


def test_resume_and_compaction_go_on_in_the_same_session(
    swept: tuple[Workspace, SweepReport], steps: dict[str, dict[str, Any]]
) -> None:
    space, _ = swept
    names = ("work", "resume", "compact", "after-compact")
    (work,) = {steps[name]["sessionId"] for name in names}
    events = space.events(work)
    said = "".join(event.text or "" for event in events if event.kind == "assistant_text")
    assert said == "".join(steps[name]["text"] for name in names)
    (at,) = (number for number, event in enumerate(events) if event.kind == "compaction")
    last = max(n for n, event in enumerate(events) if event.kind == "assistant_text")
    earlier = [event.text or "" for event in events[:at] if event.kind == "assistant_text"]
    assert "".join(earlier) == steps["work"]["text"] + steps["resume"]["text"]
    assert at < last


def test_the_fork_is_a_copy_and_one_turn_of_its_own(
    swept: tuple[Workspace, SweepReport], steps: dict[str, dict[str, Any]]
) -> None:
    space, _ = swept
    fork = space.session(steps["fork"]["sessionId"])
    assert fork.forked_from == steps["work"]["sessionId"]
    assert fork.cost.total_tokens == steps["fork"]["usage"]["total_tokens"]
    own = [event for event in space.events(fork.external_id) if not event.inherited]
    assert [e.text for e in own if e.kind == "assistant_text"] == [steps["fork"]["text"]]
    digest = space.digest(fork.external_id)
    assert digest is not None
    assert (digest.turns, digest.compactions) == (1, 0)  # of what it did itself
