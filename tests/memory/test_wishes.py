"""What the user asked for in several sessions."""

from __future__ import annotations

import pytest
from tests.memory.test_briefing import says, sessions, texts

from session_memory.memory.briefing import briefing


@pytest.mark.rows("BRF-04")
def test_what_the_user_asked_for_in_two_sessions_is_told_however_old() -> None:
    first, again = (says("don't run visual tests", day=day) for day in (1, 2))
    lines = briefing(sessions(*[{}] * 30, {"rules": (again,)}, {"rules": (first,)}))
    (told,) = texts(lines, "rule")
    assert '"don\'t run visual tests"; said in 2 sessions, last 1970-01-03' in told
