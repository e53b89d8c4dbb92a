"""Logs that are read whole: no more of one is held in memory than the cap says."""

from __future__ import annotations

import io
import random
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from session_memory.adapters import whole_log
from session_memory.adapters.common import SourceFile
from session_memory.adapters.registry import adapters
from session_memory.core.cursor import prefix_hashes


@pytest.mark.rows("ING-21")
@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("gemini", "tmp/p/chats/session-2026-05-01T00-00-abcdef12.jsonl"),
        ("grok", "sessions/p/s/updates.jsonl"),
        ("pi", "sessions/p/s.jsonl"),
        ("kimi", "sessions/p/s/agents/main/wire.jsonl"),
    ],
)
def test_lines_behind_the_cap_are_counted_and_not_kept(
    agent: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_log, "WHOLE_CAP", 1000)
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    line = b'{"type": "x"}\n'
    path.write_bytes(line * 1_000_000)
    (block,) = adapters()[agent].read(SourceFile(str(path), 0, 0, 0, 0, 0), 0, 1 << 26)
    assert len(block.lines) + block.too_long == 1_000_000
    assert sum(len(line) for _, line in block.lines) <= 1000


def test_both_ends_of_lines_are_those_of_a_file_wherever_a_block_ends() -> None:
    chance = random.Random(1)
    for _ in range(50):
        lines = [
            chance.randbytes(chance.choice((0, 3, 900, 9000))).hex().encode() for _ in range(9)
        ]
        whole = b"".join(line + b"\n" for line in lines)
        plain, made = io.BytesIO(whole), whole_log.lines_as_file(iter([*lines, None]))
        for end in sorted(chance.sample(range(len(whole) + 1), 5)):
            assert prefix_hashes(reader(made), end) == prefix_hashes(reader(plain), end)
        assert whole_log.lines_as_file(iter(lines)).read() == whole


@pytest.mark.rows("ING-21")
def test_a_session_of_a_database_is_not_held_to_know_its_ends() -> None:
    def lines() -> Iterator[bytes]:
        for number in range(100):
            yield b"%d" % (number % 10) * 1_000_000

    tracemalloc.start()
    with whole_log.lines_as_file(lines()) as made:
        prefix_hashes(reader(made), 100_000_100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def reader(stream: BinaryIO) -> Callable[[int, int], bytes]:
    def read(offset: int, length: int) -> bytes:
        stream.seek(offset)
        return stream.read(length)

    return read
