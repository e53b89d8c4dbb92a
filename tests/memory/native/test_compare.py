"""Which lines of agents' own files contradict each other."""

from __future__ import annotations

import pytest
from tests.memory.native.test_gone import said

from session_memory.memory.native.compare import contradictions
from session_memory.memory.native.statements import statements_of


@pytest.mark.rows("NAT-03")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- Use pnpm", "- Always use npm."),
        ("- Use uv, not pip", "- Prefer `poetry` for dependencies."),
        ("- Never commit directly to main", "- Commit directly to main"),
        ("- Avoid using default exports", "- Use default exports."),
        ("- Maximum line length: 88", "- Maximum line length: 100"),
        ("- Use tabs for indentation", "- Use spaces for indentation"),
    ],
)
def test_what_cannot_both_be_followed_contradicts(one: str, other: str) -> None:
    files = said(one), said(other, "AGENTS.md", "codex")
    told = [statement for file in files for statement in statements_of(file)]
    (pair,) = contradictions(told)
    assert {pair.first.file.name, pair.second.file.name} == {"CLAUDE.md", "AGENTS.md"}


@pytest.mark.rows("NAT-03")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- Use pnpm", "- Use npm in `docs/`"),
        ("- Use pnpm", "- Never use npm"),
        ("## Frontend\n- Use pnpm", "## Backend\n- Use npm"),
        ("- Never commit to main", "- Commit to main only after review"),
        ("- Use npm ci", "- Use npm"),
        ("- Node 18", "- Port 3000"),
        ("- Step 1: run the tests", "- Step 2: run the tests"),
        ("- Maximum line length: 88 for tests", "- Maximum line length: 100 for code"),
        ("- Don't use any", "- Use unknown"),
        ("```sh\nuse npm\n```", "- Use pnpm"),
        ("- Write tests", "- Do not write comments"),
    ],
)
def test_what_may_both_hold_does_not(one: str, other: str) -> None:
    files = said(one), said(other, "AGENTS.md")
    assert contradictions([line for file in files for line in statements_of(file)]) == []
