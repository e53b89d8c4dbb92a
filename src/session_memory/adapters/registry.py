"""Every agent by name: our own, imported on first use, and those that plug-in packages add."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from session_memory.adapters.agent import AGENT_NAME, Agent, from_adapter
from session_memory.adapters.places import HOME_VARIABLES, HOMES
from session_memory.errors import AdapterError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from session_memory.adapters.common import Adapter
    from session_memory.adapters.shared_wiring.client import Client

GROUP = "session_memory.adapters"
ENTRY_POINTS_CAP = 1024 * 1024

BUILT_IN = (
    "claude",
    "codex",
    "grok",
    "gemini",
    "qwen",
    "opencode",
    "copilot",
    "pi",
    "cline",
    "roo",
    "kilo",
    "crush",
    "aider",
    "kimi",
    "kiro",
    "zed",
    "cowork",
    "copilot_chat",
    "cursor",
    "droid",
    "continue_dev",
    "antigravity",
)
"""Our agents: each has a folder of that name next to this file, with its record in `__init__.py`.
The order is that of every report. After a change run `make docs`, which renews generated tables."""

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

_registered: dict[str, Agent] = {}
_plugins: tuple[dict[str, Agent], tuple[str, ...]] | None = None


def agents() -> dict[str, Agent]:
    """All agents: built in first, then plug-ins, then what `register` added."""
    return {**built_in(), **_loaded_plugins()[0], **_registered}


def built_in() -> dict[str, Agent]:
    """Our own agents, without a look at the installed plug-ins."""
    return {name: _built_in(name) for name in BUILT_IN}


def find_agent(name: str) -> Agent | None:
    """One agent, or None; a built-in one costs no look at the installed plug-ins."""
    if name in _registered:
        return _registered[name]
    return _built_in(name) if name in BUILT_IN else _loaded_plugins()[0].get(name)


def adapters() -> dict[str, Adapter]:
    """The readers of all agents."""
    return {name: agent.load_reader() for name, agent in agents().items()}


def adapters_here(
    environ: Mapping[str, str], home: str, configured: Collection[str]
) -> dict[str, Adapter]:
    """The readers of agents that can have logs on this machine; of all where none seems to.

    An idle sweep should load neither parsers nor records of agents that are not installed.
    """
    present = {
        name: _built_in(name)
        for name in BUILT_IN
        if name in configured
        or environ.get(HOME_VARIABLES.get(name, ""))
        or any(map(os.path.isdir, usual_places(HOMES.get(name, ()), environ, home)))
    }
    if not present:
        return adapters()
    here = {**present, **_loaded_plugins()[0], **_registered}
    return {name: agent.load_reader() for name, agent in here.items()}


def adapter(name: str) -> Adapter:
    """The reader of one agent."""
    agent = find_agent(name)
    if agent is None:
        names = ", ".join(agents())
        raise AdapterError(f"no flavour is called {name!r}", hint=f"known flavours: {names}")
    return agent.load_reader()


def clients() -> dict[str, Client]:
    """The wiring of every agent that has one."""
    wirings = {name: agent.load_wiring() for name, agent in agents().items()}
    return {name: client for name, client in wirings.items() if client is not None}


def register(agent: Agent | Adapter) -> None:
    """Add an agent to this process; it replaces one of the same name."""
    record = agent if isinstance(agent, Agent) else from_adapter(agent)
    _registered[record.name] = record


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

    Only usual places must exist: a missing place that the user named is worth a report.
    """
    named = override or _from_variable(adapter, environ)
    if named:
        places = [_expand(path, home) for path in named]
    else:
        usual = usual_places(adapter.default_dirs, environ, home)
        places = [path for path in usual if os.path.isdir(path)]
    by_place: dict[str, str] = {}
    for path in places:  # two names of one directory would be swept twice
        by_place.setdefault(os.path.realpath(path), path)
    return list(by_place.values())


def usual_places(folders: Sequence[str], environ: Mapping[str, str], home: str) -> list[str]:
    """Where a flavour keeps its logs; a folder below a variable counts where that is set."""
    places: list[str] = []
    for folder in folders:
        if not folder.startswith("$"):
            places.append(_expand(folder, home))
            continue
        variable, _, rest = folder[1:].partition("/")
        if above := environ.get(variable):
            places.append(os.path.join(_expand(above, home), rest))
    return places


def load_plugins(points: list[EntryPoint]) -> tuple[dict[str, Agent], tuple[str, ...]]:
    """The agents behind some entry points, and why others gave none."""
    from session_memory.adapters.common import Adapter

    plugins: dict[str, Agent] = {}
    warnings: list[str] = []
    for point in points:
        try:
            value: object = point.load()
            agent = from_adapter(value) if isinstance(value, Adapter) else value
            if isinstance(agent, Agent):  # what it names is imported now: a mistake shows up here
                reader, wiring = agent.load_reader(), agent.load_wiring()
                agent = msgspec.structs.replace(agent, reader=reader, wiring=wiring)
        except _PLUGIN_ERRORS as error:
            reason = f"{type(error).__name__}: {error}"
            warnings.append(f"adapter plug-in {point.name!r} cannot be loaded ({reason})")
            continue
        if not isinstance(agent, Agent) or not isinstance(agent.reader, Adapter):
            warnings.append(f"adapter plug-in {point.name!r} is neither an Agent nor an Adapter")
        elif agent.name in BUILT_IN or agent.name in plugins:
            warnings.append(f"adapter plug-in {point.name!r}: flavour {agent.name!r} is taken")
        elif agent.wiring is not None and not re.fullmatch(AGENT_NAME, agent.name):
            warnings.append(f"adapter plug-in {point.name!r}: {agent.name!r} cannot be a name")
        else:
            plugins[agent.name] = agent
    return plugins, tuple(warnings)


def _built_in(name: str) -> Agent:
    return importlib.import_module(f"session_memory.adapters.{name}").AGENT


def _loaded_plugins() -> tuple[dict[str, Agent], tuple[str, ...]]:
    global _plugins  # noqa: PLW0603  # looking through installed packages costs tens of milliseconds
    if _plugins is None:
        _plugins = load_plugins(_entry_points()) if _some_package_names_us() else ({}, ())
    return _plugins


def _entry_points() -> list[EntryPoint]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _some_package_names_us() -> bool:
    """A quick check that saves most users the 20 ms of importlib.metadata."""
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
    try:  # without waiting for a pipe, and twice as fast as `read_plain`: there may be hundreds
        path = os.path.join(folder, name, "entry_points.txt")
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        return GROUP.encode() in os.read(descriptor, ENTRY_POINTS_CAP)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _from_variable(adapter: Adapter, environ: Mapping[str, str]) -> list[str]:
    value = environ.get(adapter.env, "") if adapter.env else ""
    return [path.strip() for path in value.split(",") if path.strip()]


def _expand(path: str, home: str) -> str:
    """`~` by the home given, not by the process's own: tests and services differ in it."""
    if path == "~":
        return home
    return os.path.join(home, path[2:]) if path.startswith(("~/", "~\\")) else path
