"""One consolidator at a time for each place, fenced by a lease that is renewed."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from tests.memory.workbench import Bench

from session_memory.core.jobs import LEASE_MS
from session_memory.errors import Refused
from session_memory.memory.consolidate import LOCK_LEASE_SECONDS, consolidate, manual_owner
from session_memory.store.memories import Claim, Held, Memories
from session_memory.testing.old_stores import back_to_version_1

HERE = "/work/shop"
T = 1_000_000_000


def acquire(
    memories: Memories, root: str, owner: str, now_ms: int, lease_s: int = LOCK_LEASE_SECONDS
) -> bool:
    return memories.acquire(root, owner, now_ms, lease_s * 1000)


@pytest.mark.rows("LCK-02")
def test_a_lease_lasts_ten_minutes_to_the_second(bench: Bench) -> None:
    assert LOCK_LEASE_SECONDS == 600
    with bench.swept().space.store() as store:
        assert acquire(store.memories, HERE, "A", T)
        assert not acquire(store.memories, HERE, "B", T + 599_000)
        assert acquire(store.memories, HERE, "B", T + 600_000)
        assert store.memories.held() == [Held(HERE, "B", T + 600_000)]


@pytest.mark.rows("LCK-03")
def test_a_lock_is_taken_if_free_and_renewed_by_its_owner_only(bench: Bench) -> None:
    with bench.swept().space.store() as store:
        assert acquire(store.memories, HERE, "A", T)
        assert not acquire(store.memories, HERE, "B", T + 1)
        assert acquire(store.memories, HERE, "A", T + 2)
        assert store.memories.held() == [Held(HERE, "A", T + 2)]
        assert acquire(store.memories, "/work/other", "B", T)  # another place is nobody's


@pytest.mark.rows("LCK-04")
@pytest.mark.parametrize("lease", [0, -5])
def test_without_a_lease_another_owner_takes_over_at_once(bench: Bench, lease: int) -> None:
    with bench.swept().space.store() as store:
        assert acquire(store.memories, HERE, "A", T)
        assert acquire(store.memories, HERE, "B", T, lease)
        assert store.memories.held()[0].owner == "B"


@pytest.mark.rows("LCK-05")
def test_only_the_owner_releases(bench: Bench) -> None:
    with bench.swept().space.store() as store:
        acquire(store.memories, HERE, "A", T)
        assert not store.memories.release(HERE, "B")
        assert not store.memories.release("/work/other", "A")
        assert not acquire(store.memories, HERE, "B", T)
        assert store.memories.release(HERE, "A")
        assert acquire(store.memories, HERE, "B", T)


@pytest.mark.rows("LCK-06")
def test_a_late_release_leaves_the_new_owner_alone(bench: Bench) -> None:
    with bench.swept().space.store() as store:
        acquire(store.memories, HERE, "A", T)
        acquire(store.memories, HERE, "B", T + 600_000)
        assert not store.memories.release(HERE, "A")
        assert store.memories.held() == [Held(HERE, "B", T + 600_000)]


def test_a_lost_lock_cannot_be_renewed(bench: Bench) -> None:
    with bench.swept().space.store() as store:
        acquire(store.memories, HERE, "A", T)
        assert store.memories.renew(HERE, "A", T + 500_000)
        assert not acquire(store.memories, HERE, "B", T + 700_000)
        assert acquire(store.memories, HERE, "B", T + 1_100_000)
        assert not store.memories.renew(HERE, "A", T + 1_200_000)


@pytest.mark.rows("EXT-49")
def test_a_lock_through_a_link_blocks_the_real_place(bench: Bench, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    with bench.swept().space.store() as store:
        assert acquire(store.memories, str(real), "A", bench.space.now)
        claim = Claim(str(tmp_path / "link"), "B")
        (result,) = consolidate(store, bench.context(), [claim])
        assert (result.root, result.status) == (str(real), "locked")


@pytest.mark.rows("LCK-01")
def test_a_swap_by_a_former_owner_is_refused(bench: Bench) -> None:
    with bench.swept().space.store() as store:
        acquire(store.memories, HERE, "A", T)
        acquire(store.memories, HERE, "B", T + 600_000)
        with pytest.raises(Refused), store.memories.swapping(Claim(HERE, "A")):
            raise AssertionError("a former owner got into the swap")
        with store.memories.swapping(Claim(HERE, "B")):
            pass


@pytest.mark.rows("LCK-01")
def test_a_swap_needs_the_job_too_and_ends_it(bench: Bench) -> None:
    with bench.swept().space.store() as store:
        store.jobs.enqueue("memory.consolidate", HERE, 1, T)
        job = store.jobs.claim(("memory.consolidate",), "one", T)
        assert job is not None
        acquire(store.memories, HERE, "A", T)
        later = T + LEASE_MS + 1
        again = store.jobs.claim(("memory.consolidate",), "two", later)
        assert again is not None  # its first worker fell silent
        with pytest.raises(Refused), store.memories.swapping(Claim(HERE, "A", job, "one")):
            raise AssertionError("a worker that lost its job got into the swap")
        with store.memories.swapping(Claim(HERE, "A", again, "two")):
            pass
        assert store.jobs.all() == []


def test_work_asked_for_during_a_swap_stays(bench: Bench) -> None:
    with bench.swept().space.store() as store:
        store.jobs.enqueue("memory.consolidate", HERE, 1, T)
        job = store.jobs.claim(("memory.consolidate",), "one", T)
        acquire(store.memories, HERE, "A", T)
        store.jobs.enqueue("memory.consolidate", HERE, 2, T)
        with store.memories.swapping(Claim(HERE, "A", job, "one")):
            pass
        (left,) = store.jobs.all()
        assert (left.success, left.input, left.owner) == (1, 2, None)


def test_a_run_by_hand_owns_by_its_token() -> None:
    assert manual_owner("abc") == "manual:abc"


@pytest.mark.rows("LCK-01")
def test_the_table_has_its_columns_its_key_and_an_index_by_age(bench: Bench) -> None:
    bench.swept()
    back_to_version_1(bench.data)
    with bench.space.store():
        pass  # opening it brings it up to date
    table = "memory_consolidation_locks"
    connection = apsw.Connection(str(bench.data / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        assert [(name, kind, key) for _, name, kind, _, _, key in columns] == [
            ("cwd", "TEXT", 1),
            ("working_thread_id", "TEXT", 0),
            ("updated_at", "INTEGER", 0),
        ]
        assert all(required for _, _, _, required, _, key in columns if not key)
        made = [row for row in connection.execute(f"PRAGMA index_list({table})") if row[3] == "c"]
        (index,) = [row[1] for row in made]
        info = connection.execute(f"PRAGMA index_xinfo({index})").fetchall()
        assert [(row[2], row[3]) for row in info if row[5]] == [("updated_at", 1)]  # 1: descending
    finally:
        connection.close()


@pytest.mark.rows("LCK-01")
def test_an_old_store_gets_the_table_and_keeps_its_sessions(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    with bench.space.store() as store:
        before = list(store.dump())
    back_to_version_1(bench.data)
    with bench.space.store() as store:  # opening it brings it up to date
        assert [one["session"] for one in store.dump()] == [one["session"] for one in before]
        assert [one["events"] for one in store.dump()] == [one["events"] for one in before]
        assert acquire(store.memories, HERE, "A", T)
        assert store.find_session(log.session_id).external_id == log.session_id
        assert store.memories.held() == [Held(HERE, "A", T)]
