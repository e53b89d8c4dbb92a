"""The extension for Gemini CLI: hooks, server, skill and commands."""

from __future__ import annotations

import json

from session_memory.adapters.shared_wiring.package import (
    HOOKS,
    NAME,
    SKILL,
    Package,
    PackageCommand,
    PackageContents,
    hooks_file,
    servers,
)


def files(contents: PackageContents) -> dict[str, str]:
    """The extension; its commands are `/session-memory:NAME`."""
    commands = {f"commands/{NAME}/{each.name}.toml": command(each) for each in contents.commands}
    return {
        "gemini-extension.json": contents.manifest(**servers(contents)),
        HOOKS: hooks_file(contents),
        SKILL: contents.skill,
        **commands,
    }


def command(entry: PackageCommand) -> str:
    """A command in TOML, whose basic strings are written like JSON's."""
    text = f"!{{{entry.program}}}" if entry.text is None else entry.text_for("{{args}}")
    fields = {"description": entry.description, "prompt": text}
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())


PACKAGE = Package(files=files, install=("gemini extensions install {path}",))
