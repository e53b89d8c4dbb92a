"""A distribution that is cut off leaves each file old or new."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.distribute.scenes import Hand, lesson, repository, tree
from tests.distribute.test_plan import ALL

from session_memory import audit, paths
from session_memory.distribute import files
from session_memory.distribute.ledger import Ledger, write_ledger
from session_memory.testing.faults import Counter, CountingOs, Stopped


@pytest.mark.parametrize("then", ["again", "undo"])
@pytest.mark.parametrize("way", ["full", "killed"])
def test_cut_off_anywhere_each_file_is_old_or_new_and_the_next_run_ends_well(
    tmp_path: Path, way: str, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = (lesson("p1"), lesson("p2", "long\ntext"))
    fine = repository(tmp_path / "fine", "shop", CLAUDE="mine")
    (tmp_path / "fine" / "data").mkdir()
    write_ledger(tmp_path / "fine" / "data", Ledger(key="00"))
    Hand(tmp_path / "fine" / "data", fine, settings=ALL).give(*given)
    wanted = {path.name: path.read_bytes() for path in fine.rglob("*.md")}
    for nth in range(1, 60):
        folder = tmp_path / str(nth)
        shop = repository(folder, "shop", CLAUDE="mine")
        before = tree(shop)
        hand = Hand(folder / "data", shop, settings=ALL)
        write_ledger(folder / "data", Ledger(key="00"))
        counter = Counter(nth, ("write", "fsync", "replace"), stays=way == "killed")
        faulty = _Dying(counter) if way == "killed" else CountingOs(counter, errno.ENOSPC)
        with monkeypatch.context() as patch:
            for module in (files, paths, audit):
                patch.setattr(module, "os", faulty)
            try:
                hand.give(*given)
            except (Stopped, OSError) as error:  # our own ledger could not be written either
                assert isinstance(error, Stopped) == (way == "killed")
        for path in shop.rglob("*.md"):
            assert path.read_bytes() in (wanted[path.name], b"mine")
        if then == "again":
            hand.give(*given)
            assert {path.name: path.read_bytes() for path in shop.rglob("*.md")} == wanted
        hand.undo()
        assert tree(shop) == before
        if not counter.failed:
            break
    else:
        pytest.fail("no run came to its end")


class _Dying(CountingOs):
    """The process dies at an operation: nothing after it is done, no clean-up either."""

    def __init__(self, counter: Counter) -> None:
        super().__init__(counter, 0)

    def __getattr__(self, name: str) -> object:
        if self._counter.failed and name in ("unlink", "replace", "write"):
            raise Stopped(name)
        real = getattr(os, name)
        if name not in self._counter.operations:
            return real

        def call(*arguments: object, **options: object) -> object:
            if self._counter.fails(name):
                raise Stopped(name)
            return real(*arguments, **options)

        return call
