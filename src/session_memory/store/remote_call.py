"""Requests to a team's hub: the standard library alone, one connection for many of them.

Nothing but loopback is spoken to without TLS, redirects are not followed (a token must not travel
on), and an answer longer than the largest page is not read to its end.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import ipaddress
import ssl
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from session_memory.core.sharing.wire import WIRE_HEADER, WIRE_VERSION, Failure
from session_memory.errors import HubRefused, HubUnavailable, Refused, UsageError

TIMEOUT_SECONDS = 60
PATIENCE = 5
"""How often a request is repeated after the hub asked to slow down."""
LONGEST_WAIT = 30
ANSWER_BYTES = 64 * 1024 * 1024
PACKED_FROM = 1_000
"""Bytes from which packing a body is worth it."""
_TRANSIENT = frozenset({429, 500, 502, 503, 504})

Answer = TypeVar("Answer")
_Connection = http.client.HTTPConnection


def check_url(url: str) -> str:
    """The address of a hub without a slash at its end; refused where others could listen in."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"not the address of a hub: {url!r}",
            hint="it looks like https://memory.example.org",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError("the address of a hub has no name, password or query in it")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise Refused(
            f"{url} has no TLS: anybody on the way could read what is shared",
            hint="use https://; http:// is for a hub on this machine alone",
        )
    return url.strip().rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether a name means this machine whatever a name server says."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class HubClient:
    """One device's way to its hub."""

    def __init__(self, url: str, token: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        self._url = check_url(url)
        self._token = token
        self._open: _Connection | None = None
        self.sent_bytes = 0
        self.received_bytes = 0

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def get(self, path: str, answer: type[Answer], **query: str | int | None) -> Answer:
        """Ask for something."""
        given = {name: value for name, value in query.items() if value is not None}
        return self._call("GET", f"{path}?{urlencode(given)}" if given else path, None, answer)

    def post(self, path: str, body: msgspec.Struct | None, answer: type[Answer]) -> Answer:
        """Send something."""
        encoded = msgspec.json.encode(body) if body is not None else b"{}"
        return self._call("POST", path, encoded, answer)

    def _call(self, method: str, path: str, body: bytes | None, answer: type[Answer]) -> Answer:
        headers = {
            "Authorization": f"Bearer {self._token}",
            WIRE_HEADER: str(WIRE_VERSION),
            "Accept": "application/json",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
            if len(body) >= PACKED_FROM:
                body = gzip.compress(body, 6, mtime=0)
                headers["Content-Encoding"] = "gzip"
        status, wait, data = self._exchange(method, path, body, headers)
        for _ in range(PATIENCE):
            if status != 429:
                break
            self._sleep(min(int(wait) if wait.isdecimal() else 1, LONGEST_WAIT))
            status, wait, data = self._exchange(method, path, body, headers)
        if status // 100 != 2:
            raise _failure(status, data)
        try:
            return msgspec.json.decode(data, type=answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise HubUnavailable(
                f"the hub's answer cannot be understood: {error}",
                hint="check the address; a hub older than this program may have to be upgraded",
            ) from None

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, str, bytes]:
        # A connection that was kept may have been closed by the other side: asked once more, on a
        # new one. Every request may be repeated.
        for attempt in (0, 1):
            fresh = self._open is None
            self.sent_bytes += len(path) + sum(len(k) + len(v) for k, v in headers.items())
            self.sent_bytes += len(body or b"")
            try:
                connection = self._connection()
                connection.request(method, f"{self._base}{path}", body, headers)
                answer = connection.getresponse()
                data = answer.read(ANSWER_BYTES + 1)
                if len(data) > ANSWER_BYTES:
                    self.close()
                    raise HubUnavailable("the hub's answer is too long")
                self.received_bytes += len(data) + len(str(answer.headers))
                return answer.status, answer.headers.get("Retry-After", ""), data
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if fresh or attempt:
                    raise _unreachable(self._url, error) from None
        raise AssertionError  # the second attempt returned or raised

    @property
    def _base(self) -> str:
        return urlsplit(self._url).path.rstrip("/")

    def _connection(self) -> _Connection:
        if self._open is None:
            parts = urlsplit(self._url)
            host = parts.hostname or ""
            if parts.scheme == "https":
                context = ssl.create_default_context()
                self._open = http.client.HTTPSConnection(
                    host, parts.port, timeout=TIMEOUT_SECONDS, context=context
                )
            else:
                self._open = _Connection(host, parts.port, timeout=TIMEOUT_SECONDS)
        return self._open


def _failure(status: int, data: bytes) -> HubUnavailable:
    code, message, hint = "", f"the hub answered {status}", ""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        detail = msgspec.json.decode(data, type=Failure).error
        code, message, hint = detail.code, detail.message, detail.hint
    kind = HubUnavailable if status in _TRANSIENT else HubRefused
    if status == 401 and not hint:
        hint = "ask who runs the hub for a new invite, then `session-memory team join URL TOKEN`"
    error = kind(message, hint=hint or None)
    error.reason = code
    return error


def _unreachable(url: str, error: Exception) -> HubUnavailable:
    reason: Any = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        return HubUnavailable(
            f"the certificate of {url} is not trusted: {error.verify_message}",
            hint="check the address; a company's own authority goes into SSL_CERT_FILE",
        )
    return HubUnavailable(f"cannot reach the hub {url}: {reason}")
