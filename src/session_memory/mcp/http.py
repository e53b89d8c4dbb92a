"""The same tools over HTTP, for clients that cannot start a process: loopback only, with a token.

The official SDK speaks the protocol (extra `http`); who may ask is decided here. Web pages of any
origin can reach loopback addresses, so a token alone is not enough: the Host header must be ours,
and requests with an Origin header are refused.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import signal
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from session_memory import __version__
from session_memory.errors import ConfigError, Refused, extra_hint
from session_memory.mcp.jsonrpc import MAX_LINE, Request
from session_memory.mcp.runtime import Runtime
from session_memory.mcp.server import Server, ServerEnvironment, instructions
from session_memory.mcp.tools import listings, tools_of
from session_memory.paths import open_private, private_dir

_MIN_TOKEN_CHARS = 16

Json = dict[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Listen(msgspec.Struct, frozen=True):
    """Where to listen, and the token callers need."""

    host: str
    port: int
    token: str


def loopback(host: str) -> str:
    """The loopback address; refuses any other: memory must not be reachable from the network."""
    address = "127.0.0.1" if host == "localhost" else host
    try:
        if ipaddress.ip_address(address).is_loopback:
            return address
    except ValueError:
        pass
    raise Refused(f"{host} is not a loopback address", hint="use 127.0.0.1 or ::1")


def read_token(path: Path, *, create: bool) -> str:
    """The token in a file; `create` makes a missing file, readable by its owner only."""
    if create and not path.exists():
        private_dir(path.parent)
        with open_private(path, "x") as file:
            file.write(secrets.token_urlsafe(32))
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the token in {path}: {type(error).__name__}") from None
    if len(token) < _MIN_TOKEN_CHARS:
        raise ConfigError(f"the token in {path} has less than {_MIN_TOKEN_CHARS} characters")
    return token


def token_file(state: Path) -> Path:
    """Where the token we create is kept."""
    return state / "mcp-token"


def refusal(headers: dict[bytes, bytes], listen: Listen) -> tuple[int, str] | None:
    """Why a request is refused, by its headers; None if it is served."""
    # A page whose own name resolves to this machine sends another Host header.
    hosts = {f"127.0.0.1:{listen.port}", f"localhost:{listen.port}", f"[::1]:{listen.port}"}
    hosts.add(f"{listen.host}:{listen.port}")
    if headers.get(b"host", b"").decode("latin-1") not in hosts:
        return 421, "wrong host"
    if b"origin" in headers:
        return 403, "no pages are served"
    expected = f"Bearer {listen.token}".encode()
    if not secrets.compare_digest(headers.get(b"authorization", b""), expected):
        return 401, "token needed"
    return None


def guarded(app: App, listen: Listen) -> App:
    """An application behind the checks; `/health` needs no token and only says `ok`."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        refused = refusal(dict(scope["headers"]), listen)
        if scope["path"] == "/health" and (refused is None or refused[0] == 401):
            await _respond(send, 200, {"status": "ok"})
        elif refused is not None:
            await _respond(send, refused[0], {"error": refused[1]})
        else:
            await app(scope, receive, send)

    return serve


async def _respond(send: Send, status: int, body: Json) -> None:
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": msgspec.json.encode(body)})


def application(runtime: Runtime, log: Callable[[str], None]) -> App:
    """The tools as an SDK application; one call at a time, as the store has one connection."""
    import anyio
    import anyio.to_thread
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server as Protocol
    from mcp.server.transport_security import TransportSecuritySettings

    one_at_a_time = anyio.Lock()
    options = runtime.options
    offered = tools_of(options.profile, read_only=options.read_only)

    async def on_list(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": listings(options.profile, offered)})

    async def on_call(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        meta: Json = {"_meta": dict(context.meta or {})}
        call = partial(_call, Server(runtime, ServerEnvironment({}, os.sep), log), meta)
        async with one_at_a_time:
            result = await anyio.to_thread.run_sync(call, params.name, params.arguments or {})
        return types.CallToolResult.model_validate(result)

    protocol = Protocol[Any](
        "session-memory",
        version=__version__,
        instructions=instructions(offered),
        on_list_tools=on_list,
        on_call_tool=on_call,
    )
    return protocol.streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_LINE,
        # `guarded` is stricter, and knows the port.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def _call(server: Server, params: Json, name: str, arguments: Json) -> Json:
    request = Request(0, "tools/call", {**params, "name": name, "arguments": arguments})
    answer = server.handle(request)
    assert answer is not None  # a request always has one
    result: Json = answer["result"]
    return result


def serve_http(runtime: Runtime, listen: Listen, log: Callable[[str], None]) -> str:
    """Serve until a signal; returns the reason it ended. There is no idle timeout."""
    try:
        import uvicorn

        app = application(runtime, log)
    except ImportError:
        raise ConfigError("HTTP needs the official MCP SDK", hint=extra_hint("http")) from None
    quiet: Json = {"log_config": None, "access_log": False, "server_header": False}
    try:
        listener = uvicorn.Config(app, loopback(listen.host), listen.port, **quiet).bind_socket()
    except SystemExit:  # uvicorn's reaction to an address in use
        raise Refused(f"cannot listen on port {listen.port}", hint="try another --port") from None
    with listener:
        listener.listen()  # whoever reads the log line below may connect at once
        bound = Listen(listen.host, listener.getsockname()[1], listen.token)
        daemon = uvicorn.Server(uvicorn.Config(guarded(app, bound), **quiet))
        ended: list[str] = []

        def stop(number: int, _frame: object) -> None:
            # Called while uvicorn starts; later uvicorn handles signals and re-raises them at exit.
            ended.append(f"signal_{signal.Signals(number).name.lower()}")
            daemon.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        runtime.enter()
        log(f"listening on http://{_shown(bound.host)}:{bound.port}/mcp")
        try:
            daemon.run(sockets=[listener])
        finally:
            runtime.close()
    return ended[0] if ended else "stopped"


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
