"""The plug-in for GitHub Copilot CLI: hooks, server and skills."""

from __future__ import annotations

from session_memory.adapters.shared_wiring.package import (
    MCP,
    Package,
    PackageContents,
    as_json,
    hooks_file,
    listing,
    servers,
)


def files(contents: PackageContents) -> dict[str, str]:
    """The plug-in; each prompt is a skill."""
    return {
        "plugin.json": contents.manifest(skills="skills/", hooks="hooks.json", mcpServers=MCP),
        "hooks.json": hooks_file(contents, version=1),
        MCP: as_json(servers(contents)),
        **contents.skills(),
    }


PACKAGE = Package(
    files=files,
    install=("copilot plugin install {path}",),
    market=".github/plugin/marketplace.json",
    listing=listing,
)
