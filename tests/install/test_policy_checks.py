"""Settings that an administrator manages, and what they forbid."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest
from tests.cli.test_doctor_wiring import checks, named
from tests.install.machine import Machine


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """The root of a machine that an administrator looks after."""
    return tmp_path / "system"


def manage(system: Path, name: str, text: str) -> Path:
    path = system / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session_memory.cli.wiring.sys.platform", "linux")


CLAUDE = "etc/claude-code/managed-settings.json"


BLOCKED = [
    ("claude", CLAUDE, '{"disableAllHooks": true}', "hooks do not run", "disableAllHooks"),
    ("claude", CLAUDE, '{"allowManagedHooksOnly": true}', "hooks do not run", "ManagedHooksOnly"),
    (
        "claude",
        "etc/claude-code/managed-settings.d/10-hooks.json",
        '{"strictPluginOnlyCustomization": ["hooks"]}',
        "hooks do not run",
        "strictPlugin",
    ),
    (
        "claude",
        CLAUDE,
        '{"deniedMcpServers": [{"serverName": "session-memory"}]}',
        "MCP server is not loaded",
        "deniedMcpServers",
    ),
    ("claude", CLAUDE, '{"allowedMcpServers": []}', "MCP server is not", "allowedMcpServers"),
    (
        "claude",
        CLAUDE,
        '{"allowedMcpServers": [{"serverName": "session-memory"}, {"serverCommand": ["npx"]}]}',
        "MCP server is not loaded",
        "allowedMcpServers",
    ),
    (
        "claude",
        "etc/claude-code/managed-mcp.json",
        '{"mcpServers": {}}',
        "MCP server is not loaded",
        "only the servers in this file",
    ),
    (
        "codex",
        "etc/codex/requirements.toml",
        "allow_managed_hooks_only = true\n",
        "hooks do not run",
        "allow_managed_hooks_only",
    ),
    (
        "codex",
        "etc/codex/requirements.toml",
        '[mcp_servers.docs.identity]\ncommand = "npx"\n',
        "MCP server is not loaded",
        "mcp_servers does not allow",
    ),
    (
        "codex",
        "etc/codex/managed_config.toml",
        "[features]\nhooks = false\n",
        "hooks do not run",
        "features.hooks",
    ),
    (
        "gemini",
        "etc/gemini-cli/settings.json",
        '{"hooksConfig": {"enabled": false}}',
        "hooks do not run",
        "hooksConfig.enabled",
    ),
    (
        "gemini",
        "etc/gemini-cli/settings.json",
        '{"mcp": {"allowed": ["corp"]}}',
        "MCP server is not loaded",
        "mcp.allowed",
    ),
    (
        "qwen",
        "etc/qwen-code/settings.json",
        '{"disableAllHooks": true}',
        "hooks do not run",
        "disableAllHooks",
    ),
    (
        "opencode",
        "etc/opencode/opencode.json",
        '{"mcp": {"session-memory": {"enabled": false}}}',
        "MCP server is not loaded",
        "mcp.session-memory.enabled",
    ),
]


@pytest.mark.rows("WIR-12")
@pytest.mark.parametrize(("agent", "name", "text", "what", "setting"), BLOCKED)
def test_managed_settings_that_stop_us_are_named(
    machine: Machine,
    system: Path,
    monkeypatch: pytest.MonkeyPatch,
    agent: str,
    name: str,
    text: str,
    what: str,
    setting: str,
) -> None:
    linux(monkeypatch)
    machine.have(agent)
    machine.init()
    assert named(machine, f"{agent} policy") == []
    path = manage(system, name, text)
    (check,) = named(machine, f"{agent} policy")
    assert check["result"] == "warn"
    assert what in check["detail"] and str(path) in check["detail"] and setting in check["detail"]
    assert "whoever manages this machine" in check["fix"]
    assert checks(machine)[0] == 3
    again = machine.init()
    assert (again.code, check["detail"] in again.err) == (0, True)


@pytest.mark.rows("WIR-12")
@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("claude", CLAUDE, '{"allowedMcpServers": [{"serverName": "session-memory"}]}'),
        ("claude", CLAUDE, '{"deniedMcpServers": [{"serverName": "other"}]}'),
        ("claude", CLAUDE, '{"strictPluginOnlyCustomization": ["skills"], "model": "opus"}'),
        (
            "claude",
            "etc/claude-code/managed-mcp.json",
            '{"mcpServers": {"session-memory": {"command": "x"}}}',
        ),
        (
            "codex",
            "etc/codex/requirements.toml",
            '[mcp_servers.session-memory.identity]\ncommand = "/bin/sh"\n',
        ),
        ("gemini", "etc/gemini-cli/settings.json", '{"mcp": {"allowed": ["session-memory"]}}'),
    ],
)
def test_managed_settings_that_allow_us_are_no_finding(
    machine: Machine,
    system: Path,
    monkeypatch: pytest.MonkeyPatch,
    agent: str,
    name: str,
    text: str,
) -> None:
    linux(monkeypatch)
    machine.have(agent)
    machine.init()
    manage(system, name, text)
    assert named(machine, f"{agent} policy") == []


@pytest.mark.rows("WIR-12")
def test_a_users_list_adds_to_a_managed_one_unless_only_that_counts(
    machine: Machine, system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linux(monkeypatch)
    own = '{"allowedMcpServers": [{"serverName": "session-memory"}]}'
    machine.write(".claude/settings.json", own)
    machine.init()
    manage(system, CLAUDE, '{"allowedMcpServers": []}')
    assert named(machine, "claude policy") == []
    only = '{"allowedMcpServers": [], "allowManagedMcpServersOnly": true}'
    manage(system, CLAUDE, only)
    assert len(named(machine, "claude policy")) == 1


@pytest.mark.rows("WIR-12")
def test_a_list_in_the_users_own_settings_is_theirs_to_change(machine: Machine) -> None:
    path = machine.write(".gemini/settings.json", '{"mcp": {"excluded": ["session-memory"]}}')
    machine.init()
    (check,) = named(machine, "gemini policy")
    assert check["fix"] == f"change that setting in {path}"


@pytest.mark.rows("WIR-12")
def test_system_settings_are_found_where_a_variable_says(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = manage(tmp_path, "corp.json", '{"admin": {"mcp": {"enabled": false}}}')
    monkeypatch.setenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH", str(path))
    machine.have("gemini")
    machine.init()
    assert "admin.mcp.enabled" in named(machine, "gemini policy")[0]["detail"]


@pytest.mark.rows("WIR-12")
@pytest.mark.parametrize("whose", ["{user}/", ""])
def test_preferences_that_a_mac_is_managed_with_are_read(
    machine: Machine, system: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    machine.have("claude")
    machine.init()
    monkeypatch.setattr("session_memory.cli.wiring.sys.platform", "darwin")
    folder = whose.format(user=machine.home.name)
    name = f"Library/Managed Preferences/{folder}com.anthropic.claudecode.plist"
    path = manage(system, name, "")
    path.write_bytes(plistlib.dumps({"disableAllHooks": True}))
    (check,) = named(machine, "claude policy")
    assert str(path) in check["detail"]
    path.write_text("<plist>")
    assert "cannot be read" in named(machine, "claude policy")[0]["detail"]


@pytest.mark.rows("WIR-12")
def test_a_managed_file_that_cannot_be_read_is_said_and_stops_nothing(
    machine: Machine, system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linux(monkeypatch)
    machine.have("claude", "gemini")
    machine.init()
    manage(system, CLAUDE, '{"disableAllHooks": ')
    (check,) = named(machine, "claude policy")
    assert "cannot be read" in check["detail"]
    assert named(machine, "gemini")[0]["result"] == "pass"
