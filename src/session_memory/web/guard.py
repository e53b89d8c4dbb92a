"""Refuses every request that the user's own browser did not make from a page of ours.

A page is on a port of this machine, so any site the user visits can send requests to it, and a name
of that site may be made to lead here. What such a request cannot have: our name in `Host`, our
origin, and the cookie.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

import msgspec
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from session_memory.web.access import COOKIE, Access

FORM_TOKEN = "form_token"
OPEN = "/open"
MAX_FORM_BYTES = 256 * 1024
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class ServerAddress(msgspec.Struct, frozen=True):
    """Where the page is served, as a browser names it."""

    port: int
    names: tuple[str, ...] = ("127.0.0.1", "localhost")

    @property
    def hosts(self) -> frozenset[str]:
        """Allowed values of `Host`; behind a port forward the port may differ."""
        return frozenset(name if ":" in name else f"{name}:{self.port}" for name in self.names)

    @property
    def origins(self) -> frozenset[str]:
        """Allowed values of `Origin`."""
        return frozenset(
            f"{scheme}://{host}" for host in self.hosts for scheme in ("http", "https")
        )


class Guard:
    """Checks every request before it reaches a page."""

    def __init__(
        self, app: ASGIApp, *, access: Access, address: ServerAddress, note_use: Callable[[], None]
    ) -> None:
        self._app = app
        self._access = access
        self._address = address
        self._note_use = note_use

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request here, and pass the others on."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        body = b""
        if scope["method"] == "POST":
            body = await _read(receive)
        refused = self._refusal(scope, headers, body)
        if refused is not None:
            await refused(scope, receive, _with_headers(send))
            return
        self._note_use()
        scope["form"] = _fields(body)
        await self._app(scope, _replay(body, receive), _with_headers(send))

    def _refusal(self, scope: Scope, headers: Headers, body: bytes) -> Response | None:
        host = headers.get("host", "").lower()
        if host not in self._address.hosts:
            return _refusal_text(
                421,
                f"This page is not served under the name {host!r}.\n"
                f"Behind a port forward start it with `--name {host or 'HOST:PORT'}`.\n",
            )
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _refusal_text(
                403, "Another site sent you here. Open the page from the address bar.\n"
            )
        origin = headers.get("origin")
        if origin is not None and origin not in self._address.origins:
            return _refusal_text(
                403,
                f"Requests from {origin} are refused.\n"
                f"If that is your own port forward, start the page with "
                f"`--name {origin.partition('://')[2] or 'HOST:PORT'}`.\n",
            )
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _refusal_text(405, "Only GET and POST are answered here.\n")
        if scope["path"] == OPEN and scope["method"] == "GET":
            return self._open(scope)
        if not self._access.has_cookie(_cookie(headers)):
            return _refusal_text(
                401,
                "Open the link that `session-memory web` printed.\n"
                "It works once; start the command again for a new one.\n",
            )
        if scope["method"] == "POST":
            if len(body) > MAX_FORM_BYTES:
                return _refusal_text(413, "That form is too large.\n")
            if not self._access.may_post(_fields(body).get(FORM_TOKEN, "")):
                return _refusal_text(403, "This form is of an earlier run. Load the page again.\n")
        return None

    def _open(self, scope: Scope) -> Response:
        key = parse_qs(scope["query_string"].decode("ascii", "replace")).get("key", [""])[0]
        cookie = self._access.exchange(key)
        if cookie is None:
            return _refusal_text(
                401,
                "This link was used, or is of an earlier run.\n"
                "Start `session-memory web` again for a new one.\n",
            )
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict")
        return answer


def _refusal_text(status: int, text: str) -> Response:
    return PlainTextResponse(text, status)


def _cookie(headers: Headers) -> str:
    try:
        jar = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return jar[COOKIE].value if COOKIE in jar else ""


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form; of one that is repeated, the last."""
    pairs = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in pairs.items()}


async def _read(receive: Receive) -> bytes:
    """The body up to the limit, and one byte more to detect a body that is too long."""
    body = b""
    while len(body) <= MAX_FORM_BYTES:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body


def _replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            raw = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *raw]}
        await send(message)

    return sending
