"""From a session's end to what the next one is told: hook, worker, memory, journal, page, hook.

All of it through real processes and the command line, as an agent's hooks would run it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hooks.hook_process import environment, run_hook, state
from tests.memory.shell import BOTH

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.model_server import ModelServer, Part, Play

# The program, but a model that failed is asked again at once.
IMPATIENT = """
import sys
from session_memory.model import retry
retry.DELAYS_S = (0.0,) * len(retry.DELAYS_S)
from session_memory.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "shop"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return place


@pytest.fixture
def agent_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "claude"
    home.mkdir()
    monkeypatch.setenv("SESSION_MEMORY_SOURCES_CLAUDE_PATHS", str(home))
    return home


def session(place: Path, seed: int = 1) -> ClaudeLog:
    """A session worth remembering: a rule, a failure, its cure, a verified end."""
    log = ClaudeLog(seed, cwd=str(place))
    log.prompt("Fix the failing checkout test. Always run the tests with make test, never pytest.")
    log.run("pytest -q tests/test_checkout.py", "ModuleNotFoundError: No module named 'shop'", 1)
    log.say("The package is not on the path with plain pytest, so I use make test.")
    log.run("make test", "12 passed in 0.8s", 0)
    log.say("Decision: totals are rounded half even. All 12 tests pass now.")
    log.prompt("Great, that works. Thanks!")
    log.say("Glad to hear it.")
    return log


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in this test's home."""
    names = ("SESSION_MEMORY_SOURCES_CLAUDE_PATHS",)
    more = {name: os.environ[name] for name in names}
    return subprocess.run(
        [sys.executable, "-m", "session_memory", *arguments],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def end_and_work(log: ClaudeLog, agent_home: Path) -> dict[str, object]:
    """The session ends, its hook notes it, the worker does everything due."""
    path = log.write(agent_home)
    payload = {
        "session_id": log.session_id,
        "transcript_path": str(path),
        "cwd": log.cwd,
        "hook_event_name": "SessionEnd",
        "reason": "exit",
    }
    ran = run_hook("SessionEnd", "claude", payload=payload)
    assert ran.code == 0, ran
    done = run("worker", "run", "--json")
    assert done.returncode == 0, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return report


def start(log: ClaudeLog, session_id: str) -> str:
    """What a new session is told, through the hook itself."""
    (state() / "hook.json").write_text('{"inject": true}', encoding="utf-8")
    payload = {
        "session_id": session_id,
        "cwd": log.cwd,
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    ran = run_hook("SessionStart", "claude", payload=payload)
    assert ran.code == 0
    if not ran.out:
        return ""
    told: str = json.loads(ran.out)["hookSpecificOutput"]["additionalContext"]
    return told


@pytest.mark.rows("EXT-01", "HOK-07")
def test_a_session_that_ended_is_remembered_and_told_to_the_next(
    repository: Path, agent_home: Path
) -> None:
    log = session(repository)
    report = end_and_work(log, agent_home)
    assert report["imports"] == 1 and report["jobs_failed"] == 0
    assert int(str(report["jobs_done"])) >= 2 and int(str(report["pages"])) >= 1
    assert "make test" in run("project", "memory", "show", "--project", "shop").stdout
    told = start(log, "11111111-2222-4333-8444-555555555555")
    assert "make test" in told and len(told) <= 9_500
    assert run("jobs", "--json").returncode == 0


def test_forgetting_the_session_takes_memory_journal_and_pages_along(
    repository: Path, agent_home: Path
) -> None:
    log = session(repository)
    end_and_work(log, agent_home)
    assert "half even" in everything(Path(os.environ["SESSION_MEMORY_HOME"]))
    done = run("forget", "--session", log.session_id, "--yes")
    assert done.returncode == 0, done.stderr
    assert "half even" not in everything(Path(os.environ["SESSION_MEMORY_HOME"]))
    assert "half even" not in start(log, "11111111-2222-4333-8444-555555555555")


def everything(home: Path) -> str:
    """All bytes below a directory, as text."""
    files = sorted(path for path in home.rglob("*") if path.is_file())
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def test_forgetting_a_text_reaches_memory_and_journal(repository: Path, agent_home: Path) -> None:
    log = session(repository)
    end_and_work(log, agent_home)
    done = run("forget", "--text", "half even", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "half even" not in everything(Path(os.environ["SESSION_MEMORY_HOME"]))
    proof = run("forget", "--text", "half even", "--verify")
    assert proof.returncode == 0, proof.stdout


def test_turned_off_neither_memory_nor_journal_is_made(
    repository: Path, agent_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["SESSION_MEMORY_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    text = "[memory]\nenabled = false\n[journal]\nenabled = false\n"
    (home / "config.toml").write_text(text, encoding="utf-8")
    report = end_and_work(session(repository), agent_home)
    assert report["imports"] == 1 and report["jobs_done"] == 0
    assert not (home / "data" / "memories").exists() and not (home / "data" / "journal").exists()


def when_idle() -> None:
    """Wait until the worker that a hook started has ended."""
    import fcntl

    with (state() / "worker.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


@pytest.mark.rows("EXT-01")
@pytest.mark.skipif(os.name == "nt", reason="waits for a POSIX lock")
@pytest.mark.parametrize("part", ["slow", "broken"])
def test_a_session_starts_without_waiting_for_the_pipeline(
    repository: Path, agent_home: Path, part: Part
) -> None:
    before = session(repository)
    before.write(agent_home)
    words = [sys.executable, "-c", IMPATIENT, "worker", "run"]
    state().mkdir(parents=True)
    (state() / "hook.json").write_text(json.dumps({"worker": words}), encoding="utf-8")
    current = session(repository, seed=2)
    path = current.write(agent_home)
    payload = {
        "session_id": current.session_id,
        "transcript_path": str(path),
        "cwd": current.cwd,
        "hook_event_name": "SessionStart",
    }
    with ModelServer([Play(part, BOTH)]) as server:
        settings = {
            "SESSION_MEMORY_SOURCES_CLAUDE_PATHS": str(agent_home),
            "SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS": "unlimited",
            "SESSION_MEMORY_JOURNAL_ENABLED": "false",
            "SESSION_MEMORY_MODEL_PROVIDER": "anthropic",
            "SESSION_MEMORY_MODEL_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "k",
        }
        ran = run_hook("SessionStart", "claude", payload=payload, **settings)
        # The model has not answered and does not until it is let: a hook that waited would hang.
        assert (ran.code, ran.err) == (0, b"")
        assert server.requested.wait(60)
        assert "memory" not in run("project", "memory", "show", "--project", "shop").stdout
        server.gate.set()
        when_idle()
    shown = run("project", "memory", "status", "--json")
    status = json.loads(shown.stdout)
    if part == "slow":
        assert list(status["roots"].values()) == [1] and len(server.requests) == 2
    else:  # the pipeline failed: a warning, and the session is captured all the same
        assert status["roots"] == {} and status["warnings"][0]["event"] == "dropped"
    assert current.session_id in run("sessions", "--json").stdout


@pytest.mark.rows("BRF-07")
def test_every_line_of_a_briefing_can_be_traced_to_its_session(
    repository: Path, agent_home: Path
) -> None:
    log = session(repository)
    end_and_work(log, agent_home)
    lines = json.loads(run("project", "memory", "briefing", "--project", "shop", "--json").stdout)[
        "lines"
    ]
    assert lines[0]["kind"] == "verify" and "make test" in lines[0]["text"]
    shown = run("project", "memory", "briefing", "--project", "shop").stdout
    assert shown == "".join(f"- {line['text']}\n" for line in lines)
    for line in lines:
        evidence = run("project", "memory", "why", line["text"])
        assert evidence.returncode == 0, evidence.stderr
        assert log.session_id in evidence.stdout
