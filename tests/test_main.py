"""How the program ends, seen from outside: exit codes, streams, and what it imports."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from session_memory.__main__ import main
from session_memory.cli.app import App, cli
from session_memory.errors import EXIT_WARNINGS, NotFound, SessionMemoryError, StoreLocked

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The program as a process of its own, in an empty home."""

    def run_program(*args: str, **extra: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "session_memory", *args]
        return subprocess.run(
            command,
            env={**os.environ, **extra},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )

    return run_program


def error_of(stderr: str) -> Mapping[str, object]:
    """The one JSON object on stderr."""
    answer = json.loads(stderr)
    assert answer["schema_version"] == 1
    assert set(answer["error"]) == {"code", "message", "hint"}
    return answer["error"]


def test_version_is_reported(run: Run) -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"session-memory {version('session-memory')}\n")
    assert run("-q", "--version").stdout == done.stdout


def test_a_group_without_arguments_is_a_usage_error_that_shows_help(run: Run) -> None:
    done = run("store")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Examples:" in done.stderr


def test_a_mistyped_verb_gets_a_suggestion(run: Run) -> None:
    done = run("stauts")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean `status`?" in done.stderr


def test_a_wrong_option_is_a_usage_error_also_as_json(run: Run) -> None:
    assert run("config", "show", "--nonsense").returncode == 2
    done = run("config", "show", "--nonsense", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert error_of(done.stderr)["code"] == "usage"


def test_a_configuration_error_is_exit_4_and_leaves_no_trace(run: Run, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = run("--set", "retention.raw_max_age_days=0", "config", "show", "--json")
    assert (done.returncode, done.stdout) == (4, "")
    assert error_of(done.stderr)["code"] == "config"
    text = run("--config", "missing.toml", "config", "show")
    assert text.returncode == 4
    assert text.stderr.startswith("error: missing.toml")
    assert "\nhint: " in text.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_closed_pipe_ends_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "session_memory", "config", "show"]
    with os.fdopen(writer, "w") as pipe:
        done = subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_everything_created_is_private_whatever_the_umask(run: Run, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert run("config", "init").returncode == 0
    finally:
        os.umask(before)
    ours = [tmp_path / "memory", *(tmp_path / "memory").rglob("*")]
    assert len(ours) > 1
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in ours)


@pytest.mark.parametrize("args", [["--help"], ["config", "show"], ["config", "--help"]])
def test_light_commands_import_nothing_heavy(args: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; from session_memory.__main__ import main\n"
        f"code = main({args!r})\n"
        "heavy = {'rich', 'apsw', 'platformdirs', 're2', 'backports.zstd'} & set(sys.modules)\n"
        "verbs = [m for m in sys.modules if m.startswith('session_memory.cli.')]\n"
        "sys.stderr.write(repr((code, heavy, sorted(verbs))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    shared = "app help_format options output parameters progress tables terminal verbs"
    verbs = [f"session_memory.cli.{name}" for name in shared.split()]
    if "--help" in args:
        verbs = sorted([*verbs, "session_memory.cli.terms"])
    if args == ["config", "show"]:
        verbs += [f"session_memory.cli.{name}" for name in ("config", "config_file", "pager")]
        verbs.sort()
    assert done.stderr == repr((0, set[str](), verbs))


def test_a_sweep_with_nothing_to_do_imports_what_it_uses() -> None:
    """Each of these once took a millisecond or more of every sweep, worker and `status`."""
    (Path.home() / ".claude" / "projects").mkdir(parents=True)
    code = (
        "import sys; from session_memory.__main__ import main\n"
        "main(['sweep', '--json'])\n"
        "print(*(name for name in sys.modules if '_late_loader' not in vars(sys.modules[name])))"
    )
    first = [sys.executable, "-m", "session_memory", "sweep", "-q"]  # makes the store
    subprocess.run(first, capture_output=True, check=True)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unused = {
        *("ast", "gzip", "inspect", "ipaddress", "locale", "shutil", "textwrap"),
        *("dataclasses", "hashlib", "importlib.metadata", "logging", "multiprocessing"),
        *("click.shell_completion", "re2", "subprocess", "typing_extensions"),
        *("session_memory.cli.terms", "session_memory.detect", "session_memory.distil"),
        *("session_memory.redact", "session_memory.store.sqlite.figures"),
        *("session_memory.store.sqlite.forget", "session_memory.store.sqlite.marks"),
        *("session_memory.store.sqlite.observations", "session_memory.store.sqlite.patterns"),
        *("session_memory.store.sqlite.search", "session_memory.store.sqlite.writer"),
    }
    assert set(done.stdout.splitlines()[-1].split()) & unused == set()


def test_version_does_not_import_the_command_line() -> None:
    code = (
        "import sys; from session_memory.__main__ import main; main(['--version'])\n"
        "print({'click', 'msgspec', 'session_memory.cli'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "set()"


# --- endings that need a verb of a certain kind, run in this process ---------------------------


@pytest.fixture
def end_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException | int], None]:
    """Make the group end in a given way."""

    def install(ending: BaseException | int) -> None:
        def invoke(_context: object) -> int:
            if isinstance(ending, BaseException):
                raise ending
            return ending

        monkeypatch.setattr(cli, "invoke", invoke)

    return install


def every_error(root: type[SessionMemoryError]) -> list[type[SessionMemoryError]]:
    """The whole error tree."""
    return [root, *(below for child in root.__subclasses__() for below in every_error(child))]


@pytest.mark.parametrize("kind", every_error(SessionMemoryError))
def test_every_error_of_the_tree_ends_with_its_own_exit_code(
    kind: type[SessionMemoryError],
    end_with: Callable[[BaseException | int], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    end_with(kind("it broke", hint="mend it"))
    assert main(["config", "show"]) == kind.exit_code
    assert capsys.readouterr() == ("", "error: it broke\nhint: mend it\n")
    assert main(["config", "show", "--json"]) == kind.exit_code
    output = error_of(capsys.readouterr().err)
    assert output == {"code": kind.code, "message": "it broke", "hint": "mend it"}


def test_exit_codes_differ_where_scripts_must_tell_them_apart() -> None:
    assert NotFound.exit_code == 1
    assert StoreLocked.exit_code == 6


def test_a_verb_that_returns_warnings_ends_with_3(
    end_with: Callable[[BaseException | int], None],
) -> None:
    end_with(EXIT_WARNINGS)
    assert main(["config", "show"]) == 3


def test_an_interrupt_is_130(
    end_with: Callable[[BaseException | int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    end_with(KeyboardInterrupt())
    assert main(["config", "show"]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_a_bug_is_one_line_and_a_traceback_only_on_request(
    end_with: Callable[[BaseException | int], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end_with(ZeroDivisionError("oops \x1b[31m"))
    assert main(["config", "show"]) == 1
    output = capsys.readouterr().err
    assert output.startswith("error: unexpected ZeroDivisionError: oops \\x1b[31m\n")
    assert "Traceback" not in output
    monkeypatch.setenv("SESSION_MEMORY_DEBUG", "1")
    assert main(["config", "show"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_the_app_reads_the_configuration_once_and_tells_its_warnings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    app = App({"SESSION_MEMORY_HOME": str(tmp_path), "SESSION_MEMORY_NONSENSE": "1"}, lambda: 7)
    assert capsys.readouterr().err == ""
    assert app.loaded is app.loaded
    assert capsys.readouterr().err.count("SESSION_MEMORY_NONSENSE") == 1
    assert app.clock() == 7


def test_what_is_said_on_stderr_cannot_drive_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = App({})
    app.note("read \x1b[2J")
    app.warn("odd \x1b[2J")
    app.quiet = True
    app.note("not said")
    assert capsys.readouterr().err == "read \\x1b[2J\nwarning: odd \\x1b[2J\n"


def test_the_store_path_of_the_configuration_moves_data_and_state(tmp_path: Path) -> None:
    app = App({"SESSION_MEMORY_HOME": str(tmp_path / "home")})
    app.flags = {"store.path": str(tmp_path / "store")}
    assert app.paths.data == tmp_path / "store"
    assert app.paths.state.is_relative_to(tmp_path / "store")
