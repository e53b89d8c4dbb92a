"""Clients of a hub that cost next to nothing themselves: prepared bytes over plain sockets.

All of them run in one process, since they share the machine with the hub they measure.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec

from session_memory.core.sharing import wire


class Answer(msgspec.Struct, frozen=True):
    """What came back."""

    status: int
    wait: int
    """Seconds after which to come again, where it was told to wait."""
    body: bytes


def prepared(path: str, token: str, body: bytes, *, packed: bool = False) -> bytes:
    """A request as it goes over the wire."""
    encoding = "Content-Encoding: gzip\r\n" if packed else ""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {len(body)}\r\n{encoding}\r\n"
    )
    return head.encode() + body


class Line:
    """One client's connection, opened again where the hub closed it."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname, parts.port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> Answer:
        """Send one request and read its answer."""
        for is_last in (False, True):
            try:
                return await self._ask(request)
            except (OSError, asyncio.IncompleteReadError):
                self._streams = None
                if is_last:
                    raise
        raise AssertionError

    async def _ask(self, request: bytes) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        writer.write(request)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        body = await reader.readexactly(int(fields["content-length"]))
        return Answer(int(head.split(" ", 2)[1]), int(fields.get("retry-after", "1")), body)

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()


async def push_all(address: str, requests: Sequence[bytes], until: float) -> list[int]:
    """Send prepared pushes one after the other; those told to wait are sent again.

    Returns how many items each took; ends early when the time is over.
    """
    line, taken = Line(address), list[int]()
    for request in requests:
        while (now := time.monotonic()) < until:
            answer = await line.ask(request)
            if answer.status == 200:
                taken.append(msgspec.json.decode(answer.body, type=wire.Pushed).taken)
                break
            assert answer.status == 429, answer
            await asyncio.sleep(min(answer.wait, max(0.0, until - now)))
    line.close()
    return taken


async def search_until(address: str, ask: Callable[[], bytes], done: asyncio.Event) -> list[float]:
    """Search one after the other without a pause; how long each took, in milliseconds."""
    line, took = Line(address), list[float]()
    while not done.is_set():
        start = time.perf_counter()
        answer = await line.ask(ask())
        if answer.status == 200:
            took.append(1000 * (time.perf_counter() - start))
        else:
            assert answer.status == 429, answer
            await asyncio.sleep(answer.wait)
    line.close()
    return took


async def search_times(address: str, requests: Sequence[bytes]) -> list[float]:
    """How long each of these searches takes, one after the other."""
    line, took = Line(address), list[float]()
    for request in requests:
        start = time.perf_counter()
        answer = await line.ask(request)
        assert answer.status == 200, answer
        took.append(1000 * (time.perf_counter() - start))
    line.close()
    return took
