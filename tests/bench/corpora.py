"""The logs that are measured: genuine ones, copies of them, generated ones, and odd ones."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.bench.child import REPOSITORY

SHARED = REPOSITORY.parent / "shared"
CACHE = REPOSITORY / ".cache" / "bench"
BUILT_BYTES = 10_000_000
GENUINE = ("logs/claude", "client-logs/claude/home/.claude")

_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VENDOR_ID = re.compile(rb"\b(msg_|req_|toolu_)\w{6}")
_TIME = re.compile(rb"(T\d\d:\d\d:)(\d\d)\.(\d{3})Z")
_MINUTE_MS = 60_000


class Corpus(NamedTuple):
    """Log directories, and what a sweep will read there."""

    name: str
    roots: tuple[str, ...]
    files: int
    bytes: int
    largest: int


def measure(name: str, roots: tuple[str, ...]) -> Corpus:
    """Count the log files below the roots, as the adapter finds them."""
    from session_memory.adapters.claude.logs import discover

    sizes = [file.size for root in roots for file in discover(root)]
    return Corpus(name, roots, len(sizes), sum(sizes), max(sizes, default=0))


def renamed(text: bytes, number: int) -> bytes:
    """The same log as if another session had written it: other ids, times a few ms later.

    Equal ids and times would make every copy a fork of the first, which is another benchmark.
    """

    def other(match: re.Match[bytes]) -> bytes:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number}:{match[0].decode()}")).encode()

    def later(match: re.Match[bytes]) -> bytes:
        moved = (int(match[2] + match[3]) + number) % _MINUTE_MS
        return b"%s%02d.%03dZ" % (match[1], moved // 1000, moved % 1000)

    text = _UUID.sub(other, text)
    text = _VENDOR_ID.sub(rb"\g<1>%06d" % number, text)
    return _TIME.sub(later, text)


def genuine() -> Corpus | None:
    """Logs of real sessions as they are, or None where they are not."""
    roots = tuple(str(SHARED / root) for root in GENUINE if (SHARED / root).is_dir())
    return measure("genuine", roots) if roots else None


def genuine_copies(total: int) -> Corpus | None:
    """Genuine logs and as many renamed copies as it takes to reach `total` bytes."""
    original = genuine()
    if original is None:
        return None
    copies = max(1, round(total / original.bytes) - 1)

    def build(target: Path) -> None:
        for number in range(1, copies + 1):
            for place, root in enumerate(original.roots):
                _copy_tree(Path(root), target / f"copy{number}-{place}", number)

    target = _cached(f"copies-{copies}", build)
    below = sorted(str(path) for path in target.iterdir() if path.is_dir())
    return measure(f"genuine x{copies + 1}", (*original.roots, *below))


def _copy_tree(source: Path, target: Path, number: int) -> None:
    for path in source.rglob("*"):
        if path.is_file():
            relative = renamed(str(path.relative_to(source)).encode(), number).decode()
            copy = target / relative
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(renamed(path.read_bytes(), number))


def generated(total: int) -> Corpus | None:
    """Two thirds in files of many sizes, one third in a single file; None without the generator."""
    program = SHARED / "bench" / "gen_corpus.py"
    if not program.is_file():
        return None
    target = _cached(f"generated-{total}", partial(_generate, program, total))
    return measure("generated", (str(target / "claude"),))


def _generate(program: Path, total: int, target: Path) -> None:
    plain = [str(program), str(target), f"--bytes={total * 2 // 3}", "--codex-share=0"]
    subprocess.run([sys.executable, *plain], check=True, stdout=subprocess.DEVNULL)
    # The generator plans a file of that size only in far larger corpora: ask its worker for one.
    job = (0, 11, total // 3, "claude", str(target), 0.0015, 0.0, False, 7)
    code = f"import gen_corpus; gen_corpus._work({job!r})"
    subprocess.run([sys.executable, "-B", "-c", code], cwd=program.parent, check=True)


def built(total: int) -> Corpus:
    """Our own sample sessions, renamed again and again: what is left where ../shared is absent.

    They are short, so the cost of a session outweighs that of a byte: more of them tell no more.
    """
    from session_memory.testing.samples import write_samples

    total = min(total, BUILT_BYTES)

    def build(target: Path) -> None:
        write_samples(target / "sample")
        files = list((target / "sample").rglob("*.jsonl"))
        rounds = max(1, total // sum(path.stat().st_size for path in files))
        for number in range(1, rounds):
            _copy_tree(target / "sample", target / f"copy{number}", number)

    target = _cached(f"built-{total}", build)
    roots = tuple(sorted(str(path) for path in target.iterdir() if path.is_dir()))
    return measure("built", roots)


def small_files(count: int, target: Path) -> Corpus:
    """Many short sessions, a hundred to a directory."""
    from session_memory.adapters.claude.log_builder import ClaudeLog

    log = ClaudeLog(1)
    log.prompt("Why does the build fail?")
    log.run("make", "make: *** no rule to make target 'all'", exit_code=2)
    log.say("There is no Makefile in this directory.")
    path = log.write(target / "template")
    text = path.read_bytes()
    for number in range(count):
        folder = target / "logs" / "projects" / f"-work-p{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        name = renamed(path.name.encode(), number).decode()
        (folder / name).write_bytes(renamed(text, number))
    return measure(f"{count} files", (str(target / "logs"),))


def long_lines(target: Path, lengths: tuple[int, ...]) -> Corpus:
    """One session with a tool output of each given length, each on one line."""
    from session_memory.adapters.claude.log_builder import ClaudeLog

    log = ClaudeLog(2)
    log.prompt("Print the whole log.")
    marks = [f"@{length}@" for length in lengths]
    for mark in marks:
        log.run("cat build.log", mark)
    log.say("That was all of it.")
    text = log.write(target).read_bytes()
    path = target / "projects" / "-work-shop" / f"{log.session_id}.jsonl"
    with path.open("wb") as file:
        for line in text.splitlines(keepends=True):
            for piece in _filled(line, dict(zip(marks, lengths, strict=True))):
                file.write(piece)
    return measure("long lines", (str(target),))


def _filled(line: bytes, marks: dict[str, int]) -> Iterator[bytes]:
    """The line in pieces, its mark replaced by as much text: the writer has to stay small."""
    for mark, length in marks.items():
        before, found, after = line.partition(mark.encode())
        if found:
            # A result repeats its output behind the message: only the first becomes long.
            yield before
            words = b"0123456789abcdef compiled module and linked it " * 1024
            for _ in range(length // len(words) + 1):
                yield words
            yield after
            return
    yield line


def _cached(name: str, build: Callable[[Path], None]) -> Path:
    """A directory that is built once; a build that was cut off is not taken for a whole one."""
    target = CACHE / name
    done = target / "complete"
    if not done.exists():
        target.mkdir(parents=True, exist_ok=True)
        print(f"building {target.relative_to(REPOSITORY)} ...", file=sys.stderr, flush=True)
        build(target)
        done.touch()
    return target
