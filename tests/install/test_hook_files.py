"""What agents run: it works as they run it, survives an upgrade, and is quiet when it cannot."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.install.machine import Machine

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.shared_wiring.launchers import Launchers, find_launchers, is_passing
from session_memory.hooks import entry
from session_memory.install import hook_files
from session_memory.paths import find_paths

posix = pytest.mark.skipif(os.name != "posix", reason="the launcher is a shell script here")
PAYLOAD = {"session_id": "s1", "cwd": "/home/dev/shop", "hook_event_name": "SessionEnd"}


def fire(command: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a hook as an agent does: through a shell, the payload on stdin."""
    return subprocess.run(
        ["/bin/sh", "-c", command],
        input=json.dumps(PAYLOAD),
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **(environ or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def wired_command(machine: Machine) -> str:
    """What Claude Code is told to run at the end of a session."""
    settings = machine.json(".claude/settings.json")
    command: str = settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    return command


def records(state: Path) -> list[dict[str, object]]:
    """What lies in a spool."""
    return [json.loads(path.read_bytes()) for path in sorted((state / "spool").glob("*.json"))]


def without_worker(state: Path) -> None:
    """Leave what is noted in the spool."""
    settings = json.loads((state / "hook.json").read_text())
    (state / "hook.json").write_text(json.dumps({**settings, "worker": []}))


@posix
def test_the_command_in_the_settings_notes_the_event_without_any_variable(
    machine: Machine,
) -> None:
    machine.have("claude")
    machine.init()
    without_worker(machine.memory / "state")
    done = fire(wired_command(machine))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (record,) = records(machine.memory / "state")
    assert (record["flavor"], record["event"], record["session"]) == ("claude", "session_end", "s1")


@posix
def test_the_worker_that_the_hook_wakes_captures_the_session(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.have("claude")
    machine.init()
    log = ClaudeLog(1)
    log.prompt("what the worker is to capture")
    transcript = log.write(machine.home / ".claude")
    monkeypatch.setitem(PAYLOAD, "transcript_path", str(transcript))
    monkeypatch.setitem(PAYLOAD, "session_id", log.session_id)
    without_worker(machine.memory / "state")
    fire(wired_command(machine))
    ours = find_launchers(os.environ, find_paths(os.environ), None)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(machine.home), **ours.environ}
    done = subprocess.run(
        ours.program("worker", "run"), env=environ, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((machine.memory / "state" / "hook.json").read_text())["inject"] is True
    assert len(json.loads(machine.run("sessions", "--json").out)["sessions"]) == 1


def test_the_hook_settings_name_the_worker_by_absolute_path(machine: Machine) -> None:
    machine.have("claude")
    machine.init()
    settings = json.loads((machine.memory / "state" / "hook.json").read_text())
    assert settings.pop("init_hooks")["claude"][0] == [str(machine.home / ".claude/settings.json")]
    assert settings == {
        "inject": True,
        "worker": [sys.executable, "-I", "-m", "session_memory", "worker", "run"],
    }


def test_a_user_who_switched_injection_off_is_not_asked_again(machine: Machine) -> None:
    machine.have("claude")
    machine.init()
    path = machine.memory / "state" / "hook.json"
    path.write_text('{"inject": false}')
    machine.init()
    settings = json.loads(path.read_text())
    assert settings["inject"] is False
    assert settings["worker"]


@posix
@pytest.mark.parametrize("missing", ["python", "hook"])
def test_where_the_program_is_gone_the_hook_is_quiet_and_ends_well(
    tmp_path: Path, missing: str
) -> None:
    python = tmp_path / "gone" if missing == "python" else Path(sys.executable)
    ours = Launchers(str(python), "-I", tmp_path / "hooks", tmp_path / "state", tmp_path)
    hook_files.write(ours)
    if missing == "hook":
        ours.hook_file.unlink()
    done = fire(ours.hook("Stop", "claude"))
    # Python itself would exit with 2 for a missing file, and that means "block" to Claude Code.
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@posix
def test_paths_with_blanks_and_quotes_are_run_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "a b'c" / "hooks"
    ours = Launchers(
        sys.executable, "-I", folder, tmp_path / "s", tmp_path, hook_home=str(tmp_path / "m m")
    )
    hook_files.write(ours)
    assert shlex.split(ours.hook("Stop", "claude"))[-3:] == [
        str(ours.hook_launcher),
        "Stop",
        "claude",
    ]
    fire(ours.hook("Stop", "claude"))
    assert len(records(tmp_path / "m m" / "state")) == 1


@posix
def test_a_store_elsewhere_has_its_own_spool_and_worker(machine: Machine, tmp_path: Path) -> None:
    machine.have("claude")
    store = tmp_path / "big disk"
    machine.memory.mkdir()
    config = machine.memory / "config.toml"
    config.write_text(f'[store]\npath = "{store}"\n')
    machine.init()
    settings = json.loads((store / "state" / "hook.json").read_text())
    assert settings["worker"][-4:] == ["--config", str(config), "worker", "run"]
    without_worker(store / "state")
    fire(wired_command(machine), {"SESSION_MEMORY_HOME": str(machine.memory)})
    assert len(records(store / "state")) == 1


@posix
def test_places_that_variables_name_are_the_same_for_an_agent_without_them(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.have("claude")
    monkeypatch.delenv("SESSION_MEMORY_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(machine.home / "my state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(machine.home / "my data"))
    config = machine.write("mine.toml", "")
    monkeypatch.setenv("SESSION_MEMORY_CONFIG", str(config))
    machine.init()
    state = machine.home / "my state" / "session-memory"
    worker = json.loads((state / "hook.json").read_text())["worker"]
    assert worker[4:6] == ["--config", str(config)]
    without_worker(state)
    fire(wired_command(machine))
    assert len(records(state)) == 1
    server = machine.json(".claude.json")["mcpServers"]["session-memory"]
    assert server["env"]["XDG_DATA_HOME"] == str(machine.home / "my data")
    started = shlex.split(Path(server["args"][-1]).read_text().splitlines()[-1])
    assert started[5:8] == ["--config", str(config), "mcp"]


def test_an_upgrade_changes_our_files_and_no_file_of_an_agent(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.have("claude", "codex")
    machine.init()
    before = machine.files()
    newer = Path(entry.__file__).read_bytes() + b"# newer\n"
    monkeypatch.setattr(hook_files, "source", lambda: newer)
    warned = machine.run("doctor", "--quick", "--json")
    found = {c["name"]: c for c in json.loads(warned.out)["checks"]}
    assert found["hook files"]["result"] == "warn"
    assert "entry.py outdated" in found["hook files"]["detail"]
    machine.init()
    assert (machine.launcher.parent / "entry.py").read_bytes() == newer
    assert machine.files() == before


def test_files_of_ours_are_for_their_owner_alone(machine: Machine) -> None:
    machine.have("claude")
    machine.init()
    modes = {path.name: path.stat().st_mode & 0o777 for path in machine.launcher.parent.iterdir()}
    assert modes == {
        "entry.py": 0o600,
        "entry.pyc": 0o600,
        "session-memory-hook": 0o700,
        "session-memory-server": 0o700,
    }
    assert machine.launcher.parent.stat().st_mode & 0o777 == 0o700


def test_windows_gets_a_command_file(tmp_path: Path) -> None:
    ours = Launchers(
        "C:\\py.exe", "-I", tmp_path, tmp_path, tmp_path, hook_home="C:\\m", windows=True
    )
    text = hook_files.launcher_text(ours)
    assert text.startswith("@echo off\r\n")
    assert 'set "SESSION_MEMORY_HOME=C:\\m"' in text
    compiled, source = (
        f'"C:\\py.exe" -I -S "{tmp_path / name}" %*' for name in ("entry.pyc", "entry.py")
    )
    assert text.endswith(f"{compiled} 2>nul && exit /b 0\r\n{source}\r\nexit /b 0\r\n")
    assert ours.hook("Stop", "claude") == f'"{tmp_path}{os.sep}session-memory-hook.cmd" Stop claude'


def test_interpreters_in_a_cache_are_known() -> None:
    assert is_passing("/home/dev/.cache/uv/archive-v0/abc/bin/python")
    assert is_passing("/home/dev/.local/pipx/.cache/0a1b/bin/python")
    assert is_passing("/home/dev/.cache/pipx/0a1b/bin/python")
    assert not is_passing("/home/dev/.local/pipx/venvs/session-memory/bin/python")
    assert not is_passing("/home/dev/.local/share/uv/tools/session-memory/bin/python")
    assert not is_passing(sys.executable)


def test_a_folder_of_our_name_in_the_project_is_not_run_for_us(machine: Machine) -> None:
    machine.have("claude")
    machine.init()
    trap = machine.home / "session_memory"
    trap.mkdir()
    (trap / "__init__.py").write_text("")
    (trap / "__main__.py").write_text("print('trapped')\n")
    server = machine.json(".claude.json")["mcpServers"]["session-memory"]
    done = subprocess.run(
        [server["command"], *server["args"]],
        input='{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n',
        cwd=machine.home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
