"""`make run` sweeps what is on the machine, or samples in a store of their own."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from session_memory.testing.samples import write_samples

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "first_run.py"
Call = tuple[str, dict[str, str]]


@pytest.fixture
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("first_run", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """The verbs that would be run, with their environment; the sweep ends with warnings."""
    made: list[Call] = []

    def run(command: list[str], env: dict[str, str], check: bool) -> object:
        made.append((command[-1], dict(env)))
        return subprocess.CompletedProcess(command, 3 if command[-1] == "sweep" else 0)

    monkeypatch.setattr(subprocess, "run", run)
    return made


def test_logs_of_this_machine_are_swept_into_the_users_store(
    script: ModuleType, calls: list[Call], home: Path, tmp_path: Path
) -> None:
    write_samples(home / ".claude")
    assert script.main() == 0
    assert [verb for verb, _ in calls] == ["sweep", "status"]
    assert all(env["SESSION_MEMORY_HOME"] == str(tmp_path / "memory") for _, env in calls)


def test_without_logs_it_says_where_it_looked_and_shows_samples_elsewhere(
    script: ModuleType,
    calls: list[Call],
    home: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert script.main() == 0
    told = capsys.readouterr().out
    assert str(home / ".claude") in told
    assert "sample sessions" in told
    assert [verb for verb, _ in calls] == ["sweep", "status"]
    for _, env in calls:
        store = Path(env["SESSION_MEMORY_HOME"])
        assert store != tmp_path / "memory"
        assert not store.parent.exists(), "the throw-away store is still there"
        assert Path(env["CLAUDE_CONFIG_DIR"]).parent == Path(env["HOME"]).parent == store.parent
    assert list(home.iterdir()) == []


def test_a_failed_sweep_fails_the_run(
    script: ModuleType, calls: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: failed)
    assert script.main() == 1
    assert calls == []


def test_samples_can_be_kept_to_type_along(
    script: ModuleType, calls: list[Call], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    assert script.main(str(kept)) == 0
    assert [verb for verb, _ in calls] == ["sweep", "status"]
    assert (kept / "claude").is_dir()
    assert f"export SESSION_MEMORY_HOME={kept / 'memory'}" in capsys.readouterr().out
