"""Which items a pack takes."""

from __future__ import annotations

import pytest
from tests.recall.store_builder import HOUR, START, Memory, Word, observed, plain
from tests.recall.test_context_pack import drowned, pack

from session_memory.core.schema import ObservationType
from session_memory.recall.pack_selection import MAX_LISTED, PROTECTED, collapse, select


@pytest.mark.rows("PCK-07")
def test_the_same_words_of_another_type_or_status_stay_apart(memory: Memory) -> None:
    memory.session("a", ("completed_item", "write the docs"))
    memory.session("b", ("completed_item", "write the docs"), at=1)
    memory.session("c", ("pending_item", "write the docs"), at=HOUR)
    state = plain(pack(memory))["operational_state"]
    assert [(one["type"], one["status"]) for one in state["pending_items"]] == [
        ("pending_item", "active")
    ]
    (done,) = state["completed_items"]
    assert (done["type"], done["status"], done["duplicate_count"]) == ("completed_item", "done", 2)
    kept = collapse(
        [
            observed(1, "decision", "Use apsw", START),
            observed(2, "decision", "use  APSW", START + 1),
            observed(3, "decision", "use apsw", START + 2, "promoted"),
        ]
    )
    assert [(one.observation.status, one.count) for one in kept] == [("promoted", 1), ("active", 2)]


@pytest.mark.rows("PCK-09")
def test_a_further_line_pushes_none_out_and_six_are_the_most(memory: Memory) -> None:
    drowned(memory, 9)
    found = pack(memory)
    assert "Choice 299 of 9" in found.text and found.text.count("- Choice") == MAX_LISTED
    memory.session("wordy", ("pending_item", "buy tiles " * 9), at=10 * HOUR)
    short = pack(memory, max_chars=400)
    assert "- buy tiles" in short.text and 1 <= short.text.count("- Choice") < MAX_LISTED
    assert len(short.text) <= 400


@pytest.mark.rows("PCK-10")
@pytest.mark.parametrize("kind", PROTECTED)
def test_a_protected_item_survives_every_cap(memory: Memory, kind: ObservationType) -> None:
    words: list[Word] = [(kind, "the protected thing")]
    words += [("decision", f"Choice number {n}") for n in range(20)]
    large = memory.session("large", *words)
    memory.session("other", ("decision", "Something else"), at=HOUR)
    found = pack(memory)
    assert found.stats.dominance_guard.sessions_capped[0].session_id == large
    assert found.stats.dominance_guard.protected_items_retained == 1
    state = str(plain(found)["operational_state"])
    assert "the protected thing" in state
    if kind != "completion_claim":  # a claim is judged, not shown as a line of its own
        assert "the protected thing" in found.text


def test_only_several_sessions_are_guarded_from_each_other() -> None:
    many = [observed(1, "decision", f"Choice {n}", START + n) for n in range(30)]
    assert len(select(many, limit=160, guard=False).selected) == 30
    assert len(select(many, limit=10, guard=False).selected) == 10
