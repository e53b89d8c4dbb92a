"""Every flavour by name: our own, loaded when asked for, and those that plug-in packages add."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from session_memory.adapters.common import Adapter
from session_memory.errors import AdapterError
from session_memory.plain_files import read_plain

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "session_memory.adapters"
ENTRY_POINTS_CAP = 1024 * 1024

_BUILT_IN = {
    "claude": "session_memory.adapters.claude.reader",
    "codex": "session_memory.adapters.codex.reader",
    "grok": "session_memory.adapters.grok.reader",
    "gemini": "session_memory.adapters.gemini.reader",
    "qwen": "session_memory.adapters.qwen.reader",
    "opencode": "session_memory.adapters.opencode.reader",
    "copilot": "session_memory.adapters.copilot.reader",
    "pi": "session_memory.adapters.pi.reader",
}
"""Flavour to the module that holds its `ADAPTER`; the order is the order of every report."""

# What importing a stranger's module may raise. Not `Exception`: an interrupt of ours must pass.
_PLUGIN_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)

_registered: dict[str, Adapter] = {}
_plugins: tuple[dict[str, Adapter], tuple[str, ...]] | None = None


def adapters() -> dict[str, Adapter]:
    """All flavours: built in first, then plug-ins, then what `register` added."""
    built_in = {name: _load(module) for name, module in _BUILT_IN.items()}
    plugins, _ = _loaded_plugins()
    return {**built_in, **plugins, **_registered}


_USUAL_HOMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "claude": ("CLAUDE_CONFIG_DIR", ("~/.claude", "~/.config/claude")),
    "codex": ("CODEX_HOME", ("~/.codex",)),
    "grok": ("GROK_HOME", ("~/.grok",)),
    "gemini": ("GEMINI_CLI_HOME", ("~/.gemini",)),
    "qwen": ("QWEN_HOME", ("~/.qwen",)),
    "opencode": (
        "OPENCODE_DATA_DIR",
        ("$XDG_DATA_HOME/opencode", "~/.local/share/opencode"),
    ),
    "copilot": ("COPILOT_HOME", ("~/.copilot",)),
    "pi": ("PI_CODING_AGENT_DIR", ("~/.pi/agent",)),
}
"""What the records say, without importing them; a test compares both."""


def adapters_here(
    environ: Mapping[str, str], home: str, configured: Collection[str]
) -> dict[str, Adapter]:
    """The flavours that can have logs on this machine; all of them where none seems to.

    An idle sweep should not pay for the parsers of agents nobody has installed.
    """
    names = [
        name
        for name, (variable, folders) in _USUAL_HOMES.items()
        if name in configured
        or environ.get(variable)
        or any(map(os.path.isdir, usual_places(folders, environ, home)))
    ]
    if not names:
        return adapters()
    plugins, _ = _loaded_plugins()
    return {**{name: _load(_BUILT_IN[name]) for name in names}, **plugins, **_registered}


def adapter(name: str) -> Adapter:
    """One flavour; a built-in one costs no look at the installed plug-ins."""
    if name in _registered:
        return _registered[name]
    if name in _BUILT_IN:
        return _load(_BUILT_IN[name])
    plugins, _ = _loaded_plugins()
    if name in plugins:
        return plugins[name]
    known = ", ".join([*_BUILT_IN, *plugins, *_registered])
    raise AdapterError(f"no flavour is called {name!r}", hint=f"known flavours: {known}")


def register(adapter: Adapter) -> None:
    """Add a flavour to this process; one of the same name gives way to it."""
    _registered[adapter.name] = adapter


def unregister(name: str) -> None:
    """Take back what `register` added."""
    _registered.pop(name, None)


def plugin_warnings() -> tuple[str, ...]:
    """One sentence for each plug-in that could not be used."""
    return _loaded_plugins()[1]


def homes(
    adapter: Adapter, environ: Mapping[str, str], home: str, override: list[str] | None = None
) -> list[str]:
    """Where a flavour's logs are: configured, else named by its variable, else the usual places.

    Only the usual places must exist: a place somebody named and that is missing is worth a report.
    """
    named = override or _from_variable(adapter, environ)
    if named:
        found = [_expand(path, home) for path in named]
    else:
        usual = usual_places(adapter.default_dirs, environ, home)
        found = [path for path in usual if os.path.isdir(path)]
    by_place: dict[str, str] = {}
    for path in found:  # two names of one directory would be swept twice
        by_place.setdefault(os.path.realpath(path), path)
    return list(by_place.values())


def usual_places(folders: tuple[str, ...], environ: Mapping[str, str], home: str) -> list[str]:
    """Where a flavour keeps its logs; a folder below a variable counts where that is set."""
    found: list[str] = []
    for folder in folders:
        if not folder.startswith("$"):
            found.append(_expand(folder, home))
            continue
        variable, _, rest = folder[1:].partition("/")
        if above := environ.get(variable):
            found.append(os.path.join(_expand(above, home), rest))
    return found


def load_plugins(points: list[EntryPoint]) -> tuple[dict[str, Adapter], tuple[str, ...]]:
    """The adapters behind some entry points, and why others gave none."""
    found: dict[str, Adapter] = {}
    warnings: list[str] = []
    for point in points:
        try:
            value: object = point.load()
        except _PLUGIN_ERRORS as error:
            reason = f"{type(error).__name__}: {error}"
            warnings.append(f"adapter plug-in {point.name!r} cannot be loaded ({reason})")
            continue
        if not isinstance(value, Adapter):
            warnings.append(f"adapter plug-in {point.name!r} is not an Adapter")
        elif value.name in _BUILT_IN or value.name in found:
            warnings.append(f"adapter plug-in {point.name!r}: flavour {value.name!r} is taken")
        else:
            found[value.name] = value
    return found, tuple(warnings)


def _load(module: str) -> Adapter:
    return importlib.import_module(module).ADAPTER


def _loaded_plugins() -> tuple[dict[str, Adapter], tuple[str, ...]]:
    global _plugins  # noqa: PLW0603  # looking through installed packages costs tens of milliseconds
    if _plugins is None:
        _plugins = load_plugins(_entry_points()) if _some_package_names_us() else ({}, ())
    return _plugins


def _entry_points() -> list[EntryPoint]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _some_package_names_us() -> bool:
    """A quick look that spares nearly everybody the 20 ms of importlib.metadata."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".zip", ".egg", ".whl")):
                return True  # packed: only importlib can look inside
            if name.endswith((".dist-info", ".egg-info")) and _names_us(folder, name):
                return True
    return False


def _names_us(folder: str, name: str) -> bool:
    if name.startswith("session_memory-"):
        return False  # ourselves: the group is declared, and empty
    try:
        points = read_plain(os.path.join(folder, name, "entry_points.txt"), ENTRY_POINTS_CAP)
        return GROUP.encode() in points
    except OSError:
        return False


def _from_variable(adapter: Adapter, environ: Mapping[str, str]) -> list[str]:
    value = environ.get(adapter.env, "") if adapter.env else ""
    return [path.strip() for path in value.split(",") if path.strip()]


def _expand(path: str, home: str) -> str:
    """`~` by the home given, not by the process's own: tests and services differ in it."""
    if path == "~":
        return home
    return os.path.join(home, path[2:]) if path.startswith(("~/", "~\\")) else path
