"""Serves the page until Ctrl-C, or until it was idle for a while."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn

from session_memory.web.access import Access
from session_memory.web.app import make_app
from session_memory.web.context import WebContext
from session_memory.web.guard import OPEN, ServerAddress


def serve(
    context: WebContext,
    *,
    port: int,
    names: tuple[str, ...],
    idle_seconds: float,
    announce: Callable[[str], None],
) -> None:
    """Serve on loopback; `announce` is given the link once requests are answered."""
    listener = socket.create_server(("127.0.0.1", port))
    # An answer is written in two parts; without this the second waits for the first's receipt.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    address = ServerAddress(listener.getsockname()[1])
    address = ServerAddress(address.port, (*address.names, *names))
    access, use = Access(), Use()
    app = make_app(context, access, address, use.note)
    settings = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        date_header=False,
        server_header=False,
        ws="none",
    )
    link = f"http://127.0.0.1:{address.port}{OPEN}?key={access.key}"
    with suppress(KeyboardInterrupt):  # how the page is meant to end
        IdleServer(settings, use, idle_seconds, lambda: announce(link)).run(sockets=[listener])


class Use:
    """When the page was last used."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at = clock()

    def note(self) -> None:
        """Record that the page is in use."""
        self._at = self._clock()

    def remaining(self, idle_seconds: float) -> float:
        """How long until the page counts as unused."""
        return idle_seconds - (self._clock() - self._at)


class IdleServer(uvicorn.Server):
    """Sleeps between requests: uvicorn's own loop wakes up ten times a second."""

    def __init__(
        self, config: uvicorn.Config, use: Use, idle_seconds: float, ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._use = use
        self._idle_seconds = idle_seconds
        self._ready = ready
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Wait for the end: a signal, or no use for a while."""
        self._stop, self._loop = asyncio.Event(), asyncio.get_running_loop()
        self._ready()
        while not self.should_exit:
            remaining = self._use.remaining(self._idle_seconds)
            if remaining <= 0:
                return
            try:
                await asyncio.wait_for(self._stop.wait(), remaining)
            except TimeoutError:
                continue

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl-C or a polite kill."""
        super().handle_exit(sig, frame)
        if self._stop is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
