"""A real cluster, two workers behind a scheduler that speaks TLS, and the commands of users."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from tests.fleet.commands import WAIT_S, environment, run, sessions_of, start, until

from session_memory.fleet import engine
from session_memory.fleet.engine import connected
from session_memory.fleet.location import Location
from session_memory.testing.command import run_command

SUBJECT = ["-days", "2", "-nodes", "-newkey", "rsa:2048", "-subj"]


class Cluster(NamedTuple):
    """What a client needs to reach it, and the process ids of its workers' parents."""

    address: str
    tls: tuple[str, ...]
    folder: Path
    nannies: tuple[int, ...]


def make_certificates(folder: Path) -> dict[str, str]:
    """An authority of our own, and one certificate for all parts."""
    ca, key, cert = (str(folder / name) for name in ("ca.pem", "key.pem", "cert.pem"))
    ca_key, request = str(folder / "ca-key.pem"), str(folder / "request.pem")
    for words in (
        ["req", "-x509", *SUBJECT, "/CN=authority", "-keyout", ca_key, "-out", ca],
        ["req", *SUBJECT, "/CN=fleet", "-keyout", key, "-out", request],
        ["x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial",
         "-days", "2", "-out", cert],
    ):  # fmt: skip
        subprocess.run(["openssl", *words], check=True, capture_output=True)
    return {"ca": ca, "cert": cert, "key": key}


@pytest.fixture(scope="module")  # until the run ends it would keep a core busy, doing nothing
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not shutil.which("openssl"):
        pytest.skip("openssl, which makes the certificates, is not here")
    folder = tmp_path_factory.mktemp("cluster")
    files = make_certificates(folder)
    words = [f"--tls-{part}-file" if part == "ca" else f"--tls-{part}" for part in files]
    tls = [word for pair in zip(words, files.values(), strict=True) for word in pair]
    where = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> int:
        with open(folder / f"log{len(started)}", "wb") as log:
            process = subprocess.Popen(
                [*dask, *command, *tls],
                env=environment(folder),
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,
            )
        started.append(process)
        return process.pid

    try:
        start("scheduler", "--host", "tls://127.0.0.1:0", "--dashboard-address", "127.0.0.1:0",
              "--no-dashboard", "--no-show", "--scheduler-file", str(where))  # fmt: skip
        until(lambda: where.exists() and where.stat().st_size, "the scheduler")
        address = json.loads(where.read_text())["address"]
        nannies = tuple(
            start("worker", address, "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1",
                  "--local-directory", str(folder))
            for _ in range(2)
        )  # fmt: skip
        for at in (1, 2):
            until(lambda at=at: b"Registered to" in (folder / f"log{at}").read_bytes(), "a worker")
        options = tuple(word for part in files for word in (f"--tls-{part}", files[part]))
        yield Cluster(address, options, folder, nannies)
    finally:
        for process in started:  # Dask's own processes: asked to end, they take seconds for it
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    until(
        lambda: not sessions_of(*(process.pid for process in started)), "the end of all processes"
    )


@pytest.mark.rows("FLT-06", "FLT-01")
def test_the_commands_answer_over_tls_what_the_local_ones_answer(
    cluster: Cluster, home: Path
) -> None:
    at = ("--from", str(home / "parquet"), "--scheduler", cluster.address, *cluster.tls)
    before = run(home, "rules", "detect", "--all", "--json")
    patterns = run(home, "fleet", "detect", "--all", "--json", *at)
    assert len(json.loads(patterns)) > 3
    # What a pattern is worth falls once a day, perhaps between the two commands.
    assert patterns in (before, run(home, "rules", "detect", "--all", "--json"))
    assert json.loads(run(home, "fleet", "measure", "--json", *at))["effects"] == []
    done = json.loads(run(home, "fleet", "redistil", "--all", "--json", *at, "--to",
                          str(home / "again")))  # fmt: skip
    assert (done["distilled"], done["changed"]) == (6, 0)


@pytest.mark.rows("FLT-06")
def test_who_has_no_certificate_is_told_so(cluster: Cluster, home: Path) -> None:
    source = ("--from", str(home / "parquet"))
    words = ("fleet", "detect", *source, "--scheduler")
    plain = cluster.address.replace("tls://", "tcp://")
    assert "TLS" in run(home, *words, plain, code=1)
    output = run(home, *words, "tls://example.invalid:8786", code=8)
    assert "in the open" in output and "--tls-ca" in output
    assert "belong together" in run(home, *words, plain, *cluster.tls[:2], code=2)


@pytest.mark.rows("FLT-06")
def test_a_scheduler_that_is_not_there_is_an_error_with_a_hint(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "CONNECT_S", 0.2)  # it would be asked again for ten seconds
    words = ("fleet", "detect", "--from", str(home / "parquet"), "--scheduler")
    done = run_command(*words, "tcp://127.0.0.1:9", environ=environment(home))
    assert done.returncode == 1
    assert "cannot reach the scheduler" in done.stderr and "is it running" in done.stderr


@pytest.mark.rows("FLT-07")
def test_a_worker_that_is_killed_changes_nothing(cluster: Cluster, home: Path) -> None:
    expected = run(home, "rules", "detect", "--all", "--json")
    at = ("--from", str(home / "parquet"), "--scheduler", cluster.address, *cluster.tls)
    process = start(home, "-vv", "fleet", "detect", "--all", "--json", *at)
    signals = home / "parquet" / "signals"
    shutil.rmtree(signals)
    until(lambda: signals.exists() or process.poll() is not None, "the first signals")
    victims = [pid for pid in sessions_of(cluster.nannies[0]) if pid != cluster.nannies[0]]
    os.kill(max(victims), signal.SIGKILL)
    out, err = process.communicate(timeout=WAIT_S * 2)
    assert process.returncode == 0, err
    assert out in (expected, run(home, "rules", "detect", "--all", "--json"))  # see above


@pytest.mark.rows("FLT-07")
def test_without_a_scheduler_the_cores_of_this_machine_do_it_and_leave_no_process(
    home: Path,
) -> None:
    before = run(home, "rules", "detect", "--json")
    patterns = run(home, "fleet", "detect", "--json", "--workers", "1")
    assert patterns in (before, run(home, "rules", "detect", "--json"))  # see above


@pytest.mark.rows("FLT-07")
def test_a_cluster_of_this_machine_serves_no_page() -> None:
    ours = psutil.Process()
    others, before = ours.children(), listening(ours)
    with connected(Location(workers=1), lambda *_: None):
        new = [one for one in ours.children() if one not in others]
        talking = [at for one in (ours, *new) for at in listening(one) if at not in before]
    assert {host for host, _ in talking} == {"127.0.0.1"}
    assert len(talking) == 3  # the scheduler, a worker, and what starts that again


def listening(process: psutil.Process) -> list[tuple[str, int]]:
    """Where a process waits for others."""
    open_now = process.net_connections("tcp")
    return [tuple(one.laddr) for one in open_now if one.status == psutil.CONN_LISTEN]
