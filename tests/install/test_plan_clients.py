"""Each client is wired the way it reads its configuration, and unwired to the byte."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from tests.install.configs import CLAUDE_SETTINGS, CODEX_CONFIG, LIVED_IN
from tests.install.machine import WIRED, Machine, commands

from session_memory.adapters.claude import wiring as claude
from session_memory.adapters.codex import wiring as codex
from session_memory.adapters.copilot import wiring as copilot
from session_memory.adapters.cursor import wiring as cursor
from session_memory.adapters.droid import wiring as droid
from session_memory.adapters.gemini import wiring as gemini
from session_memory.adapters.grok import wiring as grok
from session_memory.adapters.qwen import wiring as qwen
from session_memory.adapters.shared_wiring.commands import hook_words
from session_memory.adapters.shared_wiring.json_text import value_at


def server(machine: Machine, **more: Any) -> dict[str, Any]:
    """Our entry; tests run with a home of their own, which a server must be told of."""
    command, *args = machine.server
    env = {"SESSION_MEMORY_HOME": str(machine.memory)}
    return {"command": command, "args": args, "env": env, **more}


def lived_in(machine: Machine, agent: str) -> None:
    for name, text in LIVED_IN[agent].items():
        machine.write(name, text, 0o640)


@pytest.mark.parametrize("agent", WIRED)
def test_a_home_that_was_used_is_as_before_after_uninstall(machine: Machine, agent: str) -> None:
    lived_in(machine, agent)
    before = machine.files()
    done = machine.init()
    assert done.code == 0, done.err
    wired = machine.files()
    assert wired != before
    assert {name: mode for name, (_, mode) in before.items()}.items() <= {
        name: mode for name, (_, mode) in wired.items()
    }.items()
    assert machine.uninstall().code == 0
    assert machine.files() == before


@pytest.mark.parametrize("agent", WIRED)
def test_a_home_with_nothing_in_it_is_as_before_after_uninstall(
    machine: Machine, agent: str
) -> None:
    machine.have(agent)
    before = machine.files()
    assert machine.init().code == 0
    assert machine.files() != before
    assert machine.uninstall().code == 0
    assert machine.files() == before


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "\ufeff\r\n", "{}", "{ }\n", "{\n}\n"])
def test_files_that_hold_next_to_nothing_come_back_as_they_were(
    machine: Machine, text: str
) -> None:
    for name in (".claude/settings.json", ".claude.json", ".gemini/settings.json"):
        machine.write(name, text)
    if "{" not in text:
        machine.write(".codex/config.toml", text.strip("\ufeff"))
    before = machine.files()
    assert machine.init("--agent", "claude,gemini,codex").code == 0
    assert value_at((machine.home / ".claude.json").read_text("utf-8"), ("mcpServers",))
    assert machine.uninstall().code == 0
    assert machine.files() == before


def test_claude_gets_its_hooks_behind_the_users_and_a_server(machine: Machine) -> None:
    lived_in(machine, "claude")
    machine.init()
    text = (machine.home / ".claude/settings.json").read_text()
    hooks = machine.json(".claude/settings.json")["hooks"]
    assert set(hooks) == {*claude.EVENTS, "PreToolUse"}
    assert commands(hooks, "Stop") == ["notify-send done", machine.hook("Stop", "claude")]
    assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] == 10
    assert all(line in text for line in CLAUDE_SETTINGS.splitlines() if "Stop" not in line)
    servers = machine.json(".claude.json")["mcpServers"]
    assert list(servers) == ["github", "session-memory"]
    assert servers["session-memory"] == server(machine)


def test_claude_is_found_where_its_variable_says(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(machine.home / "elsewhere"))
    (machine.home / "elsewhere").mkdir()
    machine.init()
    assert "hooks" in machine.json("elsewhere/settings.json")
    assert "mcpServers" in machine.json("elsewhere/.claude.json")
    assert not (machine.home / ".claude.json").exists()


def test_codex_gets_a_server_with_all_it_needs_that_is_not_required(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = machine.home / "codexhome"
    monkeypatch.setenv("CODEX_HOME", str(home))
    machine.write("codexhome/config.toml", CODEX_CONFIG)
    done = machine.init()
    text = (home / "config.toml").read_text()
    config = tomllib.loads(text)
    needed = {"SESSION_MEMORY_HOME": str(machine.memory), "CODEX_HOME": str(home)}
    wanted = server(machine, env=needed, startup_timeout_sec=30)
    assert config["mcp_servers"]["session-memory"] == wanted
    assert config["notify"] == hook_words(str(machine.launcher), "notify", "codex")
    assert CODEX_CONFIG in text
    hooks = machine.json("codexhome/hooks.json")["hooks"]
    assert set(hooks) == set(codex.EVENTS)
    assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] == 3
    assert "/hooks" in done.err
    assert "hooks" not in config  # no trust is written unless asked for


def test_codex_keeps_a_notify_that_is_taken(machine: Machine) -> None:
    text = 'notify = ["terminal-notifier"]\n'
    machine.write(".codex/config.toml", text)
    done = machine.init()
    config = tomllib.loads((machine.home / ".codex/config.toml").read_text())
    assert config["notify"] == ["terminal-notifier"]
    assert "notify slot is taken" in done.err
    machine.uninstall()
    assert (machine.home / ".codex/config.toml").read_text() == text


def test_codex_trust_is_written_on_request_for_the_hooks_as_they_stand(machine: Machine) -> None:
    lived_in(machine, "codex")
    before = machine.files()
    done = machine.init("--trust-codex-hooks")
    assert "type /hooks" not in done.err
    config = tomllib.loads((machine.home / ".codex/config.toml").read_text())
    state = config["hooks"]["state"]
    path = machine.home / ".codex/hooks.json"
    # The user's own Stop hook is group 0, so ours is group 1; his is not approved by us.
    assert set(state) == {
        f"{path}:{label}:{group}:0"
        for label, group in (
            *(("session_start", 0), ("user_prompt_submit", 0), ("session_end", 0), ("stop", 1)),
            *(("subagent_stop", 0), ("pre_compact", 0), ("pre_tool_use", 0)),
        )
    }
    check = machine.run("doctor", "--quick", "--json")
    results = {c["name"]: c["result"] for c in json.loads(check.out)["checks"]}
    assert results["codex trust"] == "pass"
    assert machine.uninstall().code == 0
    assert machine.files() == before


def test_the_trust_hash_is_the_one_codex_accepts() -> None:
    # A hook of this command and time-out ran in codex 0.166.0 with this hash, and without a flag.
    command = "/var/tmp/try_clients/home/.local/share/session-memory/hooks/session-memory-hook"
    hook = {"type": "command", "command": f"{command} Stop codex", "timeout": 10}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})
    ((name, value),) = codex.trust("/h/hooks.json", text).tables
    assert name == ("hooks", "state", "/h/hooks.json:stop:0:0")
    accepted = "ed3599f6536f479e07d2d8f3b315cf028e0422fca39ac3eeeb4996dc7d109146"
    assert value == {"trusted_hash": f"sha256:{accepted}"}
    other = codex.trust("/h/hooks.json", text.replace("10", "11")).tables
    assert other[0][1] != value


def test_grok_gets_a_hook_file_of_its_own(machine: Machine) -> None:
    lived_in(machine, "grok")
    machine.init()
    hooks = machine.json(".grok/hooks/session-memory.json")["hooks"]
    assert set(hooks) == set(grok.EVENTS)
    assert commands(hooks, "Stop") == [machine.hook("Stop", "grok")]
    config = tomllib.loads((machine.home / ".grok/config.toml").read_text())
    assert config["mcp_servers"]["session-memory"]["args"] == machine.server[1:]


@pytest.mark.parametrize(
    ("agent", "events"),
    [("gemini", {**gemini.EVENTS, **gemini.TOOL_EVENTS}), ("qwen", qwen.EVENTS)],
)
def test_gemini_and_qwen_have_both_in_one_file_and_their_comments_stay(
    machine: Machine, agent: str, events: dict[str, int]
) -> None:
    lived_in(machine, agent)
    machine.init()
    text = (machine.home / f".{agent}/settings.json").read_bytes().decode()
    value = value_at(text, ())
    assert set(value["hooks"]) == set(events)
    assert value["mcpServers"]["session-memory"] == server(machine)
    handler = value["hooks"]["SessionStart"][0]["hooks"][0]
    assert handler["command"] == machine.hook("SessionStart", agent)
    assert handler["timeout"] == 10_000
    for comment in ("// chosen at first start", "/* dark */", "// last"):
        assert (comment in text) is (agent == "gemini")
    assert ("\r\n" in text, "\n" in text.replace("\r\n", "")) == (
        agent == "qwen",
        agent == "gemini",
    )


def test_gemini_is_found_below_the_home_its_variable_names(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_CLI_HOME", str(machine.home / "other"))
    (machine.home / "other" / ".gemini").mkdir(parents=True)
    machine.init()
    assert "hooks" in machine.json("other/.gemini/settings.json")


def test_copilot_shares_a_hook_file_and_has_its_own_list_of_servers(machine: Machine) -> None:
    lived_in(machine, "copilot")
    machine.init()
    document = machine.json(".copilot/hooks/session-memory.json")
    assert document["version"] == 1
    assert set(document["hooks"]) == set(copilot.EVENTS)
    assert [one["bash"] for one in document["hooks"]["sessionEnd"]] == [
        "bye",
        machine.hook("sessionEnd", "copilot"),
    ]
    entry = machine.json(".copilot/mcp-config.json")["mcpServers"]["session-memory"]
    assert entry == server(machine, type="local", tools=["*"])


def test_copilot_hook_file_that_is_new_names_its_version(machine: Machine) -> None:
    machine.have("copilot")
    machine.init()
    assert machine.json(".copilot/hooks/session-memory.json")["version"] == 1


def test_opencode_keeps_the_name_of_its_configuration_and_gets_a_plug_in(machine: Machine) -> None:
    lived_in(machine, "opencode")
    machine.init()
    text = (machine.home / ".config/opencode/opencode.jsonc").read_text()
    assert value_at(text, ("mcp", "session-memory")) == {
        "type": "local",
        "command": machine.server,
        "enabled": True,
        "environment": {"SESSION_MEMORY_HOME": str(machine.memory)},
    }
    assert "// providers" in text
    assert not (machine.home / ".config/opencode/opencode.json").exists()
    plugin = (machine.home / ".config/opencode/plugin/session-memory.js").read_text()
    assert json.dumps(str(machine.launcher)) in plugin
    assert '"session.idle"' in plugin


def test_pi_gets_an_extension_and_is_said_to_have_no_mcp(machine: Machine) -> None:
    machine.have("pi")
    done = machine.init()
    text = (machine.home / ".pi/agent/extensions/session-memory.ts").read_text()
    assert json.dumps(str(machine.launcher)) in text
    assert "pi has no MCP" in done.err
    answer = json.loads(machine.run("config", "agents", "--json").out)
    (pi,) = [agent for agent in answer["agents"] if agent["flavor"] == "pi"]
    assert (pi["hooks"], pi["mcp"]) == ("wired", None)


def test_a_project_is_wired_without_touching_the_rest_of_the_home(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived_in(machine, "claude")
    lived_in(machine, "codex")
    project = machine.home / "shop"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    before = machine.files()
    done = machine.init("--project")
    assert done.code == 0, done.err
    assert "do not commit them" in done.err
    assert (machine.home / ".claude/settings.json").read_text() == CLAUDE_SETTINGS
    assert (machine.home / ".codex/config.toml").read_text() == CODEX_CONFIG
    assert "hooks" in machine.json("shop/.claude/settings.local.json")
    state = machine.json(".claude.json")
    assert "session-memory" not in state["mcpServers"]
    assert "session-memory" in state["projects"][str(project)]["mcpServers"]
    config = tomllib.loads((project / ".codex/config.toml").read_text())
    assert "notify" not in config
    assert "session-memory" in config["mcp_servers"]
    monkeypatch.chdir(machine.home)  # the ledger knows where it was
    assert machine.uninstall().code == 0
    assert machine.files() == before


def test_a_home_is_no_project(machine: Machine) -> None:
    machine.have("claude")
    done = machine.init("--project")
    assert done.code == 8
    assert "no project" in done.err


def test_a_user_and_a_project_are_wired_and_unwired_together(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived_in(machine, "claude")
    project = machine.home / "shop"
    (project / ".git").mkdir(parents=True)
    before = machine.files()
    machine.init()
    monkeypatch.chdir(project)
    machine.init("--project")
    state = machine.json(".claude.json")
    assert "session-memory" in state["mcpServers"]
    assert "session-memory" in state["projects"][str(project)]["mcpServers"]
    monkeypatch.chdir(machine.home)
    assert machine.uninstall().code == 0
    assert machine.files() == before


@pytest.mark.rows("CAP-32")
def test_cursor_gets_flat_hooks_behind_the_users_and_a_server(machine: Machine) -> None:
    lived_in(machine, "cursor")
    machine.init()
    value = machine.json(".cursor/hooks.json")
    assert (value["version"], set(value["hooks"])) == (1, set(cursor.EVENTS))
    ours = {"command": machine.hook("stop", "cursor")}
    assert value["hooks"]["stop"] == [{"command": "./notify.sh"}, ours]
    servers = machine.json(".cursor/mcp.json")["mcpServers"]
    assert (list(servers), servers["session-memory"]) == (
        ["docs", "session-memory"],
        server(machine),
    )


@pytest.mark.rows("CAP-32")
def test_droid_gets_hooks_in_its_settings_and_a_server_in_a_file_of_its_own(
    machine: Machine,
) -> None:
    lived_in(machine, "droid")
    machine.init()
    text = (machine.home / ".factory/settings.json").read_text()
    hooks = value_at(text, ("hooks",))
    assert set(hooks) == set(droid.EVENTS)
    assert commands(hooks, "Stop") == ["beep", machine.hook("Stop", "droid")]
    assert "// my choice" in text
    assert machine.json(".factory/mcp.json")["mcpServers"]["session-memory"] == server(machine)


@pytest.mark.rows("CAP-32")
def test_vs_code_gets_a_server_in_its_own_shape_and_no_hooks(machine: Machine) -> None:
    lived_in(machine, "copilot_chat")
    machine.init()
    text = (machine.home / ".config/Code/User/mcp.json").read_text()
    assert "// mine" in text
    assert value_at(text, ("servers", "session-memory")) == server(machine, type="stdio")
    (machine.home / ".config/Code/User/workspaceStorage").mkdir()
    (agent,) = json.loads(machine.run("config", "agents", "--json").out)["agents"]
    assert (agent["flavor"], agent["hooks"], agent["mcp"]) == ("copilot_chat", None, "wired")


@pytest.mark.rows("CAP-32")
def test_claude_desktop_gets_a_server(machine: Machine) -> None:
    lived_in(machine, "cowork")
    machine.init()
    servers = machine.json(".config/Claude/claude_desktop_config.json")["mcpServers"]
    assert (list(servers), servers["session-memory"]) == (
        ["docs", "session-memory"],
        server(machine),
    )


@pytest.mark.rows("CAP-32")
def test_claude_desktop_has_nothing_for_one_repository(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived_in(machine, "cowork")
    repository = machine.home / "shop"
    (repository / ".git").mkdir(parents=True)
    monkeypatch.chdir(repository)
    before = machine.files()
    done = machine.init("--project")
    assert "has nothing that can be wired for one repository alone" in done.out
    assert machine.files() == before


@pytest.mark.rows("CAP-46")
def test_agents_without_hooks_of_use_get_the_server_alone(machine: Machine) -> None:
    for client in ("crush", "kimi", "kiro", "zed"):
        lived_in(machine, client)
    machine.init()
    crush = machine.json(".config/crush/crush.json")["mcp"]
    assert (list(crush), crush["session-memory"]) == (
        ["docs", "session-memory"],
        {**server(machine), "type": "stdio"},
    )
    for path in (".kimi-code/mcp.json", ".kiro/settings/mcp.json"):
        assert machine.json(path)["mcpServers"]["session-memory"] == server(machine)
    text = (machine.home / ".config/zed/settings.json").read_text()
    assert value_at(text, ("context_servers", "session-memory")) == {
        **server(machine),
        "source": "custom",
    }
    assert "// at night" in text
