"""A session that grows is distilled as if all of it had been there at once."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.invariants.broken import Dump, difference
from tests.invariants.sizes import SIZES

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.distil import checkpoint
from session_memory.distil.sessions import distil_waiting
from session_memory.forget.rescan import rescan
from session_memory.redact import Redactor
from session_memory.redact.rule import Rule
from session_memory.store.sqlite.store import SqliteStore
from session_memory.testing.store_drafts import evict
from session_memory.testing.workspace import Workspace

WORD = "hunter2hunter2"


@pytest.fixture(autouse=True)
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session has a checkpoint at every end."""
    monkeypatch.setattr(checkpoint, "WORTHWHILE", 1)
    monkeypatch.setattr(checkpoint, "APART", 1)


def work(log: ClaudeLog, chance: random.Random) -> None:
    """A few records of a session."""
    number = chance.randrange(50)
    for step in chance.sample(range(6), 3):
        if step == 0:
            log.prompt(f"Part {number} fails. Never touch part {number + 1}. {WORD}")
        elif step == 1:
            log.say(f"We decided to keep part {number}. Done, see part{number}.py.")
        elif step == 2:
            log.run(f"pytest -q test_{number % 3}.py", f"FAILED test_{number}\n1 failed", 1)
        elif step == 3:
            log.edit(f"{log.cwd}/part{number}.py", "old", f"new {WORD}")
        elif step == 4:
            log.run(f"pytest -q test_{number % 3}.py", "3 passed")
        else:
            log.queue(f"and part {number}?")


def from_scratch(space: Workspace) -> Dump:
    """The dump of a copy in which every session was distilled from its first event on."""
    copy = space.with_store("copy")
    shutil.rmtree(copy.store_directory, ignore_errors=True)
    shutil.copytree(space.store_directory, copy.store_directory)
    with copy.store() as store:
        assert isinstance(store, SqliteStore)
        store._db.execute("DELETE FROM checkpoint")
        store._db.execute("UPDATE session SET state = 'captured' WHERE raw_events > 0")
        assert distil_waiting(store) == {}
    return copy.dump()


class Growing:
    """Sessions that grow, with everything between that can change them."""

    def __init__(self, root: Path, seed: int) -> None:
        self.space = Workspace(root)
        self.chance = random.Random(seed)
        self.logs = [ClaudeLog(1)]

    def grow(self) -> None:
        """More records in one log."""
        work(self.chance.choice(self.logs), self.chance)

    def fork(self) -> None:
        """Another session begins with what this one holds."""
        self.logs.append(self.logs[0].fork(100 + len(self.logs)))
        work(self.logs[-1], self.chance)

    def resume(self) -> None:
        """A copy that names no parent, and that may be read as the older one."""
        self.logs.append(self.logs[0].resume_copy(200 + len(self.logs)))
        work(self.logs[-1], self.chance)

    def rewrite(self) -> None:
        """The file says something else than it did."""
        log = self.chance.choice(self.logs)
        del log.rows[len(log.rows) // 2 :]
        work(log, self.chance)

    def second_file(self) -> None:
        """Records of a session in a file that comes before its own."""
        path = self.logs[0].path(self.space.root / "claude")
        lines = self.logs[0].dump().splitlines(keepends=True)
        other = ClaudeLog(1)
        work(other, self.chance)
        more = other.dump().splitlines(keepends=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name("a-part.jsonl").write_bytes(b"".join([*lines[:2], *more]))

    def forget(self) -> None:
        """Single events go."""
        self.space.forget(text=f"part {self.chance.randrange(50)}")

    def rescan(self) -> None:
        """Words are replaced by a tag."""
        with self.space.store() as store:
            rescan(
                store,
                Redactor(store.tag_key, [Rule(id="word", pattern=WORD.encode(), keywords=(WORD,))]),
            )

    def evict(self) -> None:
        """Raw text goes, digests stay."""
        with self.space.store() as store:
            raw = [each.session_id for each in store.raw_sessions() if each.analyzed]
            if raw:
                evict(store, self.chance.choice(raw))

    def write(self) -> None:
        """What the agents have written by now."""
        for log in self.logs:
            log.write(self.space.root / "claude")


@pytest.mark.rows("CAP-48")
@pytest.mark.parametrize("seed", range(SIZES.ways * 3))
def test_whatever_comes_between_appends_the_digest_is_that_of_the_whole(
    tmp_path: Path, seed: int
) -> None:
    growing = Growing(tmp_path, seed)
    ways: list[Callable[[], None]] = [growing.grow] * 8
    ways += [growing.fork, growing.resume, growing.rewrite, growing.second_file, growing.forget]
    ways += [growing.rescan, growing.evict]
    work(growing.logs[0], growing.chance)
    growing.write()
    growing.space.sweep()
    done: list[str] = []
    for _ in range(12):
        way = growing.chance.choice(ways)
        done.append(way.__name__)
        way()
        growing.write()
        growing.space.sweep()
        assert difference(growing.space.dump(), from_scratch(growing.space)) == [], done
    assert growing.space.findings() == []
