"""Whatever moment a run dies at, one good memory is there, and the next run cleans up."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.memory.workbench import SHOP, Bench, answer, generation

from session_memory.memory.consolidate import consolidate
from session_memory.memory.log import MemoryLog
from session_memory.memory.staging import leftovers
from session_memory.memory.user_part import page_with_user_part, user_part_of
from session_memory.redact import Redactor
from session_memory.store.memories import Claim, Trace
from session_memory.testing.faults import Stopped
from session_memory.testing.scripted_model import ScriptedModel

MINE = "\n- my own words\n"
REDACTOR = Redactor(b"k" * 32)
COUNTED = ("open", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir")


class Silent(MemoryLog):
    """Writes nothing, so that only what touches the memory is counted."""

    def _write(self, level: str, event: str, fields: dict[str, str | int | None]) -> None:
        return


class FewTraces:
    """As much of a store as a consolidation needs, without a disk of its own."""

    tag_key = b"k" * 32

    def __init__(self, count: int = 4) -> None:
        self.traces = [
            Trace(n, f"t{n}", SHOP, "# the parser", f"left {n}", 9 - n) for n in range(count)
        ]
        self.memories = self

    def of_root(self, _root: str, _limit: int | None = None) -> list[Trace]:
        return self.traces

    def projects(self) -> list[object]:
        return []

    def digest(self, _session: int) -> None:
        return None

    def acquire(self, *_: object) -> bool:
        return True

    renew = release = acquire

    @contextlib.contextmanager
    def swapping(self, _claim: Claim) -> Generator[None]:
        yield


@contextlib.contextmanager
def dying(nth: int, monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """The process dies at its n-th operation on files: that one and all later ones do nothing."""
    done: list[str] = []
    with monkeypatch.context() as patch:
        for name in COUNTED:
            patch.setattr(os, name, _counted(name, getattr(os, name), nth, done))
        yield done


def _counted(name: str, real: Any, nth: int, done: list[str]) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        written = name != "open" or (len(arguments) > 1 and arguments[1] & os.O_CREAT)
        if written:
            done.append(name)
            if len(done) >= nth:
                raise Stopped(name)
        # What is on the disk is not looked at: that a file was synced before its rename is.
        return None if name == "fsync" else real(*arguments, **options)

    return call


def run(bench: Bench, number: int, skills: int = 9) -> None:
    store: Any = FewTraces()
    context = bench.context(
        ScriptedModel([generation(number, skills)]),
        log=Silent(bench.logs, int),
        make_redactor=lambda _key: REDACTOR,
    )
    (done,) = consolidate(store, context, [Claim(SHOP, "one")], force=True)
    assert done.status == "done", done.reason


def good(folder: Path) -> int:
    """The generation of a memory that is whole: every link leads to a skill, the user's stays."""
    page = (folder / "MEMORY.md").read_text()
    assert user_part_of(page) == MINE
    for link in re.findall(r"\]\(([^)]+)\)", page):
        assert (folder / link).read_text().startswith("---\nname: a")
    (number,) = re.findall(r"- the parser of generation g(\d+) ", page)
    assert page.endswith("<!-- end of yours -->\n")
    return int(number)


def begin(bench: Bench) -> Path:
    folder = bench.folder()
    (folder / "trace_summaries").mkdir(parents=True)
    for number in (*range(4), 77):  # the last one is pruned
        (folder / f"trace_summaries/t{number}_x.md").write_text("# x\n")
    run(bench, 1)
    page = folder / "MEMORY.md"
    page.write_text(page_with_user_part(MINE, page.read_text().partition("<!-- yours")[0]))
    (folder / "trace_summaries/t78_x.md").write_text("# x\n")
    return folder


@pytest.mark.rows("CON-06")
def test_death_at_any_file_operation_leaves_the_old_or_the_new_memory(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begin(bench)
    assert good(folder) == 1
    seen: list[int] = []
    number, points = 1, 0
    while True:
        number, points = number + 1, points + 1
        before = good(folder)
        with dying(points, monkeypatch) as done, contextlib.suppress(Stopped):
            run(bench, number)
        seen.append(good(folder))
        assert seen[-1] in (before, number)
        if len(done) < points:
            break  # nothing was left to die at
        (folder / "trace_summaries/t78_x.md").write_text("# x\n")
    assert points > 200 and number in seen and seen.count(seen[0]) > 10
    run(bench, number + 1)
    assert good(folder) == number + 1 and leftovers(folder) == []
    assert {path.name for path in (folder / "skills").iterdir()} == {
        "common",
        *(f"s{(number + 1) % 2}-{each}" for each in range(9)),
    }


@contextlib.contextmanager
def endless(bench: Bench, number: int) -> Generator[subprocess.Popen[str]]:
    """A process that consolidates again and again, killed at the end of the block."""
    command = [
        sys.executable,
        "-m",
        "tests.memory.endless_consolidation",
        str(bench.space.root),
        str(number),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


@pytest.mark.rows("CON-06")
def test_a_killed_consolidator_leaves_one_good_memory(bench: Bench) -> None:
    bench.work(1)
    bench.swept().extract(ScriptedModel([answer()]))
    bench.consolidate(ScriptedModel([generation(1)]))
    page = bench.folder() / "MEMORY.md"
    page.write_text(page_with_user_part(MINE, page.read_text().partition("<!-- yours")[0]))
    reached = good(bench.folder())
    for kill in range(10):
        with bench.space.store() as store:  # as if the lease of who was killed before had ended
            store.memories.drop_locks([SHOP])
        with endless(bench, 100 * kill + 100) as child:
            for _ in range(3 + 4 * kill):  # each time a little further on
                assert child.stdout is not None and child.stdout.readline()
        reached = max(reached, good(bench.folder()))
    assert reached > 1  # some of them came as far as a swap
    bench.space.now += 600_000  # and the last one's ends by itself
    (done,) = bench.consolidate(ScriptedModel([generation(5000)]), owner="next", force=True)
    assert done.status == "done" and good(bench.folder()) == 5000
    assert leftovers(bench.folder()) == [] and bench.locks() == []


def test_two_consolidators_at_once_give_one_memory(bench: Bench) -> None:
    bench.work(1)
    bench.swept().extract(ScriptedModel([answer()]))
    other = Bench(bench.space.root)

    def meanwhile(request: Any) -> str:
        (second,) = other.consolidate(ScriptedModel([generation(2)]), owner="second")
        assert second.status == "locked"
        return generation(1)(request)

    (first,) = bench.consolidate(ScriptedModel([meanwhile]), owner="first")
    assert first.status == "done" and "generation g1" in bench.page()
    (second,) = other.consolidate(ScriptedModel([generation(2)]), owner="second", force=True)
    assert second.status == "done" and "generation g2" in bench.page()


def test_two_processes_that_never_stop_always_leave_one_good_memory(bench: Bench) -> None:
    bench.work(1)
    bench.swept().extract(ScriptedModel([answer()]))
    bench.consolidate(ScriptedModel([generation(1)]))
    page = bench.folder() / "MEMORY.md"
    page.write_text(page_with_user_part(MINE, page.read_text().partition("<!-- yours")[0]))
    seen: set[str] = set()
    with endless(bench, 100) as one, endless(bench, 1000) as two:
        for _ in range(120):
            for child in (one, two):
                assert child.stdout is not None
                seen.add(child.stdout.readline().strip())
    assert seen >= {"['done']", "['locked']"} and "['failed']" not in seen
    assert good(bench.folder()) > 1
