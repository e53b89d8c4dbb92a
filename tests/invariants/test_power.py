"""The power may fail at any moment: what was reported as done is there, and the store is whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.invariants import power_record
from tests.invariants.power import Outcome
from tests.invariants.sizes import IS_LARGE, SIZES, record

from session_memory.testing import new_stores
from session_memory.testing.workspace import Workspace

REPOSITORY = Path(__file__).parents[2]
FULL = ("ingest", "forget text", "backup", "migrate")
"""Every prefix and all ways of these; of the others some."""
OTHERS = ("evict", "forget session", "redact again", "compact", "create", "replace", "restore")
CutPower = Callable[..., Outcome]

pytestmark = [
    pytest.mark.skipif(power_record.missing() is not None, reason=str(power_record.missing())),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return power_record.compiled(tmp_path_factory.mktemp("recorder"))


@pytest.fixture
def cut_power(tmp_path: Path, library: Path) -> CutPower:
    def run(**order: object) -> Outcome:
        arguments = [str(tmp_path / "space"), msgspec.json.encode({**order}).decode()]
        done = subprocess.run(
            [sys.executable, "-m", "tests.invariants.power", *arguments],
            env={**Workspace(tmp_path).environ(), "LD_PRELOAD": str(library)},
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return msgspec.json.decode(done.stdout, type=Outcome)

    return run


@pytest.mark.rows("STO-18", "BAK-03")
@pytest.mark.parametrize("work", [*FULL, *(OTHERS if IS_LARGE else ())])
def test_after_a_power_cut_nothing_that_was_reported_is_lost(
    cut_power: CutPower, work: str
) -> None:
    full = work in FULL
    prefixes = None if IS_LARGE and full else SIZES.power_prefixes
    ways = SIZES.power_ways if full else SIZES.power_ways // 5
    again = 5 if IS_LARGE else 2
    result = cut_power(work=work, ways=ways, prefixes=prefixes, again=again, seed=SIZES.seed)
    record(
        f"power cuts, {work}",
        operations=result.operations,
        power_cuts=result.images,
        ways=ways,
        problems=len(result.problems),
        seed=SIZES.seed,
    )
    assert result.problems == []


@pytest.mark.rows("BAK-03")
def test_a_power_cut_within_a_restore_leaves_one_of_the_two_stores(cut_power: CutPower) -> None:
    assert cut_power(work="restore", ways=40, prefixes=8).problems == []


@pytest.mark.parametrize("forgetting", [".seg.tmp", "store.db-wal", "/"])
def test_a_program_that_forgot_to_flush_would_be_found(
    cut_power: CutPower, forgetting: str
) -> None:
    result = cut_power(work="forget text", ways=12, prefixes=0, again=100, forgetting=forgetting)
    assert result.problems


def test_stores_here_are_made_by_the_program_and_not_copied() -> None:
    assert not new_stores.copies
