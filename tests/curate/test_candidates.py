"""From detection to the catalog and back: proposals with their evidence, decisions in the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.core.loop.patterns import Mined, Signal, SignalType, pattern_id
from session_memory.curate.candidates import MAX_OCCURRENCES, proposals_of
from session_memory.curate.catalog import read_catalog
from session_memory.detect.cluster import cluster
from session_memory.store import open_store
from session_memory.testing.workspace import Workspace

NAME = pattern_id("failing_command", "npm test")


def met(
    session: int, count: int = 1, usd: float | None = None, *, owner: int | None = None
) -> Mined:
    """A session in which `npm test` failed so often."""
    signal = Signal(NAME, "failing_command", "npm test", count, usd, quote=f"ERR {session}")
    owner = session if owner is None else owner
    return Mined(session, owner, "claude", f"ext{session}", "repo", 100 + session, (signal,))


def proposed(*mined: Mined) -> Any:
    (one,) = proposals_of(cluster(lambda: mined), mined)
    return one


def test_every_occasion_becomes_evidence_with_its_share_of_the_cost() -> None:
    one = proposed(met(1, count=2, usd=1.0), met(2))
    assert (one.id, one.kind, one.type, one.locus) == (
        NAME,
        "problem",
        "failing_command",
        "npm test",
    )
    assert "npm test" in one.text
    told = [(item.session, item.flavor, item.repo, item.at, item.cost) for item in one.evidence]
    assert told == [
        ("ext1", "claude", "repo", 101, 0.5),
        ("ext1", "claude", "repo", 101, 0.5),
        ("ext2", "claude", "repo", 102, 0.0),
    ]
    assert {item.quote for item in one.evidence} == {"ERR 1", "ERR 2"}


def test_a_sub_agent_is_no_session_of_its_own() -> None:
    one = proposed(met(1), met(2, owner=1), met(3))
    assert [item.session for item in one.evidence] == ["ext1", "ext1", "ext3"]


def test_a_signal_of_a_thousand_occasions_stays_small() -> None:
    one = proposed(met(1, count=1000, usd=1000.0), met(2))
    assert len(one.evidence) == MAX_OCCURRENCES + 1
    assert one.evidence[0].cost == 1.0


@pytest.mark.parametrize("kind", SignalType.__args__)  # type: ignore[attr-defined]
def test_every_kind_of_signal_has_words(kind: SignalType) -> None:
    signal = Signal(pattern_id(kind, "{x}", "b"), kind, "{x}", 2, about="b")
    mined = [Mined(n, n, "claude", f"e{n}", None, 1, (signal,)) for n in (1, 2)]
    (one,) = proposals_of(cluster(lambda: mined), mined)
    assert "{x}" in one.text and len(one.evidence) == 4


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """Three sessions in which the same command failed."""
    space = Workspace(tmp_path / "space")
    for seed in (1, 2, 3):
        log = ClaudeLog(seed, start=START + seed * 3_600_000)
        log.prompt("make the build work")
        log.run("npm run build", "Error: Cannot find module 'left-pad'", exit_code=1)
        log.run("npm install", "added 1 package")
        log.run("npm run build", "built in 3 s")
        space.write(log)
    space.sweep()
    return space


def run(space: Workspace, *words: str) -> str:
    done = space.run("--config", str(space.write_config()), *words)
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


def statuses(space: Workspace) -> dict[str, str]:
    with open_store(str(space.store_directory), 0) as opened:
        patterns = opened.patterns
        return dict(patterns.statuses())


@pytest.mark.rows("CUR-11")
def test_what_is_detected_is_reviewed_and_the_store_knows_each_decision(space: Workspace) -> None:
    run(space, "rules", "detect")
    run(space, "rules", "propose", "--all")
    rows = json.loads(run(space, "rules", "list", "--json"))["patterns"]
    assert {row["id"] for row in rows} == set(statuses(space))
    assert all(row["snapshot"]["sessions"] == 3 for row in rows)
    first, second = rows[0]["id"], rows[1]["id"]
    run(space, "rules", "reject", first, "--reason", "no use")
    run(space, "rules", "approve", second)
    run(space, "rules", "detect")  # and detection takes nothing back
    run(space, "rules", "propose", "--all")
    catalog, noted = read_catalog(space.store_directory), statuses(space)
    assert (noted[first], noted[second]) == ("rejected", "provisional")
    assert {name: catalog.status(name) for name in noted} == noted
    run(space, "rules", "undo")
    assert statuses(space)[second] == "candidate"


def test_what_detection_no_longer_finds_is_no_proposal_any_more(space: Workspace) -> None:
    run(space, "rules", "detect")
    run(space, "rules", "propose", "--all")
    assert read_catalog(space.store_directory).proposals
    for seed in (1, 2, 3):
        run(space, "forget", "--session", ClaudeLog(seed).session_id, "--yes")
    run(space, "rules", "detect")
    run(space, "rules", "propose", "--all")
    assert read_catalog(space.store_directory).proposals == {}


def test_a_lost_file_does_not_bring_a_rejected_pattern_back(space: Workspace) -> None:
    run(space, "rules", "detect")
    run(space, "rules", "propose", "--all")
    first, second, *_ = sorted(read_catalog(space.store_directory).proposals)
    run(space, "rules", "reject", first, "--reason", "no use")
    (space.store_directory / "catalog" / f"{first}.toml").unlink()
    run(space, "rules", "reject", second, "--reason", "no use")
    assert statuses(space)[first] == "rejected"
