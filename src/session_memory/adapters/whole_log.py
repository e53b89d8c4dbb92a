"""Logs that are read whole at every change: documents, rows of a database, texts, short line logs.

Such a log reaches its parser as lines of JSON, whatever its agent keeps it in. A reader says where
the logs are (`discover`), how one becomes lines (`lines`), and what the records mean (`emit`).
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Generator, Iterator
from typing import BinaryIO, cast

import msgspec

from session_memory.adapters.agent import Agent
from session_memory.adapters.block_records import IsRecord, whole_records
from session_memory.adapters.common import (
    LINE_CAP,
    RECOVERY_TRIES,
    Adapter,
    Block,
    Discover,
    IsKnown,
    Json,
    Normalized,
    SourceFile,
    as_list,
    as_object,
    decode_record,
    read_lines,
)
from session_memory.adapters.excerpt import compact_json
from session_memory.core.cursor import SPAN
from session_memory.plain_files import UnfitFile, read_plain

Record = dict[str, Json]
Records = list[tuple[int, Record]]
"""Records with the offset of each."""
Line = bytes | None
"""A record as JSON, or None for one over the cap."""
Emit = Callable[[SourceFile, Records, Normalized], None]
"""Adds the sessions and events of one source to the bundle."""

WHOLE_CAP = 512 * 1024 * 1024
"""Bytes of one log that are held in memory; lines behind them are counted and passed over."""
_KEPT = 2 * SPAN
SIDE_CAP = 16 * 1024 * 1024
"""Most bytes of a file that lies next to a log."""
_BOM = b"\xef\xbb\xbf"


def made_lines_adapter(
    agent: Agent,
    *,
    discover: Discover,
    lines: Callable[[SourceFile, int], Iterator[Line]],
    emit: Emit,
    headings: int = 0,
    discover_changed: Callable[[str, IsKnown], Iterator[SourceFile]] | None = None,
) -> Adapter:
    """The adapter of an agent whose logs are turned into lines by a function of its own.

    `headings` is the number of first lines that describe the log from elsewhere: a log with no
    further lines has no record.
    """

    def read(file: SourceFile, _offset: int, line_cap: int) -> Iterator[Block]:
        block = Block([], 0, 0)
        for line in lines(file, line_cap):
            if line is None or len(line) > line_cap or block.end > WHOLE_CAP:
                block.long_lines.append(block.end)
                continue
            block.lines.append((block.end, line))
            block.end += len(line) + 1
        yield block

    def open_lines(file: SourceFile) -> BinaryIO:
        return lines_as_file(lines(file, LINE_CAP))

    def parse(source: SourceFile, block: Block, _state: Record) -> Normalized:
        bundle = Normalized(too_long=block.too_long)
        records: Records = []
        for offset, line in block.lines:
            record = decode_record(line)
            if record is None:
                bundle.damage(offset)
            else:
                records.append((offset, record))
        bundle.records = max(0, len(records) - headings)
        emit(source, records, bundle)
        return bundle

    return msgspec.structs.replace(
        agent.adapter(discover=discover, parse=parse, read=read),
        open=open_lines,
        named=_no_source,
        discover_changed=discover_changed,
        incremental=False,
    )


def whole_block(path: str, line_cap: int) -> Block:
    """A file of lines as one block."""
    whole = Block([], 0, 0)
    for block in read_lines(path, line_cap=line_cap):
        if block.end <= WHOLE_CAP:
            whole.lines += block.lines
        else:
            whole.long_lines += [offset for offset, _ in block.lines]
        whole.long_lines += block.long_lines
        whole.end, whole.tail, whole.cut = block.end, block.tail, block.cut
    return whole


def lines_as_file(lines: Iterator[Line]) -> BinaryIO:
    """Lines that were made of a log as a file would hold them: what its offsets count in.

    Not all of it is held, as a session may be larger than memory: what lies behind the first and
    before the last few bytes that were read cannot be read again.
    """
    return cast("BinaryIO", _LineFile(line + b"\n" for line in lines if line is not None))


class _LineFile(io.RawIOBase):
    """A stream over lines as they are made; for the hashes of cursors, which are of both ends."""

    def __init__(self, lines: Generator[bytes]) -> None:
        self._lines = lines
        self._at = self._end = 0
        self._head = b""
        self._held = b""
        """What lies before `_end`."""

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence != os.SEEK_SET:
            raise io.UnsupportedOperation("only from its start")
        self._at = offset
        return offset

    def read(self, size: int = -1) -> bytes:
        while (size < 0 or self._end < self._at + size) and (line := next(self._lines, b"")):
            held = self._held if self._at < self._end else self._held[-_KEPT:]
            self._held = held + line
            self._end += len(line)
            if len(self._head) < _KEPT:
                self._head = (self._head + line)[:_KEPT]
        start = self._end - len(self._held)
        data, first = (
            (self._held, self._at - start) if self._at >= start else (self._head, self._at)
        )
        last = len(data) if size < 0 else first + size
        if data is self._head and last > len(data):
            raise io.UnsupportedOperation("that part is no longer held")
        self._at += len(data[first:last])
        return data[first:last]

    def close(self) -> None:
        self._lines.close()  # it may hold a database open
        super().close()


def _no_source(_path: str) -> None:
    """No file of such an agent stands for one session alone."""


def line_log_adapter(
    agent: Agent,
    *,
    discover: Discover,
    is_record: IsRecord,
    emit: Callable[[SourceFile, Records, Normalized, dict[str, bytes]], None],
    side_files: Callable[[str], dict[str, bytes]] = lambda _path: {},
    is_whole: IsRecord | None = None,
) -> Adapter:
    """The adapter of an agent that appends lines, where later lines change what earlier ones say.

    `side_files` reads the files next to a log that say more about it. `is_whole` is for logs where
    a whole line needs less to count as a record than a piece of a damaged one.
    """

    def read(file: SourceFile, _offset: int, line_cap: int) -> Iterator[Block]:
        whole = whole_block(file.path, line_cap)
        whole.side_files = side_files(file.path)
        yield whole

    def parse(source: SourceFile, block: Block, _state: Record) -> Normalized:
        bundle = Normalized(too_long=block.too_long)
        records = whole_records(block, bundle, is_record, is_whole)
        emit(source, records, bundle, block.side_files)
        return bundle

    made = agent.adapter(discover=discover, parse=parse, read=read)
    return msgspec.structs.replace(made, incremental=False)


# --- documents ---


def document_lines(
    lines: Callable[[SourceFile, bytes], Iterator[Line]],
) -> Callable[[SourceFile, int], Iterator[Line]]:
    """How a log that is one document becomes lines: `lines` is given the bytes of it."""

    def made(file: SourceFile, cap: int) -> Iterator[Line]:
        try:
            data = read_plain(file.path, cap)
        except UnfitFile:
            if not os.path.isfile(file.path):
                raise
            yield None  # over the cap
            return
        if data.strip():
            yield from lines(file, data)

    return made


def array_lines(data: bytes, name: str, is_item: IsRecord) -> Iterator[bytes]:
    """Each object of a JSON array as a line `{name: object}`.

    Of a damaged array the whole objects are given, and what is no object as a line that cannot be
    read, so that it is counted.
    """
    data = data.removeprefix(_BOM)
    if not data.strip():
        return
    whole = decode_record(b'{"%b":%b}' % (name.encode(), data))
    if whole is not None and isinstance(whole.get(name), list):
        yield from item_lines(whole[name], name)
        return
    for item in _salvaged(data.decode("utf-8", "replace"), is_item):
        yield item.encode() if isinstance(item, str) else compact_json({name: item}).encode()


def item_lines(items: list[Json], name: str) -> Iterator[bytes]:
    """Each object of a list as a line `{name: object}`; what is none cannot be read."""
    for item in items:
        line = compact_json({name: item} if isinstance(item, dict) else item)
        yield line.encode()


def _salvaged(text: str, is_item: IsRecord) -> Iterator[Record | str]:
    """Whole objects of a damaged array; text between them that is none, at most once each."""
    decoder = json.JSONDecoder()
    index, tries, bad = 0, 0, -1
    while (index := text.find("{", index)) >= 0 and tries < RECOVERY_TRIES:
        try:
            value, end = decoder.raw_decode(text, index)
        except (ValueError, RecursionError):
            value, end = None, index + 1
        if isinstance(value, dict) and is_item(as_object(value)):
            index = end
            yield _encodable(as_object(value))
        elif isinstance(value, dict) and (inner := _items_within(as_object(value), is_item)):
            index = end  # a whole document, with something else before or behind it
            yield from map(_encodable, inner)
        else:
            tries += 1
            if bad < 0:
                bad = index
            index = end if value is not None else index + 1
    yield f"damaged: {text[bad : bad + 80] if bad >= 0 else text[-80:]}"


def _items_within(document: Record, is_item: IsRecord) -> list[Record]:
    """The items in the lists of a document."""
    listed = [as_object(item) for value in document.values() for item in as_list(value)]
    return [item for item in listed if is_item(item)]


def _encodable(value: Record) -> Record:
    """Without lone surrogates, which no encoder takes."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return decode_record(text) or {}


def side_file(path: str) -> bytes | None:
    """A file next to a log, if it is there and fits; a link in its place could lead anywhere."""
    try:
        return read_plain(path, SIDE_CAP, follow=False)
    except (UnfitFile, OSError):
        return None


def side_object(path: str) -> Record:
    """The JSON object in a file next to a log; empty where there is none."""
    return decode_record(side_file(path) or b"") or {}


def with_sides(file: SourceFile, sides: list[str]) -> SourceFile:
    """The source under a stamp that also changes with the files next to it."""
    mtime, ctime = file.mtime_ns, file.ctime_ns
    for path in sides:
        try:
            info = os.lstat(path)
        except OSError:
            continue
        mtime, ctime = max(mtime, info.st_mtime_ns), max(ctime, info.st_ctime_ns)
    return msgspec.structs.replace(file, mtime_ns=mtime, ctime_ns=ctime)
