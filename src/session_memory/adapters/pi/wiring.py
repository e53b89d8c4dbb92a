"""pi: an extension that calls the hook and passes memory on; it has no MCP."""

from __future__ import annotations

import json
import os

from session_memory.adapters.pi import AGENT
from session_memory.adapters.shared_wiring.client import Client, Files, InstallContext, usual_root
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import WholeFile

EVENTS = {
    "session_start": "session_start",
    "agent_end": "agent_end",
    "session_before_compact": "pre_compact",
    "session_shutdown": "session_end",
}
"""pi's events and what the hook calls them."""

EXTENSION = """\
// session-memory: tells the memory of this machine where sessions begin and rest, and the model
// what earlier sessions in this project left behind.
// Written by `session-memory init`, removed by `session-memory uninstall`.
import {{ spawn }} from "node:child_process"

const HOOK = {hook}
const EVENTS: Record<string, string> = {events}

const PATIENCE_MS = 5000

const call = (event: string, ctx: any): Promise<string> =>
  new Promise((resolve) => {{
    try {{
      let printed = ""
      const child = spawn(HOOK[0], [...HOOK.slice(1), event, "pi"], {{
        stdio: ["pipe", "pipe", "ignore"],
        detached: true,
        shell: {shell},
      }})
      const bored = setTimeout(() => child.kill(), PATIENCE_MS)
      const end = (answer: string) => {{
        clearTimeout(bored)
        resolve(answer)
      }}
      child.on("error", () => end("")) // the launcher is gone
      child.on("close", (code: any) => end(code === 0 ? printed : ""))
      child.stdout.on("data", (piece: any) => (printed += piece))
      child.stdin.on("error", () => {{}})
      child.stdin.end(
        JSON.stringify({{
          session_id: ctx.sessionManager.getSessionId(),
          transcript_path: ctx.sessionManager.getSessionFile(),
          cwd: ctx.cwd,
        }}),
      )
    }} catch {{
      resolve("")
    }}
  }})

const context = (printed: string): string => {{
  try {{
    return JSON.parse(printed).hookSpecificOutput.additionalContext
  }} catch {{
    return ""
  }}
}}

export default function (pi: any) {{
  let told: Promise<string> = Promise.resolve("")
  for (const [name, event] of Object.entries(EVENTS)) {{
    pi.on(name, async (_seen: any, ctx: any) => {{
      const answer = call(event, ctx)
      if (event === "session_start") told = answer.then(context)
    }})
  }}
  pi.on("before_agent_start", async (seen: any) => {{
    const text = await told
    return text ? {{ systemPrompt: `${{seen.systemPrompt}}\\n\\n${{text}}` }} : undefined
  }})
}}
"""

root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """The extension."""
    where = os.path.join(context.project, ".pi") if context.project else root(context)
    hook = launchers.hook_program()
    shell = "true" if launchers.windows else "false"
    text = EXTENSION.format(hook=json.dumps(hook), events=json.dumps(EVENTS), shell=shell)
    return {os.path.join(where, "extensions", "session-memory.ts"): (WholeFile(text),)}


CLIENT = Client(
    name=AGENT.name,
    programs=("pi",),
    root=root,
    files=files,
    notes=("pi has no MCP: it is given memory at the start and cannot search for more",),
)
