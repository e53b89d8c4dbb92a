"""What must not be captured: the user's exclusions, and what a repository asks for in its own file.

A repository is hostile until shown otherwise, so its file can only take away. When it cannot be
understood, nothing of that repository is captured: the owner may have meant exactly that. When it
cannot be read (no permission, a failing disk), its sessions wait until it can.
"""

from __future__ import annotations

import errno
import fnmatch
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from session_memory.plain_files import UnfitFile, read_plain
from session_memory.settings.kinds import (
    ALLOWED,
    LEVELS,
    InvalidValueError,
    Kind,
    TeamLevel,
    Value,
    check,
)

PROJECT_FILE = ".session-memory.toml"
IGNORE_FILE = ".sessionmemoryignore"
"""One directory or pattern a line, relative to the repository; empty means all of it."""
PROJECT_FILE_MAX = 64 * 1024
KEYS: dict[str, Kind] = {
    "enabled": "flag",
    "exclude": "list",
    "domain": "name",
    "team": "level",
}


class ProjectRules(msgspec.Struct, frozen=True):
    """What a repository's own file asks for: less, never more."""

    enabled: bool = True
    exclude: tuple[str, ...] = ()
    """Absolute, ready for `is_excluded`."""
    domain: str | None = None
    team: TeamLevel = "sessions"
    """The most that may leave for a team; sharing is still the user's own decision."""
    file: str | None = None
    warnings: tuple[str, ...] = ()
    unreadable: str | None = None
    """Why a file of the repository cannot be read now: its sessions wait until it can."""


def is_excluded(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path is, or lies below, one of the directories or "*" patterns."""
    path = os.path.normpath(path)
    for pattern in patterns:
        pattern = pattern.rstrip("/\\") or pattern
        if path == pattern or path.startswith((pattern + "/", pattern + "\\")):
            return True
        if "*" in pattern and (
            fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, f"{pattern}/*")
        ):
            return True
    return False


def read_project_rules(root: str) -> ProjectRules:
    """The rules of the repository at `root`, from both its files; never raises."""
    try:
        rules = _read_toml_rules(root)
        ignored, warnings = _read_ignore_file(root)
    except OSError as error:
        reason = f"cannot read {error.filename or root}: {error.strerror or error}"
        return ProjectRules(enabled=False, file=error.filename, unreadable=reason)
    if ignored is None:
        return rules
    patterns = tuple(_below(root, line) for line in ignored if line not in ("*", "/", "**"))
    everything = len(patterns) < len(ignored) or not ignored
    return msgspec.structs.replace(
        rules,
        enabled=rules.enabled and not everything,
        exclude=rules.exclude + patterns,
        file=rules.file or str(Path(root) / IGNORE_FILE),
        warnings=rules.warnings + warnings,
    )


def _read_ignore_file(root: str) -> tuple[list[str] | None, tuple[str, ...]]:
    """The patterns of `.sessionmemoryignore`, or None where there is none; and warnings.

    An empty file, or one that cannot be understood, asks for everything to be left out.
    """
    try:
        text = _read_own_file(root, IGNORE_FILE)
    except (UnfitFile, ValueError) as error:
        return [], (_misunderstood(str(Path(root) / IGNORE_FILE), error),)
    if text is None:
        return None, ()
    lines = text.splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")], ()


def _misunderstood(file: str, error: Exception) -> str:
    return f"{file}: cannot be understood, so nothing here is captured: {error}"


def _read_toml_rules(root: str) -> ProjectRules:
    file = str(Path(root) / PROJECT_FILE)
    try:
        text = _read_own_file(root, PROJECT_FILE)
        if text is None:
            return ProjectRules()
        import tomllib  # 4 ms that a repository without such a file does not cost

        table = tomllib.loads(text)
    except (
        UnfitFile,
        ValueError,
        RecursionError,
    ) as error:  # TOML and UTF-8 errors are ValueErrors
        return ProjectRules(enabled=False, file=file, warnings=(_misunderstood(file, error),))
    return _rules(root, file, table)


def _rules(root: str, file: str, table: dict[str, object]) -> ProjectRules:
    warnings: list[str] = []
    values: dict[str, Value] = {}
    off = False
    for key, value in table.items():
        if key not in KEYS:
            warnings.append(f"{file}: `{key}` is ignored; a repository may set only {_only()}")
            continue
        try:
            values[key] = check(KEYS[key], value)
        except InvalidValueError:
            allowed = ALLOWED[KEYS[key]]
            warnings.append(
                f"{file}: {key} is not allowed; allowed: {allowed}; nothing is captured"
            )
            off = True
    if values.get("enabled") is True:
        warnings.append(f"{file}: `enabled = true` is ignored; a repository can only switch off")
    exclude, domain = values.get("exclude"), values.get("domain")
    team: TeamLevel = "sessions"
    for level in LEVELS:
        team = level if level == values.get("team") else team
    return ProjectRules(
        enabled=not off and values.get("enabled") is not False,
        exclude=tuple(_below(root, item) for item in _texts(exclude)),
        domain=domain if isinstance(domain, str) else None,
        team=team,
        file=file,
        warnings=tuple(warnings),
    )


def _texts(value: Value) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, tuple) else []


def _only() -> str:
    return "`enabled = false`, `exclude`, `domain` and `team`"


def _below(root: str, item: str) -> str:
    """A repository's pattern, tied to the repository: it may not hide other places."""
    parts = [part for part in item.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return str(Path(root).joinpath(*parts))


def _read_own_file(root: str, name: str) -> str | None:
    """A small file of a repository, not through a link; None where there is none.

    Raises OSError where it may be there and cannot be read, UnfitFile or ValueError where it cannot
    be understood.
    """
    try:
        file = str(Path(root) / name)
        return read_plain(file, PROJECT_FILE_MAX, follow=False).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # The log may come from another machine, with names too long to exist on this one.
        if error.errno == errno.ENAMETOOLONG and not os.path.isdir(root):
            return None
        raise
