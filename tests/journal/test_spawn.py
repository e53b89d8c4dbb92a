"""A compile outlives the flush that starts it, and costs the flush no open file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.journal.bench import Bench

from session_memory.journal.flush import flush
from session_memory.journal.spawn import compile_command, spawn

STARTER = """
import sys
from pathlib import Path
from session_memory.journal.place import place_of
from session_memory.journal.spawn import spawn
place = place_of(Path(sys.argv[1]), "/work/shop")
child = [sys.executable, "-c", sys.argv[2], sys.argv[3]]
print(spawn(child, place).pid)
"""
CHILD = """
import os, sys
print("out", flush=True)
print("err", file=sys.stderr, flush=True)
with open(sys.argv[1]) as pipe:  # until the test lets go
    pipe.read()
print(os.getcwd(), os.getsid(0) == os.getpid(), flush=True)
open(sys.argv[1] + ".done", "w").close()
"""


@pytest.mark.rows("FLU-31")
@pytest.mark.skipif(os.name == "nt", reason="named pipes and sessions are POSIX")
def test_the_compile_lives_on_in_a_session_of_its_own(bench: Bench, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    done_pipe = tmp_path / "pipe.done"
    os.mkfifo(pipe)
    os.mkfifo(done_pipe)
    done = subprocess.run(
        [sys.executable, "-c", STARTER, str(bench.data), CHILD, str(pipe)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    os.kill(int(done.stdout), 0)  # the parent has ended, the child has not
    with open(pipe, "w") as end:
        end.write("go on")
    done_pipe.read_text()  # returns when the child has written its last line
    assert bench.place.compile_log.read_text().splitlines() == [
        "out",
        "err",
        f"{os.path.realpath(bench.place.root)} True",
    ]


@pytest.mark.rows("FLU-31")
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_no_file_stays_open_whether_it_starts_or_not(bench: Bench) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for _ in range(5):
        assert spawn([sys.executable, "-c", "pass"], bench.place).wait(60) == 0
        with pytest.raises(OSError, match="absent"):
            spawn(["/absent/program"], bench.place)
        assert count() == before


@pytest.mark.rows("FLU-31")
def test_a_compile_that_cannot_start_is_told_and_the_flush_is_done(bench: Bench) -> None:
    def broken(_files: tuple[str, ...]) -> None:
        spawn(["/absent/program"], bench.place)

    bench.says("text")
    assert flush(bench.context(), "s1", replace(bench.around(), compile=broken)) == "saved"
    assert any("ERROR Compilation could not be started" in line for line in bench.log())
    assert bench.log()[-1].endswith("INFO Flush complete for session s1")


def test_the_program_is_our_own_module_under_our_own_interpreter() -> None:
    command = compile_command("/work/shop")
    if command is not None:
        assert command[:3] == [sys.executable, "-m", "session_memory.journal.compile"]
