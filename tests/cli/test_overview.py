"""`session-memory` alone is one screen, `help` explains words, and `--json` is never a riddle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def config(space: Workspace) -> tuple[str, str]:
    return "--config", str(space.write_config())


@pytest.mark.rows("CLI-01")
def test_an_empty_store_shows_how_to_begin(space: Workspace) -> None:
    done = space.run(*config(space))
    assert done.returncode == 0 and done.stderr == ""
    assert "Nothing is stored yet." in done.stdout
    assert "session-memory init" in done.stdout and "session-memory sweep" in done.stdout
    assert not (space.store_directory / "store.db").exists(), "a look makes no store"


@pytest.mark.rows("CLI-01")
def test_one_screen_with_what_is_here_what_waits_and_what_to_type(space: Workspace) -> None:
    write_samples(space.claude)
    space.run(*config(space), "sweep")
    space.run(*config(space), "rules", "detect")
    space.run(*config(space), "rules", "propose")
    done = space.run(*config(space))
    assert done.returncode == 0
    assert "6 sessions (claude 6) in 2 projects" in done.stdout
    assert "session-memory rules review  1 rule awaits your decision" in done.stdout
    lines = done.stdout.splitlines()
    assert len(lines) <= 20 and max(map(len, lines)) <= 80
    answer = json.loads(space.run(*config(space), "--json").stdout)
    assert (answer["sessions"], len(answer["next"])) == (6, 3)


@pytest.mark.rows("CLI-01")
def test_a_pause_is_named(space: Workspace) -> None:
    write_samples(space.claude)
    space.sweep()
    space.run(*config(space), "pause")
    assert "capture is paused" in space.run(*config(space)).stdout


@pytest.mark.rows("CLI-02")
def test_json_is_refused_in_words_where_a_command_has_none(space: Workspace) -> None:
    plain = space.run("config", "path", "--json")
    error = json.loads(plain.stderr)["error"]
    assert (plain.returncode, error["message"]) == (
        2,
        "`session-memory config path` prints no JSON",
    )
    early = space.run("--json", "status")
    assert early.returncode == 2
    assert "`session-memory status --json`" in json.loads(early.stderr)["error"]["message"]
    group = space.run("store", "--json")
    assert group.returncode == 2 and "behind one of its commands" in group.stderr
    assert json.loads(space.run("config", "--json").stdout)["values"]
