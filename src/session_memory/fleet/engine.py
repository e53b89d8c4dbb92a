"""Where the work runs: a cluster of this machine's cores, or a Dask scheduler somewhere else."""

# Dask has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import gc
import logging
import os
import pickle
import platform
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from dask import config as dask_config
from distributed import Client, Future, Nanny, Scheduler, SpecCluster, Worker, as_completed
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker
from distributed.security import Security

from session_memory import __version__
from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.loop.patterns import MINER_VERSION
from session_memory.errors import ConfigError, SessionMemoryError
from session_memory.fleet.location import Location, check_location, split_address
from session_memory.fleet.port import Progress, deal_out

T = TypeVar("T")
CONNECT_S = 10
LOOK_S = 60
"""How often to see whether there are workers at all, while nothing comes back."""
WITHOUT_WORKERS_S = 300
"""How long a cluster may be without workers before that is an error."""
_CONFIG: dict[str, object] = {
    # Otherwise each part of a cluster wakes up many times a second for unused figures.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1 minute",
    "distributed.admin.tick.cycle": "1 minute",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "1 minute",
    "distributed.admin.system-monitor.disk": False,
    "distributed.client.scheduler-info-interval": "1 minute",
    "distributed.scheduler.active-memory-manager.start": False,  # no result is kept twice
    # Killed workers not back within 15 seconds would never be: a busy machine takes longer.
    "distributed.deploy.lost-worker-timeout": "1 hour",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Giving back 64 KB at a time, as Dask would have it, is a system call for every few digests.
    "distributed.nanny.pre-spawn-environ": {"MALLOC_TRIM_THRESHOLD_": 32 << 20},
}


class _Silent:
    """A part of a cluster that serves no web page: the status of one would listen on a port."""

    def start_http_server(self, *_: object, **__: object) -> None:
        """Nothing listens."""


class _Scheduler(_Silent, Scheduler):
    pass


class _Worker(_Silent, Worker):
    pass


class DaskEngine:
    """A connected cluster; see port.Engine."""

    def __init__(self, client: Client, progress: Progress) -> None:
        self._client, self._progress = client, progress
        self.shuffled = 0
        """Bytes that workers sent to each other and to us as results."""

    def map(
        self, what: str, task: Callable[..., T], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[T]:
        """Call a function with each of these arguments, on any worker; results as they come."""
        futures = [
            self._client.submit(_packed, task, *arguments, pure=False, retries=2)
            for arguments in calls
        ]
        try:
            self._progress(0, len(calls), what)
            for done, future in enumerate(self._completed(what, futures), 1):
                packed: bytes = future.result()
                self.shuffled += len(packed)
                future.release()
                self._progress(done, len(calls), what)
                yield pickle.loads(packed)
        except KilledWorker as error:
            raise SessionMemoryError(
                f"{what}: workers were killed again and again at the same part ({error.task})",
                hint="is their memory enough? a worker needs about 500 MB",
            ) from None
        except FutureCancelledError as error:
            raise _scheduler_gone(what, error) from None
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"a worker lacks packages ({error.name})",
                hint="install session-memory[fleet] on every machine of the cluster",
            ) from None
        finally:
            for future in futures:
                future.release()

    def _completed(self, what: str, futures: Sequence[Future[bytes]]) -> Iterator[Future[bytes]]:
        """Futures as they end; raises an error if there are no workers left."""
        waiting, last_seen = set(futures), time.monotonic()
        while waiting:
            try:
                for future in as_completed(tuple(waiting), timeout=LOOK_S):
                    waiting.discard(future)
                    yield future
            except TimeoutError:
                if self._has_workers(what):
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen >= WITHOUT_WORKERS_S:
                    raise SessionMemoryError(
                        f"{what}: the cluster has had no workers for {WITHOUT_WORKERS_S // 60}"
                        " minutes",
                        hint="see why they end; what was mined is kept, so run it again",
                    ) from None

    def _has_workers(self, what: str) -> bool:
        try:
            return _workers(self._client) > 0
        except OSError as error:
            raise _scheduler_gone(what, error) from None

    def shares(self, parts: Sequence[str]) -> list[list[str]]:
        """The parts dealt out: a few shares for each worker, in order."""
        return deal_out(parts, _workers(self._client))


def _scheduler_gone(what: str, error: BaseException) -> SessionMemoryError:
    return SessionMemoryError(
        f"{what}: the scheduler is gone ({str(error).splitlines()[0]})",
        hint="start it again; what was mined is kept, so run it again",
    )


def _packed(task: Callable[..., object], *arguments: object) -> bytes:
    """The result as bytes: what travels is counted."""
    gc.set_threshold(200_000, 50, 100)  # as the local commands do, for the same reason
    return pickle.dumps(task(*arguments), protocol=5)


@contextmanager
def connected(where: Location, progress: Progress) -> Generator[DaskEngine]:
    """A cluster that can be used; one of our own ends with this block."""
    check_location(where)
    with dask_config.set(_CONFIG):
        if where.scheduler is None:
            with (
                _local_cluster(where.workers or os.cpu_count() or 1) as cluster,
                Client(cluster) as client,
            ):
                yield DaskEngine(client, progress)
            return
        with _client(where) as client:
            _check_versions(client)
            yield DaskEngine(client, progress)


def _local_cluster(workers: int) -> SpecCluster:
    """Processes of this machine, on the loopback address; one that is killed is started again."""
    scheduler = {"cls": _Scheduler, "options": {"host": "127.0.0.1", "dashboard": False}}
    worker = {
        "cls": Nanny,
        "options": {
            "host": "127.0.0.1",
            "nthreads": 1,
            "memory_limit": 0,  # parts are small; watching a limit wakes up ten times a second
            "worker_class": _Worker,
            "silence_logs": logging.CRITICAL,
        },
    }
    return SpecCluster(
        workers=dict.fromkeys(range(workers), worker),
        scheduler=scheduler,
        silence_logs=cast("bool", logging.CRITICAL),
    )


def _client(where: Location) -> Client:
    address, security = str(where.scheduler), None
    if where.tls is not None:
        security = Security(
            require_encryption=True,
            tls_ca_file=where.tls.ca,
            tls_client_cert=where.tls.cert,
            tls_client_key=where.tls.key,
        )
        address = split_address(address)._replace(scheme="tls").geturl()
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
