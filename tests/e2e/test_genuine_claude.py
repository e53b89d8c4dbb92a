"""Every genuine Claude log through the whole sweep, against counts made by simpler means."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.ingest.report import SweepReport
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.shared

WORK = "11111111-1111-4111-8111-111111111111"
FORK = "ee884c8a-d22c-4c58-ba8d-b92ab4fae9e3"
COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


def roots(shared: Path) -> tuple[str, ...]:
    """Each collection of logs is a Claude home, or a folder like one."""
    homes = [path for path in (shared / "logs" / "claude").iterdir() if path.is_dir()]
    homes.append(shared / "client-logs" / "claude" / "home" / ".claude")
    homes += (shared / "logs" / "mixed").glob("*/apps/ccusage/test/fixtures/claude")
    return tuple(sorted(str(home) for home in homes))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, SweepReport]]:
    shared = Path(__file__).resolve().parents[3] / "shared"
    if not shared.is_dir():
        pytest.skip("genuine logs (../shared) are not here")
    space = Workspace(tmp_path_factory.mktemp("genuine"))
    space.paths["claude"] = roots(shared)
    yield space, space.sweep()


def files_of(space: Workspace) -> list[Path]:
    found = {path for root in space.paths["claude"] for path in Path(root).rglob("*.jsonl")}
    return sorted(found)


def records_of(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            data = record.get("data")
            if isinstance(data, dict) and data.get("type") == "agent_progress":
                agent = {"sessionId": f"{record['sessionId']}:{data['agentId']}"}
                record = {**data["message"], **agent}  # a sub-agent's, inside its parent's log
            yield record


def test_every_genuine_file_is_read(swept: tuple[Workspace, SweepReport]) -> None:
    space, report = swept
    files = files_of(space)
    assert len(files) > 50
    assert report.discovered == len(files) == report.ingested + len(report.failed)
    assert {Path(failure.path).name for failure in report.failed} <= set(NO_CLIENT_WROTE)
    assert report.incomplete_tail == 0
    assert space.findings() == []


def test_only_files_made_to_be_broken_have_parse_errors(
    swept: tuple[Workspace, SweepReport], tmp_path: Path
) -> None:
    space, report = swept
    alone = Workspace(tmp_path)
    broken = [path for path in files_of(space) if path.name in NO_CLIENT_WROTE]
    copies = [alone.claude / "projects" / str(number) for number in range(len(broken))]
    for path, folder in zip(broken, copies, strict=True):
        folder.mkdir(parents=True)
        (folder / path.name).write_bytes(path.read_bytes())
    assert alone.sweep().parse_errors == report.parse_errors > 0


NO_CLIENT_WROTE = {
    "edge_cases.jsonl": "written by hand, with broken lines",
    "chat.jsonl": "written by hand for a token counter: records without a type",
}


def test_no_record_of_a_genuine_log_is_of_an_unknown_type(
    swept: tuple[Workspace, SweepReport],
) -> None:
    _, report = swept
    assert {what: count for what, count in report.unknown.items() if what not in EXPLAINED} == {}


EXPLAINED = {"claude 1.0.0: user/no_content": "`contenst` in edge_cases.jsonl"}
"""Unknown types in the genuine logs that were looked at, and why they stay unknown."""


def test_every_session_is_distilled(swept: tuple[Workspace, SweepReport]) -> None:
    space, report = swept
    sessions = space.sessions()
    assert report.analyzed >= len(sessions) > 40
    assert {found.state for found in sessions.values()} == {"analyzed"}
    assert all(space.digest(name) is not None for name in sessions)


def responses(space: Workspace) -> tuple[dict[tuple[str, str], Any], dict[Any, set[str]]]:
    """The fullest usage of each API response, and the sessions that hold it: plain counting.

    Not the last one: a client that forks behind a compaction writes its copies with zeros.
    """
    usages: dict[tuple[str, str], Any] = {}
    holders: dict[Any, set[str]] = defaultdict(set)
    for path in files_of(space):
        for record in records_of(path):
            message = record.get("message")
            if record.get("type") != "assistant" or not isinstance(message, dict):
                continue
            usage, name = message.get("usage"), message.get("id")
            if not usage or not name or message.get("model") == "<synthetic>":
                continue
            key = (name, record.get("requestId") or "")
            if key not in usages or usage["output_tokens"] >= usages[key]["output_tokens"]:
                usages[key] = usage
            session = record.get("sessionId") or path.stem
            agent = path.stem.removeprefix("agent-") if path.stem.startswith("agent-") else None
            holders[key].add(f"{session}:{agent}" if agent else session)
    return usages, holders


def test_tokens_of_all_logs_equal_a_plain_count(swept: tuple[Workspace, SweepReport]) -> None:
    space, _ = swept
    usages, _ = responses(space)
    plain = [sum(usage.get(name) or 0 for usage in usages.values()) for name in COUNTED]
    costs = [found.cost for found in space.sessions().values()]
    ours = [
        sum(cost.input for cost in costs),
        sum(cost.output for cost in costs),
        sum(cost.cache_read for cost in costs),
        sum(cost.cache_write_5m + cost.cache_write_1h for cost in costs),
    ]
    assert ours == plain


def test_tokens_of_each_session_equal_a_plain_count(swept: tuple[Workspace, SweepReport]) -> None:
    space, _ = swept
    usages, holders = responses(space)
    shared_by_several = {name for key in usages if len(holders[key]) > 1 for name in holders[key]}
    plain: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for key, usage in usages.items():
        for name in holders[key]:
            for place, field in enumerate(COUNTED):
                plain[name][place] += usage.get(field) or 0
    sessions = space.sessions()
    checked = 0
    for name, figures in plain.items():
        if name in shared_by_several:
            continue
        cost = sessions[name].cost
        writes = cost.cache_write_5m + cost.cache_write_1h
        assert [cost.input, cost.output, cost.cache_read, writes] == figures, name
        checked += 1
    assert checked > 30


# --- the scripted run of a real client ------------------------------------------------------------


@pytest.fixture
def steps(shared: Path) -> dict[str, dict[str, Any]]:
    """What the client itself printed at the end of each step."""
    path = shared / "client-logs" / "claude" / "steps.json"
    return {step["name"]: json.loads(step["stdout"]) for step in json.loads(path.read_text())}


def test_the_failing_and_the_fixed_command_ground_the_outcome(
    swept: tuple[Workspace, SweepReport],
) -> None:
    space, _ = swept
    digest = space.digest(WORK)
    assert digest is not None
    runs = {run.command: run.exit for run in digest.commands}
    assert runs["python3 test_calc.py"] == 1
    assert runs["sed -i 's/a - b/a + b/' calc.py && python3 test_calc.py"] == 0
    assert digest.outcome == "success"
    assert any("exit 0" in ground for ground in digest.grounds)


def test_resume_and_continue_append_to_the_same_session(
    swept: tuple[Workspace, SweepReport], steps: dict[str, dict[str, Any]]
) -> None:
    space, _ = swept
    for name in ("work", "resume", "continue", "after-compact"):
        assert steps[name]["session_id"] == WORK
    texts = [event.text or "" for event in space.events(WORK) if event.kind == "assistant_text"]
    said = [steps[name]["result"] for name in ("work", "resume", "continue", "after-compact")]
    assert [text for text in texts if text in said] == said


def test_the_fork_inherits_and_pays_for_its_own_response_only(
    swept: tuple[Workspace, SweepReport], steps: dict[str, dict[str, Any]]
) -> None:
    space, _ = swept
    fork = space.session(FORK)
    assert fork.forked_from == WORK
    events = space.events(FORK)
    copied = {event.fingerprint for event in space.events(WORK)}
    assert [event.inherited for event in events] == [e.fingerprint in copied for e in events]
    own = [event for event in events if not event.inherited]
    assert any("forked" in (event.text or "") for event in own)
    # the client's total of a fork starts with its parent's
    before = steps["after-compact"]["total_cost_usd"]
    assert fork.cost.usd == pytest.approx(steps["fork"]["total_cost_usd"] - before)


def test_dollars_equal_what_the_client_says(
    swept: tuple[Workspace, SweepReport], steps: dict[str, dict[str, Any]]
) -> None:
    space, _ = swept
    sessions = space.sessions()
    for name in ("mcp", "secret", "flaky"):
        step = steps[name]
        assert sessions[step["session_id"]].cost.usd == pytest.approx(step["total_cost_usd"]), name
    parent = steps["agent"]["session_id"]
    family = [s.cost.usd or 0 for name, s in sessions.items() if name.startswith(parent)]
    assert len(family) == 2
    assert sum(family) == pytest.approx(steps["agent"]["total_cost_usd"])
    # the request that compacts is not in the log, so its price cannot be either
    compacting = steps["compact"]["total_cost_usd"] - steps["continue"]["total_cost_usd"]
    logged = steps["after-compact"]["total_cost_usd"] - compacting
    assert sessions[WORK].cost.usd == pytest.approx(logged)


def test_the_sub_agent_is_linked_to_its_parent(
    swept: tuple[Workspace, SweepReport], steps: dict[str, dict[str, Any]]
) -> None:
    space, _ = swept
    parent = steps["agent"]["session_id"]
    (child,) = (s for s in space.sessions().values() if s.parent_external_id == parent)
    assert child.parent_id == space.session(parent).id
    assert child.source_kind == "subagent"


def test_compaction_and_api_errors_are_events(
    swept: tuple[Workspace, SweepReport], steps: dict[str, dict[str, Any]]
) -> None:
    space, _ = swept
    compactions = [event for event in space.events(WORK) if event.kind == "compaction"]
    assert len(compactions) == 1
    errors = [e for e in space.events(steps["flaky"]["session_id"]) if e.kind == "error"]
    assert len(errors) == 2
    assert all("529" in (event.text or "") for event in errors)


def test_the_assigned_key_is_redacted_in_command_and_output(
    swept: tuple[Workspace, SweepReport], steps: dict[str, dict[str, Any]]
) -> None:
    space, _ = swept
    events = space.events(steps["secret"]["session_id"])
    shell = [e for e in events if e.kind == "tool_result" or e.tool_class == "shell"]
    assert len(shell) == 2
    for event in shell:
        assert "API_KEY=[REDACTED_SECRET:" in (event.text or "")
        assert "sk-fake-" not in (event.text or "") + (event.command or "")
