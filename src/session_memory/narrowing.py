"""What must not be captured: the user's exclusions, and what a repository asks for in its own file.

A repository is hostile until shown otherwise, so its file can only take away. When it cannot be
understood, nothing of that repository is captured: the owner may have meant exactly that.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from session_memory.setting_kinds import ALLOWED, InvalidValueError, Kind, Value, check

PROJECT_FILE = ".session-memory.toml"
IGNORE_FILE = ".sessionmemoryignore"
"""One directory or pattern a line, relative to the repository; empty means all of it."""
PROJECT_FILE_MAX = 64 * 1024
KEYS: dict[str, Kind] = {"enabled": "flag", "exclude": "list", "domain": "name"}


class ProjectRules(msgspec.Struct, frozen=True):
    """What a repository's own file asks for: less, never more."""

    enabled: bool = True
    exclude: tuple[str, ...] = ()
    """Absolute, ready for `is_excluded`."""
    domain: str | None = None
    file: str | None = None
    warnings: tuple[str, ...] = ()


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
    rules = _read_toml_rules(root)
    ignored = _read_ignore_file(root)
    if ignored is None:
        return rules
    patterns = tuple(_below(root, line) for line in ignored if line not in ("*", "/", "**"))
    everything = len(patterns) < len(ignored) or not ignored
    return msgspec.structs.replace(
        rules,
        enabled=rules.enabled and not everything,
        exclude=rules.exclude + patterns,
        file=rules.file or str(Path(root) / IGNORE_FILE),
    )


def _read_ignore_file(root: str) -> list[str] | None:
    """The patterns of `.sessionmemoryignore`, or None where there is none.

    An empty file, or one that cannot be read, asks for everything to be left out.
    """
    try:
        lines = _read_regular(str(Path(root) / IGNORE_FILE)).splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        return []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _read_toml_rules(root: str) -> ProjectRules:
    file = str(Path(root) / PROJECT_FILE)
    try:
        text = _read_regular(file)
        import tomllib  # 4 ms that a repository without such a file does not cost

        table = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return ProjectRules()
    except (OSError, ValueError, RecursionError) as error:  # TOML and UTF-8 errors are ValueErrors
        problem = f"{file}: cannot be understood, so nothing here is captured: {error}"
        return ProjectRules(enabled=False, file=file, warnings=(problem,))
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
    return ProjectRules(
        enabled=not off and values.get("enabled") is not False,
        exclude=tuple(_below(root, item) for item in _texts(exclude)),
        domain=domain if isinstance(domain, str) else None,
        file=file,
        warnings=tuple(warnings),
    )


def _texts(value: Value) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, tuple) else []


def _only() -> str:
    return "`enabled = false`, `exclude` and `domain`"


def _below(root: str, item: str) -> str:
    """A repository's pattern, tied to the repository: it may not hide other places."""
    parts = [part for part in item.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return str(Path(root).joinpath(*parts))


def _read_regular(file: str) -> str:
    """A small regular file; a link, pipe or device in its place is not followed or waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(file, flags)
    with open(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a regular file")
        data = stream.read(PROJECT_FILE_MAX + 1)
    if len(data) > PROJECT_FILE_MAX:
        raise ValueError(f"larger than {PROJECT_FILE_MAX} bytes")
    return data.decode("utf-8")
