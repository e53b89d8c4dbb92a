"""A compile outlives the flush that starts it, and costs the flush no open file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.journal.flush_journal import CLEAN, Bench

from session_memory.journal import standalone
from session_memory.journal.context import JournalContext
from session_memory.journal.flush import flush
from session_memory.journal.standalone import spawn, spawning_flush_context
from session_memory.settings import Config

STARTER = """
import sys
from pathlib import Path
from session_memory.journal.paths import journal_paths
from session_memory.journal.standalone import spawn
journal = journal_paths(Path(sys.argv[1]), "/work/shop")
child = [sys.executable, "-c", sys.argv[2], sys.argv[3]]
print(spawn(child, journal).pid)
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
    assert bench.journal.compile_log.read_text().splitlines() == [
        "out",
        "err",
        f"{os.path.realpath(bench.journal.root)} True",
    ]


@pytest.mark.rows("FLU-31")
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_no_file_stays_open_whether_it_starts_or_not(bench: Bench) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for _ in range(5):
        assert spawn([sys.executable, "-c", "pass"], bench.journal).wait(60) == 0
        with pytest.raises(OSError, match="absent"):
            spawn(["/absent/program"], bench.journal)
        assert count() == before


@pytest.mark.rows("FLU-31")
def test_a_compile_that_cannot_start_is_told_and_the_flush_is_done(bench: Bench) -> None:
    def broken(_files: tuple[str, ...]) -> None:
        spawn(["/absent/program"], bench.journal)

    bench.says("text")
    assert flush(bench.excerpt(), "s1", replace(bench.flush_context(), compile=broken)) == "saved"
    assert any("ERROR Compilation could not be started" in line for line in bench.log())
    assert bench.log()[-1].endswith("INFO Flush complete for session s1")


@pytest.mark.rows("FLU-31")
def test_what_it_prints_is_added_to_the_log(bench: Bench) -> None:
    for word in ("first", "second"):
        assert spawn([sys.executable, "-c", f"print({word!r})"], bench.journal).wait(60) == 0
    assert bench.journal.compile_log.read_text() == "first\nsecond\n"


@pytest.mark.rows("FLU-31")
@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_a_flush_starts_our_own_module_apart_and_at_the_root(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    started: list[tuple[list[str], dict[str, Any]]] = []

    def popen(command: list[str], **options: Any) -> None:
        started.append((command, options))

    monkeypatch.setattr(standalone.sys, "platform", platform)
    monkeypatch.setattr(standalone.subprocess, "Popen", popen)
    for name, flag in (("CREATE_NEW_PROCESS_GROUP", 0x200), ("DETACHED_PROCESS", 0x8)):
        monkeypatch.setattr(standalone.subprocess, name, flag, raising=False)
    context = JournalContext(bench.data, Config(), lambda: bench.now, None, None, CLEAN)
    flushing = spawning_flush_context(context, "/work/shop")
    flush(bench.excerpt("**User:** how?\n\n**Assistant:** Decision: use tabs.\n"), "s1", flushing)
    ((command, options),) = started
    module = "session_memory.journal.compile"
    assert command == [sys.executable, "-m", module, "--root", "/work/shop"]
    log = options.pop("stdout")
    assert log.name == str(bench.journal.compile_log) and log.closed
    apart = {"creationflags": 0x208} if platform == "win32" else {"start_new_session": True}
    assert options == {
        "cwd": bench.journal.root,
        "stdin": subprocess.DEVNULL,
        "stderr": subprocess.STDOUT,
        **apart,
    }
