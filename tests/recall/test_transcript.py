"""What a search found is opened layer by layer: the event, its session, what its edits changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import pytest
from tests.mcp.clients import LocalServer

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.mcp.runtime import Options
from session_memory.mcp.tools import TOOLS, listing
from session_memory.paths import find_paths
from session_memory.store.port import SessionQuery
from session_memory.testing.workspace import Workspace

Json = dict[str, Any]
OLD, NEW = "retries = 1\ntimeout = 5\n", "retries = 3\ntimeout = 5\n"


class Worked(NamedTuple):
    """A server over one long session."""

    server: LocalServer
    session: int

    def ask(self, name: str, **arguments: Any) -> Json:
        given = {"name": name, "arguments": arguments}
        result = self.server.ask("tools/call", **given)["result"]
        assert result["isError"] is False, result
        answer: Json = result["structuredContent"]
        return answer


@pytest.fixture
def worked(tmp_path: Path) -> Iterator[Worked]:
    space = Workspace(tmp_path / "space", store=str(find_paths(os.environ).data))
    log = ClaudeLog(1, cwd=str(tmp_path / "shop"))
    log.prompt("Make the pelican retry three times")
    log.edit("/work/pelican.py", OLD, NEW)
    log.run("pytest -q pelican", "E  KeyError: 'beak'\n" + "x" * 9_000, exit_code=1)
    for number in range(30):
        log.say(f"Step {number} is done.")
    space.write(log)
    space.sweep()
    with space.store() as store:
        (session,) = store.sessions(SessionQuery())
    server = LocalServer(Options(), clock=lambda: space.now)
    yield Worked(server, session.id)
    server.close()


@pytest.mark.rows("MCP-01")
def test_a_found_event_is_opened_whole_with_its_neighbours(worked: Worked) -> None:
    (item, *_) = worked.ask("mem_search", query="KeyError beak", errors_only=True)["items"]
    opened = worked.ask("mem_event", event_id=item["turn_id"], before=1, after=1)
    assert opened["session_id"] == worked.session
    assert opened["event"]["failed"] is True
    assert [line["kind"] for line in opened["before"]] == ["tool_call"]
    assert [line["text"] for line in opened["after"]] == ["Step 0 is done."]
    text, cursor = opened["event"]["text"], opened.get("next_cursor")
    while cursor:
        part = worked.ask("mem_event", event_id=item["turn_id"], cursor=cursor)
        text, cursor = text + part["event"]["text"], part.get("next_cursor")
    assert text.count("x") >= 9_000


@pytest.mark.rows("MCP-02")
def test_a_session_is_read_page_by_page_without_gap_or_repeat(worked: Worked) -> None:
    seen, cursor = list[int](), None
    while True:
        page = worked.ask("mem_transcript", session_id=worked.session, limit=7, cursor=cursor)
        assert page["count"] == len(page["events"]) <= 7
        seen += [line["event_id"] for line in page["events"]]
        cursor = page.get("next_cursor")
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == 35
    middle = seen[20]
    around = worked.ask("mem_transcript", session_id=worked.session, around=middle, limit=5)
    assert middle in [line["event_id"] for line in around["events"]]


@pytest.mark.rows("MCP-02")
@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({"errors_only": True}, {"tool_result"}),
        ({"kinds": ["user_prompt"]}, {"user_prompt"}),
        ({"tool": "Edit"}, {"tool_call", "tool_result"}),
        ({"file": "pelican.py"}, {"tool_call", "tool_result"}),
        ({"until": 1}, set[str]()),
    ],
)
def test_pages_are_filtered(worked: Worked, given: Json, kinds: set[str]) -> None:
    page = worked.ask("mem_transcript", session_id=worked.session, **given)
    assert {line["kind"] for line in page["events"]} == kinds


@pytest.mark.rows("MCP-03")
def test_edits_are_shown_as_diffs(worked: Worked) -> None:
    (edit,) = worked.ask("mem_diff", session_id=worked.session)["edits"]
    assert edit["path"] == "/work/pelican.py"
    assert "-retries = 1\n+retries = 3" in edit["diff"]
    assert worked.ask("mem_diff", event_id=edit["event_id"])["count"] == 1
    unknown = worked.server.call("mem_diff", session_id=worked.session, file="pelikan.py")
    assert unknown["structuredContent"]["hint"] == "known: /work/pelican.py"
    refused = worked.server.call("mem_diff")
    assert "session_id" in refused["structuredContent"]["error"]


@pytest.mark.rows("MCP-04")
def test_an_answer_costs_little_more_than_its_text(worked: Worked) -> None:
    pack = worked.ask("mem_context_pack", session_id=worked.session, budget="micro")
    assert len(json.dumps(pack)) < 3 * len(pack["text"]) + 400
    for item in worked.ask("mem_search", query="pelican retry step done")["items"]:
        assert len(json.dumps(item)) < len(item["summary"]) + 550
    whole = LocalServer(Options(profile="full"))
    full = whole.call("mem_context_pack", session_id=worked.session, budget="micro")
    assert "operational_state" in full["structuredContent"]
    whole.close()


@pytest.mark.rows("MCP-05")
def test_every_tool_says_what_its_answer_holds() -> None:
    for tool in TOOLS:
        schema = listing(tool)["outputSchema"]
        assert schema["type"] == "object"
        if tool.function is None:
            continue
        answer = inspect_answer(tool.load())
        for name in schema["properties"]:
            assert name in answer, (tool.name, name)


def inspect_answer(function: Any) -> set[str]:
    """The fields an answer of this function may have."""
    given = get_type_hints(function)["return"]
    kinds = get_args(given) or (given,)
    return {name for kind in kinds for name in kind.__struct_fields__}
