"""Fences every test off from the real home and the network, and offers the shared fixtures."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says something about the machine, not about the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

AGENT_VARIABLES = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GROK_HOME",
    "GEMINI_CLI_HOME",
    "QWEN_HOME",
    "COPILOT_HOME",
    "OPENCODE_DATA_DIR",
    "PI_HOME",
    "PI_CODING_AGENT_DIR",
    "SESSION_MEMORY_HOME",
    "SESSION_MEMORY_CONFIG",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "CLAUDE_INVOKED_BY",
)
REAL_HOME = os.path.realpath(os.path.expanduser("~"))
SHARED = Path(__file__).resolve().parents[2] / "shared"
MEMORY_DISK = Path("/dev/shm")
MEMORY_NEEDED = 2 << 30

# Without compiled modules every child process compiles all of ours again, which takes longer than
# most tests, and pytest rewrites every test file at each run.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _is_usable(disk: Path) -> bool:
    """Whether the tests' directories fit here, and programs that they write may be run."""
    if not hasattr(os, "statvfs") or not os.access(disk, os.W_OK | os.X_OK):
        return False
    state = os.statvfs(disk)
    return not state.f_flag & os.ST_NOEXEC and state.f_bavail * state.f_frsize > MEMORY_NEEDED


# Tests wait for a disk thousands of times (every commit is an fsync), and not for memory.
# What must survive a power cut is tested by refusing, cutting and ordering writes, on any disk.
# The same goes for what tests, and the servers and browsers that they start, put into TMPDIR: a
# directory of this run, which goes with it.
OWN_TMPDIR: list[str] = []
if _is_usable(MEMORY_DISK):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_DISK))
    if "TMPDIR" not in os.environ:  # else it is the user's, or that of the run this belongs to
        OWN_TMPDIR.append(tempfile.mkdtemp(prefix="session-memory-tests-", dir=MEMORY_DISK))
        os.chmod(OWN_TMPDIR[0], 0o711)  # PostgreSQL runs as somebody else
        os.environ["TMPDIR"] = OWN_TMPDIR[0]
    tempfile.tempdir = None  # it is looked up again


def pytest_unconfigure() -> None:
    for directory in OWN_TMPDIR:
        shutil.rmtree(directory, ignore_errors=True)


NAMES = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
ADDRESSES = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
WATCHED = NAMES | ADDRESSES
CALLS_OUT: list[str] = []
FILES_RUN = count(1)


def _refuse_calls_out(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse every connection and question that leaves this machine, and keep it in mind."""
    if event not in WATCHED:  # nearly all of them: every opened file is one
        return
    if event in NAMES:
        host = arguments[0]
    else:
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # else a socket in the file tree
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name and name not in ("localhost", "::1") and not name.startswith("127."):
        CALLS_OUT.append(f"{event}: {name}")
        raise PermissionError(f"tests run offline: {event} to {name}")


# An audit hook sees what C code does too, which a replaced class would not. It cannot be removed.
sys.addaudithook(_refuse_calls_out)


# Test files and what they import are no garbage until the end: not looking for any while they are
# collected, nor at them again, makes every full collection (`testing.faults` needs one per fault) a
# matter of milliseconds.
@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    from session_memory.testing import new_stores  # not before the environment is known to be safe

    new_stores.copies = True
    gc.collect()
    gc.freeze()


# Nor are modules that only a test imported: those of a model's SDK alone make a full collection
# take a fifth of a second. Not within a file, whose fixtures must stay collectable.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, Any, Any]:
    done = yield
    if nextitem is not None and nextitem.path != item.path and next(FILES_RUN) % 10 == 0:
        gc.collect()
        gc.freeze()
    return done


@pytest.fixture(autouse=True)
def offline() -> Iterator[list[str]]:
    """Fails a test that called out, even where the refusal was swallowed by what it tests."""
    CALLS_OUT.clear()
    yield CALLS_OUT
    assert CALLS_OUT == []


@pytest.fixture(autouse=True)
def fence(tmp_path: Path) -> Iterator[Path]:
    """An empty home for every test; nothing may resolve to the developer's own.

    The whole environment is put back afterwards: some verbs mark their own process, and a mark
    left behind would silence the hooks of later tests. So is the umask, which the program sets.
    """
    before, umask = dict(os.environ), os.umask(0o022)
    home = tmp_path / "home"
    home.mkdir()
    for name in before:
        if name in AGENT_VARIABLES or name.startswith("SESSION_MEMORY_"):
            del os.environ[name]
    os.environ.update(HOME=str(home), USERPROFILE=str(home))
    os.environ["SESSION_MEMORY_HOME"] = str(tmp_path / "memory")
    assert os.path.realpath(os.path.expanduser("~")) != REAL_HOME
    yield home
    os.umask(umask)
    now = dict(os.environ)
    for name in now.keys() - before.keys():
        del os.environ[name]
    os.environ.update({k: v for k, v in before.items() if now.get(k) != v})  # setting one is slow


@pytest.fixture
def home(fence: Path) -> Path:
    """The empty home; a test file may have a `home` of its own without losing the fence."""
    return fence


@pytest.fixture
def shared() -> Path:
    """The genuine logs beside the repository; absent on a user's machine."""
    if not SHARED.is_dir():
        pytest.skip("genuine logs (../shared) are not here")
    return SHARED
