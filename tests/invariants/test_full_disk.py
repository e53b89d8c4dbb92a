"""Where nothing more can be written the sweep says so, and goes on once there is room."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.invariants.broken import Known, broken
from tests.invariants.flows import write_logs
from tests.invariants.sizes import IS_LARGE, SIZES, record

from session_memory.testing.workspace import Workspace

LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # Python would leave a cut module behind, for every later process
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from session_memory.__main__ import main
sys.exit(main(sys.argv[2:]))
"""
"""The command, with a limit on the size of every file: beyond it each write fails."""

LIMITS = (100, 1_000, 5_000, 20_000, 60_000, 150_000, 300_000, 600_000, 10_000_000)
LIMITS = LIMITS if IS_LARGE else LIMITS[1::3]
SEEDED = random.Random(SIZES.seed)
DISKS = [320, *(SEEDED.randrange(200, 900) for _ in range(SIZES.full_disks - 1))]
"""Kilobytes."""

posix = pytest.mark.skipif(os.name != "posix", reason="needs limits per process")


def run_limited(space: Workspace, limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), "--config", str(space.write_config()), "sweep"],
        env=space.environ(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@posix
def test_no_file_may_grow_further_anywhere_in_the_store(tmp_path: Path) -> None:
    """Database, write-ahead log and segments hit the limit at another place for every size."""
    space = Workspace(tmp_path)
    write_logs(space.claude)
    space.set_ingest(commit_bytes=1)
    space.sweep()
    expected = space.dump()
    refused = 0
    for limit in LIMITS:
        space.store_directory = tmp_path / f"limited-{limit}"
        done = run_limited(space, limit)
        if done.returncode != 0:
            refused += 1
            assert done.returncode == 1, done.stderr
            assert "error:" in done.stderr
            assert "Traceback" not in done.stderr
        again = space.run("--config", str(space.write_config()), "sweep")
        assert again.returncode == 0, f"{limit}: {again.stderr}"
        assert space.dump() == expected, limit
        assert space.findings() == []
    assert refused >= len(LIMITS) // 2
    record("files that may not grow", limits=len(LIMITS), refused=refused, problems=0)


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of a few hundred kilobytes, where this process may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={request.param}k,mode=700", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if not made or made.returncode != 0:
        pytest.skip("mounting a small file system is not permitted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("small_disk", DISKS, indirect=True)
def test_a_really_full_disk_is_reported_and_survived(
    tmp_path: Path, small_disk: Path, request: pytest.FixtureRequest
) -> None:
    space = Workspace(tmp_path)
    write_logs(space.claude)
    space.set_ingest(commit_bytes=1)
    space.sweep()
    expected, logs = space.dump(), space.log_hashes()
    space.store_directory = small_disk / "store"
    done = space.run("--config", str(space.write_config()), "sweep")
    assert done.returncode == 1, done.stdout
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert space.run("--config", str(space.write_config()), "sweep").returncode == 0
    assert broken(space, Known(expected, logs=logs)) == []
    kilobytes = request.node.callspec.params["small_disk"]
    record(f"really full disk of {kilobytes} kB", disks=1, problems=0, seed=SIZES.seed)


def test_a_store_on_a_read_only_place_is_refused_without_a_trace(tmp_path: Path) -> None:
    """A file stands where the store's directory should be: the same for every user."""
    space = Workspace(tmp_path)
    write_logs(space.claude)
    space.store_directory.write_text("not a directory")
    done = space.run("--config", str(space.write_config()), "sweep")
    assert done.returncode in (1, 8)
    assert "Traceback" not in done.stderr
    assert space.store_directory.read_text() == "not a directory"
    assert os.strerror(errno.ENOTDIR).lower() in done.stderr.lower() or "not a dir" in done.stderr
