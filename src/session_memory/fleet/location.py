"""Where a fleet runs, as its user says it; what cannot be meant or is unsafe is refused first."""

from __future__ import annotations

import os
from urllib.parse import SplitResult, urlsplit

import msgspec

from session_memory.errors import Refused, UsageError

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Tls(msgspec.Struct, frozen=True):
    """The files that prove who takes part."""

    ca: str
    cert: str
    key: str


class Location(msgspec.Struct, frozen=True):
    """Where to run: nothing given means this machine."""

    scheduler: str | None = None
    workers: int | None = None
    """Processes of a local cluster; None: one for each core."""
    tls: Tls | None = None
    plain: bool = False
    """Whether a connection to another machine may go without encryption."""


def check_location(where: Location) -> None:
    """Raise where this cannot be what is meant, or is not safe."""
    if where.scheduler is None:
        if where.tls is not None:
            raise UsageError(
                "certificates are for a scheduler, and none is given",
                hint="give its address: --scheduler tls://HOST:PORT",
            )
        return
    if where.workers is not None:
        raise UsageError(
            "--workers is for a cluster of this machine, --scheduler for another one",
            hint="leave out one of the two",
        )
    host = split_address(where.scheduler).hostname
    if where.tls is None:
        if host not in _LOOPBACK and not where.plain:
            raise Refused(
                f"{where.scheduler} is another machine, and no certificates are given: sessions"
                " and programs would travel in the open",
                hint="give --tls-ca, --tls-cert and --tls-key; --plain goes on without",
            )
        return
    for name in (where.tls.ca, where.tls.cert, where.tls.key):
        if not os.path.isfile(name):
            raise UsageError(
                f"no such file: {name[:200]}", hint="docs/scale.md shows how certificates are made"
            )


def split_address(address: str) -> SplitResult:
    """The parts of a scheduler's address; without a scheme it is one of TCP."""
    try:
        parsed = urlsplit(address if "://" in address else f"tcp://{address}")
        if parsed.scheme in ("tcp", "tls") and parsed.hostname and parsed.port:
            return parsed
    except ValueError:  # a port that is no number, or a broken IPv6 address
        pass
    raise UsageError(
        f"no address of a scheduler: {address[:200]!r}",
        hint="give it as tls://HOST:PORT, or tcp://127.0.0.1:PORT for one of this machine",
    )
