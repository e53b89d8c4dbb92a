"""The suite itself: every part has tests, and no test needs the network."""

from __future__ import annotations

import ast
import socket
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "session_memory"

COVERED: dict[str, tuple[str, ...]] = {
    "schema": ("e2e/test_three_agents.py", "contract/test_sessions.py", "contract/test_events.py"),
    "claude adapter": ("adapters/test_claude_*.py", "e2e/test_genuine_claude.py"),
    "codex adapter": ("adapters/test_codex_*.py", "e2e/test_genuine_codex.py"),
    "grok adapter": ("adapters/test_grok_*.py", "e2e/test_genuine_grok.py"),
    "store": ("store/test_*.py", "contract/test_*.py"),
    "digest": ("core/test_digest*.py", "core/test_outcome*.py"),
    "retention": ("core/test_retention*.py", "ingest/test_sweep_aging*.py"),
    "ingest": ("ingest/test_sweep_*.py", "invariants/test_any_way_in.py"),
    "merge": ("ingest/test_sweep_merge*.py", "contract/test_forks.py"),
    "cost": ("adapters/test_overcounts.py", "core/test_pricing*.py", "contract/test_usage.py"),
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
    | {"mcp/loopback.py"}  # listens on loopback, where the user asked for it
)
"""Modules of ours that may import such a thing."""


def count_of_tests(path: Path) -> int:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return sum(function.name.startswith("test_") for function in functions)


@pytest.mark.rows("ING-09")
@pytest.mark.parametrize("part", list(COVERED))
def test_every_part_has_tests_where_the_list_says(part: str) -> None:
    for pattern in COVERED[part]:
        files = sorted(TESTS.glob(pattern))
        assert files, pattern
        assert all(count_of_tests(path) for path in files), pattern


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


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.rows("ING-09")
def test_nothing_of_ours_can_call_out_so_child_processes_cannot_either() -> None:
    guilty: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        roots = imports_of(path) | {module.partition(".")[0] for module in imports_of(path)}
        if roots & LEAVE_THE_MACHINE and name not in MAY_CALL_OUT:
            guilty[name] = roots & LEAVE_THE_MACHINE
    assert guilty == {}
