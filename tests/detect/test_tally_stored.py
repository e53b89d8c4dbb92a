"""What detection keeps in the store: reached through it, counted in its cap, checked by fsck."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.detect.test_report_evidence import PUSH

from session_memory.core.schema import CommandRun
from session_memory.detect.run import DetectQuery, detect
from session_memory.store import open_store
from session_memory.store.loop import Patterns
from session_memory.store.port import Store
from session_memory.testing.store_drafts import START, Said, capture, distilled, event


@pytest.fixture
def directory(tmp_path: Path) -> str:
    """A store of two sessions that both fail to push."""
    with open_store(str(tmp_path), START, create_missing=True) as store:
        said = [Said(f"s{at}", f"/logs/{at}", (event(at, "text"),)) for at in range(2)]
        run = CommandRun("git push origin", exit=1, is_error=True, at=START, seq=0)
        sessions = capture(store, *said)
        with store.writing() as writer:
            for session in sessions:
                writer.save_digest(session, distilled(commands=(run,)), None)
    return str(tmp_path)


def test_patterns_are_reached_through_the_store(directory: str) -> None:
    with open_store(directory, START) as opened:
        store: Store = opened
        patterns: Patterns = store.patterns
        assert [one.locus for one in detect(patterns, DetectQuery(), START)] == [PUSH]
        assert list(patterns.statuses().values()) == ["candidate"]


def test_signals_and_patterns_count_as_distilled(directory: str) -> None:
    with open_store(directory, START) as store:
        before = store.raw_usage()
        detect(store.patterns, DetectQuery(), START)
        after = store.raw_usage()
    with apsw.Connection(f"{directory}/store.db") as db:
        (bodies,) = db.execute("SELECT sum(octet_length(body)) FROM mined").fetchone() or (0,)
        (words,) = db.execute("SELECT sum(octet_length(locus)) FROM pattern").fetchone() or (0,)
    assert after.raw_bytes == before.raw_bytes
    grown = after.distilled_bytes - before.distilled_bytes
    assert grown > bodies + words > len(PUSH)


DAMAGES: dict[str, Callable[[apsw.Connection], object]] = {
    "mined_without_digest": lambda db: db.execute("DELETE FROM digest"),
    "mined": lambda db: db.execute("UPDATE mined SET body = '[[1,' WHERE session_id = 1"),
    "pattern": lambda db: db.execute('UPDATE pattern SET flavors = \'{"claude": "x"}\''),
}


@pytest.mark.parametrize("check", DAMAGES)
def test_fsck_finds_damaged_signals_and_patterns(directory: str, check: str) -> None:
    with open_store(directory, START) as store:
        detect(store.patterns, DetectQuery(), START)
        assert check not in {one.check for one in store.fsck()}
    with apsw.Connection(f"{directory}/store.db") as db:
        DAMAGES[check](db)
    with open_store(directory, START) as store:
        assert check in {one.check for one in store.fsck()}
