"""Launchers is what we wrote, exactly: what a user wrote stays, whatever it mentions."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.install.configs import LIVED_IN
from tests.install.machine import WIRED, Machine

from session_memory.adapters.codex.wiring import trust
from session_memory.adapters.shared_wiring.commands import (
    is_hook,
    is_hook_line,
    is_server,
    powershell_line,
)
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.install.files import BACKUP

LAUNCHER = "/home/dev/.local/share/session-memory/hooks/session-memory-hook"
THEIRS = [
    f"my-wrapper {LAUNCHER} Stop claude && notify-send done",
    f"{LAUNCHER} Stop claude && notify-send done",
    f"{LAUNCHER} Stop claude; notify-send done",
    f"{LAUNCHER} Stop claude ",
    f"'{LAUNCHER}' Stop claude",  # we quote no path that needs no quotes
    f"{LAUNCHER} Stop claude --loud",
    f"{LAUNCHER} Stop somebody",
    f"{LAUNCHER}",
    "session-memory-hook Stop claude",
    "/opt/mine/session-memory-hook Stop claude",
    "tail -f session-memory-hook.log",
    "echo 'unclosed session-memory-hook",
]


def in_settings(command: str) -> dict[str, Any]:
    return {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}


@pytest.mark.rows("WIR-04")
@pytest.mark.parametrize("command", THEIRS)
def test_a_hook_of_the_users_that_mentions_ours_stays(machine: Machine, command: str) -> None:
    path = machine.write(".claude/settings.json", json.dumps(in_settings(command), indent=2))
    before = path.read_text()
    assert machine.init().code == 0
    groups = machine.json(".claude/settings.json")["hooks"]["Stop"]
    assert [group["hooks"][0]["command"] for group in groups] == [
        command,
        machine.hook("Stop", "claude"),
    ]
    assert machine.uninstall().code == 0
    assert path.read_text() == before
    machine.uninstall()  # and without a ledger
    assert path.read_text() == before


@pytest.mark.rows("WIR-04")
def test_a_server_entry_of_an_earlier_version_is_renewed_and_taken_out(machine: Machine) -> None:
    machine.have("claude")
    assert machine.init("--agent", "claude").code == 0
    path = machine.home / ".claude.json"
    now = path.read_text()
    value = json.loads(now)
    args = value["mcpServers"]["session-memory"]["args"]
    earlier = re.sub(r""" -e t -e '/"method": \*"ping"/[^']*'""", "", args[1])
    assert len(earlier) < len(args[1])
    args[1] = earlier
    path.write_text(json.dumps(value, indent=2) + "\n")
    assert machine.init("--agent", "claude").code == 0
    assert json.loads(path.read_text()) == json.loads(now)
    path.write_text(json.dumps(value, indent=2) + "\n")
    assert machine.uninstall().code == 0
    assert not path.exists()


@pytest.mark.rows("WIR-04")
@pytest.mark.parametrize("windows", [False, True])
def test_every_form_we_write_or_wrote_is_known(windows: bool) -> None:
    for folder in (Path("/home/dev/x/hooks"), Path("/home/o'dev/a b/hooks")):
        ours = Launchers("/py", "-I", folder, folder, folder, config="/c.toml", windows=windows)
        assert is_hook_line(ours.hook("SessionStart", "qwen"))
        assert is_hook(ours.hook_words("notify", "codex"))
        assert is_server(ours.server())
        assert is_server(ours.direct_server())
        assert is_server(ours.program("mcp"))
        assert is_server(ours.program("mcp", "--idle-timeout", "0"))
        assert not is_server([*ours.server(), "more"])
        assert not is_server(ours.program("mcp", "--profile", "full"))
        assert not is_server(ours.program("sweep"))
    assert is_hook_line(f"{LAUNCHER} Stop claude")
    assert is_hook([LAUNCHER, "notify", "codex"])
    windows_launcher = r"C:\Users\O'Dev\session-memory\hooks\session-memory-hook.cmd"
    assert is_hook_line(powershell_line(windows_launcher, "sessionStart", "copilot"))
    assert is_hook_line(r'& "C:\Users\dev\hooks\session-memory-hook.cmd" sessionStart copilot')
    assert is_hook_line(r'"C:\Users\dev\hooks\session-memory-hook.cmd" Stop claude')
    assert not is_hook_line(r'"C:\dev\hooks\session-memory-hook.cmd" Stop claude & echo done')


@pytest.mark.rows("WIR-04")
@pytest.mark.parametrize(
    "entry",
    [
        {"command": "npx", "args": ["-y", "session-memory-of-somebody-else"]},
        {"command": "session-memory", "args": ["mcp"]},
        {"command": "wrapper", "args": ["/py", "-I", "-m", "session_memory", "mcp"]},
        {"command": "/py", "args": ["-I", "-m", "session_memory", "mcp", "--profile", "full"]},
        {"url": "http://localhost/session-memory"},
        None,
    ],
)
def test_a_server_of_the_users_under_our_name_is_not_touched(machine: Machine, entry: Any) -> None:
    path = machine.write(".claude.json", json.dumps({"mcpServers": {"session-memory": entry}}))
    before = path.read_text()
    machine.have("claude")
    done = machine.init()
    assert (done.code, "not ours" in done.err) == (0, True)
    assert path.read_text() == before
    assert "hooks" in machine.json(".claude/settings.json")
    assert machine.uninstall().code == 0
    assert path.read_text() == before
    assert not (machine.home / ".claude/settings.json").exists()


@pytest.mark.rows("WIR-04")
def test_a_notify_program_of_the_users_around_ours_stays(machine: Machine) -> None:
    text = f'notify = ["my-notify", "{LAUNCHER}", "notify", "codex"]\n'
    path = machine.write(".codex/config.toml", text)
    machine.init()
    assert tomllib.loads(path.read_text())["notify"][0] == "my-notify"
    machine.uninstall()
    assert path.read_text() == text


@pytest.mark.rows("WIR-04")
@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("opencode", ".config/opencode/plugin/session-memory.js"),
        ("pi", ".pi/agent/extensions/session-memory.ts"),
    ],
)
def test_a_plug_in_of_the_users_under_our_name_is_not_touched(
    machine: Machine, agent: str, name: str
) -> None:
    path = machine.write(name, "// mine, calls session-memory-hook\n")
    done = machine.init("--agent", agent)
    assert (done.code, "not ours" in done.err) == (0, True)
    assert path.read_text() == "// mine, calls session-memory-hook\n"
    machine.uninstall()
    assert path.read_text() == "// mine, calls session-memory-hook\n"


@pytest.mark.rows("WIR-03")
@pytest.mark.parametrize("agent", WIRED)
def test_no_agent_is_told_that_we_are_required(machine: Machine, agent: str) -> None:
    machine.have(agent)
    machine.init()
    written = [data for data, _ in machine.files().values()]
    assert written
    assert not any(b"required" in data for data in written)


@pytest.mark.rows("WIR-03")
def test_approved_codex_hooks_stay_approved_when_their_command_is_renewed(
    machine: Machine,
) -> None:
    machine.have("codex")
    machine.init("--trust-codex-hooks")
    hooks, config = machine.home / ".codex/hooks.json", machine.home / ".codex/config.toml"
    now = config.read_text()
    # As an early version left it: the launcher alone, and approvals for that.
    machine.uninstall()
    old = {
        event: [{"hooks": [{"type": "command", "command": f"{LAUNCHER} {event} codex"}]}]
        for event in ("SessionStart", "SessionEnd", "Stop", "SubagentStop", "PreCompact")
    }
    machine.write(".codex/hooks.json", json.dumps({"hooks": old}))
    tables = trust(str(hooks), hooks.read_text()).tables
    approved = {name[2]: value["trusted_hash"] for name, value in tables}
    lines = [f'[hooks.state."{name}"]\ntrusted_hash = "{a}"\n' for name, a in approved.items()]
    config.write_text("".join(lines))
    assert machine.init().code == 0
    state = tomllib.loads(config.read_text())["hooks"]["state"]
    assert state != {name[2]: value for name, value in tables}
    checks = json.loads(machine.run("doctor", "--quick", "--json").out)["checks"]
    assert {c["name"]: c["result"] for c in checks}["codex trust"] == "pass"
    assert set(state) == set(tomllib.loads(now)["hooks"]["state"])


NULLS = [
    (".claude/settings.json", '{"hooks": null}'),
    (".claude/settings.json", '{\n  "hooks": {\n    "Stop": null\n  }\n}\n'),
    (".claude.json", '{"mcpServers": null, "numStartups": 3}'),
    (".gemini/settings.json", '{"mcpServers": null, "hooks": null}'),
    (".copilot/hooks/session-memory.json", '{"version": 1, "hooks": null}'),
]


@pytest.mark.rows("WIR-05")
@pytest.mark.parametrize(("name", "text"), NULLS)
@pytest.mark.parametrize("times", [1, 2])
def test_null_is_nothing_and_comes_back(machine: Machine, name: str, text: str, times: int) -> None:
    path = machine.write(name, text)
    machine.have("claude", "gemini", "copilot")
    for _ in range(times):
        assert machine.init().code == 0
    assert "session-memory" in path.read_text()
    assert machine.uninstall().code == 0
    assert path.read_text() == text


@pytest.mark.rows("WIR-05")
def test_null_inside_our_own_entry_is_filled_in(machine: Machine) -> None:
    entry = {"command": "/py", "args": ["-I", "-m", "session_memory", "mcp"], "env": None}
    machine.write(".claude.json", json.dumps({"mcpServers": {"session-memory": entry}}))
    machine.have("claude")
    assert machine.init().code == 0
    server = machine.json(".claude.json")["mcpServers"]["session-memory"]
    assert server["env"] == {"SESSION_MEMORY_HOME": str(machine.memory)}


def lose_ledger(machine: Machine) -> None:
    (machine.memory / "data" / "install.json").unlink()


def without_folders(files: dict[str, tuple[bytes, int]]) -> dict[str, bytes]:
    return {name: data for name, (data, _) in files.items() if data or "." in Path(name).name[1:]}


@pytest.mark.rows("WIR-06")
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("agent", WIRED)
def test_a_home_that_was_used_is_as_before_without_a_ledger(
    machine: Machine, agent: str, again: bool
) -> None:
    for name, text in LIVED_IN[agent].items():
        machine.write(name, text)
    before = without_folders(machine.files())
    assert machine.init().code == 0
    lose_ledger(machine)
    if again:
        assert machine.init().code == 0
    assert machine.uninstall().code == 0
    assert without_folders(machine.files()) == before


@pytest.mark.rows("WIR-06")
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("agent", WIRED)
def test_a_home_with_nothing_in_it_is_as_before_without_a_ledger(
    machine: Machine, agent: str, again: bool
) -> None:
    machine.have(agent)
    assert machine.init().code == 0
    lose_ledger(machine)
    if again:
        assert machine.init().code == 0
    assert machine.uninstall().code == 0
    assert without_folders(machine.files()) == {}


@pytest.mark.rows("WIR-06")
def test_without_ledger_and_copy_nothing_but_empty_containers_goes(machine: Machine) -> None:
    path = machine.write(".claude/settings.json", '{"model": "opus"}')
    machine.init("--agent", "claude")
    lose_ledger(machine)
    Path(f"{path}{BACKUP}").unlink()
    assert machine.uninstall().code == 0
    assert json.loads(path.read_text()) == {"model": "opus"}


@pytest.mark.rows("WIR-06")
def test_entries_of_an_earlier_version_leave_no_empty_list_behind(machine: Machine) -> None:
    old = {
        event: [{"hooks": [{"type": "command", "command": f"{LAUNCHER} {event} claude"}]}]
        for event in ("SessionStart", "Notification")
    }
    path = machine.write(".claude/settings.json", json.dumps({"model": "opus", "hooks": old}))
    assert machine.uninstall().code == 0
    assert json.loads(path.read_text()) == {"model": "opus"}
