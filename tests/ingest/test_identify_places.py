"""Flavours, projects and side files on their way through a sweep."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from session_memory import narrowing
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.common import (
    Adapter,
    Block,
    Fact,
    Json,
    Normalized,
    RawEvent,
    SessionPart,
    SourceFile,
    walk_files,
)
from session_memory.adapters.registry import adapters, register, unregister
from session_memory.store.sqlite.connection import connect
from session_memory.testing.workspace import Workspace


def talk(seed: int = 1, *, cwd: str = "/work/shop") -> ClaudeLog:
    log = ClaudeLog(seed, cwd=cwd)
    log.prompt("what is in this directory?")
    log.run("ls", "README.md")
    log.say("only a README")
    return log


# --- flavours and projects ------------------------------------------------------------------------


def parse_notes(file: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """A made-up agent that logs one prompt a line."""
    part = SessionPart(Path(file.path).stem)
    for offset, line in block.lines:
        part.events.append(RawEvent(offset, "user_prompt", "user", line.decode(), at=1000 + offset))
        part.facts.append(Fact("started_at", 1000 + offset, offset))
    return Normalized([part], records=len(block.lines))


NOTES = Adapter(
    name="notes",
    title="Notes",
    env=None,
    default_dirs=("~/.notes",),
    discover=lambda root: walk_files(root, ".note"),
    parser_version=1,
    parse=parse_notes,
)


@pytest.mark.rows("CAP-09", "CAP-10")
def test_a_registered_flavour_is_swept_like_any_other(space: Workspace) -> None:
    log = talk()
    space.write(log)
    place = space.home / ".notes"
    place.mkdir()
    (place / "monday.note").write_text("buy milk\ncall the bank\n")
    register(NOTES)
    try:
        space.adapters = adapters()
        report = space.sweep()
    finally:
        unregister("notes")
    assert {name: count for name, count in report.flavors.items() if count} == {
        "claude": 1,
        "notes": 1,
    }
    assert space.session("monday").flavor == "notes"
    assert space.session(log.session_id).flavor == "claude"
    assert [event.text for event in space.events("monday")] == ["buy milk", "call the bank"]
    digest = space.digest("monday")
    assert digest is not None
    assert digest.flavor == "notes"


def repository(path: Path) -> Path:
    (path / ".git").mkdir(parents=True)
    (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (path / "src").mkdir()
    return path


@pytest.mark.rows("IDN-06")
def test_a_session_keeps_how_its_project_was_found(space: Workspace) -> None:
    repo = repository(space.root / "code" / "shop")
    log = talk(cwd=str(repo / "src"))
    space.write(log)
    space.sweep()
    found = space.session(log.session_id)
    assert found.project_key == "shop"
    assert found.metadata["project_root_path"] == str(repo)
    assert found.metadata["project_resolution_source"]
    assert found.metadata["project_resolution_confidence"] == "high"
    assert found.metadata["project_resolution_warnings"] == []


@pytest.mark.rows("IDN-07")
def test_a_project_keeps_its_root_when_a_later_session_disagrees(space: Workspace) -> None:
    repo = repository(space.root / "code" / "shop")
    first = talk(1, cwd=str(repo))
    space.write(first)
    space.sweep()
    (repo / ".git" / "HEAD").unlink()
    (repo / ".git").rmdir()
    repository(repo / "src")  # the same directory is found from another root now
    again, other = talk(2, cwd=str(repo)), talk(3, cwd=str(repo / "src"))
    space.write(again, other)
    space.sweep()
    with space.store() as store:
        roots = {project.key: project.root for project in store.projects()}
    assert roots["shop"] == str(repo)
    assert space.session(again.session_id).project_key == "shop"
    assert space.session(first.session_id).metadata["project_root_path"] == str(repo)


@pytest.mark.rows("IDN-13")
@pytest.mark.parametrize(
    ("cwds", "projects"),
    [
        (("C:\\Users\\Me\\Proj", "c:\\Users\\Me\\Proj", "c:/users/me/proj/"), 1),
        (("/home/u/default-project", "/tmp", "/home/u/default-project"), 2),
        (("/tmp", "/home/u/default-project", "/tmp"), 2),
    ],
)
def test_two_spellings_of_one_root_are_one_project(
    space: Workspace, cwds: tuple[str, ...], projects: int
) -> None:
    logs = [talk(seed, cwd=cwd) for seed, cwd in enumerate(cwds, 1)]
    for log in logs:  # one by one, then all at once into another store
        space.write(log)
        assert space.sweep().ingested == 1
    other = space.with_store("other")
    other.sweep()
    for each in (space, other):
        with each.store() as store:
            found = store.projects()
        assert len(found) == projects
        keys = [each.session(log.session_id).project_key for log in logs]
        assert keys[0] == keys[2]
        assert each.findings() == []
    keyed = [
        # The spelling is that of the session read first.
        {name: str(s.project_key).casefold() for name, s in each.sessions().items()}
        for each in (space, other)
    ]
    assert keyed[0] == keyed[1]


@pytest.mark.rows("IDN-13")
def test_a_folder_that_holds_the_default_key_since_long_stops_no_sweep(space: Workspace) -> None:
    rooted, loose = talk(1, cwd="/home/u/default-project"), talk(2, cwd="/tmp")
    space.write(rooted)
    space.sweep()
    database = connect(str(space.store_directory / "store.db"))
    database.execute("UPDATE project SET key = 'default-project'")  # as earlier versions named it
    database.close()
    space.write(loose)
    assert space.sweep().ingested == 1
    space.write(talk(3, cwd="/tmp"))
    assert space.sweep().ingested == 1
    assert len({s.project_key for s in space.sessions().values()}) == 2
    assert space.session(rooted.session_id).project_key == "default-project"


@pytest.mark.parametrize("rules", ["enabled = false\n", "exclude = ['src']\n", "enabled = maybe\n"])
def test_a_repository_can_keep_its_sessions_out(space: Workspace, rules: str) -> None:
    private, public = repository(space.root / "private"), repository(space.root / "public")
    (private / ".session-memory.toml").write_text(rules)
    hidden, seen = talk(1, cwd=str(private / "src")), talk(2, cwd=str(public / "src"))
    space.write(hidden, seen)
    report = space.sweep()
    assert list(space.sessions()) == [seen.session_id]
    assert report.excluded == len(hidden.rows)
    assert space.sweep().skipped_unchanged == 2


@pytest.mark.rows("ING-12")
@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ENAMETOOLONG, errno.EMFILE])
@pytest.mark.parametrize("name", [".session-memory.toml", ".sessionmemoryignore"])
@pytest.mark.parametrize("swept", [False, True], ids=["new", "grown"])
def test_a_session_waits_while_what_its_repository_wants_cannot_be_read(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, code: int, name: str, swept: bool
) -> None:
    closed, public = repository(space.root / "closed"), repository(space.root / "public")
    waiting, seen = talk(1, cwd=str(closed / "src")), talk(2, cwd=str(public / "src"))
    if swept:
        space.write(waiting)
        space.sweep()
        waiting.prompt("and now?")
    path, _ = space.write(waiting, seen)
    real = narrowing.read_plain

    def read(file: str, cap: int, *, follow: bool = True) -> bytes:
        if file == str(closed / name):
            raise OSError(code, os.strerror(code), file)
        return real(file, cap, follow=follow)

    with monkeypatch.context() as patch:
        patch.setattr(narrowing, "read_plain", read)
        for _ in range(2):
            report = space.sweep()
            (failure,) = report.failed
            assert (failure.path, failure.deferred) == (str(path), True)
            assert failure.reason == f"cannot read {closed / name}: {os.strerror(code)}"
            assert report.excluded == 0
            assert report.needs_attention
            assert len(space.sessions()) == 1 + swept
            assert space.findings() == []
    report = space.sweep()
    assert (report.ingested, report.failed) == (1, [])
    assert len(space.events(waiting.session_id)) == len(waiting.rows)


@pytest.mark.rows("ING-12")
def test_a_directory_of_another_machine_is_no_reason_to_wait(space: Workspace) -> None:
    folder = space.claude / "projects" / "p"
    folder.mkdir(parents=True)
    for seed, cwd in enumerate((f"/work/{'x' * 300}", "/work/" + "long/" * 1000), 1):
        log = talk(seed, cwd=cwd)
        (folder / f"{log.session_id}.jsonl").write_bytes(log.dump())
    assert space.sweep().ingested == 2
    assert len(space.sessions()) == 2


def test_an_excluded_path_is_not_even_discovered(space: Workspace) -> None:
    hidden, seen = talk(1, cwd="/work/secret"), talk(2)
    path, _ = space.write(hidden, seen)
    space.exclude = (str(path.parent),)
    report = space.sweep()
    assert report.discovered == 1
    assert list(space.sessions()) == [seen.session_id]


# --- texts that stand elsewhere -------------------------------------------------------------------


def test_output_that_overflowed_into_a_side_file_is_stored(space: Workspace) -> None:
    log = talk()
    call = log.call("Bash", {"command": "make all"})
    note = "<persisted-output>\nOutput too large. Full output saved to: /x/tool-results/b1.txt\n"
    log.result(call, note, {"persistedOutputPath": "/elsewhere/tool-results/b1.txt"})
    (path,) = space.write(log)
    side = path.with_suffix("") / "tool-results"
    side.mkdir(parents=True)
    (side / "b1.txt").write_text("line one\nthe needle in the overflow\n")
    space.sweep()
    stored = space.events(log.session_id)[-1].text or ""
    assert "the needle in the overflow" in stored


def test_a_prompt_typed_while_the_agent_works_is_a_prompt_once(space: Workspace) -> None:
    log = talk()
    log.queue("and please be quick")
    space.write(log)
    space.sweep()
    found = [event for event in space.events(log.session_id) if "be quick" in (event.text or "")]
    assert [event.kind for event in found].count("user_prompt") == 1
    digest = space.digest(log.session_id)
    assert digest is not None
    assert digest.turns == 2


def test_the_project_of_a_session_does_not_depend_on_how_its_log_came_in(
    space: Workspace,
) -> None:
    """Above several repositories the first prompt's paths tell which one is meant."""
    code = space.root / "code"
    first, second = repository(code / "alpha"), repository(code / "beta")
    log = ClaudeLog(1, cwd=str(code))
    log.prompt(f"look at {first}/src/a.py")
    space.write(log)
    space.sweep()
    assert space.session(log.session_id).project_key == "alpha"
    log.prompt(f"and now at {second}/src/b.py")
    space.write(log)
    space.sweep()
    assert space.session(log.session_id).project_key == "alpha"
