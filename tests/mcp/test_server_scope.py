"""A server inside a project answers for it alone, whatever a call names of another one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.clients import LocalServer, Talk
from tests.mcp.conftest import Known
from tests.recall.store_builder import ROOT

from session_memory.core.event_ids import event_id
from session_memory.mcp.runtime import Options
from session_memory.mcp.tools import TOOLS, Tool, fields_of

Json = dict[str, Any]
FOREIGN = ("hangar", "Paint", "ext-foreign", "green paint", "/work/other")

WRONG: dict[str, Callable[[Known], Json]] = {
    "session of another project": lambda known: {"session_id": known.foreign},
    "its session with our key": lambda known: {"project_key": "shop", "session_id": known.foreign},
    "our session with its key": lambda known: {"project_key": "other", "session_id": known.cart},
    "another project": lambda _: {"project_key": "other"},
    "unknown project": lambda _: {"project_key": "nothing"},
    "our key in capitals": lambda _: {"project_key": "SHOP"},
    "a path as key": lambda _: {"project_key": "/work/other"},
    "the agent's id": lambda _: {"session_id": "ext-foreign"},
    "session that is not there": lambda _: {"session_id": 4_000_000},
    "event of another project": lambda known: {"event_id": event_id(known.foreign, 0)},
    "event that is not there": lambda known: {"event_id": event_id(known.cart, 999)},
    "observation of another project": lambda known: {"observation_id": observed(known)},
    "id of a pattern": lambda _: {"observation_id": "p-0123456789abcdef"},
}
HINTS: dict[str, Callable[[Path], Json]] = {
    "directory": lambda _: {"current_cwd": "/work/other"},
    "repository": lambda _: {"repo_path": "/work/other"},
    "file": lambda _: {"mentioned_files": ["/work/other/green.txt"]},
    "link": lambda folder: {"current_cwd": str(link(folder / "link", "/work/other"))},
    "native id": lambda _: {"hint": "ext-foreign"},
}


def observed(known: Known) -> str:
    """The id of an observation of the other project."""
    found = known.memory.select(
        "SELECT hash FROM observation WHERE session_id = ? LIMIT 1", known.foreign
    )
    return str(found[0][0])


def link(place: Path, to: str) -> Path:
    place.symlink_to(to)
    return place


def fitting(tool: Tool, given: Json) -> Json | None:
    """The arguments of a call, with what it requires; None where the tool takes none of these."""
    if not set(given) <= set(fields_of(tool)):
        return None
    needed = {"query": "paint", "session_id": 1, "event_id": 1, "observation_id": "x"}
    return {**{name: needed[name] for name in tool.required}, **given}


@pytest.fixture
def inside(known: Known) -> Iterator[LocalServer]:
    made = LocalServer(clock=lambda: known.memory.now, cwd=f"{ROOT}/cart")
    yield made
    made.close()


@pytest.mark.rows("SCP-15")
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_no_tool_answers_for_another_project(
    inside: LocalServer, known: Known, tool: Tool, wrong: str
) -> None:
    arguments = fitting(tool, WRONG[wrong](known))
    if arguments is None:  # the schema does not offer it: naming it is an error already
        arguments = WRONG[wrong](known)
    result = inside.call(tool.name, **arguments)
    assert result["isError"] is True, (tool.name, arguments)
    assert set(result["structuredContent"]) <= {"error", "hint"}
    given = str(arguments)
    for word in FOREIGN:
        assert word in given or word not in str(result), (tool.name, word)


@pytest.mark.rows("SCP-15")
@pytest.mark.parametrize("wrong", HINTS)
@pytest.mark.parametrize("name", ["mem_scope_resolve", "mem_bootstrap_context"])
def test_a_hint_at_another_project_shows_nothing_of_it(
    inside: LocalServer, tmp_path: Path, name: str, wrong: str
) -> None:
    given = HINTS[wrong](tmp_path)
    answer = inside.call(name, **given)["structuredContent"]
    assert answer["project_key"] == "shop"
    shown = str({field: value for field, value in answer.items() if field != "hint"})
    for word in ("hangar", "Paint", "green paint"):
        assert word not in shown


@pytest.mark.rows("SCP-15")
def test_what_names_no_project_is_about_the_servers_own(inside: LocalServer, known: Known) -> None:
    for name, arguments in (("mem_search", {"query": "totals paint footer"}), ("mem_recent", {})):
        items = inside.call(name, **arguments)["structuredContent"]["items"]
        assert {item["session_id"] for item in items} == {known.cart, known.mail}, name
    opened = inside.call("mem_event", event_id=event_id(known.cart, 0))
    assert opened["isError"] is False


@pytest.mark.rows("SCP-15")
def test_a_server_reached_by_a_link_is_inside_the_project(known: Known, tmp_path: Path) -> None:
    server = LocalServer(clock=lambda: known.memory.now, cwd=str(link(tmp_path / "shop", ROOT)))
    refused = server.call("mem_recent", session_id=known.foreign)
    assert refused["isError"] is True
    assert server.call("mem_recent", session_id=known.cart)["isError"] is False
    server.close()


@pytest.mark.rows("SCP-16")
@pytest.mark.parametrize(
    "options", [Options(all_projects=True), Options(project="other")], ids=["all", "other"]
)
def test_an_option_opens_the_server_or_names_another_project(
    known: Known, options: Options
) -> None:
    server = LocalServer(options, clock=lambda: known.memory.now, cwd=ROOT)
    assert server.call("mem_open_work", session_id=known.foreign)["isError"] is False
    assert server.call("mem_get", observation_id=observed(known))["isError"] is False
    ours = server.call("mem_open_work", session_id=known.cart)
    assert ours["isError"] is not options.all_projects
    scope = server.call("mem_health_runtime")["structuredContent"]["scope"]
    assert scope == ("all projects" if options.all_projects else "other")
    server.close()


@pytest.mark.rows("SCP-16")
def test_an_unknown_project_of_the_server_is_an_error_in_every_answer(known: Known) -> None:
    server = LocalServer(Options(project="gone"), clock=lambda: known.memory.now, cwd=ROOT)
    for arguments in ({}, {"project_key": "shop"}, {"session_id": known.cart}):
        refused = server.call("mem_recent", **arguments)["structuredContent"]
        assert refused["error"] == "Project not found"
        assert "gone" in refused["hint"]
    server.close()


@pytest.mark.rows("SCP-16")
def test_a_setting_opens_every_server(known: Known, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[recall]\nscope = "all"\n', encoding="utf-8")
    for variables, is_open in (
        ({}, False),
        ({"SESSION_MEMORY_RECALL_SCOPE": "all"}, True),
        ({"SESSION_MEMORY_CONFIG": str(config)}, True),
    ):
        environ = {**os.environ, **variables, "CLAUDE_PROJECT_DIR": ROOT}
        with Talk(environ=environ) as talk:
            talk.greet()
            result = talk.call("mem_recent", session_id=known.foreign)
            assert result["isError"] is not is_open, variables
