"""What goes wrong around a fleet is told plainly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.inline import exported

from session_memory.errors import ConfigError, NotFound, SessionMemoryError, UsageError
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


@pytest.mark.parametrize("words", [["--help"], ["fleet", "--help"], ["fleet", "detect", "--help"]])
def test_help_imports_none_of_them(words: list[str]) -> None:
    program = (
        "import sys; from session_memory.__main__ import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        "assert not {'dask', 'distributed', 'pyarrow', 'duckdb'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_a_folder_without_an_export_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no digests"):
        Dataset(str(tmp_path)).check("digests")
    with pytest.raises(UsageError, match="no place for Parquet"):
        Dataset("nonsense://there")


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


@pytest.mark.rows("FLT-09")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--from", ""], 2, "no place for Parquet"),
        (["--from", "/nowhere"], 1, "no digests in /nowhere"),
        (["--from", "\udcff"], 1, "no digests in"),
        (["--from", "9" * 5000], 1, "File name too long"),
        (["--work", "9" * 5000], 2, "cannot write to"),
        (["--work", f"{__file__}/in/a/file"], 2, "cannot write to"),
        (["--work", "nonsense://there"], 2, "no place for Parquet"),
        (["--team", "acme"], 2, "--team is for a hub"),
        (["--from", "postgresql://hub/team"], 2, "which --team?"),
        (["--scheduler", "tcp://127.0.0.1:9"], 2, "--scheduler needs an export"),
        (["--scheduler", ""], 2, "no address of a scheduler"),
        (["--scheduler", "tls://head"], 2, "no address of a scheduler"),
        (["--scheduler", "http://head:1"], 2, "no address of a scheduler"),
        (["--scheduler", "tls://[::1:x"], 2, "no address of a scheduler"),
        (["--scheduler", "tls://head:99999"], 2, "no address of a scheduler"),
        (["--scheduler", "tls://head:1"], 8, "would travel in the open"),
        (["--scheduler", "tls://head:1", "--workers", "2"], 2, "leave out one of the two"),
        (["--tls-ca", ""], 2, "belong together"),
        (["--tls-ca", "a", "--tls-cert", "b", "--tls-key", "c"], 2, "none is given"),
        (
            ["--scheduler", "head:1", "--tls-ca", "a", "--tls-cert", "b", "--tls-key", "c"],
            2,
            "no such file",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(
    words: list[str], code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from session_memory.cli import fleet

    def started(*_: object, **__: object) -> None:
        raise AssertionError("something was exported or started")

    monkeypatch.setattr(fleet, "_source", started)
    monkeypatch.setattr(fleet, "_connected", started)
    done = run_command("fleet", "detect", *words)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    assert "hint:" in done.stderr and len(done.stderr) < 1000


@pytest.mark.rows("FLT-10")
@pytest.mark.parametrize(
    "address",
    [
        "s3://AKIAKEY:sw0rdf1sh@bucket/x?endpoint_override=127.0.0.1:9&scheme=http",
        "s3://AKIAKEY:sw0rdf1sh@/nowhere",
        "nothing://AKIAKEY:sw0rdf1sh@bucket/x",
    ],
)
def test_an_error_does_not_repeat_the_key_in_an_address(address: str) -> None:
    with pytest.raises(SessionMemoryError) as raised:
        Dataset(address).check("digests")
    assert "sw0rdf1sh" not in f"{raised.value.message} {raised.value.hint}"
    assert "://***@" in raised.value.message
