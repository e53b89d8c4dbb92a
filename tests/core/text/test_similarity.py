"""The index of similar texts finds what comparing with each would find."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.core.test_work_state import TOPICS

from session_memory.core.text.similarity import PhraseIndex, phrase, same_thing

PHRASES = st.lists(st.sampled_from([*TOPICS, "the", "not", "add", "fix"]), max_size=7).map(" ".join)


@given(st.lists(PHRASES, max_size=12), PHRASES)
def test_the_index_finds_what_comparing_with_each_would_find(texts: list[str], text: str) -> None:
    known = [phrase(one) for one in texts]
    wanted = phrase(text)
    expected = [n for n, one in enumerate(known) if same_thing(one, wanted)]
    assert PhraseIndex(known).alike(wanted) == expected
    assert all(same_thing(one, wanted) == same_thing(wanted, one) for one in known)
