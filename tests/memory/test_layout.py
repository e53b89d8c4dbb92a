"""Where a project's memory lies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.memory.workbench import Bench

from session_memory.core.schema import Project, Session
from session_memory.memory.layout import memory_root, normalised, root_of


@pytest.mark.rows("EXT-48")
def test_a_folder_is_named_by_a_hash_and_by_nothing_of_the_path(tmp_path: Path) -> None:
    place = tmp_path / "workspace?one"
    other = tmp_path / "workspace#one"
    place.mkdir()
    other.mkdir()
    link = tmp_path / "link"
    link.symlink_to(place)
    folder = memory_root(tmp_path / "data", str(place))
    bucket = folder.parent.name
    assert re.fullmatch(r"[0-9a-f]{64}", bucket)
    assert folder == tmp_path / "data" / "memories" / bucket / "memory"
    assert "workspace" not in str(folder.relative_to(tmp_path))
    assert memory_root(tmp_path / "data", str(other)) != folder
    assert memory_root(tmp_path / "data", str(link)) == folder
    assert memory_root(tmp_path / "data", f"{place}/../workspace?one/") == folder


@pytest.mark.rows("EXT-48")
def test_what_is_no_path_here_stays_as_it_is() -> None:
    for raw in ("/work/\0shop", "D:\\shop", "relative/shop"):
        assert normalised(raw) == raw
        assert len(memory_root(Path("/data"), raw).parent.name) == 64


@pytest.mark.rows("EXT-48")
def test_a_directory_inside_a_project_uses_the_projects_root(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    (root / "src").mkdir(parents=True)
    projects = {1: Project(1, "repo", str(root))}
    inside = Session(1, "claude", "a", project_id=1, cwd=str(root / "src"))
    assert root_of(inside, projects) == str(root)
    alone = Session(2, "claude", "b", cwd=str(tmp_path))
    assert root_of(alone, projects) == str(tmp_path)
    assert root_of(Session(3, "claude", "c"), projects) is None


@pytest.mark.rows("EXT-48", "EXT-49")
def test_sessions_below_a_repository_and_behind_a_link_share_one_memory(bench: Bench) -> None:
    repo = bench.space.root / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (repo / "src").mkdir()
    link = bench.space.root / "link"
    link.symlink_to(repo)
    for seed, cwd in enumerate((repo, repo / "src", link), start=1):
        bench.work(seed, cwd=str(cwd))
    report = bench.swept().extract()
    assert report.touched == {str(repo)}
    assert len(report.written) == 3 and len({Path(path).parent for path in report.written}) == 1
    with bench.space.store() as store:
        by_link = store.memories.of_root(normalised(str(link)))
        assert [trace.thread_id for trace in by_link] == [
            trace.thread_id for trace in store.memories.of_root(str(repo))
        ]
        assert len(by_link) == 3
