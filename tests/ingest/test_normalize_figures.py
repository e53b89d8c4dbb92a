"""Figures that no program means: they cost nothing but themselves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.invariants.sessions import BUILDERS

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


def with_value(value: Any, name: str, new: Any) -> Any:
    """The same record, with another value under a name wherever it stands."""
    if isinstance(value, list):
        return [with_value(each, name, new) for each in value]
    if isinstance(value, dict):
        return {key: new if key == name else with_value(value[key], name, new) for key in value}
    return value


@pytest.mark.rows("ING-24")
@pytest.mark.parametrize("code", [2**63, 10**30, -(10**30)])
@pytest.mark.parametrize(
    ("flavor", "name"), [("codex", "exit_code"), ("qwen", "exitCode"), ("copilot", "exitCode")]
)
def test_an_exit_code_out_of_all_bounds_costs_no_session(
    tmp_path: Path, flavor: str, name: str, code: int
) -> None:
    space = Workspace(tmp_path)
    path = BUILDERS[flavor](7, 2).write(space.flavor_home(flavor))
    space.sweep()
    before = [(event["kind"], event["text"]) for event in space.dump()[0]["events"]]
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_text("".join(json.dumps(with_value(row, name, code)) + "\n" for row in lines))
    afresh = space.with_store("afresh")
    assert afresh.sweep().failed == []
    (found,) = afresh.dump()
    assert [(event["kind"], event["text"]) for event in found["events"]] == before
    assert all(abs(event["exit_code"] or 0) < 2**32 for event in found["events"])


@pytest.mark.rows("ING-24")
@pytest.mark.parametrize("cost", [-5.0, 1e308, 1e12, math.inf, math.nan])
def test_a_price_that_is_none_counts_as_not_stated(space: Workspace, cost: float) -> None:
    log = ClaudeLog(1)
    log.prompt("how much is it")
    log.say("that much")
    log.say("and once more")
    space.write(log)
    space.sweep()
    with space.store() as store:
        expected = store.usage("flavor", None, None)
    for row in log.rows:
        if row["type"] == "assistant":
            row["costUSD"] = cost
    afresh = space.with_store("afresh")
    afresh.write(log)
    assert afresh.sweep().failed == []
    with afresh.store() as store:
        assert store.usage("flavor", None, None) == expected
