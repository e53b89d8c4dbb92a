"""Our own files that agents run or that the hook reads: launchers, its copy, its settings."""

from __future__ import annotations

import importlib.util
import marshal
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from session_memory.adapters.registry import agents, clients
from session_memory.adapters.shared_wiring.client import Client, InstallContext
from session_memory.adapters.shared_wiring.json_text import as_list, as_object
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import JsonHooks, WholeFile
from session_memory.atomic_files import replace_file
from session_memory.file_names import name_to_text
from session_memory.guards.table import FILE
from session_memory.install.hook_table import with_table
from session_memory.paths import private_dir

EXECUTABLE = 0o700
UNAVAILABLE = 69
"""EX_UNAVAILABLE of sysexits.h: the command in the settings goes on without us."""
SETTINGS = "hook.json"
"""In the state directory."""
FIRST_PROFILE = "standard"
"""The profile of launchers of early versions, which name none."""
TOOL_EVENTS = ("PreToolUse", "BeforeTool", "AfterTool", "tool.execute.before")
"""Events that agents report only for guards."""
_HEAD = 16
"""Bytes before the code in a file of bytecode: version of Python, hash of the source."""
POSIX_HEAD = "#!/bin/sh\n# Written by `session-memory init`.\n"


def source() -> bytes:
    """The hook of this version of the package, for all agents that are known here."""
    from session_memory.hooks import entry

    text = Path(entry.__file__).read_text(encoding="utf-8")
    return with_table(text, agents().values()).encode()


@lru_cache(maxsize=1)  # one `init` asks about four times
def bytecode(data: bytes) -> bytes:
    """The hook as Python's bytecode: compiling it costs more than all that it does.

    Another version of Python refuses the file before it reads the payload, and the launcher runs
    the source instead.
    """
    code = compile(data, "entry.py", "exec", dont_inherit=True)
    by_hash = (1).to_bytes(4, "little")  # PEP 552: of this source, not compared with it again
    head = importlib.util.MAGIC_NUMBER + by_hash + importlib.util.source_hash(data)
    return head + marshal.dumps(code)


def launcher_text(launchers: Launchers) -> str:
    """The script that starts the hook, and exits quietly where it cannot."""
    variables = {
        name: value for name, value in launchers.environ.items() if name.startswith("XDG_")
    }
    variables |= {"SESSION_MEMORY_HOME": launchers.hook_home} if launchers.hook_home else {}
    if launchers.windows:
        home = "".join(f'set "{name}={value}"\r\n' for name, value in variables.items())
        return (
            "@echo off\r\nrem Written by `session-memory init`.\r\n"
            f'if not exist "{launchers.python}" exit /b 0\r\n'
            f'if not exist "{launchers.hook_file}" exit /b 0\r\n{home}'
            f'"{launchers.python}" -I -S "{launchers.compiled_hook}" %* 2>nul && exit /b 0\r\n'
            f'"{launchers.python}" -I -S "{launchers.hook_file}" %*\r\nexit /b 0\r\n'
        )
    python, file = shlex.quote(launchers.python), shlex.quote(str(launchers.hook_file))
    compiled = shlex.quote(str(launchers.compiled_hook))
    home = "".join(f"{n}={shlex.quote(value)}; export {n}\n" for n, value in variables.items())
    # What a hook printed is passed on when it ended well, so half an answer never reaches a model.
    # Where no hook read the payload, `cat` does: an agent could fail on a closed pipe.
    return (
        f"{POSIX_HEAD}leave() {{ {{ cat <&3 >/dev/null & }} 3<&0 2>/dev/null; exit 0; }}\n"
        f"[ -x {python} ] && [ -r {file} ] || leave\n{_skips_tools(launchers)}{home}"
        f'said=$({python} -I -S {compiled} "$@" 2>/dev/null) ||'
        f' said=$({python} -I -S {file} "$@" 2>/dev/null) || leave\n'
        '[ -n "$said" ] && printf \'%s\\n\' "$said"\nexit 0\n'
    )


def _skips_tools(launchers: Launchers) -> str:
    """Shell that ends at once for a tool where there are no guards: tools are many."""
    table, events = shlex.quote(str(launchers.folder / FILE)), "|".join(TOOL_EVENTS)
    return f'case "$1" in {events}) [ -s {table} ] || leave ;; esac\n'


def interpreter(launchers: Launchers) -> str | None:
    """The interpreter that the launcher on disk runs; None where there is no launcher of ours."""
    text = (_read(launchers.hook_launcher) or b"").decode("utf-8", "surrogateescape")
    for line in text.splitlines():
        if match := re.fullmatch(r'if not exist "([^"]+)" exit /b 0', line):
            return match[1]
        if line.startswith("[ -x "):
            try:
                return shlex.split(line)[2]
            except ValueError:
                return None
    return None


def server_text(launchers: Launchers) -> str:
    """The script that starts the MCP server."""
    return (
        f"{POSIX_HEAD}[ -x {shlex.quote(launchers.python)} ] || exit {UNAVAILABLE}\n"
        f'exec {shlex.join(launchers.direct_server())} "$@"\n'
    )


def served_profile(launchers: Launchers) -> str | None:
    """The profile that the launcher on disk serves; None where there is no launcher of ours."""
    text = (_read(launchers.server_launcher) or b"").decode("utf-8", "surrogateescape")
    if not text.startswith(POSIX_HEAD):
        return None
    match = re.search(r" mcp (?:.* )?--profile (\w+)", text)
    return match[1] if match else FIRST_PROFILE


def settings(launchers: Launchers, present: bytes | None) -> bytes:
    """What the hook reads: the worker's command, and whether to inject, which the user may set."""
    try:
        old: dict[str, Any] = as_object(msgspec.json.decode(present or b"{}"))
    except msgspec.DecodeError:
        old = {}
    inject = old.get("inject") is not False
    worker = launchers.program("worker", "run")
    places = _init_hooks(as_object(old.get("init_hooks")))
    values = {**old, "inject": inject, "worker": worker, "init_hooks": places}
    return msgspec.json.encode(values) + b"\n"


def _init_hooks(written: dict[str, Any]) -> dict[str, list[Any]]:
    """Where `init` writes each agent's hooks: a call from a package looks there for its double.

    Places of an earlier run stay: its environment may have named another home of an agent.
    """
    hooks_by_agent: dict[str, list[Any]] = {}
    home, environ = str(Path.home()), dict(os.environ)
    contexts = [InstallContext(home, environ, project) for project in (None, os.curdir)]
    for name, client in clients().items():
        earlier = as_list(written.get(name))
        hooks_by_agent[name] = [
            *earlier,
            *(place for place in _hook_places(client, contexts) if place not in earlier),
        ]
    return {name: places for name, places in hooks_by_agent.items() if places}


def _hook_places(client: Client, contexts: list[InstallContext]) -> Iterator[list[str]]:
    """Files with an agent's hooks, for its user and, without a root, in a project.

    Behind one stands the file with the approvals that it needs.
    """
    nowhere = Path("/nowhere")
    launchers = Launchers("", "-I", nowhere, nowhere, nowhere)
    for context in contexts:
        for path, our_parts in client.files(context, launchers).items():
            if not any(isinstance(part, JsonHooks | WholeFile) for part in our_parts):
                continue
            if name_to_text(path) != path:
                continue  # not UTF-8: `init` refuses to write there
            paths = [os.path.normpath(path)]
            if client.approvals is not None and context.project is None:
                paths.append(os.path.join(os.path.dirname(path), client.approvals.config_file))
            yield paths


def injects(state: Path) -> bool:
    """Whether the hook gives sessions what was prepared for them; see `run` of hooks/entry.py."""
    try:
        return msgspec.json.decode(_read(state / SETTINGS) or b"{}").get("inject") is True
    except (msgspec.DecodeError, AttributeError):
        return False


def our_files(launchers: Launchers) -> dict[Path, tuple[bytes, int]]:
    """Every file of ours with its content and mode."""
    settings_file, hook = launchers.state / SETTINGS, source()
    files = {
        launchers.hook_file: (hook, 0o600),
        launchers.compiled_hook: (bytecode(hook), 0o600),
        launchers.hook_launcher: (os.fsencode(launcher_text(launchers)), EXECUTABLE),
        settings_file: (settings(launchers, _read(settings_file)), 0o600),
    }
    if not launchers.windows:
        files[launchers.server_launcher] = (
            os.fsencode(server_text(launchers)),
            EXECUTABLE,
        )
    return files


State = Literal["current", "outdated", "missing"]


def states(launchers: Launchers) -> dict[Path, State]:
    """How each file of ours compares with what this version would write."""
    states: dict[Path, State] = {}
    for path, (data, mode) in our_files(launchers).items():
        current = _read(path)
        if path == launchers.compiled_hook:  # the same code may be written down in several ways
            current, data = current and current[:_HEAD], data[:_HEAD]
        same = current == data and (os.name != "posix" or path.stat().st_mode & 0o777 == mode)
        states[path] = "missing" if current is None else "current" if same else "outdated"
    return states


def write(launchers: Launchers) -> list[Path]:
    """Bring our files up to date; returns those that were not.

    The hook's copy comes before the launcher that runs it: an agent may run it at any moment.
    """
    stale = [path for path, state in states(launchers).items() if state != "current"]
    for path, (data, mode) in our_files(launchers).items():
        if path in stale:
            private_dir(path.parent)
            replace_file(path, data, mode)
    return stale


def remove(launchers: Launchers) -> list[Path]:
    """Remove our files; returns those that were there."""
    removed = [path for path in our_files(launchers) if path.exists()]
    for path in removed:
        path.unlink()
    shutil.rmtree(launchers.folder, ignore_errors=True)
    return removed


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
