"""Two clones, or a renamed folder, are one project when the user says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.journal.paths import journal_paths
from session_memory.memory.layout import MEMORY, memory_root
from session_memory.memory.user_part import page_with_user_part
from session_memory.testing.workspace import Workspace

REMOTE = "git@example.org:team/walrus.git"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def clone(space: Workspace, name: str) -> Path:
    root = space.root / "work" / name
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {REMOTE}\n')
    return root


def talk(root: Path, seed: int) -> ClaudeLog:
    log = ClaudeLog(seed, cwd=str(root))
    log.prompt(f"question {seed} about the pump")
    log.say(f"answer {seed}")
    return log


def run(space: Workspace, *words: str, code: int = 0) -> Any:
    done = space.run("--config", str(space.write_config()), *words, "--json")
    assert done.returncode == code, (done.stdout, done.stderr)
    return json.loads(done.stdout) if code == 0 else json.loads(done.stderr)["error"]


def listed(space: Workspace) -> dict[str, int]:
    found = run(space, "project", "list")["projects"]
    return {one["project"]["key"]: one["sessions"] for one in found}


def two_clones(space: Workspace) -> tuple[Path, Path]:
    first, second = clone(space, "walrus"), clone(space, "walrus-copy")
    space.write(talk(first, 1), talk(second, 2))
    space.sweep()
    return first, second


@pytest.mark.rows("IDN-16")
def test_clones_are_one_project_until_that_is_undone(space: Workspace) -> None:
    _, second = two_clones(space)
    before = space.dump()
    assert listed(space) == {"walrus": 1, "walrus-copy": 1}
    assert run(space, "project", "merge", "walrus-copy", "walrus")["sessions"] == 1
    assert listed(space) == {"walrus": 2}
    # Sessions that come later are found to be in the same project, also by their directory.
    space.write(talk(second, 3))
    space.sweep()
    assert listed(space) == {"walrus": 3}
    found = run(space, "sessions", "--project", "walrus")["sessions"]
    assert len(found) == 3
    assert space.findings() == []
    assert run(space, "project", "merge", "--undo", "walrus-copy")["sessions"] == 2
    assert listed(space) == {"walrus": 1, "walrus-copy": 2}
    assert [one for one in space.dump() if one in before] == before


@pytest.mark.rows("IDN-16")
def test_projects_merged_one_into_the_other_come_apart_one_by_one(space: Workspace) -> None:
    two_clones(space)
    space.write(talk(clone(space, "walrus-3"), 3))
    space.sweep()
    run(space, "project", "merge", "walrus-3", "walrus-copy")
    run(space, "project", "merge", "walrus-copy", "walrus")
    assert listed(space) == {"walrus": 3}
    refused = run(space, "project", "merge", "walrus", "walrus-3", code=2)
    assert "part of itself" in refused["message"]
    run(space, "project", "merge", "--undo", "walrus-copy")
    assert listed(space) == {"walrus": 1, "walrus-copy": 2}
    run(space, "project", "merge", "--undo", "walrus-3")
    assert listed(space) == {"walrus": 1, "walrus-3": 1, "walrus-copy": 1}


@pytest.mark.rows("IDN-16")
def test_a_merge_names_notes_and_journal_that_stay_with_the_part(space: Workspace) -> None:
    _, second = two_clones(space)
    data = space.store_directory
    assert run(space, "project", "merge", "walrus-copy", "walrus")["set_aside"] == []
    run(space, "project", "merge", "--undo", "walrus-copy")
    page = memory_root(data, str(second)) / MEMORY
    page.parent.mkdir(parents=True)
    page.write_text(page_with_user_part("\ndeploy on fridays only\n"))
    day = journal_paths(data, str(second)).day("2026-03-02")
    day.parent.mkdir(parents=True)
    day.write_text("# 2026-03-02\n")
    merged = run(space, "project", "merge", "walrus-copy", "walrus")
    assert merged["set_aside"] == [str(page), str(day.parent)]
    run(space, "project", "merge", "--undo", "walrus-copy")
    words = ("project", "merge", "walrus-copy", "walrus")
    shown = space.run("--config", str(space.write_config()), *words).stdout
    assert str(page) in shown and str(day.parent) in shown


@pytest.mark.rows("IDN-16")
def test_a_name_that_was_merged_leads_to_the_project_it_is_part_of(space: Workspace) -> None:
    two_clones(space)
    run(space, "project", "merge", "walrus-copy", "walrus")
    refused = run(space, "sessions", "--project", "walrus-copy", code=1)
    assert refused["hint"] == "it is part of walrus now"


@pytest.mark.rows("IDN-17")
def test_a_renamed_project_keeps_its_sessions_and_finds_later_ones(space: Workspace) -> None:
    first, _ = two_clones(space)
    run(space, "project", "rename", "walrus", "sea-lion")
    space.write(talk(first, 3))
    space.sweep()
    assert listed(space) == {"sea-lion": 2, "walrus-copy": 1}
    run(space, "project", "rename", "--undo", "sea-lion")
    assert listed(space) == {"walrus": 2, "walrus-copy": 1}


@pytest.mark.rows("IDN-17")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rename", "walrus", "walrus-copy"), "already"),
        (("rename", "walrus", "a/b"), "cannot be a name"),
        (("rename", "--undo", "walrus"), "was not renamed"),
        (("merge", "walrus"), "--undo"),
        (("merge", "walrus", "walrus"), "itself"),
    ],
)
def test_what_makes_no_sense_is_refused(
    space: Workspace, words: tuple[str, ...], said: str
) -> None:
    two_clones(space)
    assert said in run(space, "project", *words, code=2)["message"]
    assert listed(space) == {"walrus": 1, "walrus-copy": 1}


@pytest.mark.rows("IDN-16")
def test_forgetting_reaches_a_project_that_was_merged(space: Workspace) -> None:
    _, second = two_clones(space)
    run(space, "project", "merge", "walrus-copy", "walrus")
    (copy,) = [s for s in space.sessions().values() if s.cwd == str(second)]
    space.forget(sessions=(str(copy.id),))
    assert listed(space) == {"walrus": 1}
    held = (space.store_directory / "store.db").read_bytes()
    assert b"walrus-copy" not in held
    assert space.findings() == []


@pytest.mark.rows("IDN-16")
def test_forgetting_a_whole_project_takes_its_parts_along(space: Workspace) -> None:
    two_clones(space)
    run(space, "project", "merge", "walrus-copy", "walrus")
    done = space.run(
        *("--config", str(space.write_config()), "forget", "--project", "walrus", "--yes")
    )
    assert done.returncode == 0, done.stderr
    assert listed(space) == {}
    assert b"walrus" not in (space.store_directory / "store.db").read_bytes()


@pytest.mark.rows("IDN-16")
def test_doctor_suggests_to_merge_what_has_one_remote(space: Workspace) -> None:
    two_clones(space)
    command = "session-memory project merge walrus-copy walrus"
    done = space.run("--config", str(space.write_config()), "doctor", "--quick")
    assert command in done.stdout
    run(space, *command.split()[1:])
    done = space.run("--config", str(space.write_config()), "doctor", "--quick")
    assert command not in done.stdout


@pytest.mark.rows("IDN-16")
def test_every_command_names_what_became_of_a_key(space: Workspace) -> None:
    two_clones(space)
    third = space.root / "work" / "seal"
    (third / ".git").mkdir(parents=True)
    space.write(talk(third, 3))
    space.sweep()
    keys = sorted(set(listed(space)) - {"seal"})
    run(space, "project", "merge", keys[1], keys[0])
    run(space, "project", "rename", "seal", "sea-lion")
    moved = {keys[1]: f"it is part of {keys[0]} now", "seal": "it is called sea-lion now"}
    for key, hint in moved.items():
        for words, code in ASKED:
            asked = [word.replace("KEY", key) for word in words]
            assert hint in run(space, *asked, code=code)["hint"], asked


ASKED = (
    (("project", "memory", "briefing", "--project", "KEY"), 1),
    (("project", "memory", "show", "--project", "KEY"), 1),
    (("project", "memory", "extract", "--project", "KEY", "--dry-run"), 1),
    (("project", "memory", "audit", "--project", "KEY"), 1),
    (("project", "journal", "health", "--project", "KEY"), 1),
    (("project", "brief", "--project", "KEY"), 1),
    (("project", "observations", "--project", "KEY"), 1),
    (("sessions", "--project", "KEY"), 1),
    (("search", "pump", "--project", "KEY"), 1),
    (("handoff", "--project", "KEY"), 1),
    (("store", "export", "out", "--project", "KEY", "--dry-run"), 1),
    (("forget", "--project", "KEY", "--dry-run"), 8),
    (("rules", "add", "Never push on a Friday.", "--project", "KEY", "--dry-run"), 8),
)
"""Commands that are given a project, and how they end where there is none of that key."""
