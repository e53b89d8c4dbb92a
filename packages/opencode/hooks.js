// session-memory: tells the memory of this machine where sessions begin and rest, and the model
// what earlier sessions in this project left behind.
// Made by `session-memory package`; do not edit.
import { spawn } from "node:child_process"

const HOOK = ["/bin/sh", "-c", "{ look() { for d in \"$SESSION_MEMORY_HOME/data\" \"$XDG_DATA_HOME/session-memory\" \"$HOME/.local/share/session-memory\" \"$HOME/Library/Application Support/session-memory\"; do f=$d/hooks/$0; [ -x \"$f\" ] && return; done; false; }; look || PATH=\"$PATH:$HOME/.local/bin\" session-memory worker launchers </dev/null >/dev/null && look && \"$f\" \"$@\" package || { cat <&3 >/dev/null & }; } 3<&0 2>/dev/null; exit 0", "session-memory-hook"]
const EVENTS = new Set(["session.created", "session.idle", "session.compacted", "session.deleted"])

const PATIENCE_MS = 5000
const TRIES = 20
const told = new Map() // session to a promise of what its model is told
const hints = new Map() // call to what guards say beside its result
const compacted = new Map() // session to how often we may still ask for what it lost

const call = (event, payload) =>
  new Promise((resolve) => {
    try {
      let printed = ""
      const child = spawn(HOOK[0], [...HOOK.slice(1), event, "opencode"], {
        stdio: ["pipe", "pipe", "ignore"],
        detached: true,
        shell: false,
      })
      const bored = setTimeout(() => child.kill(), PATIENCE_MS)
      const end = (answer) => {
        clearTimeout(bored)
        resolve(answer)
      }
      child.on("error", () => end("")) // the launcher is gone
      child.on("close", (code) => end(code === 0 ? printed : ""))
      child.stdout.on("data", (piece) => (printed += piece))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve("")
    }
  })

const answer = (printed) => {
  try {
    return JSON.parse(printed).hookSpecificOutput ?? {}
  } catch {
    return {}
  }
}
const context = (printed) => answer(printed).additionalContext ?? ""
const resume = async (session) =>
  context(await call("session.created", { ...session, source: "resume" }))

export const SessionMemory = async ({ directory }) => ({
  event: async ({ event }) => {
    if (!EVENTS.has(event.type)) return
    const seen = event.properties ?? {}
    const sessionID = seen.sessionID ?? seen.info?.id
    const said = call(event.type, { sessionID, directory: seen.info?.directory ?? directory })
    // A sub-agent is told by the agent that calls it.
    if (event.type === "session.created")
      told.set(sessionID, seen.info?.parentID ? "" : said.then(context))
    if (event.type === "session.compacted" && told.get(sessionID) !== "")
      compacted.set(sessionID, TRIES)
  },
  "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
    const payload = { sessionID, directory, tool_name: tool, tool_input: args }
    const said = answer(await call("tool.execute.before", payload))
    if (said.permissionDecision === "deny") throw new Error(said.permissionDecisionReason)
    if (said.additionalContext) hints.set(callID, said.additionalContext)
  },
  "tool.execute.after": async ({ callID }, result) => {
    if (hints.has(callID)) result.output += "\n\n" + hints.get(callID)
    hints.delete(callID)
  },
  "experimental.session.compacting": async ({ sessionID }) => {
    if (sessionID) call("pre.compact", { sessionID, directory })
  },
  "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
    if (!sessionID) return
    if (!told.has(sessionID)) // begun in an earlier run
      told.set(sessionID, resume({ sessionID, directory }))
    const tries = compacted.get(sessionID) ?? 0
    if (tries > 0) {
      compacted.set(sessionID, tries - 1)
      // What was lost is prepared meanwhile; the hook gives it once, and we repeat it.
      const more = await resume({ sessionID, directory })
      if (more.includes("<<<recovery ")) {
        told.set(sessionID, Promise.resolve(more))
        compacted.delete(sessionID)
      }
    }
    const text = await told.get(sessionID)
    if (text) system.push(text)
  },
  dispose: async () => {
    const ended = [...told].filter(([, text]) => text !== "")
    await Promise.all(ended.map(([sessionID]) => call("session.end", { sessionID, directory })))
  },
})
