"""`fleet`: what cannot work is refused first, and help needs no packages."""

from __future__ import annotations

import subprocess
import sys

import pytest

from session_memory.testing.command import run_command


@pytest.mark.parametrize("words", [["--help"], ["fleet", "--help"], ["fleet", "detect", "--help"]])
def test_help_imports_none_of_them(words: list[str]) -> None:
    program = (
        "import sys; from session_memory.__main__ import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        "assert not {'dask', 'distributed', 'pyarrow', 'duckdb'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


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
