"""`status`, `audit`, `version` and `shell-completion`: small answers that must be right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from session_memory import __version__, audit
from session_memory.__main__ import main
from session_memory.adapters.registry import adapters
from session_memory.errors import EXIT_OK
from session_memory.settings import Model
from session_memory.settings.load import variable
from session_memory.store import open_store
from session_memory.store.sqlite.connection import SCHEMA_VERSION
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A swept store that is the one this user is set up with."""
    built = Workspace(tmp_path / "space")
    write_samples(built.claude)
    built.sweep()
    monkeypatch.setenv(variable("store.path"), str(built.store_directory))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(built.claude))
    monkeypatch.setenv("PATH", "")  # an agent that happens to be installed is none of this
    return built


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, str]:
    """The rows of a screen by their first word or two."""
    assert main(words) == EXIT_OK
    rows = capsys.readouterr().out.splitlines()
    return {row[:11].strip(): row[12:] for row in rows}


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "--json"]) == EXIT_OK
    return json.loads(capsys.readouterr().out)


def test_status_is_one_screen_with_everything_on_it(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "-h"]) == EXIT_OK
    capsys.readouterr()
    found = lines(capsys, "status")
    assert found["agents"] == "not wired: claude (`session-memory init`)"
    assert found["sessions"] == f"{len(space.sessions())} (claude {len(space.sessions())})"
    assert "of 4.0 GiB, never over 8.0 GiB" in found["raw text"]
    assert (found["queue"], found["last error"]) == ("empty", "none")
    assert found["last sweep"] == "never"  # the sweep of this test left no report
    assert "spend" not in found
    assert len(found) <= 24


def test_status_tells_what_waits_and_what_went_wrong(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with space.store() as store:
        store.jobs.enqueue("journal", "a", 1, 1000)
        store.jobs.enqueue("memory", "b", 1, 2000)
        job = store.jobs.claim(("memory",), "me", 3000)
        assert job is not None
        store.jobs.fail(job, "me", "no such\x1b[31m file", 4000)
    spool = space.store_directory / "state" / "spool"
    spool.mkdir(parents=True)
    (spool / "1.json").write_text("{}", "utf-8")
    found = told(capsys, "status")
    assert found["queue"]["jobs"] == {"due": 2}
    assert found["queue"]["spool"] == {"waiting": 1, "damaged": 0}
    assert found["last_error"] == "memory: no such\x1b[31m file"
    shown = lines(capsys, "status")
    assert shown["queue"] == "2 jobs due, 1 hook record waiting"
    assert "\x1b" not in shown["last error"]
    assert shown["last error"].startswith("memory: no such")


def test_status_tells_of_the_last_sweep_and_a_file_it_could_not_read(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    state = space.store_directory / "state"
    state.mkdir(exist_ok=True)
    failed = [{"path": "/logs/a.jsonl", "reason": "Permission denied"}]
    report = {"ingested": 3, "skipped_unchanged": 2, "failed": failed}
    last = {"finished_at": space.now, "report": report}
    (state / "last_sweep.json").write_text(json.dumps(last), "utf-8")
    found = lines(capsys, "status")
    assert found["last sweep"].endswith("3 files read, 2 unchanged, 1 file not read")
    assert found["last error"] == "sweep: /logs/a.jsonl: Permission denied"


def test_status_tells_the_spend_once_a_model_is_on(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    found = lines(capsys, "--set", "model.provider=openai", "status")
    assert found["spend"].startswith(f"openai: today 0 of {Model().day_max_tokens} tokens")
    assert space.findings() == []


def test_status_tells_which_agents_are_wired(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-q", "init", "--agent", "claude", "--yes"]) in (0, 3)
    capsys.readouterr()
    found = told(capsys, "status")
    wired = {one["agent"]: (one["hooks"], one["mcp"]) for one in found["agents"]}
    assert wired == {"claude": ("wired", "wired")}
    shown = lines(capsys, "status")
    assert shown["agents"] == "claude (hooks wired, mcp wired)"
    assert space.findings() == []


def test_status_says_where_to_look_when_no_agent_is_found(
    space: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(space.root / "nowhere"))
    shown = lines(capsys, "status")["agents"]
    assert shown == "none found: `session-memory config agents` shows where we looked"


def test_audit_lists_every_write_outside_the_store_with_its_reason(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "audit"]) == EXIT_OK
    assert capsys.readouterr().err == "nothing was written outside the store\n"
    first = audit.Written(1000, "distribute", "/repo/CLAUDE.md", "pattern fc-1", None, "a" * 64)
    audit.append(space.store_directory, first)
    target = space.root / "out.jsonl"
    assert main(["-q", "store", "export", str(target)]) == EXIT_OK
    capsys.readouterr()
    found = told(capsys, "store", "audit")["written"]
    assert [one["path"] for one in found] == ["/repo/CLAUDE.md", str(target)]
    assert found[1]["after"] == audit.sha256(target.read_bytes())
    assert [one["by"] for one in told(capsys, "store", "audit", "--path", "CLAUDE")["written"]] == [
        "distribute"
    ]
    assert [one["by"] for one in told(capsys, "store", "audit", "--since", "1h")["written"]] == [
        "export"
    ]
    assert main(["store", "audit"]) == EXIT_OK
    assert "pattern fc-1" in capsys.readouterr().out


def test_audit_lists_what_init_wrote(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "init", "--agent", "claude", "--yes"]) in (0, 3)
    capsys.readouterr()
    paths = [one["path"] for one in told(capsys, "store", "audit")["written"]]
    assert str(space.claude / "settings.json") in paths


def test_version_tells_what_runs_here(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "version")
    assert found["package"] == __version__
    assert found["schema"] == SCHEMA_VERSION
    assert found["parsers"] == {name: one.parser_version for name, one in adapters().items()}
    assert found["python"] == sys.version.split()[0]
    assert found["sqlite"] == apsw.sqlite_lib_version()
    assert main(["version"]) == EXIT_OK
    assert f"package        {__version__}\n" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_of_a_shell_asks_this_program(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shell-completion", shell]) == EXIT_OK
    script = capsys.readouterr().out
    assert f"_SESSION_MEMORY_COMPLETE={shell}_complete" in script
    assert "session-memory" in script


def test_a_shell_that_asks_gets_verbs_and_options(tmp_path: Path) -> None:
    def ask(words: str, number: int) -> str:
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(number)}
        environ = {"_SESSION_MEMORY_COMPLETE": "bash_complete", **asked, "HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-m", "session_memory"],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return done.stdout

    assert "plain,status\n" in ask("session-memory sta", 1)
    assert "plain,--since\n" in ask("session-memory store export --si", 3)


def test_a_store_can_be_opened_while_status_looks(space: Workspace) -> None:
    with open_store(str(space.store_directory), space.now) as store, store.writing():
        assert main(["-q", "status"]) == EXIT_OK
