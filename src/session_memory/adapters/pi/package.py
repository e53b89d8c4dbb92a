"""The package for pi: an extension that calls the hook, prompts and a skill; it has no MCP."""

from __future__ import annotations

from session_memory.adapters.shared_wiring.package import (
    NAME,
    SKILL,
    Package,
    PackageContents,
    with_head,
)


def files(contents: PackageContents) -> dict[str, str]:
    """A package of npm's form; its prompts are `/session-memory-NAME`."""
    parts = {"extensions": ["./extensions"], "skills": ["./skills"], "prompts": ["./prompts"]}
    prompts = {
        f"prompts/{NAME}-{entry.name}.md": with_head(
            entry.text_for("$@"), description=entry.description
        )
        for entry in contents.commands
    }
    return {
        "package.json": contents.manifest(license="MIT", keywords=["pi-package"], pi=parts),
        f"extensions/{NAME}.ts": contents.plugin,
        SKILL: contents.skill,
        **prompts,
    }


PACKAGE = Package(files=files, install=("pi install {path}",))
