"""Texts for each system's scheduler, and their intervals."""

from __future__ import annotations

import plistlib
import shlex

import pytest
from tests.install.test_schedule_run import JOB

from session_memory.errors import UsageError
from session_memory.install import schedule
from session_memory.install.schedule import MARK, Job


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("5m", 5), ("30 min", 30), ("1h", 60), ("6 hours", 360), ("1d", 1440), ("1 day", 1440)],
)
def test_intervals(text: str, minutes: int) -> None:
    assert schedule.minutes_of(text) == minutes


@pytest.mark.parametrize("text", ["", "1m", "7m", "90m", "5h", "2d", "x", "-5m", "1.5h", "10s"])
def test_intervals_that_no_clock_can_keep_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        schedule.minutes_of(text)


def test_systemd_units_quote_what_they_run() -> None:
    units = schedule.systemd_units(JOB)
    service = units["session-memory.service"]
    assert 'ExecStart="/opt/my py/python" -I -m session_memory -q sweep\n' in service
    assert 'Environment="A=b %% c"\n' in service
    assert "SuccessExitStatus=3" in service  # done, with warnings
    assert "OnUnitActiveSec=60min" in units["session-memory.timer"]
    assert "WantedBy=timers.target" in units["session-memory.timer"]


def test_the_launch_agent_is_a_property_list() -> None:
    value = plistlib.loads(schedule.launchd_plist(JOB).encode())
    assert value["ProgramArguments"] == list(JOB.argv)
    assert value["StartInterval"] == 3600
    assert value["EnvironmentVariables"] == {"A": "b % c"}
    plain = plistlib.loads(schedule.launchd_plist(Job(("a<b",), 5)).encode())
    assert plain["ProgramArguments"] == ["a<b"]
    assert "EnvironmentVariables" not in plain


@pytest.mark.parametrize(
    ("minutes", "when"),
    [
        (5, "*/5 * * * *"),
        (30, "*/30 * * * *"),
        (60, "17 * * * *"),
        (360, "17 */6 * * *"),
        (1440, "17 4 * * *"),
    ],
)
def test_crontab_lines(minutes: int, when: str) -> None:
    mark, line = schedule.cron_lines(Job(JOB.argv, minutes, JOB.environ)).splitlines()
    assert mark == MARK
    assert line.startswith(when + " ")
    command = line.removeprefix(when + " ").replace("\\%", "%")
    assert shlex.split(command)[:3] == ["A=b % c", "/opt/my py/python", "-I"]


@pytest.mark.parametrize("table", ["", "5 4 * * * backup\n", "MAILTO=x\n\n# c\n1 * * * * a"])
def test_a_crontab_is_as_before_when_our_lines_are_gone(table: str) -> None:
    once = schedule.with_cron(table, JOB)
    assert schedule.with_cron(once, JOB) == once
    whole = table if not table or table.endswith("\n") else table + "\n"
    assert schedule.without_cron(once) == whole
    more = once + "9 9 * * * later\n"
    assert schedule.without_cron(more) == whole + "9 9 * * * later\n"


def test_windows_tasks_are_made_by_one_command() -> None:
    plain = schedule.task_argv(Job(("C:\\a b\\py.exe", "sweep"), 30))
    assert plain[:7] == ["schtasks", "/Create", "/F", "/TN", "session-memory", "/SC", "MINUTE"]
    assert plain[-1] == '"C:\\a b\\py.exe" sweep'
    daily = schedule.task_argv(Job(("py",), 1440, {"A": "b"}))
    assert "DAILY" in daily
    assert daily[-1] == 'cmd /c "set "A=b"&& py"'
