"""OpenCode: a plug-in that calls the hook and passes memory on, the server in its configuration."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from session_memory.adapters.opencode import AGENT
from session_memory.adapters.shared_wiring.client import Client, Files, InstallContext, Switch
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import SERVER, JsonServer, WholeFile
from session_memory.adapters.shared_wiring.policies import Block, ReadSettings, switches

EVENTS = ("session.created", "session.idle", "session.compacted", "session.deleted")

# The hook gets ids and the directory, and before a tool its input. Whatever fails, the session
# must not notice.
PLUGIN = """\
// session-memory: tells the memory of this machine where sessions begin and rest, and the model
// what earlier sessions in this project left behind.
// Written by `session-memory init`, removed by `session-memory uninstall`.
import {{ spawn }} from "node:child_process"

const HOOK = {hook}
const EVENTS = new Set({events})

const PATIENCE_MS = 5000
const TRIES = 20
const told = new Map() // session to a promise of what its model is told
const hints = new Map() // call to what guards say beside its result
const compacted = new Map() // session to how often we may still ask for what it lost

const call = (event, payload) =>
  new Promise((resolve) => {{
    try {{
      let printed = ""
      const child = spawn(HOOK[0], [...HOOK.slice(1), event, "opencode"], {{
        stdio: ["pipe", "pipe", "ignore"],
        detached: true,
        shell: {shell},
      }})
      const bored = setTimeout(() => child.kill(), PATIENCE_MS)
      const end = (answer) => {{
        clearTimeout(bored)
        resolve(answer)
      }}
      child.on("error", () => end("")) // the launcher is gone
      child.on("close", (code) => end(code === 0 ? printed : ""))
      child.stdout.on("data", (piece) => (printed += piece))
      child.stdin.on("error", () => {{}})
      child.stdin.end(JSON.stringify(payload))
    }} catch {{
      resolve("")
    }}
  }})

const answer = (printed) => {{
  try {{
    return JSON.parse(printed).hookSpecificOutput ?? {{}}
  }} catch {{
    return {{}}
  }}
}}
const context = (printed) => answer(printed).additionalContext ?? ""
const resume = async (session) =>
  context(await call("session.created", {{ ...session, source: "resume" }}))

export const SessionMemory = async ({{ directory }}) => ({{
  event: async ({{ event }}) => {{
    if (!EVENTS.has(event.type)) return
    const seen = event.properties ?? {{}}
    const sessionID = seen.sessionID ?? seen.info?.id
    const said = call(event.type, {{ sessionID, directory: seen.info?.directory ?? directory }})
    // A sub-agent is told by the agent that calls it.
    if (event.type === "session.created")
      told.set(sessionID, seen.info?.parentID ? "" : said.then(context))
    if (event.type === "session.compacted" && told.get(sessionID) !== "")
      compacted.set(sessionID, TRIES)
  }},
  "tool.execute.before": async ({{ tool, sessionID, callID }}, {{ args }}) => {{
    const payload = {{ sessionID, directory, tool_name: tool, tool_input: args }}
    const said = answer(await call("tool.execute.before", payload))
    if (said.permissionDecision === "deny") throw new Error(said.permissionDecisionReason)
    if (said.additionalContext) hints.set(callID, said.additionalContext)
  }},
  "tool.execute.after": async ({{ callID }}, result) => {{
    if (hints.has(callID)) result.output += "\\n\\n" + hints.get(callID)
    hints.delete(callID)
  }},
  "experimental.session.compacting": async ({{ sessionID }}) => {{
    if (sessionID) call("pre.compact", {{ sessionID, directory }})
  }},
  "experimental.chat.system.transform": async ({{ sessionID }}, {{ system }}) => {{
    if (!sessionID) return
    if (!told.has(sessionID)) // begun in an earlier run
      told.set(sessionID, resume({{ sessionID, directory }}))
    const tries = compacted.get(sessionID) ?? 0
    if (tries > 0) {{
      compacted.set(sessionID, tries - 1)
      // What was lost is prepared meanwhile; the hook gives it once, and we repeat it.
      const more = await resume({{ sessionID, directory }})
      if (more.includes("<<<recovery ")) {{
        told.set(sessionID, Promise.resolve(more))
        compacted.delete(sessionID)
      }}
    }}
    const text = await told.get(sessionID)
    if (text) system.push(text)
  }},
  dispose: async () => {{
    const ended = [...told].filter(([, text]) => text !== "")
    await Promise.all(ended.map(([sessionID]) => call("session.end", {{ sessionID, directory }})))
  }},
}})
"""


def root(context: InstallContext) -> str:
    """The configuration directory."""
    usual = os.path.join(context.config_home(), "opencode")
    return context.directory("OPENCODE_CONFIG_DIR", usual)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """The configuration, under the name it has here, and the plug-in."""
    where = os.path.join(context.project, ".opencode") if context.project else root(context)
    settings = context.project or where
    names = (os.path.join(settings, name) for name in ("opencode.json", "opencode.jsonc"))
    existing = next((path for path in names if os.path.lexists(path)), None)
    entry: dict[str, Any] = {"type": "local", "command": launchers.server(), "enabled": True}
    if launchers.environ:
        entry["environment"] = dict(launchers.environ)
    server = JsonServer(("mcp",), entry, ("command", "environment"))
    return {
        existing or os.path.join(settings, "opencode.json"): (server,),
        os.path.join(where, "plugin", "session-memory.js"): (WholeFile(plugin(launchers)),),
    }


def plugin(launchers: Launchers) -> str:
    """The plug-in's text."""
    hook = launchers.hook_program()
    shell = "true" if launchers.windows else "false"  # Windows starts a .cmd only through its shell
    return PLUGIN.format(hook=json.dumps(hook), events=json.dumps(EVENTS), shell=shell)


def blocks(context: InstallContext, launchers: Launchers, read: ReadSettings) -> Iterator[Block]:
    """What the managed configuration of this machine stops."""
    folder = context.system.folder(
        "/etc/opencode", "/Library/Application Support/opencode", "C:\\ProgramData\\opencode"
    )
    for name in ("opencode.json", "opencode.jsonc"):
        path = os.path.join(folder, name)
        yield from switches(read(path), path, mcp={f"mcp.{SERVER}.enabled": False})


SWITCHES = tuple(
    Switch("mcp", name, ("mcp", SERVER, "enabled"), off=False)
    for name in ("opencode.json", "opencode.jsonc")
)
CLIENT = Client(
    name=AGENT.name,
    programs=("opencode",),
    root=root,
    files=files,
    switches=SWITCHES,
    blocks=blocks,
)
