"""What holds for the sessions of every agent: read once, and gone for good once forgotten."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.invariants.broken import Dump, everything_stored
from tests.invariants.sessions import BUILDERS, FLAVORS
from tests.invariants.sizes import SIZES

from session_memory.adapters.common import Adapter
from session_memory.testing.workspace import Workspace

pytestmark = [pytest.mark.rows("CAP-47"), pytest.mark.parametrize("flavor", FLAVORS)]


def swept(root: Path, flavor: str) -> Workspace:
    """Two sessions of an agent, and another agent's."""
    space = Workspace(root)
    for seed in (7, 8):
        BUILDERS[flavor](seed, 2).write(space.flavor_home(flavor))
    other = "codex" if flavor == "claude" else "claude"
    BUILDERS[other](9, 1).write(space.flavor_home(other))
    assert space.sweep().failed == []
    return space


def test_a_sweep_with_nothing_new_reads_and_changes_nothing(tmp_path: Path, flavor: str) -> None:
    space = swept(tmp_path, flavor)
    before = space.dump()
    logs = space.log_hashes()
    report = space.sweep()
    assert (report.ingested, report.vanished, report.failed) == (0, 0, [])
    assert report.discovered == report.skipped_unchanged
    assert (space.dump(), space.log_hashes()) == (before, logs)
    afresh = space.with_store("afresh")
    afresh.sweep()
    assert afresh.dump() == before


def test_a_forgotten_session_does_not_come_back(tmp_path: Path, flavor: str) -> None:
    space = swept(tmp_path, flavor)
    every = space.sessions()
    gone = next(name for name, session in sorted(every.items()) if session.flavor == flavor)
    texts = {event.text for event in space.events(gone)} - {
        event.text for name in every if name != gone for event in space.events(name)
    }
    assert texts
    space.forget(sessions=(str(every[gone].id),))
    kept = set(every) - {gone}
    for _ in range(2):
        assert space.sweep().failed == []
        assert set(space.sessions()) == kept
    # A newer parser reads everything again.
    space.adapters = {name: _newer(adapter) for name, adapter in space.adapters.items()}
    assert space.sweep().failed == []
    assert set(space.sessions()) == kept
    assert space.findings() == []
    stored = b"\n".join(everything_stored(space.store_directory)).lower()
    left = [text for text in texts if text and text.lower().encode() in stored]
    assert left == []


CUTS: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda _: b"",
    "zeros": lambda data: bytes(len(data)),  # what a power failure leaves on some disks
    "half": lambda data: data[: len(data) // 2],
    "half of the lines": lambda data: data[: data.rfind(b"\n", 0, len(data) // 2) + 1],
    "two thirds": lambda data: data[: len(data) * 2 // 3],
    "all but the end": lambda data: data[:-30],
}


@pytest.mark.rows("STO-16")
@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_log_takes_nothing_out_of_memory(tmp_path: Path, flavor: str, cut: str) -> None:
    space = Workspace(tmp_path)
    log = BUILDERS[flavor](7, 8)
    written = log.write(space.flavor_home(flavor))
    space.sweep()
    before = space.dump()
    files = {path: path.read_bytes() for path in _files(written)}
    for path, content in files.items():
        path.write_bytes(CUTS[cut](content))
    for _ in range(2):
        assert space.sweep().superseded == 0
        assert _in_order(space.dump(), flavor) == _in_order(before, flavor)
    for path, content in files.items():
        path.write_bytes(content)
    space.sweep()
    assert space.dump() == before
    assert space.findings() == []


@pytest.mark.rows("STO-16")
@pytest.mark.parametrize("seed", range(SIZES.ways))
def test_a_log_cut_anywhere_is_kept_and_comes_back(tmp_path: Path, flavor: str, seed: int) -> None:
    chance = random.Random(f"{flavor} {seed}")
    space = Workspace(tmp_path)
    written = BUILDERS[flavor](7, 5).write(space.flavor_home(flavor))
    space.sweep()
    before = space.dump()
    path = max(_files(written), key=lambda each: each.stat().st_size)
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content))])
    space.sweep()
    assert _in_order(space.dump(), flavor) == _in_order(before, flavor)
    path.write_bytes(content)
    space.sweep()
    assert space.dump() == before


def _files(written: Path) -> list[Path]:
    return sorted(written.iterdir()) if written.is_dir() else [written]


def _in_order(dump: Dump, flavor: str) -> Dump:
    """The dump; of Gemini in any order.

    Its calls of one message stand before their results, and come to be known one by one.
    """
    if flavor == "gemini":
        return [{**each, "events": sorted(map(repr, each["events"]))} for each in dump]
    return dump


NO_LOGS = {
    "random": random.Random(5).randbytes(4000) + b"\n",
    "gzip": gzip.compress(b'{"text": "hello"}\n'),
    "list": b"[1, 2, 3]\n",
    "pretty": json.dumps({"some": {"thing": [1, {"else": "here"}]}}, indent=2).encode() + b"\n",
}


@pytest.mark.rows("ING-18")
@pytest.mark.parametrize("content", NO_LOGS)
def test_a_file_that_is_no_log_is_named_and_makes_no_session(
    tmp_path: Path, flavor: str, content: str
) -> None:
    space = Workspace(tmp_path)
    written = BUILDERS[flavor](7, 2).write(space.flavor_home(flavor))
    for path in written.iterdir() if written.is_dir() else [written]:
        path.write_bytes(NO_LOGS[content])
    report = space.sweep()
    assert [failure.path for failure in report.failed if str(written) in failure.path]
    assert (report.ingested, space.sessions()) == (0, {})


def _newer(adapter: Adapter) -> Adapter:
    return msgspec.structs.replace(adapter, parser_version=adapter.parser_version + 1)
