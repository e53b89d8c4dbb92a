"""Which sessions are read next."""

from __future__ import annotations

import pytest

from session_memory.core.schema import Session, SourceKind
from session_memory.memory.selection import due_sessions, newest_eligible
from session_memory.settings import Memory
from session_memory.settings.load import load


def session(number: int, at: int, kind: SourceKind = "interactive", **more: str) -> Session:
    return Session(number, "codex", f"t{number}", source_kind=kind, ended_at=at, **more)


def numbers(found: list[Session]) -> list[int]:
    return [one.id for one in found]


@pytest.mark.rows("EXT-03")
def test_only_the_two_hundred_newest_sessions_of_people_are_looked_at() -> None:
    many = [session(number, number) for number in range(1, 251)]
    others = [
        session(900, 9_000, "exec"),
        session(901, 9_001, "subagent"),
        session(902, 9_002, "internal"),
        session(903, 9_003, parent_external_id="t1"),
        session(904, 9_004),
    ]
    files = {
        904: ["/home/u/.codex/archived_sessions/rollout-1.jsonl"],
        250: ["/logs/rollout.jsonl"],
    }
    found = newest_eligible([*many, *others], files)
    assert numbers(found) == list(range(250, 50, -1))
    assert numbers(newest_eligible([*many, *others], files, None)) == list(
        range(250, 0, -1)
    )  # by hand


@pytest.mark.rows("EXT-03")
def test_a_session_that_is_also_outside_the_archive_is_not_archived() -> None:
    files = {1: ["/c/archived_sessions/r.jsonl", "/c/sessions/2026/r.jsonl"]}
    assert numbers(newest_eligible([session(1, 1)], files)) == [1]


@pytest.mark.rows("EXT-05")
def test_a_session_is_due_when_nothing_or_something_older_is_remembered() -> None:
    found = [session(1, 400), session(2, 400), session(3, 300), session(4, 500), session(5, 100)]
    known = {1: 450, 2: 400, 3: 299}
    assert numbers(due_sessions(found, known, {"codex:t4"}, 8)) == [3, 5]


@pytest.mark.rows("EXT-05")
def test_the_same_id_of_another_agent_is_not_the_session_at_work() -> None:
    assert numbers(due_sessions([session(4, 500)], {}, {"claude:t4"}, 8)) == [4]


@pytest.mark.rows("EXT-06")
def test_order_is_kept_and_the_number_is_capped() -> None:
    stale, missing = session(1, 300), session(2, 200)
    assert numbers(due_sessions([stale, missing], {1: 299}, (), 8)) == [1, 2]
    twenty = [session(number, 1_000 - number) for number in range(20)]
    assert numbers(due_sessions(twenty, {}, (), 8)) == list(range(8))
    assert due_sessions(twenty, {}, (), 0) == []


@pytest.mark.rows("EXT-07")
def test_eight_is_the_default(tmp_path: object) -> None:
    assert Memory().max_sessions_per_start == 8
    assert load(None, {}, {}, str(tmp_path)).config.memory.max_sessions_per_start == 8


@pytest.mark.rows("CON-07")
def test_a_consolidators_own_session_never_feeds_a_memory() -> None:
    at_work = f"/home/u/data/memories/{'a1' * 32}/staging-1"
    assert newest_eligible(
        [session(1, 1, cwd=at_work), session(2, 2, cwd="/work/memories/a")], {}
    ) == [session(2, 2, cwd="/work/memories/a")]
