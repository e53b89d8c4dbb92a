"""Clients of the server: one that talks to a real process, one that asks the same objects here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from session_memory.mcp.jsonrpc import Request
from session_memory.mcp.runtime import Options, Runtime
from session_memory.mcp.server import Server, ServerEnvironment
from session_memory.mcp.tools import TOOLS, Tool
from session_memory.paths import find_paths

Json = dict[str, Any]
COMMAND = [sys.executable, "-m", "session_memory", "mcp"]


def request(number: int | str, method: str, **params: Any) -> Json:
    """A request as a client writes it."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def hello(name: str = "codex-mcp-client", version: str = "2025-06-18") -> Json:
    """The first request of a client."""
    info = {"name": name, "version": "1"}
    return request(0, "initialize", protocolVersion=version, capabilities={}, clientInfo=info)


class Talk:
    """A conversation with a real server process over its pipes."""

    def __init__(
        self,
        *options: str,
        command: Sequence[str] = COMMAND,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            [*command, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
        )
        self.heard: list[bytes] = []
        self._number = 0

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self.process.wait()

    def send(self, *lines: Json | bytes) -> None:
        """Write lines, whatever they are."""
        assert self.process.stdin is not None
        for line in lines:
            raw = line if isinstance(line, bytes) else json.dumps(line).encode()
            self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Json:
        """The next line of the server."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the server ended: {self.process.poll()}"
        self.heard.append(line)
        message: Json = json.loads(line)
        return message

    def ask(self, method: str, **params: Any) -> Json:
        """One request and its answer."""
        self._number += 1
        self.send(request(self._number, method, **params))
        answer = self.hear()
        assert answer["id"] == self._number
        return answer

    def call(self, tool: str, **arguments: Any) -> Json:
        """The result of a tool."""
        result: Json = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result

    def greet(self, name: str = "codex-mcp-client", version: str = "2025-06-18") -> Json:
        """Handshake."""
        self.send(hello(name, version))
        answer = self.hear()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def end(self) -> tuple[int, str]:
        """Close the input and wait; exit code and log."""
        out, log = self.process.communicate()
        self.heard += out.splitlines(keepends=True)
        return self.process.returncode, log.decode()


class LocalServer:
    """The server of this process, for questions that need no pipe."""

    def __init__(
        self,
        options: Options | None = None,
        *,
        clock: Callable[[], int] = lambda: 0,
        tools: Sequence[Tool] = TOOLS,
        client: str = "codex-mcp-client",
        cwd: str = "/nowhere",
    ) -> None:
        self.runtime = Runtime(options or Options(), lambda: find_paths(os.environ), clock)
        self.log: list[str] = []
        self.protocol = Server(self.runtime, ServerEnvironment({}, cwd), self.log.append, tools)
        self.ask("initialize", clientInfo={"name": client}, protocolVersion="2025-06-18")

    def ask(self, method: str, **params: Any) -> Json:
        """One request and its answer."""
        answer = self.protocol.handle(Request(7, method, params))
        assert answer is not None
        return answer

    def call(self, tool: str, **arguments: Any) -> Json:
        """The result of a tool."""
        result: Json = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result

    def close(self) -> None:
        """Let go of the store."""
        self.runtime.close()


def text_of(result: Json) -> str:
    """The text of a result."""
    (part,) = result["content"]
    assert part["type"] == "text"
    text: str = part["text"]
    return text
