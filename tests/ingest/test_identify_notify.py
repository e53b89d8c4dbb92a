"""From Codex's notify to what is stored: a broad directory yields to the repository it is about."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.hooks import entry
from session_memory.testing.workspace import Workspace


def notify(space: Workspace, log: CodexLog, cwd: Path, *said: str) -> None:
    """What Codex runs when a turn is complete."""
    payload = {
        "type": "agent-turn-complete",
        "thread-id": log.thread,
        "turn-id": "t1",
        "cwd": str(cwd),
        "client": "codex_exec",
        "input-messages": list(said),
    }
    command = [sys.executable, "-I", "-S", entry.__file__, "notify", json.dumps(payload)]
    subprocess.run(command, env={**space.environ(), "SESSION_MEMORY_NO_WAKE": "1"}, check=True)


@pytest.mark.rows("IDN-01")
@pytest.mark.parametrize("named", ["AGENTS.md", ".project-state.json"])
def test_a_notify_from_a_broad_directory_is_stored_under_the_repository_it_names(
    tmp_path: Path, named: str
) -> None:
    space = Workspace(tmp_path / "space")
    space.store_directory = space.root / "memory" / "data"  # where hooks know it
    home = space.flavor_home("codex")
    workspace = tmp_path / "workspace"
    studio = workspace / "trip-studio"
    studio.mkdir(parents=True)
    if named == "AGENTS.md":
        (studio / named).write_text("Scope: trip-studio\n", encoding="utf-8")
    else:
        (studio / named).write_text('{"canonical_name": "trip-studio"}', encoding="utf-8")
    said = f"Please look at {studio} and fix the map"
    log = CodexLog(1, cwd=str(workspace)).header().turn().prompt(said).answer("fixed")
    log.write(home)
    notify(space, log, workspace, said)
    config = tmp_path / "config.toml"
    config.write_text(f"[sources.codex]\npaths = [{json.dumps(str(home))}]\n", encoding="utf-8")
    done = space.run("--config", str(config), "worker", "run")
    assert done.returncode == 0, done.stderr
    session = space.session(log.thread)
    source = {"AGENTS.md": "AGENTS.md", ".project-state.json": "project-state"}[named]
    assert (session.project_key, session.cwd) == ("trip-studio", str(workspace))
    assert session.metadata["project_resolution_source"] == f"mentioned_path:{source}"
    assert session.metadata["project_resolution_confidence"] == "high"
    assert session.metadata["project_root_path"] == str(studio)
    assert session.metadata.get("project_resolution_warnings", []) == []
    with space.store() as store:  # neither the broad directory nor a technical one is a project
        assert [(one.key, one.root) for one in store.projects()] == [("trip-studio", str(studio))]
