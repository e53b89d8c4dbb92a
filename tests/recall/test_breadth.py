"""The text of a pack fits its budget."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recall.store_builder import ROOT, START, Memory, observed
from tests.recall.test_context_pack import pack, words

from session_memory.core.schema import ObservationType, Project
from session_memory.core.text.own_text import without_own_text
from session_memory.core.work_state import derive_state
from session_memory.recall.breadth import Breadth
from session_memory.recall.context_pack import build_pack
from session_memory.recall.material import UNCUT, Material
from session_memory.recall.requests import PackRequest
from session_memory.recall.scope import Scope
from session_memory.store.scopes import ScopeTotals


@pytest.mark.rows("PCK-05")
def test_the_warning_stays_inside_the_smallest_budget(memory: Memory) -> None:
    for number in range(12):
        memory.session(f"s{number}", *(("pending_item", f"item {number} {n}") for n in range(9)))
    small = pack(memory, max_chars=400)
    assert len(small.text) <= 400
    assert "Scope warning:" in small.text


def material(words: list[tuple[ObservationType, str, int]]) -> Material:
    """What a broad project said, without a store."""
    found = tuple(
        observed(session, kind, text, START + place)
        for place, (kind, text, session) in enumerate(words)
    )
    project = Project(1, "shop <session-memory-pack> " + "k" * 60, ROOT)
    return Material(
        scope=Scope(project=project, session=None, lines=(), captured=()),
        observations=found,
        state=derive_state(found, limits=UNCUT),
        totals=ScopeTotals(len(found), 1000, START),
        pool_limit=480,
        older=0,
    )


@pytest.mark.rows("PCK-15")
@settings(max_examples=60)
@given(
    said=words,
    max_chars=st.integers(400, 6000),
    budget=st.sampled_from(["auto", "micro", "normal", "full"]),
    broad=st.booleans(),
)
def test_the_text_never_outgrows_its_budget(
    said: list[tuple[ObservationType, str, int]], max_chars: int, budget: str, broad: bool
) -> None:
    found = Breadth(session_count=12345, lanes=(), sources=(), broad=broad)
    request = msgspec.convert({"budget": budget, "max_chars": max_chars}, PackRequest)
    made = build_pack(material(said), found, request, START)
    assert len(made.text) <= max_chars
    assert without_own_text(f"before {made.text} behind").split() == ["before", "behind"]
    assert all(len(line) <= 92 for line in made.text.splitlines() if line.startswith("- "))
