"""The plug-in for Codex: hooks that its user approves, server, and skills in place of prompts."""

from __future__ import annotations

from session_memory.adapters.shared_wiring.package import (
    HOOKS,
    MCP,
    NAME,
    Package,
    PackageContents,
    as_json,
    hooks_file,
    servers,
)


def files(contents: PackageContents) -> dict[str, str]:
    """The plug-in; Codex shows no MCP prompts, so each is a skill, `$session-memory-NAME`."""
    manifest = contents.manifest(
        license="MIT", skills="./skills/", hooks=f"./{HOOKS}", mcpServers=f"./{MCP}"
    )
    return {
        ".codex-plugin/plugin.json": manifest,
        HOOKS: hooks_file(contents),
        MCP: as_json(servers(contents)),
        **contents.skills(),
    }


def listing(contents: PackageContents, path: str) -> str:
    """A marketplace with this plug-in."""
    plugin = {
        "name": NAME,
        "source": {"source": "local", "path": path},
        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
        "category": "Productivity",
    }
    return as_json({"name": NAME, "interface": {"displayName": NAME}, "plugins": [plugin]})


PACKAGE = Package(
    files=files,
    install=("codex plugin marketplace add {market}", f"codex plugin add {NAME}@{NAME}"),
    market=".agents/plugins/marketplace.json",
    listing=listing,
)
