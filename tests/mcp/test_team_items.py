"""Agents and the team: closed, unless the user opens it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.team.laptop import Laptop

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.mcp.arguments import check_call
from session_memory.mcp.callers import Caller
from session_memory.mcp.runtime import Options, Runtime
from session_memory.mcp.tools import TOOLS
from session_memory.paths import Paths
from session_memory.settings import Config, Team

MakeLaptop = Callable[[str], Laptop]


def ask(laptop: Laptop, config: Config, **options: Any) -> dict[str, Any]:
    data = laptop.store_directory
    paths = Paths(data / "none.toml", data, data / "state", data / "cache")
    tool = next(tool for tool in TOOLS if tool.name == "mem_search")
    runtime = Runtime(Options(**options), lambda: paths, lambda: laptop.now, lambda: config)
    try:
        call = check_call(tool, {"query": "pyyaml", "scope": "team"})
        return runtime.answer(call, Caller(None, None, str(laptop.repo)))
    finally:
        runtime.close()


@pytest.mark.rows("TEA-10")
def test_agents_ask_the_team_only_where_the_user_opened_it(laptop: MakeLaptop) -> None:
    from session_memory.errors import Refused

    ada, bob = laptop("ada"), laptop("bob")
    ada.worked(ada.cured(1, "poetry add pyyaml")).join().do("team", "push")
    bob.worked(bob.log(3)).join()
    with pytest.raises(Refused, match="closed to agents"):
        ask(bob, Config())
    answer = ask(bob, Config(team=Team(mcp=True)))
    assert answer["items"] == []
    assert answer["team"][0]["author"] == "ada"
    assert "another person" in answer["team"][0]["origin"]
    other = ClaudeLog(9, cwd="/work/else")
    other.prompt("an island")
    bob.worked(other)
    with bob.store() as store:
        island = next(p.key for p in store.projects() if p.key != bob.key)
    closed = ask(bob, Config(team=Team(mcp=True)), project=island)
    assert closed["team"] == [], "a server for one project asks about no other"
