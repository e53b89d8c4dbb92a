"""The copy of a hub's newest sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.team.test_remote_store import MakeLaptop, copy_of, two_people

from session_memory.store import open_store
from session_memory.store.port import SessionQuery
from session_memory.team import mirror


@pytest.mark.rows("TEA-17")
def test_a_copy_is_of_the_newest_sessions_alone(
    laptop: MakeLaptop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = two_people(laptop, "sessions")
    ada.worked(ada.log(9, "the newest of all")).do("team", "push")
    monkeypatch.setattr(mirror, "MOST_EVENTS", 1)
    place = tmp_path / "copies"
    place.mkdir()
    copy = copy_of(bob, place)
    assert copy.renew()
    with open_store(str(copy.data), bob.now, read_only=True) as store:
        (kept,) = store.sessions(SessionQuery(limit=9))
    assert kept.title == "ada: the newest of all"
