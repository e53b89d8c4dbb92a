"""schedule: the right text for each system, put in place by its own tools and taken away again."""

from __future__ import annotations

import json
import plistlib
import subprocess
from pathlib import Path

import pytest
from tests.install.machine import Machine

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.errors import NotFound
from session_memory.install import schedule, schedule_run
from session_memory.install.schedule import MARK, Job
from session_memory.install.schedule_run import System

JOB = Job(("/opt/my py/python", "-I", "-m", "session_memory", "-q", "sweep"), 60, {"A": "b % c"})
CRON = """#!/bin/sh
# A crontab that keeps its table in a file beside it.
here=$(dirname "$0")
case "$1" in
  -l) [ -f "$here/table" ] && exec cat "$here/table"; echo "no crontab for dev" >&2; exit 1;;
  -r) exec rm "$here/table";;
  -) exec cat > "$here/table";;
esac
exit 2
"""
RECORDER = '#!/bin/sh\necho "$@" >> "$(dirname "$0")/$(basename "$0").calls"\nexit 0\n'


def program(folder: Path, name: str, text: str) -> Path:
    """A fake executable. It needs the real tools behind it, so its PATH is the system's."""
    path = folder / name
    path.write_text(text.replace("\n", "\nPATH=/usr/bin:/bin\n", 1))
    path.chmod(0o755)
    return path


def calls(folder: Path, name: str) -> list[str]:
    """What a fake executable was run with."""
    path = folder / f"{name}.calls"
    return path.read_text().splitlines() if path.exists() else []


def test_cron_is_used_where_there_is_no_systemd_of_the_user(machine: Machine) -> None:
    program(machine.programs, "systemctl", "#!/bin/sh\nexit 1\n")
    program(machine.programs, "crontab", CRON)
    table = machine.programs / "table"
    table.write_text("5 4 * * * backup\n")
    shown = machine.run("config", "schedule", "install", "--every", "30m", "--dry-run")
    assert MARK in shown.out
    assert table.read_text() == "5 4 * * * backup\n"
    assert machine.run("config", "schedule", "install", "--every", "30m").code == 0
    assert table.read_text().startswith("5 4 * * * backup\n" + MARK)
    assert "session_memory -q sweep" in table.read_text()
    answer = json.loads(machine.run("config", "schedule", "show", "--json").out)
    assert (answer["kind"], answer["installed"]) == ("cron", True)
    machine.run("config", "schedule", "install", "--every", "1h")
    assert table.read_text().count(MARK) == 1
    assert machine.run("config", "schedule", "remove").code == 0
    assert table.read_text() == "5 4 * * * backup\n"
    assert machine.run("config", "schedule", "show").out == "no schedule is installed\n"


@pytest.mark.rows("ING-06")
def test_the_command_in_the_crontab_sweeps_with_what_cron_gives_it(machine: Machine) -> None:
    program(machine.programs, "crontab", CRON)
    log = ClaudeLog()
    log.prompt("fix the parser")
    log.write(machine.home / ".claude")
    assert machine.run("config", "schedule", "install", "--every", "1d").code == 0
    (line,) = (
        text
        for text in (machine.programs / "table").read_text().splitlines()
        if not text.startswith("#")
    )
    command = line.split(None, 5)[5].replace("\\%", "%")
    environ = {"HOME": str(machine.home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["/bin/sh", "-c", command], env=environ, check=False, timeout=120)
    assert done.returncode == 0
    found = json.loads(machine.run("sessions", "--json").out)
    assert [one["session"]["external_id"] for one in found["sessions"]] == [log.session_id]


def test_an_empty_crontab_is_gone_again(machine: Machine) -> None:
    program(machine.programs, "crontab", CRON)
    machine.run("config", "schedule", "install")
    machine.run("config", "schedule", "remove")
    assert not (machine.programs / "table").exists()


def test_systemd_is_used_where_it_answers(machine: Machine) -> None:
    program(machine.programs, "systemctl", RECORDER)
    assert machine.run("config", "schedule", "install").code == 0
    units = machine.home / ".config/systemd/user"
    assert {path.name for path in units.iterdir()} == {
        "session-memory.service",
        "session-memory.timer",
    }
    assert "--user enable --now session-memory.timer" in calls(machine.programs, "systemctl")
    assert "OnUnitActiveSec=60min" in machine.run("config", "schedule", "show").out
    machine.run("config", "schedule", "remove")
    assert list(units.iterdir()) == []
    assert "--user disable --now session-memory.timer" in calls(machine.programs, "systemctl")


def test_a_tool_that_fails_is_reported(machine: Machine) -> None:
    failing = CRON.replace("-) exec cat", '-) echo "not allowed" >&2; exit 1; exec cat')
    program(machine.programs, "crontab", failing)
    done = machine.run("config", "schedule", "install")
    assert done.code == 1
    assert "not allowed" in done.err


def test_a_schedule_that_is_not_ours_to_remove_stays(machine: Machine) -> None:
    program(machine.programs, "crontab", CRON)
    table = machine.programs / "table"
    table.write_text(schedule.cron_lines(JOB))  # of another install, with another home
    machine.have("claude")
    machine.init()
    machine.uninstall()
    assert table.read_text() == schedule.cron_lines(JOB)


def test_macs_and_windows_have_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "fakes"
    folder.mkdir()
    program(folder, "launchctl", RECORDER)
    program(folder, "schtasks", RECORDER)
    mac = System(str(tmp_path), {"PATH": str(folder)}, "darwin")
    assert schedule_run.kind_here(mac) == "launchd"
    schedule_run.install(mac, "launchd", JOB)
    assert plistlib.loads(mac.plist().read_bytes())["StartInterval"] == 3600
    assert schedule_run.remove(mac, "launchd")
    assert not mac.plist().exists()
    assert [call.split()[0] for call in calls(folder, "launchctl")] == ["load", "unload"]
    windows = System(str(tmp_path), {"PATH": str(folder)}, "win32")
    assert schedule_run.kind_here(windows) == "tasks"
    schedule_run.install(windows, "tasks", JOB)
    assert schedule_run.remove(windows, "tasks")
    assert [call.split()[0] for call in calls(folder, "schtasks")] == [
        *("/Create", "/Query", "/Delete"),
    ]


def test_a_system_with_no_scheduler_says_so(machine: Machine) -> None:
    with pytest.raises(NotFound):
        schedule_run.kind_here(System(str(machine.home), {"PATH": str(machine.programs)}, "linux"))
    done = machine.run("config", "schedule", "install")
    assert (done.code, "crontab" in done.err) == (1, True)


@pytest.mark.rows("WIR-07")
@pytest.mark.parametrize("below", ["", "0 1 * * * backup", "0 1 * * * backup\n"])
def test_a_line_of_the_users_below_our_mark_stays(below: str) -> None:
    table = f"0 2 * * * mine\n{schedule.MARK}\n{below}"
    assert schedule.without_cron(table) == f"0 2 * * * mine\n{below}"


@pytest.mark.rows("WIR-07")
def test_a_crontab_that_cannot_be_read_is_not_written(machine: Machine) -> None:
    table = machine.programs / "table"
    table.write_text("0 2 * * * mine\n")
    busy = CRON.replace("-l) ", '-l) echo "cannot lock, try again" >&2; exit 1;')
    assert busy != CRON
    program(machine.programs, "crontab", busy)
    done = machine.run("config", "schedule", "install", "--every", "1h")
    assert (done.code, "cannot lock" in done.err) == (1, True)
    assert table.read_text() == "0 2 * * * mine\n"


@pytest.mark.rows("WIR-07")
def test_a_unit_of_the_users_under_our_name_is_neither_replaced_nor_removed(
    machine: Machine,
) -> None:
    program(machine.programs, "systemctl", "#!/bin/sh\nexit 0\n")
    units = machine.home / ".config/systemd/user"
    units.mkdir(parents=True)
    for name in ("session-memory.service", "session-memory.timer"):
        (units / name).write_text("[Unit]\nDescription=mine\n")
    done = machine.run("config", "schedule", "install", "--every", "1h")
    assert (done.code, "not ours" in done.err) == (8, True)
    machine.run("config", "schedule", "remove")
    assert {path.read_text() for path in units.iterdir()} == {"[Unit]\nDescription=mine\n"}


def found(machine: Machine) -> list[tuple[str, str]]:
    """What the doctor says of the schedule."""
    checks = json.loads(machine.run("doctor", "--quick", "--json").out)["checks"]
    return [(c["result"], c["detail"]) for c in checks if c["name"] == "schedule"]
