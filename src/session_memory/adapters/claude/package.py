"""The plug-in for Claude Code: hooks, server, skill and commands."""

from __future__ import annotations

from session_memory.adapters.shared_wiring.package import (
    HOOKS,
    MCP,
    NAME,
    SKILL,
    Package,
    PackageCommand,
    PackageContents,
    as_json,
    hooks_file,
    listing,
    servers,
    with_head,
)


def files(contents: PackageContents) -> dict[str, str]:
    """The plug-in; its commands are `/session-memory:NAME`."""
    commands = {f"commands/{each.name}.md": command(each) for each in contents.commands}
    return {
        ".claude-plugin/plugin.json": contents.manifest(license="MIT"),
        HOOKS: hooks_file(contents),
        MCP: as_json(servers(contents)),
        SKILL: contents.skill,
        **commands,
    }


def command(entry: PackageCommand) -> str:
    """A command in Markdown; what stands behind `!` is run before the model sees it."""
    fields = {"description": entry.description}
    if entry.argument:
        fields["argument_hint"] = f"[{entry.argument}]"
    if entry.text is None:
        return with_head(f"!`{entry.program}`", **fields, allowed_tools=f"Bash({entry.program})")
    return with_head(entry.text_for("$ARGUMENTS"), **fields)


PACKAGE = Package(
    files=files,
    install=(
        "claude plugin marketplace add {market}",
        f"claude plugin install {NAME}@{NAME}",
    ),
    market=".claude-plugin/marketplace.json",
    listing=listing,
)
