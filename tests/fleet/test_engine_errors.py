"""What goes wrong around a fleet is told plainly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.fleet.inline import exported

from session_memory.errors import ConfigError, SessionMemoryError
from session_memory.fleet import detect, engine
from session_memory.fleet.dataset import Dataset
from session_memory.fleet.detect import recurring_keys
from session_memory.testing.command import run_command
from session_memory.testing.workspace import Workspace


class Client:
    """A cluster one worker of which has another program."""

    def __init__(self, **differs: str) -> None:
        self._differs = differs

    def run(self, function: Any) -> dict[str, dict[str, str]]:
        return {"tcp://one": function(), "tcp://two": {**function(), **self._differs}}


@pytest.mark.rows("FLT-06")
def test_a_worker_with_another_version_is_named() -> None:
    engine._check_versions(Client())  # pyright: ignore
    with pytest.raises(ConfigError, match=r"tcp://two has another version: signals 1, here"):
        engine._check_versions(Client(signals="1"))  # pyright: ignore


@pytest.mark.rows("FLT-06")
def test_without_its_packages_a_fleet_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from session_memory.cli import fleet

    monkeypatch.setattr(fleet, "find_spec", lambda name: None)
    done = run_command("fleet", "detect", "--from", "/nowhere")
    assert done.returncode == 4
    assert "distributed, duckdb, pyarrow" in done.stderr
    assert "session-memory[fleet]" in done.stderr


def test_a_full_disk_is_told(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported(space, tmp_path / "parquet", signals=True)
    parts = Dataset(str(tmp_path / "parquet")).parts("signals")

    def full(*_: object, **__: object) -> None:
        raise detect.duckdb.IOException("IO Error: No space left on device")

    monkeypatch.setattr(detect.duckdb, "connect", full)
    with pytest.raises(SessionMemoryError, match="No space left on device"):
        recurring_keys(str(tmp_path / "parquet"), parts)


def test_a_full_disk_of_an_export_leaves_no_draft(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from session_memory.fleet import dataset

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(dataset.pq, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        exported(space, tmp_path / "parquet")
    assert [file for file in (tmp_path / "parquet").rglob("*") if file.is_file()] == []
