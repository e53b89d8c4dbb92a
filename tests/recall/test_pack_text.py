"""What every pack says."""

from __future__ import annotations

import pytest
from tests.recall.store_builder import Memory
from tests.recall.test_context_pack import pack, two_sessions

from session_memory.recall.pack_text import ADVICE, ADVICE_SHORT


@pytest.mark.rows("PCK-17")
def test_every_pack_says_that_current_instructions_win(memory: Memory) -> None:
    one, _ = two_sessions(memory)
    for session in (None, one):
        assert ADVICE in pack(memory, session).text
        assert ADVICE in pack(memory, session, max_chars=601).text
        short = pack(memory, session, max_chars=600).text
        assert ADVICE_SHORT in short
        assert ADVICE not in short
