"""Where the work runs: a cluster of this machine's cores, or a Dask scheduler somewhere else."""

# Dask has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import os
import pickle
import platform
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import msgspec
from dask import config as dask_config
from distributed import Client, LocalCluster, as_completed
from distributed.scheduler import KilledWorker
from distributed.security import Security

from session_memory import __version__
from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.loop.patterns import MINER_VERSION
from session_memory.errors import ConfigError, Refused, SessionMemoryError, UsageError
from session_memory.fleet.port import Progress, deal_out

T = TypeVar("T")
CONNECT_S = 10
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_CONFIG = {
    "distributed.worker.profile.enabled": False,  # a fifth of the CPU, for figures nobody looks at
    "distributed.admin.tick.limit": "1h",
    "distributed.worker.memory.terminate": False,
}


class Tls(msgspec.Struct, frozen=True):
    """The files that prove who takes part."""

    ca: str
    cert: str
    key: str


class Where(msgspec.Struct, frozen=True):
    """Where to run: nothing given means this machine."""

    scheduler: str | None = None
    workers: int | None = None
    """Processes of a local cluster; None: one for each core."""
    tls: Tls | None = None
    plain: bool = False
    """Whether a connection to another machine may go without encryption."""


class DaskEngine:
    """A connected cluster; see port.Engine."""

    def __init__(self, client: Client, progress: Progress) -> None:
        self._client, self._progress = client, progress
        self.shuffled = 0
        """Bytes that workers sent to each other and to us as results."""

    def map(self, what: str, task: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
        """Call a function with each of these arguments, on any worker; results in that order."""
        futures = [
            self._client.submit(_packed, task, *arguments, pure=False, retries=2)
            for arguments in calls
        ]
        places = {future.key: at for at, future in enumerate(futures)}
        results: dict[int, T] = {}
        try:
            self._progress(0, len(calls), what)
            for future in as_completed(futures):
                packed: bytes = future.result()
                self.shuffled += len(packed)
                results[places[future.key]] = pickle.loads(packed)
                future.release()
                self._progress(len(results), len(calls), what)
        except KilledWorker as error:
            raise SessionMemoryError(
                f"{what}: workers were killed again and again at the same part ({error.task})",
                hint="is their memory enough? a worker needs about 500 MB",
            ) from None
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"a worker lacks packages ({error.name})",
                hint="install session-memory[fleet] on every machine of the cluster",
            ) from None
        finally:
            for future in futures:
                future.release()
        return [results[at] for at in range(len(calls))]

    def shares(self, parts: Sequence[str]) -> list[list[str]]:
        """The parts dealt out: a few shares for each worker, in order."""
        return deal_out(parts, _workers(self._client))


def _packed(task: Callable[..., object], *arguments: object) -> bytes:
    """The result as bytes: what travels is counted."""
    return pickle.dumps(task(*arguments), protocol=5)


@contextmanager
def connected(where: Where, progress: Progress) -> Generator[DaskEngine]:
    """A cluster that can be used; one of our own ends with this block."""
    if where.workers is not None and where.scheduler is not None:
        raise UsageError("--workers is for a cluster of this machine; leave out --scheduler")
    with dask_config.set(_CONFIG):
        if where.scheduler is None:
            with (
                LocalCluster(
                    n_workers=where.workers or os.cpu_count() or 1,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address=cast("str", None),  # none at all
                    silence_logs=50,
                ) as cluster,
                Client(cluster) as client,
            ):
                yield DaskEngine(client, progress)
            return
        with _client(where) as client:
            _check_versions(client)
            yield DaskEngine(client, progress)


def _client(where: Where) -> Client:
    address = str(where.scheduler)
    parsed = urlsplit(address if "://" in address else f"tcp://{address}")
    if where.tls is None and parsed.hostname not in _LOOPBACK and not where.plain:
        raise Refused(
            f"{address} is another machine, and no certificates are given: sessions and programs"
            " would travel in the open",
            hint="give --tls-ca, --tls-cert and --tls-key; --plain goes on without",
        )
    security = None
    if where.tls is not None:
        for name in (where.tls.ca, where.tls.cert, where.tls.key):
            if not os.path.isfile(name):
                raise UsageError(f"no such file: {name}")
        security = Security(
            require_encryption=True,
            tls_ca_file=where.tls.ca,
            tls_client_cert=where.tls.cert,
            tls_client_key=where.tls.key,
        )
        address = parsed._replace(scheme="tls").geturl()
    try:
        client = Client(address, security=security, timeout=CONNECT_S)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).strip().splitlines()
        raise SessionMemoryError(
            f"cannot reach the scheduler at {address}: {reason[-1] if reason else type(error)}",
            hint="is it running, is the address right, and do both sides use TLS or neither?",
        ) from None
    if not _workers(client):
        client.close()
        raise SessionMemoryError(
            f"the scheduler at {address} has no workers",
            hint="start some: `dask worker ADDRESS --nthreads 1`",
        )
    return client


def _workers(client: Client) -> int:
    return len(cast("dict[str, int]", client.nthreads()))


def versions() -> dict[str, str]:
    """What must be the same everywhere: another program, or another Python, answers otherwise."""
    return {
        "session-memory": __version__,
        "digests": str(DIGEST_VERSION),
        "signals": str(MINER_VERSION),
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }


def _check_versions(client: Client) -> None:
    ours = versions()
    try:
        theirs = cast("dict[str, dict[str, str]]", client.run(versions))
    except Exception as error:  # noqa: BLE001 - whatever a stranger's worker raises
        raise ConfigError(
            f"the workers cannot run this program: {error}",
            hint="install the same session-memory[fleet] on every machine of the cluster",
        ) from None
    for address, version in theirs.items():
        apart = [f"{name} {version.get(name)}, here {ours[name]}" for name in ours
                 if version.get(name) != ours[name]]  # fmt: skip
        if apart:
            raise ConfigError(
                f"the worker at {address} has another version: {'; '.join(apart)}",
                hint="install the same session-memory[fleet] on every machine of the cluster",
            )
