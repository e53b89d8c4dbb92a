"""`make run` sets up an environment without a pip of its own, where the pip outside can do it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import venv
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parent.parent / "scripts" / "make_environment.py"


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_environment", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.rows("CLI-15")
@pytest.mark.parametrize(("pip", "outside"), [("23.2.1", True), ("22.2", False), ("dev", False)])
def test_the_pip_outside_installs_where_it_can(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pip: str, outside: bool
) -> None:
    made: list[bool] = []
    calls: list[list[str]] = []

    def create(_folder: str, *, with_pip: bool, **_options: Any) -> None:
        made.append(with_pip)

    def run(command: list[str], **_options: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(script.metadata, "version", lambda _name: pip)  # pyright: ignore
    monkeypatch.setattr(venv, "create", create)
    monkeypatch.setattr(subprocess, "run", run)
    assert script.main(str(tmp_path / "env"), "requirements/run.txt") == 0
    assert made == [not outside]
    assert [sys.executable in call and "--python" in call for call in calls] == [outside] * 2
    assert "--require-hashes" in calls[0] and "-e" in calls[1]


@pytest.mark.rows("CLI-15")
def test_an_old_python_is_named(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "OLDEST", (99, 0))
    assert script.main("env", "lock") == 1
    assert "make PYTHON=python3.11" in capsys.readouterr().err
