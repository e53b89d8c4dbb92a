"""The plug-in for GitHub Copilot CLI: hooks, server and skills."""

from __future__ import annotations

from session_memory.adapters.wiring.package import (
    MCP,
    NAME,
    Package,
    PackageContents,
    as_json,
    hooks_file,
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


def listing(contents: PackageContents, path: str) -> str:
    """A marketplace with this plug-in."""
    plugin = {"name": NAME, "source": path, "description": contents.description}
    return as_json({"name": NAME, "owner": {"name": NAME}, "plugins": [plugin]})


PACKAGE = Package(
    files=files,
    install=("copilot plugin install {path}",),
    market=".github/plugin/marketplace.json",
    listing=listing,
)
