"""Serves a hub until it is stopped; any number of instances may run at the same time."""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec
import uvicorn
from psycopg_pool import PoolTimeout

from session_memory.errors import ConfigError, Refused
from session_memory.hub import database, objects
from session_memory.hub.app import Hub, make_app
from session_memory.hub.check import check
from session_memory.hub.erase import finish
from session_memory.hub.forget import replay
from session_memory.hub.objects import Texts, open_objects

UPKEEP_SECONDS = 60.0
DRAIN_SECONDS = 20
SWITCH_SECONDS = 0.001


class Places(msgspec.Struct, frozen=True):
    """Where a hub keeps things."""

    database: str
    objects: str
    vault: str

    def texts(self) -> Texts:
        """Its object storage."""
        if self.objects.rstrip("/") == self.vault.rstrip("/"):
            raise ConfigError(
                "the vault must not be the object storage",
                hint="keys next to the texts they open would be copied and backed up with them",
            )
        return Texts(open_objects(self.objects), open_objects(self.vault))


class Listening(msgspec.Struct, frozen=True):
    """Where a hub listens."""

    host: str = "127.0.0.1"
    port: int = 8787
    certificate: str | None = None
    key: str | None = None
    behind_proxy: bool = False
    """A proxy in front of it handles TLS."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def serve(places: Places, listening: Listening, announce: Callable[[str], None]) -> None:
    """Serve; `announce` is given the address once requests are answered."""
    if not (listening.is_loopback or listening.certificate or listening.behind_proxy):
        raise Refused(
            f"{listening.host} can be reached from other machines, and tokens would be readable",
            hint="give --tls-cert and --tls-key, or --behind-proxy where a proxy speaks TLS",
        )
    texts = places.texts()
    wrong = [finding for finding in check(places.database, texts) if not finding.ok]
    if wrong:
        lines = "; ".join(finding.what for finding in wrong)
        raise Refused(f"this hub must not be served: {lines}", hint=wrong[0].hint)
    # A search asks the database a dozen times, and waits for its turn after each.
    sys.setswitchinterval(SWITCH_SECONDS)
    with database.open_pool(places.database) as pool:
        replay(pool, texts)
        hub = Hub(pool, texts)
        stop = threading.Event()
        upkeep = threading.Thread(target=_keep_up, args=(hub, stop), daemon=True)
        upkeep.start()
        try:
            _run(hub, listening, announce)
        finally:
            stop.set()
            upkeep.join(DRAIN_SECONDS)


def _run(hub: Hub, listening: Listening, announce: Callable[[str], None]) -> None:
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    listener = socket.create_server((listening.host, listening.port), family=family, backlog=256)
    # An answer is written in two parts; without this the second waits for the first's receipt.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    settings = uvicorn.Config(
        make_app(hub),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        ws="none",
        ssl_certfile=listening.certificate,
        ssl_keyfile=listening.key,
        proxy_headers=listening.behind_proxy,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    scheme = "https" if listening.certificate else "http"
    shown = f"[{listening.host}]" if ":" in listening.host else listening.host
    link = f"{scheme}://{shown}:{listener.getsockname()[1]}"
    with suppress(KeyboardInterrupt):
        _Announcing(settings, lambda: announce(link)).run(sockets=[listener])


class _Announcing(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def main_loop(self) -> None:
        """Serve."""
        self._ready()
        await super().main_loop()


def _keep_up(hub: Hub, stop: threading.Event) -> None:
    """Delete outside of the database what an instance that ended in between left to delete."""
    while not stop.wait(UPKEEP_SECONDS):
        with suppress(*database.TROUBLE, PoolTimeout, *objects.TROUBLE):
            finish(hub.pool, hub.texts)
