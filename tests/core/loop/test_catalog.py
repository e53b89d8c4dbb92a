"""Which status of a pattern may follow which."""

from __future__ import annotations

import pytest

from session_memory.core.loop.catalog import TRANSITIONS, PatternVersion, Status, check_transition
from session_memory.errors import UsageError


@pytest.mark.rows("CUR-08")
@pytest.mark.parametrize("before", TRANSITIONS)
@pytest.mark.parametrize("after", TRANSITIONS)
def test_only_the_transitions_of_the_table_are_possible(before: Status, after: Status) -> None:
    if after in TRANSITIONS[before]:
        check_transition(before, after)
    else:
        with pytest.raises(UsageError, match=f"a {before} rule cannot become {after}"):
            check_transition(before, after)


@pytest.mark.rows("CUR-08")
def test_approved_and_distribution_ready_go_together() -> None:
    for status, ready in (("approved", False), ("provisional", True)):
        with pytest.raises(ValueError, match="exactly when"):
            PatternVersion(1, 1, status, "approve", "a", 0, "t", distribution_ready=ready)  # type: ignore[arg-type]
