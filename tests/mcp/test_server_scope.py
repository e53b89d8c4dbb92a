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
from session_memory.core.loop.catalog import Evidence, Proposal
from session_memory.curate.catalog import changing, write_proposals
from session_memory.mcp.runtime import Options
from session_memory.mcp.tools import TOOLS, Tool, fields_of
from session_memory.paths import find_paths
from session_memory.testing.store_drafts import START

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
    "its key in capitals": lambda _: {"project_key": "OTHER"},
    "observation in capitals": lambda known: {"observation_id": observed(known).upper()},
    "a path as session": lambda _: {"session_id": "/work/other"},
    "a path of another project": lambda _: {"file": "/work/other/green.txt"},
    "our session around its event": lambda known: {
        "session_id": known.cart,
        "around": event_id(known.foreign, 0),
    },
    "its event as evidence": lambda known: {
        "text": "The footer is done.",
        "evidence": [event_id(known.foreign, 0)],
    },
    "a line that rests on its event": lambda known: {
        "lines": [f"The footer is done. [e:{event_id(known.foreign, 0)}]"]
    },
    "pattern of another project": lambda known: {"pattern_id": pattern(known), "text": "Test."},
    "pattern that is not there": lambda _: {"pattern_id": "p-0123456789abcdef", "text": "Test."},
}
PLAIN = {
    *("query", "limit", "cursor", "flavor", "kinds", "tool", "since", "until", "errors_only"),
    *("scope", "budget", "max_chars", "before", "after", "known_pack_hash", "sub_scope_hint"),
    *("error", "text", "kind"),
}
"""Arguments that name nothing that belongs to a project."""
HINTED = {
    *("hint", "thread_hint", "chat_title", "active_chat_label"),
    *("current_cwd", "repo_path", "mentioned_files"),
}
HINTING = ("mem_scope_resolve", "mem_bootstrap_context")
HINTS: dict[str, Callable[[Path], Json]] = {
    "directory": lambda _: {"current_cwd": "/work/other"},
    "repository": lambda _: {"repo_path": "/work/other"},
    "file": lambda _: {"mentioned_files": ["/work/other/green.txt"]},
    "link": lambda folder: {"current_cwd": str(link(folder / "link", "/work/other"))},
    "native id": lambda _: {"hint": "ext-foreign"},
}


NEEDED: Json = {
    "query": "paint", "session_id": 1, "event_id": 1, "observation_id": "x", "error": "no paint",
    "text": "Test.", "pattern_id": "p-0123456789abcdef", "lines": [],
}  # fmt: skip


def observed(known: Known) -> str:
    """The id of an observation of the other project."""
    found = known.memory.select(
        "SELECT hash FROM observation WHERE session_id = ? LIMIT 1", known.foreign
    )
    return str(found[0][0])


def pattern(known: Known) -> str:
    """The id of a candidate that only sessions of the other project gave rise to."""
    said = Evidence("ext-foreign", "claude", "other", START, "green paint, please")
    proposal = Proposal("0123abcd", "problem", "stated_rule", "paint", "Paint the hangar.", (said,))
    data = find_paths(os.environ).data
    with changing(data):
        write_proposals(data, {proposal.id: proposal})
    return proposal.id


def link(place: Path, to: str) -> Path:
    place.symlink_to(to)
    return place


def fitting(tool: Tool, given: Json) -> Json | None:
    """The arguments of a call, with what it requires; None where the tool takes none of these."""
    if not set(given) <= set(fields_of(tool)):
        return None
    return {**{name: NEEDED[name] for name in tool.required}, **given}


@pytest.fixture
def inside(known: Known) -> Iterator[LocalServer]:
    full = Options(profile="full")
    made = LocalServer(full, clock=lambda: known.memory.now, cwd=f"{ROOT}/cart")
    yield made
    made.close()


@pytest.mark.rows("SCP-15")
def test_every_argument_of_every_tool_that_names_something_is_tried(
    inside: LocalServer, known: Known
) -> None:
    listed = inside.ask("tools/list")["result"]["tools"]
    assert {tool["name"] for tool in listed} == {tool.name for tool in TOOLS}
    rows = [set(row(known)) for row in WRONG.values()]
    for tool in TOOLS:
        named = set(fields_of(tool)) - PLAIN - HINTED
        tried = set[str]().union(*(row for row in rows if row <= set(fields_of(tool))))
        assert named <= tried, (tool.name, named - tried)
        if HINTED & set(fields_of(tool)):
            assert tool.name in HINTING


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
    answer = result["structuredContent"]
    if result["isError"] is False and "refused" in answer:  # line by line
        assert answer["waiting"] == [] and answer["refused"], (tool.name, arguments)
    else:
        assert result["isError"] is True, (tool.name, arguments)
        assert set(answer) <= {"error", "hint"}
    given = str(arguments)
    for word in FOREIGN:
        assert word in given or word not in str(result), (tool.name, word)


@pytest.mark.rows("SCP-15")
@pytest.mark.parametrize("wrong", HINTS)
@pytest.mark.parametrize("name", HINTING)
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
def test_candidate_rules_of_another_project_are_not_told(inside: LocalServer, known: Known) -> None:
    name = pattern(known)
    asked = {"name": "review-rules", "arguments": {}}
    assert name not in str(inside.ask("prompts/get", **asked))
    opened = Options(all_projects=True, profile="full")
    server = LocalServer(opened, clock=lambda: known.memory.now, cwd=ROOT)
    assert "green paint, please" in str(server.ask("prompts/get", **asked))
    server.close()


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
