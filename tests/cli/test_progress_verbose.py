"""`-v` says on stderr what each step does and why something is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def written(space: Workspace, seed: int, cwd: str = "/work/shop") -> ClaudeLog:
    log = ClaudeLog(seed, cwd=cwd)
    log.prompt("fix the parser")
    space.write(log)
    return log


def said(space: Workspace, *arguments: str) -> list[str]:
    """The lines on stderr; what is on stdout stays as it is without `-v`."""
    done = space.run("--config", str(space.write_config()), *arguments, "sweep", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["discovered"] > 0
    return done.stderr.splitlines()


@pytest.mark.rows("ING-17")
def test_a_sweep_names_its_files_and_why_each_is_read_or_skipped(space: Workspace) -> None:
    log = written(space, 1)
    (path,) = space.files()
    first = said(space, "-v")
    assert f"store: {space.store_directory}" in first
    assert any(line.startswith("discover claude: 1 files, 1 new or changed") for line in first)
    assert f"read {path}: new file" in first
    assert any(line.startswith("digest session ") for line in first)
    assert "mine 1 digests" in first

    assert not any(str(path) in line for line in said(space, "-v"))
    assert f"skip {path}: unchanged" in said(space, "-vv")

    size = path.stat().st_size
    log.prompt("and the lexer")
    space.write(log)
    assert f"read {path}: grew, from byte {size}" in said(space, "-v")


@pytest.mark.rows("ING-17")
def test_a_session_that_is_left_out_is_named_with_the_reason(space: Workspace) -> None:
    log = written(space, 1, cwd="/work/secret/app")
    space.exclude = ("/work/secret",)
    assert f"leave out session {log.session_id}: /work/secret/app is excluded" in said(space, "-v")


@pytest.mark.rows("ING-17")
def test_without_the_option_nothing_is_said(space: Workspace) -> None:
    written(space, 1)
    assert [line for line in said(space) if not line.startswith("warning:")] == []
