"""What docs/mcp.md says is what the programs say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.bench.pack_tokens import table

from session_memory.mcp.tools import MODES, PROFILES, TOOLS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")


@pytest.mark.rows("DIE-03")
def test_the_table_of_sizes_is_what_its_script_prints_and_promises_nothing() -> None:
    start = PAGE.index("## How much a pack holds")
    section = PAGE[start : PAGE.index("\n## ", start + 5)]
    assert table() in section
    for word in ("tests/bench/pack_tokens.py", "17 Nov 2026", "invented", "divided by four"):
        assert word in section
    assert "not say what anybody will save" in section.replace("\n", " ")
    promise = re.compile(
        r"\b(sav(e|es|ing|ings)\b[^.|]{0,60}\btokens?|tokens?\b[^.|]{0,60}\bsav(e|ed|ing|ings)\b"
        r"|\d+ ?% (fewer|less) tokens)",
        re.IGNORECASE,
    )
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    said = [
        f"{page.name}: {found.group()}"
        for page in pages
        for found in promise.finditer(page.read_text(encoding="utf-8"))
    ]
    assert said == []


def test_the_page_names_every_tool_mode_and_profile() -> None:
    for tool in TOOLS:
        assert PAGE.count(f"| `{tool.name}` |") >= 2
    for word in (*MODES, *PROFILES):
        assert re.search(rf"\b{word}\b", PAGE)
