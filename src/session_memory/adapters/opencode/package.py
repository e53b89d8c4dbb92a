"""The plug-in for OpenCode: calls the hook, and brings server, commands and skill along."""

from __future__ import annotations

import json
from typing import Any

from session_memory.adapters.shared_wiring.package import (
    NAME,
    SKILL,
    Package,
    PackageCommand,
    PackageContents,
)

INDEX = """\
// session-memory: what `hooks.js` tells and passes on, and the server, commands and skill.
// Made by `session-memory package`; do not edit.
import {{ fileURLToPath }} from "node:url"
import {{ SessionMemory as hooks }} from "./hooks.js"

const SERVER = {server}
const COMMANDS = {commands}

// What the user has under our names stays as it is.
export const SessionMemory = async (input) => ({{
  ...(await hooks(input)),
  config: async (config) => {{
    config.mcp = {{ "session-memory": SERVER, ...config.mcp }}
    config.command = {{ ...COMMANDS, ...config.command }}
    const skills = fileURLToPath(new URL("./skills", import.meta.url))
    config.skills = {{ ...config.skills, paths: [...(config.skills?.paths ?? []), skills] }}
  }},
}})
"""


def files(contents: PackageContents) -> dict[str, str]:
    """A package of npm's form; its commands are `/session-memory-NAME`."""
    commands = {f"{NAME}-{each.name}": command(each) for each in contents.commands}
    server = json.dumps(contents.server, indent=2)
    index = INDEX.format(server=server, commands=json.dumps(commands, indent=2))
    manifest = contents.manifest(license="MIT", type="module", main="index.js")
    return {"package.json": manifest, "index.js": index, "hooks.js": contents.plugin} | {
        SKILL: contents.skill
    }


def command(entry: PackageCommand) -> dict[str, Any]:
    """A command as its configuration has it."""
    text = f"!`{entry.program}`" if entry.text is None else entry.text_for("$ARGUMENTS")
    return {"description": entry.description, "template": text}


PACKAGE = Package(files=files, install=("opencode plugin {path} --global",))
