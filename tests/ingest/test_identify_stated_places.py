"""Where a session ran, by what its log says of the repository, or by a hash of its root alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.adapters.copilot.log_builder import CopilotLog
from session_memory.adapters.gemini.log_builder import GeminiLog
from session_memory.testing.workspace import Workspace


def copilot(cwd: str, git_root: str, repository: str | None = None) -> CopilotLog:
    log = CopilotLog(1, cwd=cwd)
    log.start()
    context = {"cwd": cwd, "gitRoot": git_root}
    if repository:
        context |= {"repository": repository, "repositoryHost": "github.com"}
    log.rows[0]["data"]["context"] = context
    log.prompt("mend the walrus pump")
    log.answer("done")
    return log


@pytest.mark.rows("IDN-18")
def test_copilot_names_the_repository_of_a_directory_that_is_not_here(space: Workspace) -> None:
    log = copilot("/gone/walrus/.cache/run-1", "/gone/walrus", "team/walrus")
    log.write(space.flavor_home("copilot"))
    space.sweep()
    session = space.session(log.session_id)
    assert (session.project_key, session.repo) == ("walrus", "/gone/walrus")
    assert session.metadata["project_resolution_source"] == "log:git_root"
    with space.store() as store:
        (project,) = store.projects()
    assert (project.root, project.remote) == ("/gone/walrus", "github.com/team/walrus")


@pytest.mark.rows("IDN-18")
def test_what_is_on_the_disk_wins_over_what_the_log_names(space: Workspace, tmp_path: Path) -> None:
    root = tmp_path / "work" / "inner"
    (root / ".git").mkdir(parents=True)
    log = copilot(str(root), "/gone/walrus")
    log.write(space.flavor_home("copilot"))
    space.sweep()
    assert space.session(log.session_id).project_key == "inner"


@pytest.mark.rows("IDN-18")
@pytest.mark.parametrize("first", ["claude", "copilot", "both"])
def test_a_directory_has_one_project_whoever_names_its_repository(
    space: Workspace, first: str
) -> None:
    place = "/gone/walrus/pump"
    stated = copilot(place, "/gone/walrus")
    guessed = ClaudeLog(2, cwd=place)
    guessed.prompt("look at the pump")
    if first in ("claude", "both"):
        space.write(guessed)
    if first == "claude":
        space.sweep()
        assert space.session(guessed.session_id).project_key == "pump"
    stated.write(space.flavor_home("copilot"))
    space.sweep()
    space.write(guessed)
    space.sweep()
    for name in (stated.session_id, guessed.session_id):
        session = space.session(name)
        assert (session.project_key, session.repo) == ("walrus", "/gone/walrus")
        assert session.metadata["project_resolution_source"] == "log:git_root"


@pytest.mark.rows("IDN-18")
def test_codex_names_the_remote_of_a_directory_that_is_not_here(space: Workspace) -> None:
    log = CodexLog(1, cwd="/gone/seal")
    log.header(git={"repository_url": "https://github.com/team/seal.git"})
    log.turn().prompt("look").answer("done")
    log.write(space.flavor_home("codex"))
    space.sweep()
    with space.store() as store:
        (project,) = store.projects()
    assert (project.root, project.remote) == ("/gone/seal", "github.com/team/seal")


@pytest.mark.rows("IDN-19")
@pytest.mark.parametrize("known_first", [True, False])
def test_gemini_a_hash_of_a_root_that_another_session_names_is_that_project(
    space: Workspace, tmp_path: Path, known_first: bool
) -> None:
    root = tmp_path / "work" / "walrus"
    (root / ".git").mkdir(parents=True)
    known = ClaudeLog(1, cwd=str(root))
    known.prompt("hello")
    known.say("hi")
    chat = GeminiLog(2, cwd=str(root))
    chat.prompt("mend it")
    chat.say("done")
    home = space.flavor_home("gemini")
    path = chat.write(home)
    for file in home.rglob("*"):  # nothing but the hash says where it ran
        if file.is_file() and file != path:
            file.unlink()
    order = [lambda: space.write(known), lambda: None]
    for step in order if known_first else order[::-1]:
        step()
        space.sweep()
    session = space.session(chat.session_id)
    assert session.cwd is None
    assert session.project_key == "walrus"
    assert session.project_id == space.session(known.session_id).project_id
