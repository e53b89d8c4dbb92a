"""uninstall: every file as it would be without us, also where it was edited in between."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.install.configs import CLAUDE_SETTINGS, CODEX_CONFIG, LIVED_IN
from tests.install.machine import Machine

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.shared_wiring.client import InstallContext
from session_memory.adapters.shared_wiring.json_edit import insert, replace
from session_memory.adapters.shared_wiring.json_text import value_at
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.distribute import ledger as distributed
from session_memory.install.ledger import Entry, Ledger
from session_memory.install.plan import CurrentFile, InstallRequest, plan_init, plan_uninstall
from session_memory.install.survey import chosen

HOOK = {"hooks": [{"type": "command", "command": "theirs"}]}

# What users and clients do to a file, whether or not we are in it.
EDITS: dict[str, Callable[[str], str]] = {
    "a new member": lambda text: insert(text, (), "later", {"a": [1, 2]}),
    "a changed value": lambda text: replace(text, ("model",), "haiku"),
    "another hook in their list": lambda text: insert(text, ("hooks", "Stop"), None, HOOK),
    "a list of hooks of their own": lambda text: insert(text, ("hooks",), "Notification", [HOOK]),
    "a comment on top": lambda text: "// mine\n" + text,
    "other line ends": lambda text: text.replace("\n", "\r\n"),
    "another indent": lambda text: text.replace("  ", "    "),
    "no newline at the end": str.rstrip,
    "written anew by the client": lambda text: json.dumps(json.loads(text), indent=2),
    "written anew on one line": lambda text: json.dumps(json.loads(text)),
    "written anew, tightly": lambda text: json.dumps(json.loads(text), separators=(",", ":")),
}


def ours() -> Launchers:
    folder = Path("/data/hooks")
    return Launchers("/py", "-I", folder, Path("/state"), Path("/data"))


def through(text: str, edit: Callable[[str], str]) -> str | None:
    """A settings file that is wired, then edited, then unwired."""
    wish = InstallRequest(tuple(chosen(("claude",))), InstallContext("/h"), ours())
    name = "/h/.claude/settings.json"
    state = {name: text}

    def look(path: str) -> CurrentFile:
        return CurrentFile(path, state[path].encode() if path in state else None)

    plan = plan_init(wish, look, Ledger())
    entries = tuple(
        Entry(c.path, c.agent, 0, created=c.before is None, layout=c.layout) for c in plan.changes
    )
    wired = next(c.after for c in plan.changes if c.path == name)
    assert wired is not None
    state[name] = edit(wired.decode())
    back = plan_uninstall(wish, look, Ledger(entries))
    assert back.problems == ()
    changed = next(c for c in (*back.changes, *back.unchanged) if c.path == name)
    return None if changed.after is None else changed.after.decode()


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_in_between_comes_out_as_if_we_had_never_been_there(edit: str) -> None:
    change = EDITS[edit]
    assert through(CLAUDE_SETTINGS, change) == change(CLAUDE_SETTINGS)


@settings(max_examples=60)
@given(
    names=st.lists(
        st.sampled_from(sorted(set(EDITS) - {"a comment on top"})), max_size=3, unique=True
    ),
    start=st.sampled_from(
        [
            CLAUDE_SETTINGS,
            '{"model": "opus", "hooks": {"Stop": []}}',
            '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
        ]
    ),
)
def test_several_edits_in_between_come_out_as_if_we_had_never_been_there(
    names: list[str], start: str
) -> None:
    def change(text: str) -> str:
        for name in names:
            text = EDITS[name](text)
        return text

    wanted, found = change(start), through(start, change)
    assert found is not None
    assert value_at(found, ()) == value_at(wanted, ())
    assert found == wanted


def test_entries_that_the_user_moved_are_found(machine: Machine) -> None:
    machine.write(".claude/settings.json", CLAUDE_SETTINGS)
    machine.init()
    settings_file = machine.home / ".claude/settings.json"
    value = json.loads(settings_file.read_text())
    mine = value["hooks"]["Stop"].pop(1)["hooks"][0]
    value["hooks"]["Stop"][0]["hooks"].insert(0, mine)  # into the user's own group
    settings_file.write_text(json.dumps(value, indent=2) + "\n")
    assert machine.uninstall().code == 0
    assert "session-memory" not in settings_file.read_text()
    assert json.loads(settings_file.read_text()) == json.loads(CLAUDE_SETTINGS)


def test_what_the_user_put_into_a_file_of_ours_stays(machine: Machine) -> None:
    machine.have("grok", "copilot")
    machine.init()
    path = machine.home / ".grok/hooks/session-memory.json"
    path.write_text(insert(path.read_text(), ("hooks", "Stop"), None, HOOK))
    servers = machine.home / ".copilot/mcp-config.json"
    servers.write_text(insert(servers.read_text(), ("mcpServers",), "mine", {"command": "x"}))
    machine.uninstall()
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [HOOK]}}
    assert json.loads(servers.read_text()) == {"mcpServers": {"mine": {"command": "x"}}}
    assert not (machine.home / ".grok/config.toml").exists()


def test_what_codex_appends_while_we_are_there_stays(machine: Machine) -> None:
    path = machine.write(".codex/config.toml", CODEX_CONFIG)
    machine.init("--trust-codex-hooks")
    trust = '\n[projects."/home/dev/new"]\ntrust_level = "trusted"\n'
    path.write_text(path.read_text() + trust)
    machine.uninstall()
    assert path.read_text() == CODEX_CONFIG + trust


def test_approvals_of_the_users_own_codex_hooks_move_up_with_them(machine: Machine) -> None:
    hooks = machine.write(".codex/hooks.json", "{}")
    machine.write(".codex/config.toml", "")
    machine.init("--trust-codex-hooks")
    text = insert(hooks.read_text(), ("hooks", "Stop"), None, HOOK)
    hooks.write_text(insert(text, ("hooks", "SessionStart", 0, "hooks"), None, HOOK["hooks"][0]))
    config = machine.home / ".codex/config.toml"
    theirs = f'[hooks.state."{hooks}:stop:1:0"] # mine\ntrusted_hash = "sha256:aa"\n'
    inner = f"[hooks.state.'{hooks}:session_start:0:1']\ntrusted_hash = \"sha256:bb\"\n"
    config.write_text(config.read_text() + theirs + inner)
    assert machine.uninstall().code == 0
    state = tomllib.loads(config.read_text())["hooks"]["state"]
    assert state == {
        f"{hooks}:stop:0:0": {"trusted_hash": "sha256:aa"},
        f"{hooks}:session_start:0:0": {"trusted_hash": "sha256:bb"},
    }
    assert "# mine" in config.read_text()
    assert json.loads(hooks.read_text())["hooks"] == {"SessionStart": [HOOK], "Stop": [HOOK]}


def test_without_the_ledger_our_entries_are_found_by_their_names(machine: Machine) -> None:
    for agent, texts in LIVED_IN.items():
        machine.have(agent)
        for name, text in texts.items():
            machine.write(name, text)
    machine.init()
    (machine.memory / "data" / "install.json").unlink()
    assert machine.uninstall().code == 0
    left = [name for name, (data, _) in machine.files().items() if b"session_memory" in data]
    left += [name for name, (data, _) in machine.files().items() if b"memory-hook" in data]
    assert [name for name in left if "backup" not in name] == []


def test_a_dry_run_changes_nothing(machine: Machine) -> None:
    machine.write(".claude/settings.json", CLAUDE_SETTINGS)
    machine.init()
    before = machine.files()
    done = machine.run("uninstall", "--dry-run", "--purge", "--diff")
    assert done.code == 0
    command = json.dumps(machine.hook("Stop", "claude"))
    assert "-" + " " * 12 + f'"command": {command}' in done.out
    assert f"purge {machine.memory / 'data'}" in done.out
    assert machine.files() == before
    assert machine.launcher.exists()


def test_only_named_agents_are_unwired(machine: Machine) -> None:
    machine.have("claude", "gemini")
    machine.init()
    machine.uninstall("--agent", "gemini")
    assert not (machine.home / ".gemini/settings.json").exists()
    assert (machine.home / ".claude/settings.json").exists()
    assert machine.launcher.exists()  # the other still runs it


def test_a_file_that_was_broken_meanwhile_is_reported_and_kept_in_mind(machine: Machine) -> None:
    machine.have("claude", "gemini")
    machine.init()
    path = machine.home / ".gemini/settings.json"
    good = path.read_text()
    path.write_text(good + "}")
    done = machine.uninstall()
    assert done.code == 3
    assert ".gemini/settings.json" in done.err
    assert not (machine.home / ".claude/settings.json").exists()
    assert machine.launcher.exists()  # it is still told to run it
    refused = machine.uninstall("--purge")
    assert refused.code == 8
    path.write_text(good)
    assert machine.uninstall().code == 0
    assert not path.exists()
    assert not machine.launcher.exists()


def test_what_was_captured_stays_unless_purge_is_said(machine: Machine) -> None:
    log = ClaudeLog(1)
    log.prompt("keep this")
    log.write(machine.home / ".claude")
    machine.run("init", "--yes")
    machine.uninstall()
    assert (machine.memory / "data" / "store.db").exists()
    assert not (machine.memory / "state" / "hook.json").exists()
    machine.run("init", "--yes")
    done = machine.uninstall("--purge")
    assert done.code == 0, done.err
    assert not machine.memory.exists()
    assert list(machine.files()) == [".claude", *[n for n in machine.files() if "projects" in n]]


def test_a_store_elsewhere_is_purged_and_its_neighbours_are_not(
    machine: Machine, tmp_path: Path
) -> None:
    store = tmp_path / "elsewhere" / "store"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "diary.txt").write_text("mine")
    ClaudeLog(1).write(machine.home / ".claude")
    machine.memory.mkdir()
    (machine.memory / "config.toml").write_text(f'[store]\npath = "{store}"\n')
    machine.run("init", "--yes")
    assert (store / "store.db").exists()
    assert machine.uninstall("--purge").code == 0
    assert not store.exists()
    assert (tmp_path / "elsewhere" / "diary.txt").read_text() == "mine"
    assert not machine.memory.exists()


def test_a_home_is_never_purged(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.have("claude")
    monkeypatch.setenv("SESSION_MEMORY_STORE_PATH", str(machine.home))
    (machine.home / "store.db").write_text("")
    done = machine.uninstall("--purge")
    assert done.code == 8
    assert machine.home.exists()


def test_lessons_in_repositories_are_reported_and_hold_a_purge_up(machine: Machine) -> None:
    machine.have("claude")
    machine.init()
    file = distributed.TargetFile(str(machine.home / "shop"), "CLAUDE.md")
    entry = distributed.Entry(file, "shop", "block", ("p1",), 1)
    held = distributed.Ledger().with_key().with_entries([entry])
    distributed.write_ledger(machine.memory / "data", held)
    done = machine.uninstall("--purge")
    assert (done.code, "rules withdraw --all" in done.err) == (8, True)
    assert (machine.home / ".claude/settings.json").exists()
    withdrawn = held.with_entries((), removed=[file])
    distributed.write_ledger(machine.memory / "data", withdrawn)
    done = machine.uninstall("--purge")
    assert (done.code, "withdraw" in done.err) == (0, False)


def test_uninstall_on_a_machine_that_was_never_wired_does_nothing(machine: Machine) -> None:
    for texts in LIVED_IN.values():
        for name, text in texts.items():
            machine.write(name, text)
    before = machine.files()
    done: Any = machine.run("uninstall")
    assert done.code == 0
    assert machine.files() == before


@pytest.mark.rows("WIR-04")
def test_the_ledger_keeps_its_format(machine: Machine) -> None:
    machine.have("claude")
    machine.init("--agent", "claude")
    entries = json.loads((machine.memory / "data" / "install.json").read_text())["entries"]
    assert {"path", "agent", "at", "traces"} <= set(entries[0])
