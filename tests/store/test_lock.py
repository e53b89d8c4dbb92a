"""One sweep at a time, and a lock that dies with its holder."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.errors import StoreLocked
from session_memory.store.lock import exclusive

HOLD = """
import sys
from session_memory.store.lock import exclusive
with exclusive(sys.argv[1], "a sweep"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_holder_is_refused_at_once_and_let_in_afterwards(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "sweep.lock")
    with exclusive(path, "a sweep"):
        refusal = pytest.raises(StoreLocked, match="a sweep is already running")
        with refusal as refused, exclusive(path, "a sweep"):
            pass
        assert (refused.value.exit_code, refused.value.transient) == (6, True)
    with exclusive(path, "a sweep"):
        pass


def test_an_error_inside_lets_go(tmp_path: Path) -> None:
    path = str(tmp_path / "sweep.lock")
    with pytest.raises(ZeroDivisionError), exclusive(path, "a sweep"):
        raise ZeroDivisionError
    with exclusive(path, "a sweep"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / "sweep.lock")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StoreLocked), exclusive(path, "a sweep"):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with exclusive(path, "a sweep"):
        pass
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
