"""Arguments of calls: taken, brought into range, or refused by name."""

from __future__ import annotations

import json

import pytest
from tests.mcp.clients import LocalServer
from tests.mcp.conftest import Known
from tests.mcp.test_render import Json

from session_memory.mcp.tools import TOOLS, input_schema


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"sesion_id": 1}, "Unknown argument: sesion_id"),
        ({"session_id": 0}, "Wrong argument: session_id"),
        ({"session_id": -3}, "Wrong argument: session_id"),
        ({"session_id": 2**70}, "Wrong argument: session_id"),
        ({"session_id": "ext-cart"}, "Wrong argument"),
        ({"session_id": True}, "Wrong argument: session_id"),
        ({"session_id": 1.5}, "Wrong argument: session_id"),
        ({"project_key": ["shop"]}, "Wrong argument"),
        ({"project_key": "x" * 5_000}, "Wrong argument: project_key is too long"),
        ({"response_mode": "loud"}, "Wrong argument: response_mode"),
        ({"project_key": {"a": 1}}, "Wrong argument: project_key"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(
    server: LocalServer, arguments: Json, reason: str
) -> None:
    found = server.call("mem_open_work", **arguments)
    assert found["isError"] is True
    assert found["structuredContent"]["error"].startswith(reason)


def test_absent_null_and_empty_say_the_same(server: LocalServer, known: Known) -> None:
    plain = server.call("mem_open_work", project_key="shop")
    for nothing in (None, ""):
        assert server.call("mem_open_work", project_key="shop", session_id=nothing) == plain
    number = server.call("mem_open_work", project_key="shop", session_id=str(known.cart))
    assert number["structuredContent"]["session_filter"]["session_id"] == known.cart


def test_limits_are_brought_into_range(server: LocalServer) -> None:
    assert server.call("mem_recent", limit=0)["structuredContent"]["count"] == 1
    assert server.call("mem_recent", limit=10**9)["structuredContent"]["count"] > 1


def test_mem_search_needs_a_query_and_takes_a_blank_one(server: LocalServer) -> None:
    assert server.call("mem_search")["structuredContent"]["error"] == "Missing argument: query"
    blank = server.call("mem_search", query="  ", project_key="shop")["structuredContent"]
    assert blank == server.call("mem_recent", project_key="shop")["structuredContent"]


def test_every_argument_of_a_schema_is_taken_and_no_other() -> None:
    for tool in TOOLS:
        schema = input_schema(tool)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert "$ref" not in json.dumps(schema)
        assert set(schema.get("required", ())) <= set(schema["properties"])
