"""Installs, shows and removes a schedule, through the system's own tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from session_memory.errors import NotFound, Refused, SessionMemoryError
from session_memory.install import schedule
from session_memory.install.schedule import Job, Kind

TIMEOUT_S = 30


class Ran(msgspec.Struct, frozen=True):
    """How a command ended."""

    code: int
    out: str = ""
    err: str = ""


class System(msgspec.Struct, frozen=True):
    """Where schedules are kept on this machine, and how its tools are run."""

    home: str
    environ: Mapping[str, str]
    platform: str = sys.platform

    def run(self, argv: Sequence[str], text: str | None = None) -> Ran:
        """Run one of the system's tools to its end."""
        try:
            done = subprocess.run(
                list(argv),
                input=text,
                env=dict(self.environ),
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Ran(127, err=str(error))
        return Ran(done.returncode, done.stdout, done.stderr)

    def has(self, program: str) -> bool:
        """Whether a tool is there."""
        return shutil.which(program, path=self.environ.get("PATH")) is not None

    def units(self) -> Path:
        """The folder of the user's systemd units."""
        named = self.environ.get("XDG_CONFIG_HOME", "")
        base = Path(named) if os.path.isabs(named) else Path(self.home, ".config")
        return base / "systemd" / "user"

    def plist(self) -> Path:
        """The file of our launch agent."""
        return Path(self.home, "Library", "LaunchAgents", f"{schedule.LABEL}.plist")


def kind_here(system: System) -> Kind:
    """Which scheduler this system has."""
    if system.platform == "darwin":
        return "launchd"
    if system.platform == "win32":
        return "tasks"
    # A container may have the program without a running manager behind it.
    if (
        system.has("systemctl")
        and system.run(["systemctl", "--user", "show-environment"]).code == 0
    ):
        return "systemd"
    if system.has("crontab"):
        return "cron"
    raise NotFound(
        "neither a systemd user instance nor crontab was found",
        hint="agents with hooks need no schedule; else run `session-memory sweep` yourself",
    )


def install(system: System, kind: Kind, job: Job) -> list[str]:
    """Install a schedule; returns what was written or run."""
    match kind:
        case "systemd":
            units = {system.units() / n: t for n, t in schedule.systemd_units(job).items()}
            for path, text in units.items():
                _check_unit(path)
                _write(path, text)
            _run_or_raise(system, ["systemctl", "--user", "daemon-reload"])
            _run_or_raise(
                system, ["systemctl", "--user", "enable", "--now", f"{schedule.NAME}.timer"]
            )
            return list(map(str, units))
        case "launchd":
            if system.plist().exists():
                system.run(["launchctl", "unload", str(system.plist())])
            _write(system.plist(), schedule.launchd_plist(job))
            _run_or_raise(system, ["launchctl", "load", "-w", str(system.plist())])
            return [str(system.plist())]
        case "cron":
            before = _crontab(system)
            after = schedule.with_cron(before, job)
            if after != before:
                _run_or_raise(system, ["crontab", "-"], after)
            return ["crontab"]
        case "tasks":
            _run_or_raise(system, schedule.task_argv(job))
            return [f"task {schedule.NAME}"]


def show(system: System, kind: Kind) -> str | None:
    """The installed schedule; None where there is none."""
    match kind:
        case "systemd":
            timer = _read(system.units() / f"{schedule.NAME}.timer")
            return timer if timer and _is_our_unit(timer) else None
        case "launchd":
            return _read(system.plist())
        case "cron":
            lines = _crontab(system).splitlines()
            at = lines.index(schedule.MARK) if schedule.MARK in lines else None
            return None if at is None else "\n".join(lines[at : at + 2])
        case "tasks":
            done = system.run(["schtasks", "/Query", "/TN", schedule.NAME, "/V", "/FO", "LIST"])
            return done.out if done.code == 0 else None


def command(system: System, kind: Kind) -> str | None:
    """The text with the command that is run; None where nothing is installed."""
    installed = show(system, kind)
    if installed is None or kind != "systemd":
        return installed
    return _read(system.units() / f"{schedule.NAME}.service")


def remove(system: System, kind: Kind) -> bool:
    """Remove the schedule; returns whether there was one."""
    if show(system, kind) is None:
        return False
    match kind:
        case "systemd":
            system.run(["systemctl", "--user", "disable", "--now", f"{schedule.NAME}.timer"])
            for name in (f"{schedule.NAME}.service", f"{schedule.NAME}.timer"):
                if _is_our_unit(_read(system.units() / name) or ""):
                    (system.units() / name).unlink(missing_ok=True)
            system.run(["systemctl", "--user", "daemon-reload"])
        case "launchd":
            system.run(["launchctl", "unload", "-w", str(system.plist())])
            system.plist().unlink(missing_ok=True)
        case "cron":
            remaining = schedule.without_cron(_crontab(system))
            _run_or_raise(
                system, ["crontab", "-"] if remaining else ["crontab", "-r"], remaining or None
            )
        case "tasks":
            _run_or_raise(system, ["schtasks", "/Delete", "/F", "/TN", schedule.NAME])
    return True


def _is_our_unit(text: str) -> bool:
    return text.startswith(f"{schedule.MARK}\n")


def _check_unit(path: Path) -> None:
    """Refuse to replace a unit of the user's that has our name."""
    present = _read(path)
    if present is not None and not _is_our_unit(present):
        raise Refused(f"{path} is not ours", hint="rename that unit, then run this again")


def _crontab(system: System) -> str:
    """The user's crontab, empty where there is none; raises where it cannot be read."""
    done = system.run(["crontab", "-l"])
    none = ("no crontab", "no such file")  # the second is what busybox says
    if done.code != 0 and not any(word in done.err.lower() for word in none):
        message = " ".join(done.err.split())[:200] or f"it ended with {done.code}"
        raise SessionMemoryError(f"crontab -l: {message}", hint="nothing was changed")
    return done.out if done.code == 0 else ""


def _run_or_raise(system: System, argv: Sequence[str], text: str | None = None) -> None:
    done = system.run(argv, text)
    if done.code != 0:
        message = " ".join(done.err.split())[:200] or f"it ended with {done.code}"
        failed = " ".join(argv[:3])
        raise SessionMemoryError(f"{failed}: {message}", hint="see `config schedule --help`")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
