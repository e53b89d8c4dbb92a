"""Names with bytes that are no UTF-8 are names like any other: stored, shown and found again."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.file_names import name_to_text
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs names of any bytes")

VERBS = (
    *(
        "status",
        "sessions",
        "config agents",
        "store quarantine",
        "store fsck",
        "usage",
        "config show",
        "store audit",
    ),
    *(
        "doctor --quick",
        "search hello",
        "store retention plan",
        "sweep --dry-run",
        "sweep",
        "rules detect",
    ),
)


def odd_path(folder: Path, name: bytes) -> Path:
    return folder / os.fsdecode(name)


def talk(seed: int, cwd: str = "/work/shop") -> ClaudeLog:
    log = ClaudeLog(seed, cwd=cwd)
    log.prompt(f"hello {seed}")
    log.say("hello back")
    return log


def nameless(text: str) -> bytes:
    """A record that leaves the session's name to the name of its file."""
    message = {"role": "user", "content": text}
    row = {"type": "user", "message": message, "timestamp": "2026-03-02T09:00:00Z"}
    return json.dumps(row).encode() + b"\n"


@pytest.mark.rows("ING-14")
def test_files_of_any_name_are_swept_once_each(space: Workspace) -> None:
    chance = random.Random(8)
    folder = space.claude / "projects" / "p"
    folder.mkdir(parents=True)
    names = {
        bytes(chance.choice(b"ab\xff\xfe\xc3\xa4\xf4\x8f\xbf\x80 \n\\") for _ in range(8))
        for _ in range(40)
    }
    for number, name in enumerate(sorted(names)):
        log = talk(number)
        odd_path(folder, name + b".jsonl").write_bytes(log.dump() + b"no json\n")
    report = space.sweep()
    assert (report.ingested, report.failed) == (len(names), [])
    assert len(space.sessions()) == len(names)
    assert space.sweep().skipped_unchanged == len(names)
    with space.store() as store:
        found = {path for path, _, _ in store.quarantined()}
    assert found == {name_to_text(f"{folder}/{os.fsdecode(name)}.jsonl") for name in names}
    assert space.findings() == []
    assert space.dump()


@pytest.mark.rows("ING-14")
def test_a_session_named_by_such_a_file_is_found_and_forgotten_by_it(space: Workspace) -> None:
    folder = space.claude / "projects" / "p"
    folder.mkdir(parents=True)
    name = os.fsdecode(b"talk\xff\xfe")
    (folder / f"{name}.jsonl").write_bytes(nameless("the needle"))
    config = str(space.write_config())
    assert space.run("--config", config, "sweep").returncode == 0
    shown = space.run("--config", config, "sessions")
    assert "talk\\xff\\xfe" in shown.stdout
    assert "the needle" in space.run("--config", config, "show", name).stdout
    done = space.run("--config", config, "forget", "--session", name, "--yes")
    assert done.returncode == 0, done.stderr
    assert space.sessions() == {}
    assert space.sweep().skipped_unchanged == 1
    assert space.sessions() == {}


@pytest.mark.rows("ING-14")
def test_a_file_of_such_a_name_that_cannot_be_read_is_reported(space: Workspace) -> None:
    folder = space.claude / "projects" / "p"
    folder.mkdir(parents=True)
    gone = odd_path(folder, b"gone\xff.jsonl")
    gone.symlink_to("nowhere")
    space.write(talk(1))
    config = str(space.write_config())
    done = space.run("--config", config, "sweep", "--json")
    assert done.returncode == 3, done.stderr
    (failure,) = json.loads(done.stdout)["failed"]
    assert failure["path"] == name_to_text(str(gone))
    assert "gone\\xff.jsonl" in space.run("--config", config, "status").stdout


@pytest.mark.rows("ING-14")
def test_everything_works_in_a_home_of_such_a_name(tmp_path: Path) -> None:
    space = Workspace(odd_path(tmp_path, b"h\xff\xe9me"))
    project = odd_path(space.root, b"pr\xfej")
    (project / ".git").mkdir(parents=True)
    (space.root / "link").symlink_to(project)
    log = talk(1, cwd=str(space.root / "link").encode("utf-8", "replace").decode())
    folder = odd_path(space.home / ".claude" / "projects", b"p\xff")
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_bytes(log.dump() + b"no json\n")
    for verb in ("sweep", *VERBS, "store export out.jsonl", "store backup copy", "worker run"):
        words = verb.split()
        done = run(space, *words)
        assert done.returncode in (0, 3), (verb, done.stderr)
        done.stdout.decode("utf-8")
        if words[1:2] not in (["export"], ["backup"]):
            as_json = space.run(*words, "--json")
            assert as_json.returncode in (0, 3), (verb, as_json.stderr)
    dumped = run(space, "store", "dump")
    assert dumped.returncode == 0
    assert len(dumped.stdout.splitlines()) == 1


@pytest.mark.rows("ING-14")
def test_a_project_behind_a_link_to_such_a_name_is_found_from_inside_it(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    project = odd_path(tmp_path, b"pr\xfej")
    (project / ".git").mkdir(parents=True)
    (project / ".session-memory.toml").write_text("domain = 'odd'\n")
    (tmp_path / "link").symlink_to(project)
    space.write(talk(1, cwd=str(tmp_path / "link")))
    space.sweep()
    (session,) = space.sessions().values()
    assert session.domain == "odd"
    config = str(space.write_config())
    listed = run(space, "--config", config, "sessions", "--project", os.fsdecode(b"pr\xfej"))
    assert b"pr\\xfej" in listed.stdout, listed.stderr
    packed = run(space, "--config", config, "project", "pack", cwd=project)
    assert packed.returncode == 0, packed.stderr


@pytest.mark.rows("ING-14")
def test_half_characters_in_a_log_are_stored_as_text(space: Workspace) -> None:
    log = talk(1, cwd="/work/CWD")
    data = log.dump().replace(b"/work/CWD", b"/work/x\\udcff").replace(b"hello 1", b"hello \\ud800")
    folder = space.claude / "projects" / "p"
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_bytes(
        data.replace(b'"gitBranch":"main"', b'"gitBranch":"\\udfff"')
    )
    assert space.sweep().failed == []
    (session,) = space.sessions().values()
    assert session.cwd == "/work/x\ufffd"
    assert space.dump()


def run(
    space: Workspace, *words: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own, whose output is bytes."""
    return subprocess.run(
        [sys.executable, "-m", "session_memory", *words],
        env=space.environ(),
        cwd=cwd or space.root,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
