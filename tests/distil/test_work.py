"""Which work a session did, and whether it was verified afterwards."""

from __future__ import annotations

import msgspec
from tests.distil.test_outcome import EDITED, check, label


def test_notes_written_after_the_last_check_do_not_make_it_stale() -> None:
    noted = msgspec.structs.replace(EDITED, last_edit=13)
    assert label(check(11, True), work=noted) == ("success", "high", "verified")


def test_what_was_shipped_after_a_failing_check_counts_as_done() -> None:
    shipped = msgspec.structs.replace(EDITED, last_shipped=12)
    assert label(check(11, False), work=shipped) == ("success", "low", "inferred")
