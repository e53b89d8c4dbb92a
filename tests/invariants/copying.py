"""Backs up and restores in child processes that die at the n-th operation; prints what it found.

    python -m tests.invariants.copying DIRECTORY WORK PLACES SEED

WORK is `backup`, `replace` or `restore`. A program of its own for the reasons of killing.py.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.invariants.flows import write_logs

from session_memory.__main__ import main as session_memory
from session_memory.errors import SessionMemoryError
from session_memory.store import backups, swap
from session_memory.store.maintenance import check_backup
from session_memory.testing.faults import deadly_disk
from session_memory.testing.workspace import Workspace

Dump = list[dict[str, Any]]


class Scene:
    """A store, a backup of it, and the store as it was some time before."""

    def __init__(self, root: Path) -> None:
        self.space = Workspace(root)
        write_logs(self.space.claude, 2)
        self.space.sweep()
        self.older = self.space.dump()
        self.target = root / "copies" / "target"
        self.old_backup = root / "copies-before"
        run(self.space, "store", "backup", str(self.old_backup))
        write_logs(self.space.claude, 4)
        self.space.sweep()
        self.newer = self.space.dump()
        self.store = root / "store-before"
        shutil.copytree(self.space.store_directory, self.store)

    def set(self, *, with_backup: bool) -> None:
        """Put store and target where they were at the start."""
        for path in (self.space.store_directory, self.target.parent):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.store, self.space.store_directory)
        if with_backup:
            shutil.copytree(self.old_backup, self.target)

    def dump_of(self, directory: Path) -> Dump:
        other = self.space.with_store("unused")
        other.store_directory = directory
        return other.dump()


def run(space: Workspace, *arguments: str) -> tuple[int, str]:
    """One command in this process; exit code and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = session_memory(["--config", str(space.write_config()), *arguments])
    return code, said.getvalue()


Work = Callable[[Scene], tuple[int, str]]
WORKS: dict[str, Work] = {
    "backup": lambda scene: run(scene.space, "store", "backup", str(scene.target)),
    "replace": lambda scene: run(scene.space, "store", "backup", "--replace", str(scene.target)),
    "restore": lambda scene: run(scene.space, "store", "restore", "--yes", str(scene.target)),
}


def operations(scene: Scene, name: str) -> int:
    """How many operations the undisturbed work takes."""
    scene.set(with_backup=name != "backup")
    with deadly_disk(0) as counter:
        code, said = WORKS[name](scene)
    if code:
        raise SystemExit(f"the work fails even undisturbed: {said}")
    return counter.done


def killed_at(scene: Scene, name: str, nth: int) -> bool:
    """Do the work in a child that dies at the n-th operation; whether it did."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with deadly_disk(nth):
                code, _ = WORKS[name](scene)
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def backup_problems(scene: Scene, name: str) -> list[str]:
    """The target is whole or absent, the store unhurt, and doing it again works."""
    found: list[str] = []
    known = {"backup": [scene.newer], "replace": [scene.newer, scene.older]}[name]
    if scene.target.exists():
        try:
            check_backup(str(scene.target), backups.unseen)
            if scene.dump_of(scene.target) not in known:
                found.append("the target holds something else")
        except SessionMemoryError as error:
            found.append(f"the target is there and not whole: {error}")
    elif name == "replace" and not Path(f"{scene.target}{backups.REPLACED}").exists():
        found.append("the older backup is gone")
    found += [f"the store: {text}" for text in scene.space.findings()]
    if scene.space.dump() != scene.newer:
        found.append("the store has changed")
    shutil.rmtree(scene.target, ignore_errors=True)
    code, said = WORKS[name](scene)
    if code or scene.dump_of(scene.target) != scene.newer:
        found.append(f"a second backup fails: {said}")
    left = sorted(path.name for path in scene.target.parent.iterdir())
    return found + [f"left behind: {one}" for one in left if one != scene.target.name]


def restore_problems(scene: Scene, _name: str) -> list[str]:
    """The old or the new store is in place and whole, for every command and at once."""
    found: list[str] = []
    code, said = run(scene.space, "store", "fsck")
    if code:
        found.append(f"fsck says {said}")
    held = scene.space.dump()
    if held not in (scene.newer, scene.older):
        found.append("the store is neither the old nor the new one")
    check_backup(str(scene.target), backups.unseen)
    code, said = WORKS["restore"](scene)
    if code or scene.space.dump() != scene.older:
        found.append(f"a second restore fails: {said}")
    directory = scene.space.store_directory
    asides = sorted(directory.glob("before-restore-*"))
    if not any(scene.dump_of(aside) == scene.newer for aside in asides):
        found.append("the store of before is not kept")
    names = [path.name for path in directory.iterdir()]
    return found + [name for name in names if name in (swap.STAGING, swap.PLAN)]


def main(root: Path, name: str, places: int, seed: int) -> dict[str, Any]:
    """Kill at so many places, the first and last among them; check after each."""
    scene = Scene(root)
    total = operations(scene, name)
    chance = random.Random(seed)
    inner = chance.sample(range(2, total), min(places - 2, total - 2))
    problems = restore_problems if name == "restore" else backup_problems
    kills, found = 0, list[str]()
    for nth in sorted({1, *inner, total}):
        scene.set(with_backup=name != "backup")
        kills += killed_at(scene, name, nth)
        found += [f"operation {nth} of {total}: {text}" for text in problems(scene, name)]
    return {"kills": kills, "operations": total, "problems": found}


if __name__ == "__main__":
    place, work, number, chosen = sys.argv[1:]
    print(json.dumps(main(Path(place), work, int(number), int(chosen))))
