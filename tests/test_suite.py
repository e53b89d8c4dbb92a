"""The suite itself: every part has tests, and no test needs the network."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.syntax import syntax_of

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "session_memory"


class Part(NamedTuple):
    """A part of the program and what proves it."""

    module: str
    """Imported by at least one of the files."""
    files: tuple[str, ...]
    at_least: int
    """How many tests there must be."""


COVERED: dict[str, Part] = {
    "schema": Part(
        "session_memory.core.schema",
        ("e2e/test_three_agents.py", "contract/test_sessions.py", "contract/test_events.py"),
        3,
    ),
    "claude adapter": Part(
        "session_memory.adapters.claude.reader",
        ("adapters/test_claude_*.py", "e2e/test_genuine_claude.py"),
        3,
    ),
    "codex adapter": Part(
        "session_memory.adapters.codex.reader",
        ("adapters/test_codex_*.py", "e2e/test_genuine_codex.py"),
        3,
    ),
    "grok adapter": Part(
        "session_memory.adapters.grok.reader",
        ("adapters/test_grok_*.py", "e2e/test_genuine_grok.py"),
        3,
    ),
    "store": Part("session_memory.store.sqlite", ("store/test_*.py", "contract/test_*.py"), 3),
    "digest": Part(
        "session_memory.distil.digest", ("distil/test_digest*.py", "distil/test_outcome*.py"), 3
    ),
    "retention": Part(
        "session_memory.core.retention.plan",
        ("core/retention/test_*.py", "ingest/test_retention*.py"),
        3,
    ),
    "ingest": Part(
        "session_memory.ingest.report",
        ("ingest/test_*.py", "invariants/test_any_way_in.py"),
        3,
    ),
    "merge": Part(
        "session_memory.testing.workspace",
        ("ingest/test_merge*.py", "contract/test_forks.py"),
        3,
    ),
    "cost": Part(
        "session_memory.core.pricing",
        ("invariants/test_overcounts.py", "core/test_pricing*.py", "contract/test_usage.py"),
        1,
    ),
    "detect": Part("session_memory.detect.mine", ("detect/test_*.py",), 6),
    "curate": Part("session_memory.curate.review", ("curate/test_*.py",), 6),
    "gate": Part("session_memory.curate.gate", ("curate/test_gate.py",), 6),
}
"""Which test files prove which part."""

LEAVE_THE_MACHINE = frozenset(
    {"aiohttp", "ftplib", "http", "httpx", "requests", "smtplib", "socket", "ssl"}
    | {"socketserver", "urllib.request", "urllib3", "xmlrpc"}
    | {"anthropic", "openai", "claude_agent_sdk", "httpx2", "uvicorn", "starlette"}
)
MAY_CALL_OUT = frozenset(
    {"model/anthropic.py", "model/openai.py"}  # loaded only where the user turned a model on
    | {"testing/model_server.py"}  # answers on loopback, for tests
    | {"mcp/http.py"}  # listens on loopback, where the user asked for it
    | {"web/app.py", "web/guard.py", "web/server.py"}  # so does the page
    | {"hub/app.py", "hub/endpoints.py", "hub/server.py"}  # a hub listens where it is told to
    | {"testing/postgres_server.py", "testing/s3_server.py"}  # listen on loopback, for tests
    | {"store/remote_call.py"}  # asks the hub that the user joined
)
"""Modules of ours that may import such a thing."""


def count_of_tests(path: Path) -> int:
    functions = syntax_of(path).functions
    return sum(each.name.startswith("test_") for each in functions if not each.is_async)


@pytest.mark.rows("ING-09")
@pytest.mark.parametrize("part", COVERED.values(), ids=list(COVERED))
def test_every_part_has_tests_where_the_list_says(part: Part) -> None:
    files: set[Path] = set()
    for pattern in part.files:
        found = sorted(TESTS.glob(pattern))
        assert found, pattern
        assert all(count_of_tests(path) for path in found), pattern
        files |= set(found)
    assert sum(map(count_of_tests, files)) >= part.at_least
    assert any(part.module in syntax_of(path).imports for path in files), part.module


@pytest.mark.rows("ING-09")
def test_the_suite_is_larger_than_the_one_it_stands_for() -> None:
    assert sum(count_of_tests(path) for path in TESTS.rglob("test_*.py")) >= 64


@pytest.mark.rows("ING-09")
def test_a_test_that_calls_out_is_refused(offline: list[str]) -> None:
    with pytest.raises(PermissionError, match="offline"):
        socket.create_connection(("192.0.2.1", 9), timeout=1)
    with pytest.raises(PermissionError, match="offline"):
        socket.getaddrinfo("example.invalid", 80)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender, pytest.raises(PermissionError, match="offline"):
        sender.sendto(b"x", ("192.0.2.1", 9))
    assert len(offline) >= 3  # and without this the test would fail at its end
    offline.clear()


def test_a_test_may_talk_to_itself() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()[:2], timeout=5) as client,
        server.accept()[0] as answering,
    ):
        client.sendall(b"x")
        assert answering.recv(1) == b"x"


@pytest.mark.rows("ING-09")
def test_nothing_of_ours_can_call_out_so_child_processes_cannot_either() -> None:
    guilty: dict[str, frozenset[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        modules = syntax_of(path).imports
        roots = modules | {module.partition(".")[0] for module in modules}
        if roots & LEAVE_THE_MACHINE and name not in MAY_CALL_OUT:
            guilty[name] = roots & LEAVE_THE_MACHINE
    assert guilty == {}


@pytest.mark.parametrize("name", ["fence", "offline"])
def test_no_test_file_replaces_a_fixture_that_protects_the_machine(name: str) -> None:
    # A file's fixture of the same name would win: its tests would see the developer's own home.
    owners = [
        path.relative_to(TESTS).as_posix()
        for path in sorted(TESTS.rglob("*.py"))
        for function in syntax_of(path).functions
        if function.name == name and not function.is_async
    ]
    assert owners == ["conftest.py"]
