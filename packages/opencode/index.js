// session-memory: what `hooks.js` tells and passes on, and the server, commands and skill.
// Made by `session-memory package`; do not edit.
import { fileURLToPath } from "node:url"
import { SessionMemory as hooks } from "./hooks.js"

const SERVER = {
  "type": "local",
  "command": [
    "/bin/sh",
    "-c",
    "{ look() { for d in \"$SESSION_MEMORY_HOME/data\" \"$XDG_DATA_HOME/session-memory\" \"$HOME/.local/share/session-memory\" \"$HOME/Library/Application Support/session-memory\"; do f=$d/hooks/$0; [ -x \"$f\" ] && return; done; false; }; look || PATH=\"$PATH:$HOME/.local/bin\" session-memory worker launchers </dev/null >/dev/null && look; } 2>/dev/null && \"$f\" --package; [ $? = 0 -o $? -gt 128 ] && exit 0; while read -r line; do printf \"%s\\n\" \"$line\" | sed -n -e '/\"method\": *\"initialize\"/s/.*\"id\": *\\([^,}]*\\).*/{\"jsonrpc\":\"2.0\",\"id\":\\1,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"session-memory\",\"version\":\"0\"}}}/p' -e t -e '/\"method\": *\"tools\\/list\"/s/.*\"id\": *\\([^,}]*\\).*/{\"jsonrpc\":\"2.0\",\"id\":\\1,\"result\":{\"tools\":[]}}/p' -e t -e '/\"method\": *\"ping\"/s/.*\"id\": *\\([^,}]*\\).*/{\"jsonrpc\":\"2.0\",\"id\":\\1,\"result\":{}}/p' -e t -e 's/.*\"id\": *\\([^,}]*\\).*/{\"jsonrpc\":\"2.0\",\"id\":\\1,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}/p'; done",
    "session-memory-server"
  ],
  "enabled": true
}
const COMMANDS = {
  "session-memory-remember": {
    "description": "Choose with the user what of this session should outlast it, and note it.",
    "template": "Look back on this session and decide with the user what of it should last for the next one in this project.\n\n1. Choose at most five things, and only what is not in the repository's own files: a correction or wish of the user, a command that failed here and what worked instead, a check that verifies a change, a decision and its reason, work that was left open.\n2. For each one call `mem_note` with a `kind` and one sentence that stands for itself. Use `rule` only for what the user said should hold from now on, in the user's words. Give the events it rests on where `mem_search` or `mem_transcript` names them.\n3. Show the user the list. A note waits until the user confirms it: `session-memory project memory review` in a terminal, or the page of `session-memory web`.\n\nIf nothing is worth keeping, say so and write nothing.\n"
  },
  "session-memory-catch-up": {
    "description": "What was done last, what is open, how to verify a change, what to watch out for.",
    "template": "!`session-memory prompt catch-up`"
  },
  "session-memory-handoff": {
    "description": "Write what a fresh session of any agent needs to go on with this work.",
    "template": "!`session-memory prompt handoff`"
  },
  "session-memory-review-rules": {
    "description": "Look with the user at what recurs in earlier sessions, and word the rules worth having.",
    "template": "!`session-memory prompt review-rules`"
  },
  "session-memory-consolidate": {
    "description": "Read what earlier sessions left and propose better lines for MEMORY.md.",
    "template": "!`session-memory prompt consolidate`"
  },
  "session-memory-postmortem": {
    "description": "Find out why work failed or took long, and which rule would have prevented it.",
    "template": "Find out why the work in this session, or in the one the user names, failed or took so long.\n\n1. Read it with `mem_transcript`, and look with `mem_search` for the same failure in earlier sessions; ask `mem_fix` about the error.\n2. Say what happened, in order: what was tried, what each attempt showed, what the cause was, what cured it or would have.\n3. Propose at most one rule that would have prevented it. If the user agrees, keep it with `mem_note` as a `correction` or `rule`, with the events it rests on. It waits for the user's yes.\n"
  },
  "session-memory-fix": {
    "description": "What worked after an error in earlier sessions.",
    "template": "Ask `mem_fix` about this error, and if a cure fits, try it and say where it comes from:\n\n$ARGUMENTS"
  }
}

// What the user has under our names stays as it is.
export const SessionMemory = async (input) => ({
  ...(await hooks(input)),
  config: async (config) => {
    config.mcp = { "session-memory": SERVER, ...config.mcp }
    config.command = { ...COMMANDS, ...config.command }
    const skills = fileURLToPath(new URL("./skills", import.meta.url))
    config.skills = { ...config.skills, paths: [...(config.skills?.paths ?? []), skills] }
  },
})
