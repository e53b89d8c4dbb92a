"""OpenCode: a plug-in that calls the hook, and the server in its configuration."""

from __future__ import annotations

import json
import os
from typing import Any

from session_memory.install.client import Client, Files, Place, Switch
from session_memory.install.ours import Ours
from session_memory.install.parts import SERVER, JsonServer, WholeFile

EVENTS = ("session.created", "session.idle", "session.compacted", "session.deleted")

# The hook gets ids and the directory, nothing else. Whatever fails, the session must not notice.
PLUGIN = """\
// session-memory: tells the memory of this machine where sessions begin and rest.
// Written by `session-memory init`, removed by `session-memory uninstall`.
import {{ spawn }} from "node:child_process"

const HOOK = {hook}
const EVENTS = new Set({events})

export const SessionMemory = async ({{ directory }}) => ({{
  event: async ({{ event }}) => {{
    if (!EVENTS.has(event.type)) return
    try {{
      const seen = event.properties ?? {{}}
      const sessionID = seen.sessionID ?? seen.info?.id
      const child = spawn(HOOK, [event.type, "opencode"], {{
        stdio: ["pipe", "ignore", "ignore"],
        detached: true,
        shell: {shell},
      }})
      child.on("error", () => {{}})
      child.stdin.on("error", () => {{}})
      child.stdin.end(JSON.stringify({{ sessionID, directory: seen.info?.directory ?? directory }}))
      child.unref()
    }} catch {{}}
  }},
}})
"""


def root(place: Place) -> str:
    """The configuration directory."""
    usual = os.path.join(place.config_home(), "opencode")
    return place.directory("OPENCODE_CONFIG_DIR", usual)


def files(place: Place, ours: Ours) -> Files:
    """The configuration, under the name it has here, and the plug-in."""
    where = os.path.join(place.project, ".opencode") if place.project else root(place)
    settings = place.project or where
    names = (os.path.join(settings, name) for name in ("opencode.json", "opencode.jsonc"))
    known = next((path for path in names if os.path.lexists(path)), None)
    entry: dict[str, Any] = {"type": "local", "command": ours.server(), "enabled": True}
    if ours.environ:
        entry["environment"] = dict(ours.environ)
    server = JsonServer(("mcp",), entry, ("command", "environment"))
    return {
        known or os.path.join(settings, "opencode.json"): (server,),
        os.path.join(where, "plugin", "session-memory.js"): (WholeFile(plugin(ours)),),
    }


def plugin(ours: Ours) -> str:
    """The plug-in's text."""
    hook = f'"{ours.launcher}"' if ours.windows else str(ours.launcher)
    shell = "true" if ours.windows else "false"  # Windows starts a .cmd only through its shell
    return PLUGIN.format(hook=json.dumps(hook), events=json.dumps(EVENTS), shell=shell)


SWITCHES = tuple(
    Switch("mcp", name, ("mcp", SERVER, "enabled"), off=False)
    for name in ("opencode.json", "opencode.jsonc")
)
CLIENT = Client("opencode", "OpenCode", ("opencode",), root, files, switches=SWITCHES)
