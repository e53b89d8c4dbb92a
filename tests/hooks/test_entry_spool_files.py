"""Records are private, whole, and none is lost, whatever happens to the hooks that write them."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import platformdirs.macos
import platformdirs.unix
import platformdirs.windows
import pytest
from tests.hooks.hook_process import (
    ENTRY,
    Ran,
    command,
    environment,
    log,
    noted,
    run_hook,
    spooled,
    state,
)

from session_memory.core.spool import SpoolRecord, decode
from session_memory.hooks import entry
from session_memory.paths import APP, find_paths

PAYLOAD = {"session_id": "s1", "hook_event_name": "Stop", "cwd": "/h/p"}
posix = pytest.mark.skipif(os.name == "nt", reason="POSIX modes and signals")


@posix
def test_files_are_private_whatever_the_umask_is(tmp_path: Path) -> None:
    for umask in ("000", "777"):
        home = tmp_path / umask
        line = f"umask {umask}; exec '{sys.executable}' -I -S '{ENTRY}' Stop"
        for payload in (json.dumps(PAYLOAD).encode(), b"no json"):
            subprocess.run(
                ["sh", "-c", line],
                input=payload,
                env=environment(SESSION_MEMORY_HOME=str(home)),
                check=True,
            )
        modes = {
            (path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in (home, *home.rglob("*"))
        }
        assert modes == {(True, 0o700), (False, 0o600)}
        assert (home / "state" / "hook-errors.log").exists()


@posix
def test_a_spool_that_others_could_read_is_closed_and_a_linked_one_refused(tmp_path: Path) -> None:
    folder = state() / "spool"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    assert noted("Stop", payload=PAYLOAD) is not None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert noted("Stop", payload=PAYLOAD) is None
    assert "not a directory of ours" in log() and not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.rows("HOK-01", "ING-06")
def test_sixteen_hooks_at_once_lose_nothing() -> None:
    hooks = [
        subprocess.Popen(command("Stop"), stdin=subprocess.PIPE, env=environment())
        for _ in range(16)
    ]
    for number, hook in enumerate(hooks):
        assert hook.stdin is not None
        hook.stdin.write(json.dumps({**PAYLOAD, "session_id": f"s{number}"}).encode())
    for hook in hooks:
        hook.communicate(timeout=60)
    assert {hook.returncode for hook in hooks} == {0}
    files = sorted((state() / "spool").iterdir())
    records = [decode(path.read_bytes()) for path in files]
    assert all(isinstance(record, SpoolRecord) for record in records)
    assert {r.session for r in records if isinstance(r, SpoolRecord)} == {
        f"s{number}" for number in range(16)
    }
    assert {path.name for path in files} == {f"{record['id']}.json" for record in spooled()}


@posix
@pytest.mark.parametrize("step", ["open", "write", "close", "rename"])
def test_a_hook_killed_at_any_step_leaves_a_whole_record_or_none(step: str) -> None:
    program = (
        "import os, signal, sys\n"
        f"source = compile(open({str(ENTRY)!r}).read(), 'entry', 'exec')\n"
        "space = {'__name__': 'entry'}\n"
        "exec(source, space)\n"
        f"true = os.{step}\n"
        "def fatal(*given, **more):\n"
        "    result = true(*given, **more)\n"
        "    named = str(given[0]).endswith('.new') or isinstance(given[0], int)\n"
        "    if named and given[0] != 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return result\n"
        f"os.{step} = fatal\n"
        "space['spool'](sys.argv[1], {'v': 1, 'id': 'x', 'at': 1, 'flavor': 'claude',"
        " 'event': 'stop', 'session': 's1'})\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(state())], env=environment(), check=False
    )
    assert done.returncode == -signal.SIGKILL
    names = sorted(path.name for path in (state() / "spool").iterdir())
    assert names == (["x.json"] if step == "rename" else ["x.new"])
    for path in (state() / "spool").glob("*.json"):
        assert isinstance(decode(path.read_bytes()), SpoolRecord)


def test_a_full_spool_is_said_in_the_log_and_nowhere_else() -> None:
    folder = state() / "spool"
    folder.mkdir(parents=True, mode=0o700)
    for number in range(entry.SPOOL_LIMIT):
        (folder / f"{number}.json").touch()
    assert run_hook("Stop", payload=PAYLOAD) == Ran(0, b"", b"")
    assert len(list(folder.iterdir())) == entry.SPOOL_LIMIT
    assert "the spool is full" in log()


def test_the_log_of_errors_is_bounded() -> None:
    state().mkdir(parents=True)
    (state() / "hook-errors.log").write_bytes(b"old\n" * (entry.LOG_LIMIT // 4))
    assert run_hook("Stop", payload=b"no json") == Ran(0, b"", b"")
    assert log().count("\n") == 1 and "no JSON object" in log()


def test_an_unexpected_error_is_logged_by_its_kind_alone(tmp_path: Path) -> None:
    (state()).mkdir(parents=True)
    (state() / "spool").write_text("in the way")
    assert run_hook("Stop", payload={**PAYLOAD, "prompt": "secret"}) == Ran(0, b"", b"")
    assert "FileExistsError 17 line" in log()
    assert "secret" not in log() and str(tmp_path) not in log()


def test_the_state_directory_is_that_of_the_program(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for moved in ("~/x", "relative", str(tmp_path / "y") + "/", "a/../b"):
        environ = {"SESSION_MEMORY_HOME": moved}
        assert Path(entry.state_dir(environ, "linux")) == find_paths(environ).state
    monkeypatch.delenv("SESSION_MEMORY_HOME")
    assert Path(entry.state_dir(os.environ, sys.platform)) == find_paths(os.environ).state
    for xdg in (str(tmp_path / "state"), "relative/ignored", ""):
        monkeypatch.setenv("XDG_STATE_HOME", xdg)
        for platform, module in (
            ("linux", platformdirs.unix.Unix),
            ("darwin", platformdirs.macos.MacOS),
        ):
            expected = module(APP, appauthor=False).user_state_dir
            assert entry.state_dir(os.environ, platform) == expected


def test_the_state_directory_on_windows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = r"C:\Users\dev\AppData\Local"
    monkeypatch.setattr(platformdirs.windows, "get_win_folder", lambda _name: local)
    expected = platformdirs.windows.Windows(APP, appauthor=False).user_state_dir
    assert entry.state_dir({"LOCALAPPDATA": local}, "win32") == expected


def test_without_a_home_nothing_is_written_where_it_is_run(tmp_path: Path) -> None:
    done = subprocess.run(
        command("Stop"),
        input=json.dumps(PAYLOAD).encode(),
        env=environment(SESSION_MEMORY_HOME="", HOME="relative"),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (tmp_path / "relative").exists()
