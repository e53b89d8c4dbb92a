"""What stands in agents' settings does no harm alone: the exact commands, run where we are gone."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.install.machine import WIRED, Machine

from session_memory.adapters.opencode import wiring as opencode
from session_memory.adapters.shared_wiring.commands import server_words
from session_memory.adapters.shared_wiring.json_text import as_list, as_object
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.install import hook_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these commands are for a shell")

PAYLOAD = json.dumps(
    {"session_id": "s1", "cwd": "/home/dev/shop", "hook_event_name": "SessionStart"}
)
SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "fish", "csh") if shutil.which(shell)]
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
NODE, UNSHARE = shutil.which("node"), shutil.which("unshare")
CONVERSATION: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "clientInfo": {"name": "a", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": "x-1", "method": "server/discover", "params": {"_meta": {}}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "ping"},
]


def commands_of(value: Any) -> list[str]:
    """Every hook command inside a JSON value."""
    found = [str(as_object(value)[key]) for key in ("command", "bash") if key in as_object(value)]
    inner = [*as_object(value).values(), *as_list(value)]
    return [*found, *(command for one in inner for command in commands_of(one))]


def written_commands(machine: Machine) -> list[list[str]]:
    """Every command that `init` wrote into a file of an agent, as the agent starts it."""
    import tomllib

    found: list[list[str]] = []
    for path in sorted(machine.home.rglob("*.json")):
        value = json.loads(path.read_text())
        for table in ("mcpServers", "mcp"):
            found += [_server(entry) for entry in as_object(value.get(table)).values()]
        found += [["/bin/sh", "-c", line] for line in commands_of(value.get("hooks"))]
    for path in sorted(machine.home.rglob("*.toml")):
        value = tomllib.loads(path.read_text())
        found += [_server(entry) for entry in value["mcp_servers"].values()]
        found += [value["notify"]] if "notify" in value else []
    return found


def _server(entry: dict[str, Any]) -> list[str]:
    return as_list(entry["command"]) or [entry["command"], *entry["args"]]


def run(words: list[str], data: str = PAYLOAD, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        input=data,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **more,
    )


HALF_AN_ANSWER = """
import os, signal
os.write(1, b'{"hookSpecificOutput": {"additionalCon')
os.kill(os.getpid(), signal.SIGKILL)
"""


def written_over(name: str, data: str | bytes) -> Callable[[Machine], object]:
    """Another content for one of our files."""
    content = data.encode() if isinstance(data, str) else data
    return lambda machine: (machine.memory / name).write_bytes(content)


def other_python(path: str) -> Callable[[Machine], None]:
    """Launchers that name another interpreter."""

    def change(machine: Machine) -> None:
        for launcher in machine.launcher.parent.glob("session-memory-*"):
            launcher.write_text(launcher.read_text().replace(sys.executable, path))

    return change


def launcher_is_a_folder(machine: Machine) -> None:
    machine.launcher.unlink()
    machine.launcher.mkdir()


def state_leads_nowhere(machine: Machine) -> None:
    shutil.rmtree(machine.memory / "state")
    (machine.memory / "state").symlink_to("/proc/self/nowhere")


def state_is_a_file(machine: Machine) -> None:
    shutil.rmtree(machine.memory / "state")
    (machine.memory / "state").write_text("")


HOOK, ENTRY = "data/hooks/session-memory-hook", "data/hooks/entry.py"
BARE = str(Path(sys.executable).resolve())
"""An interpreter that knows nothing of us."""
FAULTS: dict[str, Callable[[Machine], object]] = {
    "launcher gone": lambda m: shutil.rmtree(m.launcher.parent),
    "home gone": lambda m: shutil.rmtree(m.memory),
    "launcher is a folder": launcher_is_a_folder,
    "launcher is not executable": lambda m: m.launcher.chmod(0o600),
    "launcher is empty": written_over(HOOK, ""),
    "launcher is damaged": written_over(HOOK, b"\x7fELF\0"),
    "interpreter gone": other_python("/gone/python"),
    "package gone": other_python(BARE),
    "hook file gone": lambda m: m.launcher.with_name("entry.py").unlink(),
    "hook file damaged": written_over(ENTRY, "import nothing_of_that_name\n"),
    "hook killed": written_over(ENTRY, HALF_AN_ANSWER),
    "hook fails": written_over(ENTRY, "print('half'); raise SystemExit(2)\n"),
    "state is a file": state_is_a_file,
    "state leads nowhere": state_leads_nowhere,
    "settings of the hook damaged": written_over("state/hook.json", "{"),
    "spool is a file": written_over("state/spool", ""),
}


@pytest.mark.rows("WIR-01")
@pytest.mark.parametrize("fault", FAULTS)
def test_every_command_ends_well_and_says_nothing(machine: Machine, fault: str) -> None:
    machine.have(*WIRED)
    assert machine.init().code == 0
    hook_settings = machine.memory / "state" / "hook.json"
    hook_settings.write_text('{"inject": true}')  # no worker
    written = written_commands(machine)
    hooks = [words for words in written if "session-memory-server" not in " ".join(words)]
    assert len(hooks) == 46
    FAULTS[fault](machine)
    for words in {tuple(words) for words in (hooks[0], hooks[-1], *hooks[::5])}:
        done = run(list(words))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), words


@pytest.mark.rows("WIR-01")
@pytest.mark.parametrize(
    "fault",
    [
        *("launcher gone", "launcher is a folder", "interpreter gone", "hook file gone"),
        *("hook file damaged", "hook killed", "hook fails"),
    ],
)
def test_an_agent_can_write_its_whole_payload(machine: Machine, fault: str) -> None:
    machine.have("claude")
    machine.init()
    words = next(words for words in written_commands(machine) if "Stop claude" in words[-1])
    FAULTS[fault](machine)
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        process.stdin.write(b"{" + b" " * (1 << 20))  # more than a pipe holds: EPIPE, or a hang
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.rows("WIR-02")
@pytest.mark.parametrize(
    "fault", ["launcher gone", "home gone", "interpreter gone", "package gone", "server damaged"]
)
def test_where_the_server_cannot_start_an_agent_finds_one_without_tools(
    machine: Machine, fault: str
) -> None:
    machine.have(*WIRED)
    machine.init()
    written = {tuple(words) for words in written_commands(machine)}
    (words,) = {words for words in written if words[-1].endswith("session-memory-server")}
    if fault == "server damaged":
        Path(words[-1]).write_bytes(b"\x7fELF\0")
    else:
        FAULTS[fault](machine)
    done = run(list(words), data="\n".join(map(json.dumps, CONVERSATION)) + "\n")
    assert done.returncode == 0
    hello, refusal, tools, pong = map(json.loads, done.stdout.splitlines())
    assert (hello["id"], hello["result"]["capabilities"]) == (0, {})
    assert hello["result"]["protocolVersion"] == "2025-06-18"
    assert (refusal["id"], refusal["error"]["code"]) == ("x-1", -32601)
    assert tools == {"jsonrpc": "2.0", "id": 2, "result": {"tools": []}}
    assert pong == {"jsonrpc": "2.0", "id": 3, "result": {}}


@pytest.mark.rows("WIR-02")
@pytest.mark.parametrize("order", ["id first", "id last"])
@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell not in ("fish", "csh")])
def test_the_server_without_tools_understands_every_client(shell: str, order: str) -> None:
    step = 1 if order == "id first" else -1
    messages = [dict(list(message.items())[::step]) for message in CONVERSATION]
    tight = [json.dumps(message, separators=(",", ":")) for message in messages]
    words = [shell, *server_words("/gone")[1:]]
    for lines in (tight, list(map(json.dumps, messages))):
        done = run(words, data="\n".join(lines) + "\n")
        assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, "x-1", 2, 3]
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.rows("WIR-02")
def test_a_server_that_is_killed_leaves_no_question_open(tmp_path: Path) -> None:
    launcher = tmp_path / "session-memory-server"
    launcher.write_text("#!/bin/sh\nread -r line\nkill -9 $$\n")
    launcher.chmod(0o700)
    with subprocess.Popen(
        server_words(str(launcher)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call"}\n')
        agent.stdin.flush()
        assert agent.stdout.read() == b""  # the end of the answers, and not a wait for ever
    assert agent.returncode == 0


@pytest.mark.rows("WIR-02")
def test_what_agents_expand_by_themselves_is_in_no_command(machine: Machine) -> None:
    machine.have(*WIRED)
    machine.init()
    for words in written_commands(machine):
        assert not re.search(r"\$\{|\{env:|\{file:", " ".join(words))


@pytest.mark.rows("WIR-01")
@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_reads_the_line_the_same_way(tmp_path: Path, shell: str) -> None:
    folder = tmp_path / "a b'c $HOME" / "hooks"
    ours = Launchers(
        sys.executable, "-I", folder, tmp_path / "s", tmp_path, hook_home=str(tmp_path)
    )
    line = ours.hook("SessionStart", "claude")
    done = run([shell, "-c", line])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    hook_files.write(ours)
    done = run([shell, "-c", line])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(list((tmp_path / "state" / "spool").glob("*.json"))) == 1


@pytest.mark.rows("WIR-01")
def test_a_payload_that_nobody_reads_does_not_break_the_agents_pipe(tmp_path: Path) -> None:
    ours = Launchers("/gone/python", "-I", tmp_path / "hooks", tmp_path / "s", tmp_path)
    words = shlex.split(ours.hook("Stop", "claude"))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        # An agent that never closes stdin need not wait, and one that still writes gets no error.
        assert agent.stdout.read() == b""
        assert agent.wait(timeout=60) == 0
        agent.stdin.write(b"x" * 2_000_000)


@pytest.mark.rows("WIR-01")
def test_a_launcher_that_is_killed_is_not_noticed(tmp_path: Path) -> None:
    ours = Launchers(sys.executable, "-I", tmp_path / "hooks", tmp_path / "s", tmp_path)
    hook_files.write(ours)
    ours.hook_launcher.write_text("#!/bin/sh\nkill -9 $$\n")
    done = run(shlex.split(ours.hook("Stop", "claude")))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.rows("WIR-01")
def test_a_full_disk_is_not_noticed(machine: Machine) -> None:
    machine.have("claude")
    machine.init()

    def full() -> None:
        """Every write to a file fails, as on a full disk (with EFBIG instead of ENOSPC)."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    line = machine.hook("SessionStart", "claude")
    done = run(["/bin/sh", "-c", line], preexec_fn=full)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list((machine.memory / "state" / "spool").glob("*.json")) == []


@pytest.mark.rows("WIR-01")
@pytest.mark.skipif(sys.platform != "linux", reason="needs mount namespaces")
@pytest.mark.parametrize("fault", ["read only", "full"])
def test_a_disk_that_takes_nothing_is_not_noticed(machine: Machine, fault: str) -> None:
    machine.have("claude")
    machine.init()
    state = machine.memory / "state"
    mounts = {
        "read only": 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"',
        "full": 'mount -t tmpfs -o size=4k,mode=700 none "$1" && head -c 4096 /dev/zero >"$1/x"',
    }
    line = machine.hook("SessionStart", "claude")
    script = f'{mounts[fault]} || exit {errno.EPERM + 100}\nexec /bin/sh -c "$2"'
    if UNSHARE is None:
        pytest.skip("needs unshare")
    user = [] if os.geteuid() == 0 else ["-r"]
    done = run([UNSHARE, "-m", *user, "/bin/sh", "-c", script, "sh", str(state), line])
    if done.returncode == errno.EPERM + 100 or "unshare" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(state.rglob("*.json")) == [state / "hook.json"]


@pytest.mark.rows("WIR-01")
@pytest.mark.skipif(NODE is None, reason="needs node")
def test_a_plug_in_without_its_launcher_does_not_keep_the_agent(tmp_path: Path) -> None:
    ours = Launchers("/python", "-I", tmp_path / "gone", tmp_path, tmp_path)
    (tmp_path / "plugin.mjs").write_text(opencode.plugin(ours))
    host = tmp_path / "host.mjs"
    host.write_text(
        'import { SessionMemory } from "./plugin.mjs"\n'
        'const plugin = await SessionMemory({ directory: "/d" })\n'
        'const event = { type: "session.created", properties: { info: { id: "s" } } }\n'
        "await plugin.event({ event })\n"
        "await plugin.dispose()\n"
        'process.on("exit", () => console.log(process.getActiveResourcesInfo().join()))\n'
        "setImmediate(() => console.log(process.getActiveResourcesInfo().includes('Timeout')))\n"
    )
    assert NODE is not None
    done = run([NODE, str(host)])
    assert (done.returncode, done.stdout.splitlines()[0], done.stderr) == (0, "false", "")
