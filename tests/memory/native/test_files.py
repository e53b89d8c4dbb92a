"""Agents' own files are found with care."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.memory.native.test_gone import SECRET, places, read, write

from session_memory.adapters.registry import built_in
from session_memory.memory.native.files import Places, read_files

__all__ = ["places"]


@pytest.mark.rows("NAT-01")
def test_every_agents_files_are_found_with_who_reads_them_and_when(places: Places) -> None:
    root, home = Path(places.root), Path(places.home)
    slug = "".join(c if c.isalnum() else "-" for c in os.path.realpath(root))
    write(
        root,
        **{
            "CLAUDE.md": "Use ruff.\n@docs/style.md\n@docs/none.md\n",
            "docs/style.md": "Lines have 100 characters.\n",
            ".claude/rules/api.md": "---\npaths: src/api/**\n---\nReturn JSON.\n",
            "AGENTS.md": "Use ruff.\n",
            "AGENTS.override.md": "Use black.\n",
            "GEMINI.md": "Use ruff.\n",
            ".github/copilot-instructions.md": "Use ruff.\n",
            ".cursor/rules/a.mdc": "---\nalwaysApply: true\n---\nUse ruff.\n",
            ".cursor/rules/b.mdc": "---\nglobs: *.ts\n---\nUse eslint.\n",
        },
    )
    write(
        home,
        **{
            ".claude/CLAUDE.md": "Answer in English.\n",
            f".claude/projects/{slug}/memory/MEMORY.md": "- see deploy.md\n",
            f".claude/projects/{slug}/memory/deploy.md": "how to deploy\n",
            ".claude/projects/-other/memory/MEMORY.md": "of another project\n",
            ".codex/memories/memory_summary.md": "short\n",
            ".codex/memories/raw.md": "long\n",
            ".gemini/GEMINI.md": "## Gemini Added Memories\n- likes tea\n",
        },
    )
    files = read(places)
    memory = f"~/.claude/projects/{slug}/memory"
    assert {name for name, file in files.items() if not file.always} == {
        ".claude/rules/api.md",
        ".cursor/rules/b.mdc",
        f"{memory}/deploy.md",
        "~/.codex/memories/raw.md",
    }
    assert files["docs/style.md"].imported_by == "CLAUDE.md"
    assert set(files["CLAUDE.md"].agents) == {"claude", "copilot"}
    assert "codex" in files["AGENTS.override.md"].agents
    assert "codex" not in files["AGENTS.md"].agents
    assert files["~/.gemini/GEMINI.md"].scope == "user" and f"{memory}/MEMORY.md" in files
    assert not any("-other" in name for name in files)


@pytest.mark.rows("NAT-02")
def test_a_hostile_repository_leads_nowhere(places: Places, tmp_path: Path) -> None:
    root = Path(places.root)
    write(tmp_path, **{"private.md": "mine", "shop/.env": f"KEY={SECRET}"})
    write(
        root,
        **{
            "CLAUDE.md": f"@../private.md\n@.env\n@CLAUDE.md\n`@code.md`\nkey {SECRET}\n",
            "code.md": "no import",
        },
    )
    (root / "GEMINI.md").symlink_to(tmp_path / "private.md")
    os.mkfifo(root / "QWEN.md")
    files, unread = read_files(built_in().values(), places, lambda t: t.replace(SECRET, "[gone]"))
    assert [file.name for file in files] == ["CLAUDE.md"]
    assert SECRET not in files[0].text and not files[0].clean
    assert any("outside" in one.reason for one in unread)
    assert not any("mine" in file.text for file in files)
