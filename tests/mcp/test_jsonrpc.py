"""Whatever comes over the wire: one answer a request, none for anything else, and no end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.mcp.clients import LocalServer
from tests.mcp.conftest import Known

from session_memory.mcp import jsonrpc
from session_memory.mcp.jsonrpc import Ignored, InvalidLine, Notification, Request
from session_memory.mcp.stdio import Inbox, converse, lines
from session_memory.mcp.tools import TOOLS

Json = dict[str, Any]
Values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=12,
)
NAMES = [tool.name for tool in TOOLS]
ARGUMENTS = ["project_key", "session_id", "limit", "query", "hint", "mentioned_files", "budget"]


@settings(max_examples=200)
@given(st.binary(max_size=300))
@example(b"[" * 100_000)
@example(b'{"a":' * 50_000)
@example(b'"\\ud800"')
@example(b"1e999")
@example(b"\xff\xfe")
def test_any_bytes_are_a_message_or_a_reason(line: bytes) -> None:
    assert isinstance(jsonrpc.read_line(line), Request | Notification | InvalidLine | Ignored)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result"]), Values))
@example({"jsonrpc": "2.0", "id": True, "method": "ping"})
@example({"jsonrpc": "2.0", "id": None, "method": "ping"})
@example({"jsonrpc": "1.0", "id": 1, "method": "ping"})
def test_only_a_whole_request_is_taken_for_one(message: Json) -> None:
    found = jsonrpc.read_line(json.dumps(message).encode())
    if isinstance(found, Request):
        assert message["jsonrpc"] == "2.0"
        assert type(message["id"]) in (int, str)
        assert found.id == message["id"]
        assert isinstance(found.params, dict)


@settings(max_examples=150)
@given(Values)
def test_what_is_written_is_one_ascii_line_that_reads_back(value: object) -> None:
    line = jsonrpc.to_line({"value": value})
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"value": value}


@settings(max_examples=150)
@given(st.lists(st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")), max_size=8),
       st.integers(1, 7))  # fmt: skip
def test_lines_are_whole_however_they_arrive(said: list[bytes], step: int) -> None:
    stream = b"".join(line + b"\n" for line in said)
    chunks = iter([stream[at : at + step] for at in range(0, len(stream), step)] + [b""])
    assert list(lines(lambda: next(chunks))) == said


def test_a_line_without_end_is_given_up_in_time() -> None:
    chunk = b"x" * 65_536
    chunks = iter([chunk] * 100 + [b"tail\nnext\n", b""])
    found = list(lines(lambda: next(chunks)))
    assert found[-1] == b"next"
    assert len(found) == 2
    assert isinstance(jsonrpc.read_line(found[0]), InvalidLine)
    assert len(found[0]) < jsonrpc.MAX_LINE + 2 * len(chunk)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(NAMES),
    st.dictionaries(st.sampled_from(ARGUMENTS) | st.text(max_size=8), Values, max_size=4),
)
def test_any_arguments_get_one_result(
    server: LocalServer, known: Known, name: str, arguments: Json
) -> None:
    found = server.call(name, **{str(key): value for key, value in arguments.items()})
    assert set(found) == {"content", "structuredContent", "isError"}
    assert isinstance(found["structuredContent"], dict)
    assert found["isError"] is ("error" in found["structuredContent"])
    assert server.log == []  # nothing unexpected happened
    assert json.loads(jsonrpc.to_line(found)) == json.loads(json.dumps(found))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["ping", "tools/list", "cancel", "junk", "notice"]), max_size=12))
def test_each_request_is_answered_once_in_order(server: LocalServer, said: list[str]) -> None:
    stream: list[bytes] = []
    expected: list[int] = []
    for number, what in enumerate(said):
        if what == "junk":
            stream.append(b"\x00nonsense")
        elif what == "notice":
            stream.append(b'{"jsonrpc":"2.0","method":"notifications/unheard"}')
        elif what == "cancel":
            params = {"requestId": 10_000 + number}
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            stream.append(json.dumps(message).encode())
        else:
            stream.append(json.dumps({"jsonrpc": "2.0", "id": number, "method": what}).encode())
            expected.append(number)
    chunks = iter([b"".join(line + b"\n" for line in stream), b""])
    inbox = Inbox(lambda: next(chunks))
    inbox.fill()
    heard: list[Json] = []
    reason = converse(
        server.protocol, server.runtime, inbox, lambda line: heard.append(json.loads(line))
    )
    assert reason == "stdin_eof"
    assert [message["id"] for message in heard if message["id"] is not None] == expected
    assert sum(message["id"] is None for message in heard) == said.count("junk")


def test_the_reason_of_a_bad_line_goes_back_to_its_sender() -> None:
    found = jsonrpc.read_line(b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}')
    assert found == InvalidLine(jsonrpc.INVALID_PARAMS, "params must be an object", 5)
    assert jsonrpc.read_line(b"   ") == Ignored()
    assert jsonrpc.read_line(b'{"jsonrpc":"2.0","id":1,"result":{}}') == Ignored()


@pytest.mark.parametrize("letter", ["\u00e9", "\u2028", "\U0001f4c8", "\x7f", "\x00"])
def test_letters_survive_the_wire(letter: str) -> None:
    assert json.loads(jsonrpc.to_line({"x": letter})) == {"x": letter}
