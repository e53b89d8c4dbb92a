"""A private PostgreSQL for tests and demos: in a temporary directory, on loopback.

PostgreSQL refuses to run as root, so it is started as another user where we are root. It ends with
the process that started it, however that ends.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SETTINGS = {
    # Tests kill the server, not the machine: what the system holds is not lost with it.
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "120",
    "shared_buffers": "64MB",
    "listen_addresses": "127.0.0.1",
    "deadlock_timeout": "200ms",
}
START_SECONDS = 60
PORTS = range(20_000, 32_000)
"""Below those that Linux (from 32768), macOS and Windows (from 49152) give to connections."""


def postgres_binaries() -> Path | None:
    """The folder with `initdb` and `postgres` of the newest version; None where there is none."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=_version)
    if installed:
        return installed[-1].parent
    path = shutil.which("postgres")
    return Path(path).parent if path else None


def _version(path: Path) -> float:
    try:
        return float(path.parts[-3])
    except ValueError:
        return 0.0


def free_port() -> int:
    """A free port of the loopback, and none that a connection is given by the system.

    A server that was killed would find one of those taken when it is started again.
    """
    while True:
        port = PORTS.start + secrets.randbelow(len(PORTS))  # `random` is seeded alike in tests
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def end_with_parent() -> None:
    """For a child: the system ends it when the process that started it ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def unprivileged_user() -> str | None:
    """The user to run a server as where we are root; None where we are not."""
    if os.name == "nt" or os.geteuid() != 0:
        return None
    import pwd

    users = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in users else "nobody"


class PostgresServer:
    """A running server. `url(database)` is how its superuser reaches it.

    Databases in a given directory are kept for the next server.
    """

    def __init__(
        self,
        binaries: Path | None = None,
        *,
        directory: Path | None = None,
        settings: dict[str, str] | None = None,
    ) -> None:
        folder = binaries or postgres_binaries()
        if folder is None:
            raise FileNotFoundError("PostgreSQL is not installed: no postgres program was found")
        self.binaries = folder
        self.user = unprivileged_user()
        self.port = free_port()
        self.directory = directory or Path(tempfile.mkdtemp(prefix="sm-postgres-"))
        self._keeps_directory = directory is not None
        self._settings = {**SETTINGS, **(settings or {})}
        if self.user:
            shutil.chown(self.directory, self.user)
        self._process: subprocess.Popen[bytes] | None = None
        if not self.data.exists():
            self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust",
                      "-E", "UTF8", "--locale=C", "--no-sync",
                      "--wal-segsize=1")  # fmt: skip  # megabyte: each is written whole at first
        self.start()

    @property
    def data(self) -> Path:
        """The folder with the databases."""
        return self.directory / "data"

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        """Where a database is, for a user who needs no password here."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        deadline = time.monotonic() + START_SECONDS
        self._launch()
        while not self._answers():
            if time.monotonic() > deadline:
                raise RuntimeError((self.directory / "log").read_text(errors="replace")[-2000:])
            if self._process is None or self._process.poll() is not None:
                self._launch()  # processes of a server that was killed have not all ended yet
            time.sleep(0.01)

    @property
    def pid(self) -> int:
        """Its first process, the parent of all others."""
        assert self._process is not None
        return self._process.pid

    def _launch(self) -> None:
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        log = (self.directory / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [self.binaries / "postgres", "-D", self.data, f"-p{self.port}",
                 f"-k{self.directory}", *options],
                stdout=log, stderr=log, user=self.user, cwd=self.directory,
                env=_plain_environment(), preexec_fn=end_with_parent,  # noqa: PLW1509  # one call
            )  # fmt: skip

    def _answers(self) -> bool:
        ready = subprocess.run(
            [self.binaries / "pg_isready", "-q", "-h127.0.0.1", f"-p{self.port}"],
            check=False, env=_plain_environment(),
        )  # fmt: skip
        return ready.returncode == 0

    def kill(self) -> None:
        """End it as a power cut would: every process of it at once."""
        assert self._process is not None
        # Without their parent the others end by themselves; -9 leaves it no time to tidy up.
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """Stop it and remove its directory, unless that was given."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # ends connections, then itself
            try:
                self._process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None
        if not self._keeps_directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.binaries / program, *arguments],
            user=self.user, cwd=self.directory, env=_plain_environment(),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr[-2000:]}")


def _plain_environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
