"""A store on a disk that cannot be written is searched like any other."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" "$0" && exec "$@"'


def mounted_read_only(
    space: Workspace, *command: str, told: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command that sees the store on a read-only disk."""
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", MOUNT, str(space.store_directory), *command],
        env=space.environ(),
        input=told,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.rows("STO-91")
@pytest.mark.parametrize("verb", ["search discount", "sessions", "show 1", "usage"])
def test_a_store_on_a_read_only_disk_can_be_searched(tmp_path: Path, verb: str) -> None:
    space = Workspace(tmp_path)
    write_samples(space.claude)
    space.sweep()
    if not shutil.which("unshare") or mounted_read_only(space, "true").returncode:
        pytest.skip("needs the right to mount")
    config = str(space.write_config())
    program = (sys.executable, "-m", "session_memory", "--config", config)
    done = mounted_read_only(space, *program, *verb.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.rows("STO-91")
def test_the_server_searches_a_store_on_a_read_only_disk(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    write_samples(space.claude)
    space.sweep()
    if not shutil.which("unshare") or mounted_read_only(space, "true").returncode:
        pytest.skip("needs the right to mount")
    call = {"name": "mem_search", "arguments": {"query": "discount"}}
    line = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    config = str(space.write_config())
    program = (sys.executable, "-m", "session_memory", "--config", config, "mcp")
    done = mounted_read_only(space, *program, told=json.dumps(line) + "\n")
    result = json.loads(done.stdout)["result"]
    assert result["isError"] is False, result
    assert result["structuredContent"]["items"]
