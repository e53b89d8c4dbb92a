"""The commands that stand in agents' settings: how they are written, and how ours are recognised.

An agent must work as if we were not there when our files are gone, so nothing here names a file
that has to exist: `/bin/sh` looks for our launcher first, and ends well without it. The launcher's
path is an argument and not part of the script, so that every shell an agent may run the line with
(sh, bash, zsh, fish, csh) reads it the same way.

An entry of ours is one that some version wrote, character for character. A command that merely
mentions one of our names is the user's.
"""

from __future__ import annotations

import re
import shlex

from session_memory.adapters.agent import AGENT_NAME
from session_memory.adapters.registry import find_agent
from session_memory.regex_cache import compiled

HOOK = "session-memory-hook"
"""File name of what agents run at their events."""
SERVER_LAUNCHER = "session-memory-server"
"""File name of what agents run as their MCP server."""

PROFILE = "agent"
"""The tools that agents are given: few, and what they write waits for the user."""
SERVER_OPTIONS = ("--profile", PROFILE, "--idle-timeout", "0")
_EARLIER_OPTIONS = ((), ("--idle-timeout", "0"))

SHELL = ("/bin/sh", "-c")
HOOK_SCRIPT = '{ [ -x "$0" ] && "$0" "$@" || { cat <&3 >/dev/null & }; } 3<&0 2>/dev/null; exit 0'
"""Runs the launcher. Where that is gone or was killed, `cat` takes the payload off the agent, which
could fail on a closed pipe, without making it wait."""
_PING = '/"method": *"ping"/'
_ANSWERS = {
    '/"method": *"initialize"/': '"result":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"serverInfo":{"name":"session-memory","version":"0"}}',
    r'/"method": *"tools\/list"/': '"result":{"tools":[]}',
    _PING: '"result":{}',
    "": '"error":{"code":-32601,"message":"Method not found"}',
}


def _server_script(answers: dict[str, str], start: str = '[ -x "$0" ] && "$0"') -> str:
    """Shell that runs the server, or gives these answers where it cannot start."""
    sed = " -e t".join(
        f""" -e '{which}s/.*"id": *\\([^,}}]*\\).*/{{"jsonrpc":"2.0","id":\\1,{answer}}}/p'"""
        for which, answer in answers.items()
    )
    return (
        f"{start}; [ $? = 0 -o $? -gt 128 ] && exit 0;"
        f' while read -r line; do printf "%s\\n" "$line" | sed -n{sed}; done'
    )


SERVER_SCRIPT = _server_script(_ANSWERS)
"""Runs the server. Where that cannot start, this is an MCP server without tools: Claude Code and
Grok tell their models of a server that fails to connect. A server that was killed is not replaced,
because the agent may wait for an answer that only it could give.

Without `${...}`, which several agents would expand themselves.
"""
_SERVER_SCRIPTS = (
    SERVER_SCRIPT,
    _server_script({which: _ANSWERS[which] for which in _ANSWERS if which != _PING}),
)
"""Every version of it that was ever written into settings: entries are recognised by it."""

IN_PACKAGE = "package"
"""Last word of a call that comes from a package; `init` may have wired the same agent."""
_LOOK = (
    'look() {{ for d in "$SESSION_MEMORY_HOME/data" "$XDG_DATA_HOME/{app}"'
    ' "$HOME/.local/share/{app}" "$HOME/Library/Application Support/{app}";'
    ' do f=$d/hooks/$0; [ -x "$f" ] && return; done; false; }};'
    ' look || PATH="$PATH:$HOME/.local/bin" {app} worker launchers </dev/null >/dev/null && look'
).format(app="session-memory")
"""Shell that puts our launcher, whose name is `$0`, into `f`: where `init` made it, else where our
program makes it now. Fails where the program is not installed."""
PACKAGE_HOOK_SCRIPT = (
    f'{{ {_LOOK} && "$f" "$@" {IN_PACKAGE} || {{ cat <&3 >/dev/null & }}; }} 3<&0 2>/dev/null;'
    " exit 0"
)
"""As HOOK_SCRIPT, on a machine of which nothing is known."""
PACKAGE_SERVER_SCRIPT = _server_script(
    _ANSWERS, f'{{ {_LOOK}; }} 2>/dev/null && "$f" --{IN_PACKAGE}'
)
"""As SERVER_SCRIPT, likewise."""

_EVENT = compiled(r"[A-Za-z][A-Za-z._]*")
_POWERSHELL = "if (Test-Path -LiteralPath {0}) {{ & {0} {1} {2} }}; exit 0"
_FILE = r"[\\/]hooks[\\/]session-memory-hook\.cmd"
_WINDOWS_LINE = compiled(
    rf'(?:& )?"[^"]*{_FILE}" {_EVENT.pattern} ({AGENT_NAME})'
    rf"|if \(Test-Path -LiteralPath (?P<file>'(?:[^']|'')*{_FILE}')\)"
    rf" \{{ & (?P=file) {_EVENT.pattern} ({AGENT_NAME}) \}}; exit 0"
)


def hook_words(launcher: str, event: str, agent: str) -> list[str]:
    """The hook as a list, for agents that start a program without a shell."""
    return [*SHELL, HOOK_SCRIPT, launcher, event, agent]


def hook_line(launcher: str, event: str, agent: str) -> str:
    """The hook as a line for a shell."""
    return shlex.join(hook_words(launcher, event, agent))


def powershell_line(launcher: str, event: str, agent: str) -> str:
    """The hook as a line for PowerShell."""
    quoted = "'" + launcher.replace("'", "''") + "'"
    return _POWERSHELL.format(quoted, event, agent)


def server_words(launcher: str) -> list[str]:
    """The MCP server; agents start it without a shell."""
    return [*SHELL, SERVER_SCRIPT, launcher]


def package_hook_words() -> list[str]:
    """The hook inside a package, with event and agent to come."""
    return [*SHELL, PACKAGE_HOOK_SCRIPT, HOOK]


def package_hook_line(event: str, agent: str) -> str:
    """The same as a line for a shell."""
    return shlex.join([*package_hook_words(), event, agent])


def package_server_words() -> list[str]:
    """The MCP server inside a package."""
    return [*SHELL, PACKAGE_SERVER_SCRIPT, SERVER_LAUNCHER]


def is_hook_line(line: object) -> bool:
    """Whether some version of ours wrote this line."""
    if not isinstance(line, str):
        return False
    if match := _WINDOWS_LINE.fullmatch(line):
        return find_agent(match[1] or match[3]) is not None
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return is_hook(words) and line == shlex.join(words)


def is_hook(words: list[object] | list[str]) -> bool:
    """Whether some version of ours wrote this list; early ones named the launcher directly."""
    texts = [str(word) for word in words]
    if texts[:3] == [*SHELL, HOOK_SCRIPT]:
        texts = texts[3:]
    return (
        len(texts) == 3
        and _is_launcher(texts[0], HOOK)
        and _EVENT.fullmatch(texts[1]) is not None
        and find_agent(texts[2]) is not None
    )


def launchers_in(text: str) -> set[str]:
    """Launchers that a text names, whatever its format."""
    pattern = rf"""(?:/|[A-Za-z]:\\\\?)[^"'\s]*hooks[\\/]+(?:{HOOK}|{SERVER_LAUNCHER})(?:\.cmd)?"""
    return {path.replace("\\\\", "\\") for path in re.findall(pattern, text)}


def is_server(words: list[object] | list[str]) -> bool:
    """Whether some version of ours wrote this list; early ones named the interpreter directly."""
    texts = [str(word) for word in words]
    if tuple(texts[:2]) == SHELL and texts[2:3] and texts[2] in _SERVER_SCRIPTS:
        return len(texts) == 4 and _is_launcher(texts[3], SERVER_LAUNCHER)
    return is_direct_server(texts)


def is_direct_server(words: list[str]) -> bool:
    """Whether this is the interpreter with our module, as early versions and Windows have it."""
    if not words or not _is_absolute(words[0]) or words[2:4] != ["-m", "session_memory"]:
        return False
    rest = words[4:]
    if rest[:1] == ["--config"]:
        rest = rest[2:]
    server_lines = [["mcp", *options] for options in (SERVER_OPTIONS, *_EARLIER_OPTIONS)]
    return words[1] in ("-I", "-P") and rest in server_lines


def _is_launcher(path: str, name: str) -> bool:
    """Whether this is where some home of ours has its launchers."""
    parts = re.split(r"[\\/]", path)
    return _is_absolute(path) and parts[-2:] in (["hooks", name], ["hooks", f"{name}.cmd"])


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "\\\\")) or re.match(r"[A-Za-z]:[\\/]", path) is not None
