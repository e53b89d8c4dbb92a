"""Which names are lanes, and the lane of a session."""

from __future__ import annotations

import pytest
from tests.recall.store_builder import ROOT, Memory, plain
from tests.recall.test_routing import PROJECT, line

from session_memory.core.project.identity import Resolution
from session_memory.core.schema import Project
from session_memory.recall.lanes import is_lane_name, lane_of
from session_memory.recall.requests import ScopeResolveRequest
from session_memory.recall.scope_resolve import scope_resolve


@pytest.mark.rows("SCP-10")
def test_broad_and_noisy_names_are_no_lanes(memory: Memory) -> None:
    noise = ("src", "docs", "Tests", "workspace", "System32", "Users", "temp", "AGENTS.md")
    assert [name for name in (*noise, "policy", ".codex", "42") if is_lane_name(name)] == []
    assert lane_of(line(cwd=f"{ROOT}/src"), PROJECT).name == "shop"
    assert lane_of(line(cwd=f"{ROOT}/billing/src/tests"), PROJECT).name == "billing"
    bare = Project(2, "x", "/home/user/src")
    assert lane_of(line(cwd="/home/user/src"), bare).candidates == ()
    nowhere = Resolution(key="src", root="/tmp/x/src", source="cwd:.git", confidence="high")
    memory.session("s", cwd="/tmp/x/src", project=nowhere)
    answer = plain(scope_resolve(memory.context, ScopeResolveRequest("src")))
    assert answer["candidate_sub_scopes"] == []
    assert "<thread or sub-scope>" in answer["candidate_lanes"][0]["recommended_call"]


@pytest.mark.rows("SCP-10")
def test_a_session_at_the_root_is_in_the_lane_its_request_mentions() -> None:
    lane = lane_of(line(label="tidy packages/checkout/src/form.ts and tests/a.py"), PROJECT)
    assert (lane.name, lane.source) == ("checkout", "path_mention")
