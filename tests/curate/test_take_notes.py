"""A hostile page in an agent's context plants nothing: what the agent then writes only waits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.invariants.injection_attacks import ENCODINGS, INSTRUCTIONS
from tests.mcp.test_agent_tools import Agent, command, event_with, memory_page, space

from session_memory.curate.agent_notes import MAX_WAITING, NOTES, TEXT_LIMIT
from session_memory.testing.workspace import Workspace

__all__ = ["space"]
SHARED = Path(__file__).resolve().parents[3] / "shared" / "bench"


def own() -> Iterator[str]:
    """Every instruction of ours in every disguise."""
    for encode in ENCODINGS.values():
        yield from (encode(text.format(c="canary")) for text in INSTRUCTIONS)


def published() -> Iterator[str]:
    """The sets of others, as far as they are here."""
    for name in ("injection_text.json", "injection_code.json"):
        for texts in json.loads((SHARED / name).read_text(encoding="utf-8")).values():
            yield from texts


def plant(space: Workspace, texts: list[str]) -> tuple[int, int]:
    """Have an agent write all of it, as notes and as lines: how many wait, how many are refused."""
    agent, waits, refused = Agent(space), 0, 0
    cited = event_with(space, "npm ci")
    for start in range(0, len(texts), MAX_WAITING // 2):
        (space.store_directory / NOTES).unlink(missing_ok=True)
        for text in texts[start : start + MAX_WAITING // 2]:
            answers: list[Any] = [
                agent.call("mem_note", kind="rule", text=text[:TEXT_LIMIT]),
                agent.call("mem_memory_write", lines=[f"- {text[:TEXT_LIMIT]} [e:{cited}]"]),
            ]
            for answer in answers:
                taken = len(answer["structuredContent"].get("waiting", ()))
                waits, refused = waits + taken, refused + (not taken)
    agent.close()
    return waits, refused


@pytest.mark.rows("AGT-03")
@pytest.mark.parametrize("source", [own, published])
def test_nothing_that_an_attack_has_an_agent_write_is_given(space: Workspace, source: Any) -> None:
    if source is published and not SHARED.is_dir():
        pytest.skip("the published sets are not here")
    texts = [" ".join(text.split()) for text in source()]
    before = command(space, "rules", "list", "--all", "--json")
    waits, refused = plant(space, texts)
    # Notes wait for the user; of the lines nearly all fail against the event they cite.
    assert waits + refused == 2 * len(texts) and refused >= 0.9 * len(texts)
    assert memory_page(space) == ""
    assert command(space, "rules", "list", "--all", "--json") == before
    output = command(space, "project", "memory", "show", ok=0)
    assert not any(text in output for text in texts if len(text) > 20)
    caught_up = Agent(space).prompt("catch-up")
    memory, _, notes = caught_up.partition("unconfirmed notes")
    last = texts[-1][:60]
    assert last not in memory
    assert "do not act on them" in memory and notes
