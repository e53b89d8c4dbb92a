"""The worker is started where none runs, apart from the agent, and never waited for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hooks.hook_process import Ran, command, environment, run_hook, spooled, state

from session_memory.hooks import entry
from session_memory.store.lock import exclusive

pytestmark = pytest.mark.skipif(os.name == "nt", reason="uses named pipes")
PAYLOAD = {"session_id": "s1", "cwd": "/h/p"}
# A worker that says who it is through a pipe, so that the test can wait for it without sleeping.
WORKER = """
import json, os, sys
kept = []
for descriptor in range(3, 64):
    try:
        os.fstat(descriptor)
        kept.append(descriptor)
    except OSError:
        pass
devices = [os.fstat(n).st_rdev == os.stat(os.devnull).st_rdev for n in (0, 1, 2)]
told = {"devices": devices, "kept": kept, "leader": os.getsid(0) == os.getpid(),
        "cwd": os.getcwd(), "arguments": sys.argv[2:], "records": len(os.listdir("spool"))}
with open(sys.argv[1], "w") as pipe:
    json.dump(told, pipe)
"""


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Path]:
    """Settings that name a worker, and the pipe it reports to."""
    path = tmp_path / "worker-pipe"
    os.mkfifo(path)
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    state().mkdir(parents=True)
    words = [sys.executable, "-I", str(script), str(path), "--once"]
    (state() / "hook.json").write_text(json.dumps({"worker": words}))
    yield path


@pytest.mark.rows("HOK-01", "ING-06")
@pytest.mark.parametrize("event", ["SessionEnd", "Stop", "PreCompact", "agentStop", "AfterAgent"])
def test_it_starts_detached_after_the_record_is_there(pipe: Path, event: str) -> None:
    # The worker blocks until the pipe is opened below: a hook that waited would never end.
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    done = subprocess.run(
        command(event),
        input=json.dumps(PAYLOAD).encode(),
        env=environment(),
        close_fds=False,
        capture_output=True,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    told = json.loads(pipe.read_text())
    assert os.read(reader, 1) == b""  # nobody holds the host's pipe any more
    os.close(reader)
    assert told == {
        "devices": [True, True, True],
        "kept": [],
        "leader": True,
        "cwd": os.path.realpath(state()),
        "arguments": ["--once"],
        "records": 1,
    }


def test_it_starts_although_the_host_keeps_stdin_open(pipe: Path) -> None:
    hook = subprocess.Popen(
        command("Stop"), stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert hook.stdin is not None and hook.stderr is not None
    hook.stdin.write(json.dumps(PAYLOAD).encode())
    hook.stdin.flush()
    assert hook.wait(timeout=60) == 0
    assert json.loads(pipe.read_text())["records"] == 1
    assert hook.stderr.read() == b""
    hook.stdin.close()
    hook.stderr.close()


@pytest.fixture
def started(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Homes a worker would have been started for: nothing to wait for, so absence is certain."""
    homes: list[str] = []
    monkeypatch.setattr(entry, "start", lambda home, _words: homes.append(home))
    return homes


def run_here(event: str) -> None:
    """The hook inside this process."""
    entry.run([event, json.dumps(PAYLOAD)], {}, str(state()))


@pytest.mark.rows("ING-06")
def test_none_is_started_while_one_runs(started: list[str]) -> None:
    with exclusive(str(state() / "worker.lock"), "the worker"):
        run_here("Stop")
        assert started == []
    run_here("Stop")  # the lock file is still there, its holder is not
    assert started == [str(state())]
    assert len(spooled()) == 2


def test_hooks_that_look_at_once_do_not_take_each_other_for_the_worker(started: list[str]) -> None:
    import fcntl

    with open(state() / "worker.lock", "w+") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)  # another hook, in the middle of looking
        run_here("Stop")
    assert started == [str(state())]


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "UserPromptSubmit", "PreCompress"])
def test_what_happens_between_rests_wakes_nobody(started: list[str], event: str) -> None:
    run_here(event)
    assert started == [] and len(spooled()) == (event != "PreToolUse")


@pytest.mark.parametrize(
    "settings",
    ["", "{}", "[]", '{"worker": []}', '{"worker": "text"}', '{"worker": ["/no/such/program"]}'],
)
def test_without_a_worker_the_record_waits(settings: str) -> None:
    state().mkdir(parents=True)
    (state() / "hook.json").write_text(settings)
    assert run_hook("SessionEnd", payload=PAYLOAD) == Ran(0, b"", b"")
    assert len(spooled()) == 1
