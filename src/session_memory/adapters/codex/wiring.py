"""Codex: hooks that its user has to trust, a server, and the notify slot if it is free."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from session_memory.adapters.codex import AGENT
from session_memory.adapters.shared_wiring.client import (
    Approvals,
    Client,
    Files,
    InstallContext,
    Switch,
    claude_groups,
    command_server,
    usual_root,
)
from session_memory.adapters.shared_wiring.json_text import Path, as_list, as_object, value_at
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import (
    SERVER,
    JsonHooks,
    TomlNotify,
    TomlRenames,
    TomlServer,
    TomlTables,
    our_handlers,
)
from session_memory.adapters.shared_wiring.policies import Block, ReadSettings, switches

# Codex gives a SessionEnd hook 3 s at most and complains of more.
EVENTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PreToolUse": 10,
    "SessionEnd": 3,
    "Stop": 10,
    "SubagentStop": 10,
    "PreCompact": 10,
}
WITHOUT_MATCHER = ("UserPromptSubmit", "Stop")
HOW_TO_TRUST = (
    "Codex silently skips hooks that you did not approve: start `codex`, type /hooks and approve"
    " those of session-memory, or run `session-memory init --agent codex --trust-codex-hooks`."
    " Until then we hear of each turn as Codex's notify program, if no other program is set there"
)

root = usual_root(AGENT)


def folder(context: InstallContext) -> str:
    """Of the files we write."""
    return os.path.join(context.project, ".codex") if context.project else root(context)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """Hooks next to the configuration; the server and notify inside it."""
    # Never `required`: Codex would not start without us. It waits a second for a server before the
    # first turn (`mcp_optional_startup_grace_ms`), and ours answers in a fifth of that. The server
    # is started with an emptied environment, so everything it needs is named.
    more = {"CODEX_HOME": root(context)} if context.environ.get("CODEX_HOME") else {}
    entry = command_server(launchers, startup_timeout_sec=30)
    if more:
        entry["env"] = {**entry.get("env", {}), **more}
    parts: tuple[TomlServer | TomlNotify, ...] = (TomlServer(entry),)
    if not context.project:  # Codex does not take notify from a project
        parts += (TomlNotify(tuple(launchers.hook_words("notify", AGENT.name))),)
    where = folder(context)
    hooks = JsonHooks(claude_groups(launchers, AGENT.name, EVENTS))
    return {os.path.join(where, "hooks.json"): (hooks,), os.path.join(where, "config.toml"): parts}


def trust(path: str, text: str | None) -> TomlTables:
    """What Codex writes into the configuration of its user when these hooks are approved."""
    approvals: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    for where, handler in our_handlers(text) if text else ():
        if len(where) != 5:  # not in a group: Codex does not run it
            continue
        event, group, index = str(where[1]), where[2], where[4]
        label = _label(event)
        whole = value_at(text or "", where[:3])
        matcher = None if event in WITHOUT_MATCHER else whole.get("matcher")
        key = f"{path}:{label}:{group}:{index}"
        value = {"trusted_hash": _hash(label, matcher, handler)}
        approvals.append((("hooks", "state", key), value))
    return TomlTables(tuple(approvals))


def moved(path: str, text: str | None) -> TomlRenames:
    """How approvals of the user's own hooks are called once ours are gone.

    Codex names an approval by the hook's position, and would silently skip one that moved up.
    """
    own = {where for where, _ in our_handlers(text)} if text else set[Path]()
    renames: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    events = as_object(value_at(text, ("hooks",)) if text else None)
    for event, groups in events.items():
        place = 0  # of the group, once ours are gone
        for group, value in enumerate(as_list(groups)):
            count = len(as_list(as_object(value).get("hooks")))
            left = [i for i in range(count) if ("hooks", event, group, "hooks", i) not in own]
            for new, old in enumerate(left):
                if (group, old) != (place, new):
                    names = (f"{group}:{old}", f"{place}:{new}")
                    old_key, new_key = (f"{path}:{_label(event)}:{name}" for name in names)
                    renames.append((("hooks", "state", old_key), ("hooks", "state", new_key)))
            place += bool(left) or not count
    return TomlRenames(tuple(renames))


def _label(event: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")


def _hash(label: str, matcher: str | None, handler: dict[str, Any]) -> str:
    """The hash Codex compares (0.166.0): of the hook as it understands it, keys in order."""
    seen: dict[str, Any] = {
        "type": "command",
        "command": handler["command"],
        "timeout": handler.get("timeout", 600),
        "async": bool(handler.get("async", False)),
    }
    if "statusMessage" in handler:
        seen["statusMessage"] = handler["statusMessage"]
    if handler.get("additionalContextLimit", 2500) != 2500:
        seen["additionalContextLimit"] = handler["additionalContextLimit"]
    whole: dict[str, Any] = {"event_name": label, "hooks": [seen]}
    if matcher is not None:
        whole["matcher"] = matcher
    canonical = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    import hashlib  # 5 ms, for Codex alone

    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def blocks(context: InstallContext, launchers: Launchers, read: ReadSettings) -> Iterator[Block]:
    """What requirements and managed configuration of this machine stop."""
    folder = context.system.folder("/etc/codex", "/etc/codex", "C:\\ProgramData\\OpenAI\\Codex")
    path = os.path.join(folder, "requirements.toml")
    required = read(path)
    stops = {"allow_managed_hooks_only": True, "features.hooks": False}
    yield from switches(required, path, hooks=stops)
    servers = required.get("mcp_servers")
    if servers is not None:
        identity = as_object(as_object(as_object(servers).get(SERVER)).get("identity"))
        if identity.get("command") != launchers.server()[0]:
            yield Block("mcp", path, f"mcp_servers does not allow {SERVER}")
    for place in (folder, root(context)):
        path = os.path.join(place, "managed_config.toml")
        servers = {f"mcp_servers.{SERVER}.enabled": False}
        yield from switches(read(path), path, hooks={"features.hooks": False}, mcp=servers)


SWITCHES = (
    Switch("hooks", "config.toml", ("features", "hooks"), off=False),
    Switch("mcp", "config.toml", ("mcp_servers", SERVER, "enabled"), off=False),
)
CLIENT = Client(
    name=AGENT.name,
    programs=("codex",),
    root=root,
    files=files,
    notes=(HOW_TO_TRUST,),
    switches=SWITCHES,
    blocks=blocks,
    oldest="0.124.0",  # hooks are on by default
    update="npm install -g @openai/codex@latest",
    approvals=Approvals(
        "hooks.json",
        "config.toml",
        trust,
        moved,
        how="session-memory init --agent codex --trust-codex-hooks, or start codex, type /hooks"
        " and approve them",
    ),
)
