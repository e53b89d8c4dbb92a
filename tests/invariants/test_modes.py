"""Nobody else may read what is written, not even for a moment, whatever the umask is."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from tests.invariants.flows import FLOWS, start_of
from tests.invariants.sizes import SIZES, record

from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are a matter of POSIX")


class Watcher(threading.Thread):
    """Looks at every file below a directory, over and over, while somebody works there."""

    def __init__(self, root: Path) -> None:
        super().__init__(daemon=True)
        self._root = root
        self._enough = threading.Event()
        self.seen: dict[str, int] = {}
        self.rounds = 0

    def run(self) -> None:
        while not self._enough.is_set():
            self.look(str(self._root))
            self.rounds += 1

    def look(self, directory: str) -> None:
        try:
            with os.scandir(directory) as listing:
                entries = [(e.path, e.stat(follow_symlinks=False)) for e in listing]
        except OSError:  # gone again meanwhile
            return
        for path, info in entries:
            self.seen[path] = self.seen.get(path, 0) | stat.S_IMODE(info.st_mode)
            if stat.S_ISDIR(info.st_mode):
                self.look(path)

    def stop(self) -> None:
        self._enough.set()
        self.join()
        self.look(str(self._root))


@pytest.mark.parametrize("name", FLOWS)
def test_every_file_is_private_at_every_moment_of_any_work(tmp_path: Path, name: str) -> None:
    flow = FLOWS[name]
    before = os.umask(0)
    try:
        space = Workspace(tmp_path, store="private/store")
        flow.prepare(space)
        watched = tmp_path / "private"
        watched.mkdir(mode=0o700, exist_ok=True)
        start_of(flow, space)
        watcher = Watcher(watched)
        watcher.start()
        flow.work(space)
        flow.finish(space)
        with space.store() as store:
            store.backup(str(watched / "backup"))
        watcher.stop()
    finally:
        os.umask(before)
    too_open = {path: oct(mode) for path, mode in watcher.seen.items() if mode & 0o077}
    record(
        f"modes, {name}",
        files=len(watcher.seen),
        looks=watcher.rounds,
        problems=len(too_open),
        seed=SIZES.seed,
    )
    assert any(path.endswith(".seg") for path in watcher.seen)
    assert too_open == {}
