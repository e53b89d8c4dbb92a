"""The texts that make a system run sweeps on a schedule, for four kinds of systems. Pure."""

from __future__ import annotations

import re
import shlex
from typing import Literal
from xml.sax.saxutils import escape

import msgspec

from session_memory.errors import UsageError
from session_memory.settings.units import parse_interval

Kind = Literal["systemd", "launchd", "cron", "tasks"]
NAME = "session-memory"
LABEL = "session-memory.sweep"
MARK = "# session-memory: added by `session-memory config schedule install`"


class Job(msgspec.Struct, frozen=True):
    """What is to run, how often, and with which variables."""

    argv: tuple[str, ...]
    minutes: int
    environ: dict[str, str] = {}


def minutes_of(text: str) -> int:
    """Minutes of an interval, or the error a user can act on."""
    minutes = parse_interval(text)
    if minutes is None:
        raise UsageError(
            f"{text!r} is not an interval that a schedule can keep",
            hint="5m to 1d, such as 10m, 30m, 1h, 6h or 1d; parts of an hour or a day only",
        )
    return minutes


def systemd_units(job: Job) -> dict[str, str]:
    """Service and timer, by file name."""
    words = " ".join(_systemd_word(word) for word in job.argv)
    variables = "".join(
        f"Environment={_systemd_word(f'{name}={value}')}\n" for name, value in job.environ.items()
    )
    service = (
        f"{MARK}\n[Unit]\nDescription=session-memory: capture what agents logged\n\n"
        f"[Service]\nType=oneshot\nNice=10\nIOSchedulingClass=idle\n{variables}ExecStart={words}\n"
        "SuccessExitStatus=3\n"
    )
    timer = (
        f"{MARK}\n[Unit]\nDescription=session-memory: sweep by the clock\n\n"
        f"[Timer]\nOnBootSec=5min\nOnUnitActiveSec={job.minutes}min\nPersistent=true\n"
        "RandomizedDelaySec=60\n\n[Install]\nWantedBy=timers.target\n"
    )
    return {f"{NAME}.service": service, f"{NAME}.timer": timer}


def launchd_plist(job: Job) -> str:
    """A launch agent."""
    words = "".join(f"    <string>{escape(word)}</string>\n" for word in job.argv)
    variables = "".join(
        f"    <key>{escape(name)}</key><string>{escape(value)}</string>\n"
        for name, value in job.environ.items()
    )
    around = f"  <key>EnvironmentVariables</key>\n  <dict>\n{variables}  </dict>\n"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"'
        ' "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
        f'<plist version="1.0">\n<dict>\n  <key>Label</key><string>{LABEL}</string>\n'
        f"  <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n"
        f"{around if variables else ''}"
        f"  <key>StartInterval</key><integer>{job.minutes * 60}</integer>\n"
        "  <key>RunAtLoad</key><true/>\n  <key>ProcessType</key><string>Background</string>\n"
        "</dict>\n</plist>\n"
    )


def cron_lines(job: Job) -> str:
    """Our two lines of a crontab. A percent sign would end the command there."""
    if job.minutes < 60:
        when = f"*/{job.minutes} * * * *"
    else:
        hours = job.minutes // 60
        when = f"17 {'*' if hours == 1 else '4' if hours == 24 else f'*/{hours}'} * * *"
    variables = [f"{name}={shlex.quote(value)}" for name, value in job.environ.items()]
    words = " ".join([*variables, shlex.join(job.argv)]).replace("%", "\\%")
    return f"{MARK}\n{when} {words} >/dev/null 2>&1\n"


def with_cron(crontab: str, job: Job) -> str:
    """A crontab with our lines at its end, whatever was ours before."""
    bare = without_cron(crontab)
    return bare + ("" if not bare or bare.endswith("\n") else "\n") + cron_lines(job)


def without_cron(crontab: str) -> str:
    """A crontab without our lines, and otherwise as it was.

    What follows our mark may be the user's by now: only a line that runs us goes with it.
    """
    ours = r"[^\n]* -m session_memory [^\n]*sweep >/dev/null 2>&1(?:\n|\Z)"
    return re.sub(rf"^{re.escape(MARK)}(?:\n|\Z)(?:{ours})?", "", crontab, flags=re.MULTILINE)


def task_argv(job: Job) -> list[str]:
    """The command that makes a task of Windows' own scheduler."""
    inner = " ".join(f'"{word}"' if " " in word or not word else word for word in job.argv)
    set_all = "".join(f'set "{name}={value}"&& ' for name, value in job.environ.items())
    command = f'cmd /c "{set_all}{inner}"' if set_all else inner
    daily = job.minutes == 1440
    when = ["/SC", "DAILY"] if daily else ["/SC", "MINUTE", "/MO", str(job.minutes)]
    return ["schtasks", "/Create", "/F", "/TN", NAME, *when, "/TR", command]


def _systemd_word(word: str) -> str:
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if re.search(r"[\s\"'\\;]", word) or not word else plain
