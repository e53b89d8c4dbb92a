"""What all adapters share: one bundle, one reader, one taxonomy of tools."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import session_memory.adapters
from session_memory.adapters import common
from session_memory.adapters.claude import reader as claude
from session_memory.adapters.common import (
    classify_tool,
    parse_time,
    read_lines,
    recover_records,
    walk_files,
)
from session_memory.core.cursor import hashes_of, prefix_hashes


@pytest.mark.rows("CAP-02")
def test_the_shared_bundle_is_one_object_and_nobody_copies_the_shared_functions() -> None:
    assert claude.Normalized is common.Normalized
    for path in Path(str(session_memory.adapters.__file__)).parent.rglob("*.py"):
        if path.name in ("common.py", "tool_classes.py"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        copies = defined & {"Normalized", "resolve_repo", "classify_tool", "read_lines"}
        assert not copies, f"{path.name} has its own {copies}"
    assert {"Normalized", "resolve_repo", "classify_tool", "read_lines"} <= set(common.__all__)


# --- reader ---


@settings(max_examples=80)
@given(
    st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=12),
    st.binary(max_size=10).map(lambda b: b.replace(b"\n", b"")),
    st.integers(1, 40),
)
def test_blocks_of_any_size_hold_every_line_at_its_place(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], tail: bytes, block_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("reader") / "log"
    content = b"".join(line + b"\n" for line in lines) + tail
    path.write_bytes(content)
    blocks = list(read_lines(str(path), block_bytes=block_bytes))
    found = [pair for block in blocks for pair in block.lines]
    assert [line for _, line in found] == [line for line in lines if line and not line.isspace()]
    assert all(content[offset : offset + len(line)] == line for offset, line in found)
    ends = [block.end for block in blocks]
    assert ends == sorted(ends)
    assert (ends[-1] if ends else 0) == len(content) - len(tail)
    assert [b.tail for b in blocks if b.tail] == (
        [(len(content) - len(tail), tail)] if tail else []
    )


def test_reading_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    (block,) = read_lines(str(path), 4)
    assert (block.lines, block.start, block.end) == ([(4, b"two")], 4, 8)
    assert list(read_lines(str(path), 8)) == []


@pytest.mark.parametrize("block_bytes", [3, 7, 1000])
def test_a_line_over_the_cap_is_passed_over_and_counted(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n" + b"x" * 50 + b"\ntwo\n")
    blocks = list(read_lines(str(path), block_bytes=block_bytes, line_cap=20))
    assert [line for block in blocks for line in block.lines] == [(0, b"one"), (55, b"two")]
    assert sum(block.too_long for block in blocks) == 1
    assert blocks[-1].end == 59


def test_an_endless_last_line_is_neither_kept_nor_passed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n" + b"x" * 500)
    blocks = list(read_lines(str(path), block_bytes=16, line_cap=20))
    assert (blocks[-1].tail, blocks[-1].end) == ((4, b""), 4)


# --- damage, time, tools, files ---


def test_recovery_finds_records_and_their_place_in_bytes() -> None:
    line = '{"torn": "é'.encode() + b'\xff{"type":"a","x":{"type":"b\xfe"}}' + b'{"type":"c"}'
    found = recover_records(line, lambda value: "type" in value)
    assert [(offset, value["type"]) for offset, value in found] == [(13, "a"), (43, "c")]
    assert line[43:] == b'{"type":"c"}'
    assert found[0][1]["x"] == {"type": "b\ufffd"}


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2026-03-02T09:00:00.123Z", 1_772_442_000_123),
        ("2026-03-02T10:00:00+01:00", 1_772_442_000_000),
        (1_772_442_000, 1_772_442_000_000),
        (1_772_442_000_123, 1_772_442_000_123),
        ("2026-03-02T09:00:00", None),  # no zone: it would move with the machine
        ("yesterday", None),
        (True, None),
        (None, None),
        (float("nan"), None),
        (-5, None),
    ],
)
def test_times_of_every_vendor_become_milliseconds(value: object, at: int | None) -> None:
    assert parse_time(value) == at


@pytest.mark.parametrize(
    ("name", "tool_class"),
    [
        ("Read", "read"),
        ("apply_patch", "edit"),
        ("MultiEdit", "edit"),
        ("run_shell_command", "shell"),
        ("Grep", "search"),
        ("WebFetch", "web"),
        ("Task", "agent"),
        ("update_plan", "plan"),
        ("mcp__memory__search", "mcp"),
        ("ReportFindings", "other"),
        (None, "other"),
    ],
)
def test_tools_of_every_vendor_fall_into_one_set_of_classes(
    name: str | None, tool_class: str
) -> None:
    assert classify_tool(name) == tool_class


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_files_are_found_and_linked_folders_are_not(tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("{}\n")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "folder.jsonl")
    (tmp_path / "broken.jsonl").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = {os.path.basename(file.path) for file in walk_files(str(tmp_path), ".jsonl")}
    assert found == {"real.jsonl", "broken.jsonl", "pipe.jsonl"}, "what cannot be read is reported"


@pytest.mark.parametrize("lines", [1, 2_000])
def test_a_block_that_begins_with_its_file_says_what_the_cursor_hashes(
    tmp_path: Path, lines: int
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(b'{"line": %d}\n' % number for number in range(lines)) + b"torn")
    first, last = read_lines(str(path), keep_ends=True)
    assert first.ends is not None
    assert last.ends is None

    def read(offset: int, length: int) -> bytes:
        return path.read_bytes()[offset : offset + length]

    assert hashes_of(*first.ends) == prefix_hashes(read, first.end)
    assert all(block.ends is None for block in read_lines(str(path), 12, keep_ends=True))
    assert all(block.ends is None for block in read_lines(str(path)))
