"""What the store keeps of a resolution, and that a project stays where it was first found."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.identity import Options, Resolution, domain_for, resolve
from session_memory.core.schema import Session
from session_memory.store import open_store
from session_memory.store.port import Store

OPTIONS = Options(domains={"app": "commerce"})


def capture(store: Store, name: str, cwd: Path, text: str | None = None) -> Session:
    """A session that ran in `cwd`, resolved from the disk as it is now."""
    found: Resolution = resolve(str(cwd), text=text, tree=DiskTree(), options=OPTIONS)
    with store.writing() as writer:
        session = writer.session("claude", name, None)
        writer.assign_project(session.id, str(cwd), found, domain_for(found, OPTIONS))
    return store.session(session.id)


def repository(root: Path) -> Path:
    (root / ".git").mkdir(parents=True)
    return root


@pytest.mark.rows("IDN-06", "CAP-11")
def test_a_session_remembers_how_its_project_was_found(tmp_path: Path) -> None:
    app, other = repository(tmp_path / "app"), repository(tmp_path / "other")
    with open_store(str(tmp_path / "store"), 0, create_missing=True) as store:
        session = capture(store, "one", app, f"compare with {other}")
        unmapped = capture(store, "two", other)
        assert [project.key for project in store.projects()] == ["app", "other"]
    assert session.metadata["project_resolution_source"] == "cwd:.git"
    assert session.metadata["project_resolution_confidence"] == "high"
    assert session.metadata["project_resolution_warnings"] == [
        "mentioned_path_ignored_due_to_cwd_project"
    ]
    assert session.metadata["project_root_path"] == str(app)
    assert (session.repo, session.domain) == (str(app), "commerce")
    assert (unmapped.repo, unmapped.domain) == (str(other), "general")


@pytest.mark.rows("IDN-03")
def test_a_project_only_named_in_a_prompt_gets_no_row(tmp_path: Path) -> None:
    app, other = repository(tmp_path / "app"), repository(tmp_path / "other")
    with open_store(str(tmp_path / "store"), 0, create_missing=True) as store:
        capture(store, "one", app, f"compare with {other}")
        assert [(project.key, project.root) for project in store.projects()] == [("app", str(app))]


@pytest.mark.rows("IDN-07")
def test_a_project_keeps_its_first_root(tmp_path: Path) -> None:
    app, twin = repository(tmp_path / "a" / "app"), repository(tmp_path / "b" / "app")
    with open_store(str(tmp_path / "store"), 0, create_missing=True) as store:
        first = capture(store, "one", app)
        second = capture(store, "two", twin)
        (app / ".git").rmdir()  # what was a repository is now a part of a larger one
        repository(tmp_path / "a")
        again = capture(store, "three", app)
        roots = {project.key: project.root for project in store.projects()}
    assert roots["app"] == str(app)
    assert first.project_key == again.project_key == "app"
    assert again.metadata["project_root_path"] == str(app)
    assert second.project_key is not None
    assert second.project_key.startswith("app-")
    assert roots[second.project_key] == str(twin)
