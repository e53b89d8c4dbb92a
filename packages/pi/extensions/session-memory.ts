// session-memory: tells the memory of this machine where sessions begin and rest, and the model
// what earlier sessions in this project left behind.
// Made by `session-memory package`; do not edit.
import { spawn } from "node:child_process"

const HOOK = ["/bin/sh", "-c", "{ look() { for d in \"$SESSION_MEMORY_HOME/data\" \"$XDG_DATA_HOME/session-memory\" \"$HOME/.local/share/session-memory\" \"$HOME/Library/Application Support/session-memory\"; do f=$d/hooks/$0; [ -x \"$f\" ] && return; done; false; }; look || PATH=\"$PATH:$HOME/.local/bin\" session-memory worker launchers </dev/null >/dev/null && look && \"$f\" \"$@\" package || { cat <&3 >/dev/null & }; } 3<&0 2>/dev/null; exit 0", "session-memory-hook"]
const EVENTS: Record<string, string> = {"session_start": "session_start", "agent_end": "agent_end", "session_before_compact": "pre_compact", "session_shutdown": "session_end"}

const PATIENCE_MS = 5000

const call = (event: string, ctx: any): Promise<string> =>
  new Promise((resolve) => {
    try {
      let printed = ""
      const child = spawn(HOOK[0], [...HOOK.slice(1), event, "pi"], {
        stdio: ["pipe", "pipe", "ignore"],
        detached: true,
        shell: false,
      })
      const bored = setTimeout(() => child.kill(), PATIENCE_MS)
      const end = (answer: string) => {
        clearTimeout(bored)
        resolve(answer)
      }
      child.on("error", () => end("")) // the launcher is gone
      child.on("close", (code: any) => end(code === 0 ? printed : ""))
      child.stdout.on("data", (piece: any) => (printed += piece))
      child.stdin.on("error", () => {})
      child.stdin.end(
        JSON.stringify({
          session_id: ctx.sessionManager.getSessionId(),
          transcript_path: ctx.sessionManager.getSessionFile(),
          cwd: ctx.cwd,
        }),
      )
    } catch {
      resolve("")
    }
  })

const context = (printed: string): string => {
  try {
    return JSON.parse(printed).hookSpecificOutput.additionalContext
  } catch {
    return ""
  }
}

export default function (pi: any) {
  let told: Promise<string> = Promise.resolve("")
  for (const [name, event] of Object.entries(EVENTS)) {
    pi.on(name, async (_seen: any, ctx: any) => {
      const answer = call(event, ctx)
      if (event === "session_start") told = answer.then(context)
    })
  }
  pi.on("before_agent_start", async (seen: any) => {
    const text = await told
    return text ? { systemPrompt: `${seen.systemPrompt}\n\n${text}` } : undefined
  })
}
