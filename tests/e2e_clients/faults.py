"""Something of ours is missing or broken while a genuine client works: it must not notice.

Each fault is made in a home that `init` has wired, the client runs a whole session, and what its
model was shown is compared with the same session from before `init`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e_clients import scripts
from tests.e2e_clients.checks import MISFIT
from tests.e2e_clients.clients import RECALL, WORK, Client
from tests.e2e_clients.sandbox import PROGRAM, Sandbox
from tests.e2e_clients.seen import answers, asked, results, strings

WORDS = {"work": WORK, "recall": RECALL}
TRIES = 3
ABOUT_US = re.compile(r"session.?memory|\bmcp\b|\bhooks?\b", re.IGNORECASE)
HALF = re.compile("half an answer")
HALF_AN_ANSWER = """\
import os, signal
os.write(1, b'{"hookSpecificOutput": {"additionalContext": "half an answer')
os.kill(os.getpid(), signal.SIGKILL)
"""


class Run(NamedTuple):
    """One session of a client."""

    code: Any
    requests: list[dict[str, Any]]
    """Of the script, without titles and the like."""


# The faults


@contextmanager
def launcher_gone(box: Sandbox) -> Generator[None]:
    """As after our data was deleted."""
    with _moved(box.data / "hooks"):
        yield


@contextmanager
def interpreter_gone(box: Sandbox) -> Generator[None]:
    """As after `make clean` or `uv tool uninstall`."""
    with _moved(environment(box)):
        yield


@contextmanager
def _moved(path: Path) -> Generator[None]:
    away = path.with_name(f"{path.name}.away")
    path.rename(away)
    yield
    away.rename(path)


@contextmanager
def read_only(box: Sandbox) -> Generator[None]:
    """Store, state and launchers on a disk that takes no writes."""
    folders = (box.data, box.state)
    for folder in folders:
        subprocess.run(["mount", "--bind", folder, folder], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
    yield
    box.settle()
    for folder in folders:
        subprocess.run(["umount", "-l", folder], check=True)


@contextmanager
def disk_full(box: Sandbox) -> Generator[None]:
    """Store, state and launchers on a disk without a free block."""
    folders = (box.data, box.state)
    for folder in folders:
        copy = box.folder / f"copy-of-{folder.parent.name}"
        shutil.copytree(folder, copy)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "none", folder], check=True
        )
        shutil.copytree(copy, folder, dirs_exist_ok=True)
        _fill(folder / "filler")
    yield
    box.settle()
    for folder in folders:
        subprocess.run(["umount", "-l", folder], check=True)


def _fill(path: Path) -> None:
    """Write until nothing fits any more."""
    with path.open("wb", buffering=0) as stream:
        for size in (1 << 16, 1):
            with contextlib.suppress(OSError):
                while stream.write(b"x" * size):
                    pass
    try:
        path.with_name("one-more").write_bytes(b"x")
    except OSError as error:
        assert error.errno == errno.ENOSPC
    else:
        raise AssertionError("the disk is not full")


@contextmanager
def hook_killed(box: Sandbox) -> Generator[None]:
    """Every hook dies in the middle of its answer."""
    file = box.data / "hooks" / "entry.py"
    good = file.read_bytes()
    file.write_text(HALF_AN_ANSWER)
    yield
    file.write_bytes(good)


@contextmanager
def server_killed(box: Sandbox) -> Generator[None]:
    """The server dies once it has given its first answer."""
    known, ended = len(box.requests()), threading.Event()
    killed: list[int] = []

    def watch() -> None:
        while not killed and not ended.wait(0.02):
            if any(answers(results(request)) for request in box.requests()[known:]):
                killed.extend(_kill_servers())

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield
    ended.set()
    watcher.join()
    box.killed = killed


def _kill_servers() -> Iterator[int]:
    """Only the server itself: what is around it must cope."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            if b"session_memory" in words and b"mcp" in words and b"-c" not in words:
                os.kill(int(path.name), signal.SIGKILL)
                yield int(path.name)


class Fault(NamedTuple):
    """One thing that is wrong, and what the client does meanwhile."""

    make: Callable[[Sandbox], AbstractContextManager[None]]
    script: str
    gone: bool = False
    """Whether nothing of ours can reach the model: not one line may differ because of us."""


FAULTS = {
    "launcher gone": Fault(launcher_gone, "work", gone=True),
    "interpreter gone": Fault(interpreter_gone, "work", gone=True),
    "store read-only": Fault(read_only, "recall"),
    "disk full": Fault(disk_full, "recall"),
    "hook killed": Fault(hook_killed, "work"),
    "server killed": Fault(server_killed, "recall"),
}


def environment(box: Sandbox) -> Path:
    """Where our program seems to be installed; it can be taken away."""
    return box.folder / "env"


def suffer(box: Sandbox, client: Client) -> dict[str, str]:
    """Every fault with its verdict."""
    environment(box).symlink_to(sys.prefix)
    box.program = (str(environment(box) / "bin" / "python"), *PROGRAM[1:])
    client.configure(box)
    plain = {"work": _session(box, client, "before init: work", "work")}
    box.ours("init", "--yes", "--agent", client.name, *client.init)
    found: dict[str, str] = {}
    for name, fault in FAULTS.items():
        if fault.make is server_killed and "mcp called" in client.lacks:
            found[name] = f"n.a.: {client.lacks['mcp called']}"
            continue
        script = "work" if "mcp called" in client.lacks else fault.script
        box.killed = []
        with fault.make(box):
            run = _session(box, client, name, script)
            for _ in range(TRIES - 1):  # some clients do not wait for a server on a busy machine
                if fault.make is not server_killed and came_without_tools(run):
                    run = _session(box, client, name, script)
        reason = judge(fault, script, run, plain["work"])
        if fault.make is server_killed and not box.killed:
            reason = reason or "no server was killed: the check proves nothing"
        found[name] = f"FAIL: {reason}" if reason else "ok"
        box.settle()
    return found


def came_without_tools(run: Run) -> bool:
    """Whether the model wanted a tool of ours and had none; a title is asked for without any."""
    offered = [request for request in run.requests if request["body"].get("tools")]
    return any(MISFIT in str(request.get("say")) for request in offered)


def _session(box: Sandbox, client: Client, name: str, script: str) -> Run:
    known = len(box.requests())
    for left in ("calc.py", "test_calc.py"):
        (box.project / left).unlink(missing_ok=True)
    box.run_client(name, client.call(box, box.prompt(script, WORDS[script]), []))
    requests = asked(box.requests()[known:], script)
    return Run(box.steps[-1]["rc"], once(requests) if client.asks_again else requests)


def once(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without a second request for the last answer: a client that ends soon does not send it."""
    ends = [request for request in requests if not request["calls"]]
    return [request for request in requests if request not in ends[1:]]


def judge(fault: Fault, script: str, run: Run, plain: Run) -> str:
    """Why this session was not as it would have been without us, or nothing."""
    if run.code != 0:
        return f"the client ended with {run.code}"
    if not run.requests:
        return "the model was asked nothing"
    last = str(scripts.SCENARIOS[script][-1]["say"])
    # OpenCode stops to offer the tools of a server that died, and the script ends there.
    ended = fault.make is server_killed and came_without_tools(run)
    if not ended and not any(last in str(request.get("say")) for request in run.requests):
        return f"the session did not come to its end, {last!r}"
    if script == "work":
        if len(run.requests) != len(plain.requests):
            return f"{len(run.requests)} requests instead of {len(plain.requests)}"
        new = lines(run.requests) - lines(plain.requests)
        mark = ABOUT_US if fault.gone else HALF
        if told := [line for line in new if mark.search(line)]:
            return f"the model was told: {told}"
    return ""


def lines(requests: list[dict[str, Any]]) -> set[str]:
    """What the model was shown, without the tools it was offered and without ids and numbers."""
    bodies = [{k: v for k, v in (r.get("body") or {}).items() if k != "tools"} for r in requests]
    shown = "\n".join(text for body in bodies for text in strings(body))
    return {re.sub(r"\w*\d\w*", "N", line).strip() for line in shown.splitlines()}
