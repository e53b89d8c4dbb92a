"""The whole way from an agent's entry to the server is tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_doctor import wired
from tests.install.machine import Machine

from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.cli import wiring
from session_memory.install import live

__all__ = ["wired"]


def broken(wired: Machine, text: str) -> Launchers:
    """The same install with an interpreter that does this."""
    from session_memory.cli.app import App

    path = wired.home / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    ours = wiring.launchers(App())
    return Launchers(str(path), "-I", ours.folder, ours.state, ours.data)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("exit 0", "recorded nothing"),
        ("exit 5", "the hook failed"),
        ('case "$*" in *entry.py*) exec PY "$@";; esac; exit 1', "worker failed"),
    ],
)
def test_a_way_that_is_broken_is_found(wired: Machine, text: str, told: str) -> None:
    import sys

    check = live.round_trip(broken(wired, text.replace("PY", sys.executable)), 1)
    assert (check.result, told in check.detail) == ("fail", True), check.detail
    assert check.fix


@pytest.mark.parametrize(
    ("text", "told"),
    [("exit 1", "ended before"), ("echo hello; /bin/cat >/dev/null", "no answer")],
)
def test_a_server_that_does_not_answer_is_found(wired: Machine, text: str, told: str) -> None:
    check = live.handshake(broken(wired, text))
    assert (check.result, told in check.detail) == ("fail", True), check.detail


def test_a_launcher_that_cannot_be_run_is_found(wired: Machine) -> None:
    wired.launcher.chmod(0o600)
    done = wired.run("doctor", "--json")
    found = {check["name"]: check for check in json.loads(done.out)["checks"]}
    assert found["round trip"]["result"] == "fail"
    assert found["hook files"]["result"] == "warn"
    wired.run("doctor", "--quick", "--fix")
    assert wired.launcher.stat().st_mode & 0o777 == 0o700


def test_without_a_hook_file_there_is_nothing_to_try(tmp_path: Path) -> None:
    ours = Launchers("/py", "-I", tmp_path, tmp_path, tmp_path)
    assert live.round_trip(ours, 1).result == "warn"
