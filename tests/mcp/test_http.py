"""The server over HTTP: for this machine, by token, and never for a page."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from tests.mcp.clients import COMMAND, request
from tests.mcp.conftest import Known

from session_memory.errors import ConfigError, Refused
from session_memory.mcp.http import Listen, loopback, read_token, refusal, token_file
from session_memory.mcp.tools import tools_of

Json = dict[str, Any]
TOKEN = "a-token-of-some-length"


class Daemon(NamedTuple):
    """A daemon that runs, and how to reach it."""

    process: subprocess.Popen[str]
    port: int

    def post(self, body: Json, **headers: str) -> tuple[int, Json]:
        """One request; status and answer."""
        given = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.send("POST", "/mcp", json.dumps(body), given)

    def send(self, method: str, path: str, body: str, headers: dict[str, str]) -> tuple[int, Json]:
        """Any request; status and answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            assert answer.getheader("access-control-allow-origin") is None
            raw = answer.read()
            return answer.status, json.loads(raw) if raw else {}
        finally:
            connection.close()


@pytest.fixture
def daemon(known: Known, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Daemon]:
    more: tuple[str, ...] = getattr(request, "param", ())
    (tmp_path / "token").write_text(TOKEN + "\n")
    options = [*more, "--http", "--port", "0", "--token-file", str(tmp_path / "token")]
    process = subprocess.Popen([*COMMAND, *options], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().endswith(f"callers need the token in {tmp_path / 'token'}\n")
    line = process.stderr.readline()
    yield Daemon(process, int(line.rpartition(":")[2].partition("/")[0]))
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stderr.close()


@pytest.mark.rows("RUN-09")
def test_only_addresses_of_this_machine_are_listened_on() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.com", ""):
        with pytest.raises(Refused):
            loopback(host)
    assert [loopback(host) for host in ("127.0.0.1", "::1", "localhost")] == [
        "127.0.0.1",
        "::1",
        "127.0.0.1",
    ]
    done = subprocess.run(
        [*COMMAND, "--http", "--host", "0.0.0.0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 8
    assert "not a loopback address" in done.stderr


@pytest.mark.rows("RUN-09")
def test_who_may_ask_and_what_health_says(daemon: Daemon, tmp_path: Path) -> None:
    call = request(1, "tools/call", name="mem_open_work", arguments={"project_key": "shop"})
    status, answer = daemon.post(call)
    assert status == 200
    assert answer["result"]["isError"] is False
    assert daemon.post(call, Authorization="Bearer wrong")[0] == 401
    assert daemon.post(call, Authorization="")[0] == 401
    assert daemon.post(call, Host="evil.example")[0] == 421
    assert daemon.post(call, Host=f"evil.example:{daemon.port}")[0] == 421
    assert daemon.post(call, Origin="https://evil.example")[0] == 403
    assert daemon.post(call, Origin=f"http://127.0.0.1:{daemon.port}")[0] == 403
    preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert daemon.send("OPTIONS", "/mcp", "", preflight)[0] == 403
    assert daemon.send("GET", "/health", "", {}) == (200, {"status": "ok"})
    assert daemon.send("GET", "/health", "", {"Host": "evil.example"})[0] == 421
    assert daemon.send("GET", "/elsewhere", "", {})[0] == 401
    refused = daemon.post(call, Authorization="Bearer wrong")[1]
    assert str(tmp_path) not in str(refused)


@pytest.mark.rows("RUN-09")
def test_calls_side_by_side_are_all_answered_right(daemon: Daemon, known: Known) -> None:
    def ask(number: int) -> tuple[int, list[int]]:
        session = (known.cart, known.mail)[number % 2]
        arguments = {"project_key": "shop", "session_id": session}
        status, answer = daemon.post(
            request(number, "tools/call", name="mem_open_work", arguments=arguments)
        )
        assert answer["id"] == number
        found = answer["result"]["structuredContent"]["pending_items"]
        return status, [item["session_id"] for item in found]

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(20)))
    assert answers == [(200, [(known.cart, known.mail)[number % 2]]) for number in range(20)]


def test_the_official_client_is_served_over_http(daemon: Daemon) -> None:
    async def converse() -> Json:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers) as web,
            Client(
                streamable_http_client(f"http://127.0.0.1:{daemon.port}/mcp", http_client=web)
            ) as client,
        ):
            tools = (await client.list_tools()).tools
            found = await client.call_tool("mem_open_work", {"project_key": "shop"})
            here = await client.call_tool("mem_open_work", {})
            return {"tools": len(tools), "found": found, "here": here}

    learned = anyio.run(converse)
    assert learned["tools"] == len(tools_of("standard"))
    assert len(learned["found"].structured_content["pending_items"]) == 2
    # A daemon works in no directory, so there is no project to assume.
    assert learned["here"].structured_content["error"] == "Project not found"


@pytest.mark.skipif(sys.platform == "win32", reason="a process is ended otherwise there")
def test_a_signal_ends_the_daemon_cleanly(daemon: Daemon) -> None:
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait() == 0
    assert daemon.process.stderr is not None
    assert "exit_reason=signal_sigterm" in daemon.process.stderr.read()


def test_a_port_that_is_taken_is_refused(daemon: Daemon, tmp_path: Path) -> None:
    options = ["--http", "--port", str(daemon.port), "--token-file", str(tmp_path / "token")]
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 8
    assert f"cannot listen on port {daemon.port}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_token_of_our_own_is_made_once_and_private(tmp_path: Path) -> None:
    own = token_file(tmp_path / "state")
    first = read_token(own, create=True)
    assert len(first) >= 32
    assert read_token(own, create=True) == first
    if os.name == "posix":
        assert own.stat().st_mode & 0o777 == 0o600
    (tmp_path / "short").write_text("short")
    (tmp_path / "odd").write_bytes(b"\xff" * 40)
    for name in ("missing", "short", "odd"):
        with pytest.raises(ConfigError):
            read_token(tmp_path / name, create=False)


def test_the_checks_look_at_host_origin_and_token_in_this_order() -> None:
    listen = Listen("127.0.0.1", 5, TOKEN)
    good = {b"host": b"localhost:5", b"authorization": f"Bearer {TOKEN}".encode()}
    assert refusal(good, listen) is None
    assert refusal({**good, b"origin": b"null"}, listen) == (403, "no pages are served")
    assert refusal({**good, b"host": b"localhost:6"}, listen) == (421, "wrong host")
    assert refusal({b"host": b"[::1]:5"}, listen) == (401, "token needed")
    assert refusal({**good, b"authorization": b"Bearer \xff"}, listen) == (401, "token needed")


@pytest.mark.rows("AGT-01")
@pytest.mark.parametrize("daemon", [("--profile", "agent", "--read-only")], indirect=True)
def test_the_profile_and_the_read_only_flag_hold_over_http_too(daemon: Daemon) -> None:
    status, answer = daemon.post(request(1, "tools/list"))
    listed = json.dumps(answer["result"]["tools"])
    assert status == 200 and "mem_fix" in listed
    assert "mem_note" not in listed and "outputSchema" not in listed
