"""doctor: what may stand between an agent and its memory is found, with a fix to type."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.install.machine import Machine

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.cli import doctor
from session_memory.clock import iso, now_ms

Found = list[dict[str, Any]]


def checks(machine: Machine, *words: str) -> tuple[int, Found]:
    """Exit code and checks."""
    done = machine.run("doctor", "--quick", "--json", *words)
    return done.code, json.loads(done.out)["checks"]


def named(machine: Machine, name: str) -> Found:
    return [check for check in checks(machine)[1] if check["name"] == name]


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
SERVER = "session-memory"
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


@pytest.mark.rows("WIR-13")
@pytest.mark.parametrize(
    ("free", "result", "text"),
    [(10 * 1024**2, "fail", "is full"), (500 * 1024**2, "warn", "nearly full")],
)
def test_a_disk_that_is_full_or_nearly_so(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, free: int, result: str, text: str
) -> None:
    usage = shutil.disk_usage(machine.home)._replace(free=free)

    def nearly_full(_path: Path) -> Any:
        return usage

    monkeypatch.setattr("session_memory.cli.doctor_places.shutil.disk_usage", nearly_full)
    (check,) = named(machine, "space")
    assert (check["result"], text in check["detail"]) == (result, True)
    assert "store retention plan" in check["fix"]


@pytest.mark.rows("WIR-13")
@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX")
def test_files_of_another_user_are_named_with_the_command_that_gives_them_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    assert named(machine, "owner")[0]["result"] == "pass"
    mine = os.geteuid()
    monkeypatch.setattr(doctor, "current_user", lambda: mine + 1)
    monkeypatch.setattr(doctor, "user_name", {mine: "other", mine + 1: "dev"}.get)
    code, found = checks(machine)
    (check,) = [one for one in found if one["name"] == "owner"]
    assert (code, check["result"]) == (1, "fail")
    assert "belong to other" in check["detail"] and "sudo" in check["detail"]
    data, state = machine.memory / "data", machine.memory / "state"
    assert check["fix"] == f"sudo chown -R dev {data} {state}"


@pytest.mark.rows("WIR-13")
@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX")
def test_root_is_told_to_leave_the_store_to_its_owner(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.have("claude")
    machine.init()
    real = os.lstat

    def belongs_to_dev(path: Any) -> os.stat_result:
        return os.stat_result([*real(path)[:4], 1234, *real(path)[5:]])

    monkeypatch.setattr(doctor, "current_user", lambda: 0)
    monkeypatch.setattr("session_memory.cli.doctor_places.os.lstat", belongs_to_dev)
    monkeypatch.setattr(doctor, "user_name", {1234: "dev"}.get)
    assert named(machine, "owner")[0]["fix"] == "run this as dev, without sudo"


@pytest.mark.rows("WIR-13")
def test_a_place_that_cannot_be_made_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_path: Path, _mode: int) -> bool:
        return False

    monkeypatch.setattr("session_memory.cli.doctor_places.os.access", refused)
    (check,) = named(machine, "owner")
    assert (check["result"], "cannot be made" in check["detail"]) == ("fail", True)
    assert "SESSION_MEMORY_HOME" in check["fix"]


@pytest.mark.rows("WIR-14")
def test_an_interpreter_that_moved_is_a_failure_that_fix_cures(machine: Machine) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    good = machine.launcher.read_text()
    (check,) = named(machine, "program")
    assert check["result"] == "pass"
    python = check["detail"]
    machine.launcher.write_text(good.replace(python, "/opt/gone/python3.11"))
    code, found = checks(machine)
    (check,) = [one for one in found if one["name"] == "program"]
    assert (code, check["result"], check["fixable"]) == (1, "fail", True)
    assert "agents run /opt/gone/python3.11, which is not there any more" in check["detail"]
    assert check["fix"] == "session-memory init --yes"
    machine.run("doctor", "--quick", "--fix")
    assert machine.launcher.read_text() == good


@pytest.mark.rows("WIR-14")
def test_another_interpreter_is_a_warning(machine: Machine) -> None:
    other = machine.home / "python"
    other.write_text("#!/bin/sh\n")
    machine.have("claude")
    machine.run("init", "--yes")
    (check,) = named(machine, "program")
    text = machine.launcher.read_text()
    machine.launcher.write_text(text.replace(check["detail"], str(other)))
    (check,) = named(machine, "program")
    assert (check["result"], str(other) in check["detail"]) == ("warn", True)


@pytest.mark.rows("WIR-14")
def test_settings_that_name_a_launcher_that_is_gone_say_which(machine: Machine) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    path = machine.home / ".claude/settings.json"
    path.write_text(path.read_text().replace(str(machine.launcher.parent), "/gone/hooks"))
    (check,) = named(machine, "claude")
    assert "/gone/hooks/session-memory-hook is not there any more" in check["detail"]
    assert check["fixable"] is True
    entry = {"command": "/gone/python", "args": ["-I", "-m", "session_memory", "mcp"]}
    machine.write(".claude.json", json.dumps({"mcpServers": {SERVER: entry}}))
    (check,) = named(machine, "claude")
    assert "/gone/hooks/session-memory-hook, /gone/python is not" in check["detail"]
    machine.run("doctor", "--quick", "--fix")
    assert named(machine, "claude")[0]["result"] == "pass"


@pytest.mark.rows("WIR-14")
def test_an_entry_made_by_hand_passes_unless_its_program_is_gone(machine: Machine) -> None:
    machine.have("claude")
    entry = {"command": "session-memory", "args": ["mcp"]}
    machine.write(".claude.json", json.dumps({"mcpServers": {SERVER: entry}}))
    machine.init()
    (check,) = named(machine, "claude")
    assert (check["result"], "session-memory is not there" in check["detail"]) == ("warn", True)
    program = machine.programs / "session-memory"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (check,) = named(machine, "claude")
    assert (check["result"], check["detail"]) == ("pass", "hooks wired, mcp hand-made")


@pytest.mark.rows("WIR-15")
@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("stop the spool is full: no worker drains it", "session-memory worker run"),
        ("stop the record was not written whole: disk full?", "free some space"),
        ("stop PermissionError 13 line 400", "do what `owner`"),
        ("stop KeyError  line 12", "session-memory init --yes"),
    ],
)
def test_hooks_that_failed_lately_are_counted(machine: Machine, text: str, fix: str) -> None:
    machine.have("claude")
    machine.init()
    log = machine.memory / "state" / "hook-errors.log"
    log.write_text(f"2020-01-01T00:00:00Z {text}\n")
    assert named(machine, "hook log")[0]["result"] == "pass"  # long ago
    stamp = (iso(now_ms() - 3_600_000) or "")[:19] + "Z"
    log.write_text(f"2020-01-01T00:00:00Z {text}\n{stamp} {text}\n{stamp} {text}\n")
    (check,) = named(machine, "hook log")
    assert check["result"] == "warn"
    assert "failed 2 times in the last 7 days" in check["detail"]
    assert stamp in check["detail"] and fix in check["fix"]


@pytest.mark.rows("WIR-16")
def test_an_agent_that_is_too_old_for_our_hooks_is_named(machine: Machine) -> None:
    log = ClaudeLog(1)
    log.version = "1.0.40"
    log.prompt("hello")
    log.write(machine.home / ".claude")
    machine.run("init", "--yes")
    (check,) = named(machine, "claude age")
    assert check["result"] == "warn"
    assert "1.0.40" in check["detail"] and "1.0.85" in check["detail"]
    assert check["fix"] == "claude update"
    newer = ClaudeLog(2, start=log.now + 86_400_000)
    newer.version = "2.1.300"
    newer.prompt("hello again")
    newer.write(machine.home / ".claude")
    machine.run("sweep")
    assert named(machine, "claude age") == []


@pytest.fixture
def shop(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, wired for Gemini CLI alone."""
    root = machine.home / "code" / "shop"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    machine.have("gemini")
    assert machine.init("--project", "--agent", "gemini").code == 0
    return root


@pytest.mark.rows("WIR-17")
def test_a_wired_project_is_checked_and_renewed(machine: Machine, shop: Path) -> None:
    (check,) = named(machine, "project shop")
    assert (check["result"], str(shop) in check["detail"]) == ("pass", True)
    path = shop / ".gemini/settings.json"
    good = path.read_text()
    path.write_text(good.replace(str(machine.launcher.parent), "/gone/hooks"))
    (check,) = named(machine, "project shop")
    assert (check["result"], check["fixable"]) == ("warn", True)
    assert check["fix"] == f"cd {shop} && session-memory init --project --agent gemini"
    dry = machine.run("doctor", "--quick", "--fix", "--dry-run")
    assert f"would renew our entries in {path}" in dry.out
    assert path.read_text() != good
    machine.run("doctor", "--quick", "--fix")
    assert path.read_text() == good


@pytest.mark.rows("WIR-17")
def test_a_project_whose_entries_were_taken_out_is_not_wired_again(
    machine: Machine, shop: Path
) -> None:
    path = shop / ".gemini/settings.json"
    path.write_text("{}")
    (check,) = named(machine, "project shop")
    assert (check["result"], "taken out" in check["detail"]) == ("warn", True)
    machine.run("doctor", "--quick", "--fix")
    assert path.read_text() == "{}"
    path.write_text("{")
    assert named(machine, "project shop")[0]["result"] == "fail"


@pytest.mark.rows("WIR-17")
def test_a_project_that_is_gone_is_named(
    machine: Machine, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.home)
    shop.rename(shop.with_name("store"))
    (check,) = named(machine, "project shop")
    assert (check["result"], "not there any more" in check["detail"]) == ("warn", True)
    assert "init --project" in check["fix"]


@pytest.mark.rows("WIR-17")
def test_files_of_ours_that_git_tracks_are_named(machine: Machine, shop: Path) -> None:
    (shop / ".git/index").write_bytes(b"DIRC\0\0\0\2.gemini/settings.json\0\0")
    found = [check for check in named(machine, "project shop") if check["result"] == "warn"]
    (check,) = found
    assert "git tracks .gemini/settings.json" in check["detail"]
    assert check["fix"] == f"git -C {shop} rm --cached .gemini/settings.json"


@pytest.mark.rows("WIR-17")
def test_a_repository_that_another_machine_wired_is_named(
    machine: Machine, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shop / ".gemini/settings.json"
    text = path.read_text().replace(str(machine.launcher.parent), "/home/other/hooks")
    machine.uninstall()
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    (check,) = named(machine, "project shop")
    assert "run /home/other/hooks/session-memory-" in check["detail"]
    assert "not on this machine" in check["detail"]
    assert machine.init("--project", "--agent", "gemini").code == 0
    assert named(machine, "project shop")[0]["result"] == "pass"
    monkeypatch.chdir(machine.home)


@pytest.mark.rows("WIR-18")
def test_fix_says_first_what_it_would_do_and_counts_come_last(machine: Machine) -> None:
    machine.have("claude", "gemini")
    machine.run("init", "--yes")
    settings = machine.home / ".gemini/settings.json"
    good = settings.read_text()
    settings.write_text(good.replace(str(machine.launcher.parent), "/gone/hooks"))
    (machine.launcher.parent / "entry.py").unlink()
    (machine.memory / "data" / "store.db").chmod(0o644)
    before = machine.run("doctor", "--quick")
    assert before.code == 1
    last = before.out.splitlines()[-1]
    assert "1 warning, 2 failures" in last and "does 3 of the fixes" in last
    dry = machine.run("doctor", "--quick", "--fix", "--dry-run", "--json")
    answer = json.loads(dry.out)
    assert (dry.code, len(answer["would_fix"]), answer["fixed"]) == (1, 3, [])
    assert answer["counts"]["fail"] == 2
    done = json.loads(machine.run("doctor", "--quick", "--fix", "--json").out)
    assert (len(done["fixed"]), done["not_fixed"], done["counts"]["fail"]) == (3, [], 0)
    assert settings.read_text() == good
    machine.uninstall()
    assert not settings.exists()


@pytest.mark.rows("WIR-18")
def test_dry_run_goes_with_fix(machine: Machine) -> None:
    done = machine.run("doctor", "--dry-run")
    assert (done.code, "goes with --fix" in done.err) == (2, True)


@pytest.mark.rows("WIR-18")
def test_what_cannot_be_fixed_or_checked_stops_nothing_else(machine: Machine) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    (machine.memory / "data" / "install.json").write_text("{")
    (machine.memory / "data" / "store.db").chmod(0o644)
    done = json.loads(machine.run("doctor", "--quick", "--fix", "--json").out)
    assert any("private" in text for text in done["fixed"])
    assert any("install.json" in text for text in done["not_fixed"])
    results = {check["name"]: check["result"] for check in done["checks"]}
    assert (results["wiring"], results["claude"], results["modes"]) == ("fail", "pass", "pass")


@pytest.mark.rows("WIR-13")
@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX")
def test_a_store_that_may_not_be_looked_into_is_named_and_nothing_else_is_lost(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    data = str(machine.memory / "data")
    real_open, real_stat, real_access = open, os.stat, os.access

    def refusing(real: Any) -> Any:
        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            if str(path).startswith(data + os.sep):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *arguments, **options)

        return call

    def access(path: str, mode: int) -> bool:
        return path != data and real_access(path, mode)

    monkeypatch.setattr("builtins.open", refusing(real_open))
    monkeypatch.setattr("io.open", refusing(real_open))
    monkeypatch.setattr("os.stat", refusing(real_stat))
    monkeypatch.setattr("session_memory.cli.doctor_places.os.access", access)
    done = machine.run("doctor", "--quick", "--json", "--fix")
    answer = json.loads(done.out)
    results = {check["name"]: check for check in answer["checks"]}
    assert done.code == 1
    assert results["owner"]["fix"] == f"chmod u+rwx {data}"
    assert results["wiring"]["result"] == "fail"
    assert results["claude"]["result"] == "pass"
    assert results["hook log"]["result"] == "pass"
    assert len(answer["not_fixed"]) == 1


@pytest.mark.rows("WIR-15")
def test_hooks_that_are_never_called_are_noticed(machine: Machine) -> None:
    machine.have("claude", "gemini")
    machine.run("init", "--yes")
    logs = [ClaudeLog(seed, start=now_ms() + seed * 60_000) for seed in (1, 2, 3)]
    for log in logs[:2]:
        log.prompt("hello")
        log.write(machine.home / ".claude")
    machine.run("sweep")
    assert named(machine, "claude calls") == []  # too few to say
    logs[2].prompt("hello")
    logs[2].write(machine.home / ".claude")
    machine.run("sweep")
    (check,) = named(machine, "claude calls")
    assert (check["result"], "no hook was called in 3 sessions" in check["detail"]) == (
        "warn",
        True,
    )
    assert "config schedule install" in check["fix"]
    name = f"{now_ms():020d}-1-aaaaaaaa"
    record = {"v": 1, "id": name, "at": now_ms(), "flavor": "claude", "event": "session_end"}
    record |= {"session": logs[2].session_id, "cwd": "/work/shop"}
    spool = machine.memory / "state" / "spool"
    spool.mkdir(exist_ok=True)
    (spool / f"{name}.json").write_text(json.dumps(record))
    assert named(machine, "claude calls") == []  # it waits for the worker
    machine.run("worker", "run")
    assert not list(spool.glob("*.json"))
    assert named(machine, "claude calls") == []


@pytest.mark.rows("WIR-19")
def test_tools_of_an_older_profile_are_named_and_init_moves_them_over(machine: Machine) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    server = machine.launcher.with_name("session-memory-server")
    good = server.read_text()
    assert "mcp --profile agent --idle-timeout 0" in good
    server.write_text(good.replace("--profile agent ", ""))
    settings = (machine.home / ".claude.json").read_bytes()
    (check,) = named(machine, "hook files")
    assert (check["result"], check["fixable"]) == ("warn", True)
    assert "the profile standard, not agent" in check["detail"]
    machine.run("init", "--yes")
    assert server.read_text() == good
    assert (machine.home / ".claude.json").read_bytes() == settings
