"""pi: an extension that calls the hook; it has no MCP."""

from __future__ import annotations

import json
import os

from session_memory.install.client import Client, Files, Place
from session_memory.install.ours import Ours
from session_memory.install.parts import WholeFile

EVENTS = {
    "session_start": "session_start",
    "agent_end": "agent_end",
    "session_before_compact": "pre_compact",
    "session_shutdown": "session_end",
}
"""pi's events and what the hook calls them."""

EXTENSION = """\
// session-memory: tells the memory of this machine where sessions begin and rest.
// Written by `session-memory init`, removed by `session-memory uninstall`.
import {{ spawn }} from "node:child_process"

const HOOK = {hook}
const EVENTS: Record<string, string> = {events}

export default function (pi: any) {{
  for (const [name, event] of Object.entries(EVENTS)) {{
    pi.on(name, async (_seen: any, ctx: any) => {{
      try {{
        const child = spawn(HOOK, [event, "pi"], {{
          stdio: ["pipe", "ignore", "ignore"],
          detached: true,
          shell: {shell},
        }})
        child.on("error", () => {{}})
        child.stdin.on("error", () => {{}})
        child.stdin.end(
          JSON.stringify({{
            session_id: ctx.sessionManager.getSessionId(),
            transcript_path: ctx.sessionManager.getSessionFile(),
            cwd: ctx.cwd,
          }}),
        )
        child.unref()
      }} catch {{}}
    }})
  }}
}}
"""


def root(place: Place) -> str:
    """The agent's directory."""
    return place.directory("PI_CODING_AGENT_DIR", "~/.pi/agent")


def files(place: Place, ours: Ours) -> Files:
    """The extension."""
    where = os.path.join(place.project, ".pi") if place.project else root(place)
    hook = f'"{ours.launcher}"' if ours.windows else str(ours.launcher)
    shell = "true" if ours.windows else "false"
    text = EXTENSION.format(hook=json.dumps(hook), events=json.dumps(EVENTS), shell=shell)
    return {os.path.join(where, "extensions", "session-memory.ts"): (WholeFile(text),)}


CLIENT = Client(
    *("pi", "pi", ("pi",), root, files),
    notes=("pi has no MCP: its sessions are captured, and it is given memory through AGENTS.md",),
)
