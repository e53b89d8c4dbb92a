"""The verbs for trust, as a user runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("the zebrawood address is private")
    space.write(log)
    return space


def run(space: Workspace, *arguments: str) -> subprocess.CompletedProcess[str]:
    return space.run("--config", str(space.write_config()), *arguments)


def swept(space: Workspace) -> Workspace:
    assert run(space, "sweep").returncode == 0
    return space


def test_forget_without_a_condition_is_refused(space: Workspace) -> None:
    done = run(swept(space), "forget", "--yes")
    assert done.returncode == 8
    assert "everything" in done.stderr


def test_forget_shows_what_would_go_and_asks_before_it_does(space: Workspace) -> None:
    swept(space)
    output = run(space, "forget", "--text", "zebrawood", "--dry-run")
    assert (output.returncode, "in 1 event of 1 session" in output.stdout) == (0, True)
    refused = run(space, "forget", "--text", "zebrawood")
    assert refused.returncode == 8
    assert run(space, "forget", "--text", "zebrawood", "--verify").returncode == 1


@pytest.mark.rows("REF-03")
def test_forget_shows_each_session_before_it_goes(space: Workspace) -> None:
    swept(space)
    (session,) = space.sessions().values()
    output = run(space, "forget", "--session", str(session.id), "--dry-run")
    row = next(line for line in output.stdout.splitlines() if session.external_id in line)
    assert row.split()[:4] == [str(session.id), session.external_id, "claude", session.project_key]
    assert "2026-03-02T09:00  2026-03-02T09:00" in row and "zebrawood address" in row
    assert "1 session with 1 event" in output.stdout
    output = run(space, "forget", "--session", str(session.id), "--dry-run", "--json")
    (shown,) = json.loads(output.stdout)["sessions"]
    assert (shown["session_id"], shown["session"]) == (session.id, session.external_id)
    assert (shown["flavor"], shown["project"]) == ("claude", session.project_key)
    assert (shown["events"], shown["title"]) == (1, "the zebrawood address is private")
    assert shown["started_at"] and shown["ended_at"]
    assert run(space, "sessions", "--json").stdout.count(session.external_id) == 1


@pytest.mark.parametrize(
    "wanted", [("--session", "99"), ("--session", "nothing", "--dry-run"), ("--text", "zebrawood")]
)
def test_a_forget_that_did_nothing_leaves_nothing_behind(
    space: Workspace, wanted: tuple[str, ...]
) -> None:
    swept(space)
    before = {path: path.read_bytes() for path in space.store_directory.rglob("*.*")}
    assert run(space, "forget", *wanted).returncode in (1, 8)
    assert {path: path.read_bytes() for path in space.store_directory.rglob("*.*")} == before


@pytest.mark.rows("REF-03")
def test_a_hint_for_digits_names_the_session_that_they_name_as_an_id(space: Workspace) -> None:
    for seed, name in ((2, "1234567"), (3, "12345678")):
        log = ClaudeLog(seed)
        log.session_id = name
        log.prompt(f"number {seed}")
        space.write(log)
    swept(space)
    numbers = {name: session.id for name, session in space.sessions().items()}
    for name in ("1234567", "12345678"):
        output = run(space, "forget", "--session", name, "--dry-run").stderr
        assert f"`id:{name}` names {numbers[name]} claude {name} " in output
    assert "'1234' fits 2 sessions" in run(space, "show", "1234").stderr


@pytest.mark.rows("REF-03")
def test_forget_without_a_terminal_needs_yes(space: Workspace) -> None:
    swept(space)
    (session,) = space.sessions().values()
    refused = run(space, "forget", "--session", str(session.id))
    assert (refused.returncode, refused.stdout) == (8, "")
    assert session.external_id in refused.stderr and "--yes" in refused.stderr
    assert len(space.sessions()) == 1
    done = run(space, "forget", "--session", str(session.id), "--yes")
    assert done.returncode == 0 and session.external_id in done.stdout
    assert "\nforgotten\n" in done.stdout and space.sessions() == {}


@pytest.mark.rows("REF-03")
@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("y", 0)])
def test_forget_asks_on_a_terminal(space: Workspace, answer: str, left: int) -> None:
    swept(space)
    (session,) = space.sessions().values()
    ours, theirs = os.openpty()
    words = ["--config", str(space.write_config()), "forget", "--session", str(session.id)]
    child = subprocess.Popen(
        [sys.executable, "-m", "session_memory", *words],
        env=space.environ(),
        cwd=space.root,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.write(ours, f"{answer}\n".encode())
    _, shown = child.communicate()
    os.close(ours)
    os.close(theirs)
    assert shown.index(session.external_id) < shown.index("Forget?")
    assert len(space.sessions()) == left


def test_forget_and_verify(space: Workspace) -> None:
    swept(space)
    assert run(space, "forget", "--text", "zebrawood", "--yes").returncode == 0
    proved = run(space, "forget", "--text", "zebrawood", "--verify", "--json")
    assert proved.returncode == 0
    assert json.loads(proved.stdout)["absent"] is True


def test_the_proof_ignores_case_as_forgetting_did(space: Workspace) -> None:
    swept(space)
    strict = run(space, "forget", "--text", "ZebraWood", "--verify")
    assert strict.returncode == 0 and "--ignore-case" in strict.stderr
    folded = ("forget", "--text", "ZebraWood", "--ignore-case")
    assert run(space, *folded, "--verify").returncode == 1
    assert run(space, *folded, "--yes").returncode == 0
    assert run(space, *folded, "--verify").returncode == 0
    assert run(space, "forget", "--text", "zebrawood", "--verify").returncode == 0


def test_forgetting_keeps_when_the_last_sweep_was(space: Workspace) -> None:
    (log,) = space.files()
    os.symlink("nowhere", log.with_name("zebrawood.jsonl"))
    run(space, "sweep")
    assert run(space, "forget", "--text", "zebrawood", "--yes").returncode == 0
    status = json.loads(run(space, "status", "--json").stdout)
    assert status["last_sweep"]["finished_at"] > 0
    assert "zebrawood" not in json.dumps(status["last_sweep"])


def test_forget_what_is_not_there_is_refused(space: Workspace) -> None:
    done = run(swept(space), "forget", "--text", "nobody said this", "--yes")
    assert done.returncode == 8
    assert "nothing matches" in done.stderr


@pytest.fixture
def stateless(space: Workspace) -> Path:
    """A file in the place of the state directory."""
    state = swept(space).store_directory / "state"
    shutil.rmtree(state)
    state.write_text("not a directory")
    return state


def test_a_file_in_the_place_of_the_state_directory_is_named(
    space: Workspace, stateless: Path
) -> None:
    named = f"{stateless} is not a directory"
    status = run(space, "status")
    assert status.returncode == 0 and f"last error  {named}" in status.stdout
    doctor = run(space, "doctor", "--quick")
    assert doctor.returncode == 1
    assert f"fail  state        {named}" in doctor.stdout and "fix: move it away" in doctor.stdout
    assert run(space, "worker", "status").returncode == 0
    for words in (["worker", "run"], ["sweep"], ["project", "memory", "extract", "--now"]):
        refused = run(space, *words)
        assert refused.returncode == 8 and named in refused.stderr, words
    forgotten = run(space, "forget", "--text", "zebrawood", "--yes")
    assert forgotten.returncode == 0, forgotten.stderr
    assert stateless.read_text() == "not a directory"


def test_doctor_on_a_healthy_store(space: Workspace) -> None:
    done = run(swept(space), "doctor", "--json")
    results = {check["name"]: check["result"] for check in json.loads(done.stdout)["checks"]}
    assert results["database"] == results["modes"] == results["place"] == "pass"
    assert done.returncode in (0, 3)  # 3: a machine with little space left


def test_doctor_names_the_cure(space: Workspace) -> None:
    missing = run(space, "doctor")
    assert missing.returncode == 3
    assert "fix: session-memory sweep" in missing.stdout
    swept(space)
    (space.store_directory / "store.db").chmod(0o644)
    wide = run(space, "doctor")
    assert wide.returncode == 1
    assert "chmod -R go=" in wide.stdout
