"""A pack says what it counted."""

from __future__ import annotations

import math

import pytest
from tests.recall.store_builder import Memory
from tests.recall.test_context_pack import pack, two_sessions


@pytest.mark.rows("PCK-18")
def test_stats_count_what_is_there(memory: Memory) -> None:
    one, _ = two_sessions(memory)
    for session in (None, one):
        found = pack(memory, session)
        stats = found.stats
        said = ["Mend the roof", "buy tiles"]
        said += [] if session else ["Paint the door", "buy paint"]
        assert stats.source_char_count == sum(len(text) for text in said)
        assert stats.pack_char_count == len(found.text)
        assert stats.approx_pack_tokens == math.ceil(len(found.text) / 4)
        assert stats.approx_source_tokens == math.ceil(stats.source_char_count / 4)
        assert stats.compression_ratio == round(len(found.text) / stats.source_char_count, 3)
        assert stats.budget == "normal"
        assert stats.budget_reason == "fits_open_work_profile"
        assert stats.section_counts["pending"] == len(said) // 2
        assert stats.selection_pool.candidate_pool_limit == (160 if session else 480)
        assert stats.selection_pool.candidate_count_after_policy == len(said)
        assert stats.selection_pool.final_observation_count == len(said)


def test_what_lies_too_far_back_is_counted(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = two_sessions(memory)
    monkeypatch.setattr("session_memory.recall.material.window", lambda scope: scope.ids[:1])
    found = pack(memory)
    assert found.stats.older_sessions_not_read == 1
    assert found.stats.source_session_count == 2
    assert "buy tiles" not in found.text
    assert "buy tiles" in pack(memory, one).text
