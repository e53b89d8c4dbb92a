"""A real server process: how it starts, speaks, survives nonsense and ends."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from tests.mcp.clients import Talk, hello, request, text_of
from tests.mcp.conftest import Known

from session_memory.mcp.jsonrpc import MAX_LINE
from session_memory.mcp.tools import tools_of


@pytest.mark.rows("RUN-01")
def test_nothing_is_opened_or_made_before_a_question_needs_it(tmp_path: Path) -> None:
    with Talk() as talk:
        assert talk.greet()["result"]["serverInfo"]["name"] == "session-memory"
        assert len(talk.ask("tools/list")["result"]["tools"]) == len(tools_of("standard"))
        health = talk.call("mem_health_runtime")
        assert health["isError"] is False
        assert health["structuredContent"]["lazy_initialized"] is False
        assert not (tmp_path / "memory" / "data").exists()
        assert talk.end()[0] == 0
    assert not list((tmp_path / "memory").rglob("*.db"))


@pytest.mark.rows("DIE-07")
def test_a_client_over_pipes_gets_payload_and_hint(known: Known) -> None:
    with Talk() as talk:
        talk.greet("claude-code", "2025-11-25")
        listed = {tool["name"] for tool in talk.ask("tools/list")["result"]["tools"]}
        assert listed == {tool.name for tool in tools_of("standard")}
        pack = talk.call("mem_context_pack", project_key="shop")
        assert "round totals" in pack["structuredContent"]["text"]
        assert "next: mem_" in text_of(pack)
        search = talk.call("mem_search", query="footer")
        assert [item["session_id"] for item in search["structuredContent"]["items"]] == [known.mail]
        assert talk.end() == (0, "session-memory mcp: exit_reason=stdin_eof\n")


@pytest.mark.rows("RUN-04")
def test_errors_have_their_shapes_and_the_server_lives_on(known: Known) -> None:
    with Talk() as talk:
        talk.greet()
        unknown = talk.ask("tools/unheard_of")
        assert unknown["error"]["code"] == -32601
        talk.send(b"{this is no JSON")
        broken = talk.hear()
        assert (broken["id"], broken["error"]["code"]) == (None, -32700)
        refused = talk.call("mem_open_work", project_key="nothing")
        assert refused["isError"] is True
        assert refused["structuredContent"]["error"] == "Project not found"
        assert text_of(refused).startswith("session-memory error: Project not found")
        lost = talk.call("mem_get", observation_id="nothing")
        assert lost["structuredContent"]["error"] == "Observation not found"
        nameless = talk.ask("tools/call", arguments={})
        assert nameless["error"]["code"] == -32602
        talk.send(b"[]", b"5", b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"id":1}')
        assert [talk.hear()["error"]["code"] for _ in range(4)] == [-32600] * 4
        assert talk.call("mem_open_work", project_key="shop")["isError"] is False
        assert talk.end()[0] == 0


@pytest.mark.rows("RUN-05", "DIE-09")
def test_the_wire_is_ascii_lines_of_json_and_the_log_is_elsewhere(known: Known) -> None:
    words = "caf\u00e9 \u65e5\u672c \U0001f4c8 \u2028 line"
    known.memory.say(known.cart, ("pending_item", words))
    with Talk() as talk:
        talk.greet("gemini-cli-mcp-client")
        found = talk.call("mem_open_work", project_key="shop", session_id=known.cart)
        assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
        (item,) = found["structuredContent"]["pending_items"]
        assert "caf\u00e9 \u65e5\u672c \U0001f4c8" in item["text"]
        assert "\u2028" not in item["text"]
        talk.call("mem_search", query="caf\u00e9", project_key="shop")
        code, log = talk.end()
    assert code == 0
    assert all(max(line) < 0x80 for line in talk.heard)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in talk.heard)
    assert [line for line in log.splitlines() if "jsonrpc" in line] == []
    assert "exit_reason" in log


@pytest.mark.rows("RUN-06")
def test_an_idle_server_ends_by_itself() -> None:
    with Talk("--idle-timeout", "1") as talk:
        talk.greet()
        assert talk.process.wait() == 0
        assert talk.end() == (0, "session-memory mcp: exit_reason=idle_timeout\n")


@pytest.mark.rows("RUN-06")
def test_a_client_that_leaves_ends_the_server_after_the_last_answer() -> None:
    with Talk("--idle-timeout", "0") as talk:
        talk.send(hello(), request(1, "ping"), request(2, "tools/list"))
        code, log = talk.end()
    assert (code, log) == (0, "session-memory mcp: exit_reason=stdin_eof\n")
    assert [json.loads(line)["id"] for line in talk.heard] == [0, 1, 2]


@pytest.mark.rows("RUN-06")
@pytest.mark.skipif(sys.platform == "win32", reason="a process is ended otherwise there")
def test_a_signal_ends_the_server_cleanly(tmp_path: Path) -> None:
    for number, reason in ((signal.SIGTERM, "sigterm"), (signal.SIGINT, "sigint")):
        with Talk() as talk:
            talk.greet()
            talk.call("mem_health_runtime")
            talk.process.send_signal(number)
            assert talk.process.wait() == 0
            assert talk.end() == (0, f"session-memory mcp: exit_reason=signal_{reason}\n")
    assert os.listdir(tmp_path / "memory" / "state" / "servers") == []


@pytest.mark.rows("RUN-10")
def test_the_server_never_asks_the_client(known: Known) -> None:
    with Talk() as talk:
        roots = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}
        info = {"name": "codex-mcp-client"}
        talk.ask("initialize", protocolVersion="2025-06-18", capabilities=roots, clientInfo=info)
        talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        talk.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        for method in ("tools/list", "prompts/list", "resources/list", "ping"):
            talk.ask(method)
        talk.call("mem_open_work", project_key="shop")
        talk.end()
    heard = [json.loads(line) for line in talk.heard]
    assert len(heard) == 6
    assert all("method" not in message for message in heard)


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2199-01-01", "2025-11-25"),
    ],
)
def test_a_handshake_settles_on_a_version_we_speak(wanted: str, given: str) -> None:
    with Talk() as talk:
        assert talk.greet(version=wanted)["result"]["protocolVersion"] == given


def test_the_latest_protocol_is_served_without_a_handshake(known: Known) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "claude-code"},
    }
    with Talk() as talk:
        found = talk.ask("server/discover", _meta=meta)["result"]
        assert "2026-07-28" in found["supportedVersions"]
        assert (found["resultType"], found["cacheScope"], found["ttlMs"]) == (
            "complete",
            "private",
            0,
        )
        # Claude falls back to the handshake on the same connection when it grew impatient.
        assert talk.greet("claude-code", "2025-11-25")["result"]["protocolVersion"] == "2025-11-25"
        listed = talk.ask("tools/list", _meta=meta)["result"]
        assert listed["resultType"] == "complete"
        talk.send(request("listen:0", "subscriptions/listen", _meta=meta, notifications={}))
        heard = talk.hear()
        assert heard["method"] == "notifications/subscriptions/acknowledged"
        assert heard["params"]["notifications"] == {}
        called = talk.ask(
            "tools/call", name="mem_open_work", arguments={"project_key": "shop"}, _meta=meta
        )["result"]
        assert called["resultType"] == "complete"
        assert called["isError"] is False
        meta["io.modelcontextprotocol/protocolVersion"] = "2199-01-01"
        refused = talk.ask("tools/list", _meta=meta)["error"]
        assert (refused["code"], refused["data"]["requested"]) == (-32022, "2199-01-01")


def test_a_cancelled_request_gets_no_answer_and_the_next_one_does() -> None:
    cancel = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 3, "reason": "changed my mind"},
    }
    with Talk() as talk:
        talk.greet()
        # What is read ahead is seen before its turn; an id may be used again afterwards.
        talk.send(cancel, request(3, "ping"), request(4, "ping"), request(3, "ping"))
        assert [talk.hear()["id"] for _ in range(2)] == [4, 3]


def test_answers_come_in_the_order_of_the_questions(known: Known) -> None:
    with Talk() as talk:
        talk.greet()
        tools = ("mem_context_pack", "mem_open_work", "mem_recent", "mem_completion_check")
        for number in range(40):
            arguments = {"project_key": "shop"}
            name = tools[number % len(tools)]
            talk.send(request(f"q{number}", "tools/call", name=name, arguments=arguments))
        heard = [talk.hear() for _ in range(40)]
    assert [message["id"] for message in heard] == [f"q{number}" for number in range(40)]
    assert not any(message["result"]["isError"] for message in heard)


def test_a_request_that_is_too_long_is_refused_and_passed_over() -> None:
    with Talk() as talk:
        talk.greet()
        talk.send(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"y" * MAX_LINE)
        talk.send(b'"}}', request(2, "ping"))
        refused = talk.hear()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        while (heard := talk.hear()).get("error"):
            assert heard["id"] is None
        assert heard["id"] == 2


def test_a_wrong_configuration_is_reported_with_every_call_and_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "config.toml").write_text("[retention]\nraw_max_age_days = 'soon'\n")
    with Talk() as talk:
        talk.greet()
        assert talk.ask("tools/list")["result"]["tools"]
        for tool in ("mem_recent", "mem_health_runtime"):
            refused = talk.call(tool)
            assert refused["isError"] is True
            assert "raw_max_age_days" in text_of(refused)
        assert talk.end()[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a directory in use stays there")
def test_a_directory_that_was_removed_belongs_to_no_project(known: Known, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    program = (
        "import os, sys\n"
        f"os.chdir({str(tmp_path / 'gone')!r}); os.rmdir({str(tmp_path / 'gone')!r})\n"
        "from session_memory.__main__ import main\nsys.exit(main(['mcp']))"
    )
    with Talk(command=[sys.executable, "-c", program]) as talk:
        talk.greet()
        assert talk.call("mem_open_work")["structuredContent"]["error"] == "Project not found"
        assert talk.call("mem_open_work", project_key="shop")["isError"] is False


def test_what_a_library_prints_does_not_reach_the_wire(known: Known) -> None:
    program = (
        "import sys\nfrom session_memory.recall import open_work as m\nold = m.open_work\n"
        "m.open_work = lambda c, r: (print('stray'), sys.stdout.flush(), old(c, r))[2]"
        "\nfrom session_memory.__main__ import main\nsys.exit(main(['mcp']))"
    )
    with Talk(command=[sys.executable, "-c", program]) as talk:
        talk.greet()
        assert talk.call("mem_open_work", project_key="shop")["isError"] is False
        code, log = talk.end()
    assert code == 0
    assert "stray" in log
    assert not any(b"stray" in line for line in talk.heard)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_a_client_that_stops_reading_ends_the_server() -> None:
    with Talk() as talk:
        talk.greet()
        assert talk.process.stdout is not None
        talk.process.stdout.close()
        talk.send(request(1, "tools/list"))
        assert talk.process.wait() == 0
        assert talk.process.stderr is not None
        assert b"exit_reason=stdout_closed" in talk.process.stderr.read()
