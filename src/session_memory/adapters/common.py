"""What every adapter shares: the `Normalized` bundle, the line reader, the walk over log files."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Set
from datetime import datetime
from typing import Any, BinaryIO, cast

import msgspec

from session_memory.adapters.packed import (
    SUFFIXES,
    UNPACKED_CAP,
    is_packed,
    open_log,
    unpacked_name,
    why_cut,
)
from session_memory.adapters.tool_classes import classify_tool
from session_memory.core.cursor import SPAN
from session_memory.core.facts import FACT_RULES, Fact
from session_memory.core.project.repository import resolve_repo
from session_memory.core.schema import EventKind, Origin, ToolClass, Usage
from session_memory.errors import AdapterError
from session_memory.plain_files import open_plain

__all__ = [
    "FACT_RULES",
    "Adapter",
    "Block",
    "Fact",
    "IsKnown",
    "LogDeletion",
    "Normalized",
    "RawEvent",
    "SessionPart",
    "SourceFile",
    "as_count",
    "as_list",
    "as_object",
    "as_text",
    "classify_tool",
    "decode_record",
    "parse_time",
    "read_lines",
    "recover_records",
    "resolve_repo",
    "rewound",
    "source_at",
    "walk_files",
]

DAMAGE_KEPT = 1000
"""Places of damage remembered per block; the count goes on."""
LINE_CAP = 64 * 1024 * 1024
SETTINGS_CAP = 16 * 1024 * 1024
"""No settings of an agent are larger."""
BLOCK_BYTES = 4 * 1024 * 1024
DEPTH_ERRORS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)

Json = Any
"""A decoded JSON value of unknown shape: vendors' records enter here."""


class RawEvent(msgspec.Struct):
    """An event as the log has it, before redaction and merge."""

    pos: int
    """Offset of its record in the file plus its place inside the record: unique and ordered."""
    kind: EventKind
    origin: Origin
    text: str = ""
    at: int | None = None
    tool: str | None = None
    tool_class: ToolClass | None = None
    call_id: str | None = None
    is_error: bool = False
    exit_code: int | None = None
    files: tuple[str, ...] = ()
    command: str | None = None
    usage_key: str | None = None
    identity: str | None = None
    """Native id, mixed into the fingerprint only where no time identifies copies."""
    overflow: str | None = None
    """Name of a side file that holds the rest of the text."""
    label: str | None = None
    """Kind of an injected or other record, in the vendor's word."""


class SessionPart(msgspec.Struct):
    """What one block of one file says about one session."""

    external_id: str
    parent_external_id: str | None = None
    facts: list[Fact] = []
    events: list[RawEvent] = []
    usages: list[Usage] = []


class Normalized(msgspec.Struct):
    """Everything one block of one source said, in the schema all flavours share."""

    sessions: list[SessionPart] = []
    state: dict[str, Json] = {}
    records: int = 0
    parse_errors: int = 0
    recovered: int = 0
    incomplete_tail: int = 0
    too_long: int = 0
    ignored: Counter[str] = msgspec.field(default_factory=Counter[str])
    """Known record types that hold nothing to keep, by type."""
    missing: Counter[str] = msgspec.field(default_factory=Counter[str])
    """Parts of a log that are not there or cannot be used, by name: its session has less in it."""
    unknown: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter[tuple[str, str]])
    """(client version, what) of records no adapter knows."""
    damaged: list[int] = []
    """Where the lines that are not records begin."""

    def damage(self, offset: int) -> None:
        """Count a line that is not a record, and remember where it is."""
        self.parse_errors += 1
        if len(self.damaged) < DAMAGE_KEPT:
            self.damaged.append(offset)


class SourceFile(msgspec.Struct, frozen=True):
    """A log file as discovery saw it."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int
    is_container: bool = False
    """Whether its sessions are sources of their own (`PATH#ID`): it is noted as seen, not read."""


IsKnown = Callable[[SourceFile], bool]
"""Whether a container is as it was when all of its sessions had been read."""


class Block(msgspec.Struct):
    """Whole lines of a file, in order, as (offset, bytes without the newline)."""

    lines: list[tuple[int, bytes]]
    start: int
    end: int
    """Offset after the last complete newline: where the next read begins."""
    tail: tuple[int, bytes] | None = None
    """A last line that has no newline yet; only in the last block of a read."""
    long_lines: list[int] = []
    """Where lines begin that were passed over because they are longer than the cap."""
    side_files: dict[str, bytes] = {}
    """Side files of a source that is more than one file, by name; the adapter's reader fills it."""
    ends: tuple[bytes, bytes] | None = None
    """The bytes that a cursor keeps a hash of, where the block begins with the file."""
    cut: str = ""
    """Why there is more to come, in the last block of a packed log whose end is missing."""

    @property
    def too_long(self) -> int:
        """How many lines were passed over."""
        return len(self.long_lines)


class LogDeletion(msgspec.Struct, frozen=True):
    """An agent's own habit of deleting its logs."""

    days: int
    where: str
    """The setting that says so, or 'default'."""


Discover = Callable[[str], Iterator[SourceFile]]
Parse = Callable[[SourceFile, Block, dict[str, Json]], Normalized]
Read = Callable[[SourceFile, int, int], Iterator[Block]]


class Adapter(msgspec.Struct, frozen=True):
    """A flavour as data: where its logs are and which functions read them."""

    name: str
    title: str
    env: str | None
    default_dirs: tuple[str, ...]
    """Below `~`, or below a variable (`$NAME/folder`)."""
    discover: Discover
    parser_version: int
    parse: Parse
    discover_changed: Callable[[str, IsKnown], Iterator[SourceFile]] | None = None
    """Like `discover`, for an agent that keeps many sessions in one file: without the sessions of
    containers that are known, and with every other container after its sessions. So an untouched
    file is not opened to list what is in it."""
    log_deletion: Callable[[str], LogDeletion | None] = lambda _home: None
    read: Read = lambda file, offset, line_cap: read_lines(file.path, offset, line_cap=line_cap)
    """(file, offset, line cap) to blocks: all input of this flavour's parser comes through here."""
    open: Callable[[SourceFile], BinaryIO] = lambda file: open_plain(file.path)
    """The bytes that offsets count in; its own where a source is no file but rows of a database."""
    named: Callable[[str], SourceFile | None] = lambda path: source_at(path)
    """The source that one path is, wherever it lies, by itself; hooks name paths of any kind."""
    incremental: bool = True
    """False where a file is rewritten or its order is not that of its bytes: then every change is
    read whole, and `pos` may be any number that orders the events."""
    writes_again: bool = False
    """Whether a file may hold a record twice: its equal events of the same time are one."""


def read_lines(
    path: str,
    offset: int = 0,
    *,
    block_bytes: int = BLOCK_BYTES,
    line_cap: int = LINE_CAP,
    keep_ends: bool = False,
) -> Iterator[Block]:
    """Read a file, packed or not, from `offset` in blocks of whole lines.

    A line longer than `line_cap` is passed over and counted, so that memory stays bounded; a last
    line without newline comes as `tail` and is not part of `end`, because its writer may not be
    done with it. With `keep_ends` the first block has the ends of what was read.
    """
    with open_log(path, offset) as file:
        start = here = offset
        carry = b""
        skipping = False  # inside a line that is over the cap
        long_lines: list[int] = []
        while data := file.read(block_bytes):
            here += len(data)
            if here > UNPACKED_CAP and is_packed(path):
                raise AdapterError(f"it unpacks to more than {UNPACKED_CAP} bytes")
            if skipping:
                newline = data.find(b"\n")
                if newline < 0:
                    continue
                long_lines.append(start)
                start = here - len(data) + newline + 1
                skipping, carry, data = False, b"", data[newline + 1 :]
            carry = carry + data if carry else data
            last = carry.rfind(b"\n")
            if last < 0:
                if len(carry) > line_cap:
                    skipping, carry = True, b""
                continue
            whole, carry = carry[: last + 1], carry[last + 1 :]
            lines, long_here = _split(whole, start, line_cap)
            end = start + len(whole)
            ends = (whole[:SPAN], whole[-SPAN:]) if keep_ends and start == 0 else None
            yield Block(lines, start, end, long_lines=long_lines + long_here, ends=ends)
            start, long_lines = end, []
        cut = why_cut(file)
        # An endless last line is not complete, so not consumed, and it was not kept in memory.
        tail = (start, carry) if skipping or carry else None
        if tail or long_lines or cut:
            yield Block([], start, start, tail, long_lines, cut=cut)


def _split(data: bytes, start: int, line_cap: int) -> tuple[list[tuple[int, bytes]], list[int]]:
    """Whole lines with their positions, blank ones left out, and where those over the cap begin."""
    lines: list[tuple[int, bytes]] = []
    too_long: list[int] = []
    begin = 0
    while (end := data.find(b"\n", begin)) >= 0:  # `split` looks at each byte, `find` at many
        if end - begin > line_cap:
            too_long.append(start + begin)
        elif end > begin and not (line := data[begin:end]).isspace():
            lines.append((start + begin, line))
        begin = end + 1
    return lines, too_long


def as_object(value: Json) -> dict[str, Json]:
    """The value if it is an object, else an empty one: vendors change shapes without notice."""
    # Called forty times per record: a `cast` would double its cost.
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def as_list(value: Json) -> list[Json]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def as_text(value: Json) -> str:
    """The value if it is text, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: Json) -> int:
    """The value if it can be a count of tokens, else 0."""
    return value if type(value) is int and 0 <= value < 1 << 53 else 0


_decode = msgspec.json.Decoder().decode


def decode_record(line: bytes) -> dict[str, Json] | None:
    """Decode one line to an object, or None when it is not one."""
    try:
        value = _decode(line)
    except DEPTH_ERRORS:
        return _decode_leniently(line)
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def _decode_leniently(line: bytes) -> dict[str, Json] | None:
    """Second try for what a strict decoder refuses: BOM, NUL runs, bad UTF-8, lone surrogates."""
    import json  # for damaged lines only

    text = line.lstrip(b"\xef\xbb\xbf").replace(b"\x00", b"").decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    record = cast("dict[str, Json]", value)
    return _without_surrogates(record) if "\\ud" in text.lower() else record


def _without_surrogates(value: Json) -> Json:
    """Replace lone surrogates, which no encoder will take back."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in as_list(value)]
    if isinstance(value, dict):
        pairs = as_object(value).items()
        return {_without_surrogates(key): _without_surrogates(item) for key, item in pairs}
    return value


RECOVERY_TRIES = 200
"""Bound on decode attempts per damaged line, so that a hostile line costs linear time."""


def recover_records(
    line: bytes, is_record: Callable[[dict[str, Json]], bool]
) -> list[tuple[int, dict[str, Json]]]:
    """Find whole records inside a damaged line: two glued together, or one behind a torn one.

    `is_record` rejects objects nested in a torn record. Returns (offset, record) pairs.
    """
    import json

    text = line.decode("utf-8", "surrogateescape")  # bytes that are not UTF-8 count in offsets
    decoder = json.JSONDecoder()
    records: list[tuple[int, dict[str, Json]]] = []
    index, tries = text.find('{"'), 0
    while index >= 0 and tries < RECOVERY_TRIES:
        tries += 1
        step = 1
        try:
            value, end = decoder.raw_decode(text, index)
        except (ValueError, RecursionError):
            pass
        else:
            if isinstance(value, dict) and is_record(cast("dict[str, Json]", value)):
                offset = len(text[:index].encode("utf-8", "surrogateescape"))
                records.append((offset, _without_surrogates(value)))
                step = end - index
        index = text.find('{"', index + step)
    return records


def rewound(event: RawEvent) -> RawEvent:
    """An event of a branch that the user left: its text stays, but no longer counts."""
    return RawEvent(
        event.pos,
        "other",
        event.origin,
        event.text,
        event.at,
        call_id=event.call_id,
        identity=event.identity,
        label="rewound",
    )


def parse_time(value: Json) -> int | None:
    """ISO 8601 text, Unix seconds or Unix milliseconds to milliseconds; None for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            # A local time without zone would move with the machine.
            return None if moment.tzinfo is None else round(moment.timestamp() * 1000)
        except (OverflowError, ValueError):
            return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        if 1e8 < value < 1e10:
            return round(value * 1000)
        if 1e11 < value < 1e13:
            return round(value)
    return None


LOG_SUFFIXES = (".jsonl", ".json", *(f".jsonl{packed}" for packed in SUFFIXES))


def source_at(path: str) -> SourceFile | None:
    """The regular file of that path as a source, if it is named like a log."""
    if not path.endswith(LOG_SUFFIXES):
        return None
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(info.st_mode):
        return None
    times = (info.st_mtime_ns, info.st_ctime_ns)
    return SourceFile(path, info.st_size, *times, info.st_dev, info.st_ino)


def walk_files(
    root: str, suffix: str, *, skip_dirs: Set[str] = frozenset(), skip_files: Set[str] = frozenset()
) -> Iterator[SourceFile]:
    """Every file below `root` whose name ends in `suffix`.

    A log that was packed counts as well, unless the plain one is there too. Linked folders directly
    in `root` are followed, each folder once; links further below are not.

    What cannot be read is given too, with no size: a pipe, a link that leads nowhere, a folder that
    may not be listed. Reading it fails at once, and so the sweep names it in its report.

    Files come in order of their names: the same logs get the same numbers on every disk.
    """
    walked: set[tuple[int, int]] = set()
    links: list[str] = []
    stack = [root]
    while stack or links:
        if not stack:  # whatever is not a link was walked: a link to it leads to nothing new
            link = links.pop()
            if _is_elsewhere(link, root, walked):
                stack.append(link)
            continue
        directory = stack.pop()
        try:
            here = os.stat(directory)
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as error:
            if not has_vanished(error, directory):
                yield unreadable(directory)
            continue
        walked.add((here.st_dev, here.st_ino))
        names = {entry.name for entry in entries}
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in skip_dirs:
                    stack.append(entry.path)
            elif (name.endswith(suffix) and name not in skip_files) or (
                name.endswith(SUFFIXES) and _is_packed_log(name, suffix, names | skip_files)
            ):
                try:
                    info = entry.stat()
                except OSError as error:
                    if not has_vanished(error, entry.path):
                        yield unreadable(entry.path)
                    continue
                if stat.S_ISREG(info.st_mode):
                    times = (info.st_mtime_ns, info.st_ctime_ns)
                    yield SourceFile(entry.path, info.st_size, *times, info.st_dev, info.st_ino)
                elif not stat.S_ISDIR(info.st_mode):
                    yield unreadable(entry.path)
                elif directory == root:
                    links.append(entry.path)
            elif directory == root and entry.is_symlink() and name not in skip_dirs:
                links.append(entry.path)
        if directory == root:
            links.sort(reverse=True)


def _is_packed_log(name: str, suffix: str, plain_names: Set[str]) -> bool:
    """Whether it is a packed log whose plain form is not among `plain_names`."""
    plain = unpacked_name(name)
    return suffix == ".jsonl" and plain.endswith(suffix) and plain not in plain_names


def _is_elsewhere(link: str, root: str, walked: Set[tuple[int, int]]) -> bool:
    """Whether a link leads to a folder that was not walked and does not contain where we are."""
    try:
        info = os.stat(link)
    except OSError:
        return False
    if not stat.S_ISDIR(info.st_mode) or (info.st_dev, info.st_ino) in walked:
        return False
    target, here = os.path.realpath(link), os.path.realpath(root)
    return os.path.commonpath([target, here]) != target


def unreadable(path: str) -> SourceFile:
    """A source whose reading will fail, and be reported."""
    return SourceFile(path, -1, 0, 0, 0, 0)


def has_vanished(error: OSError, path: str) -> bool:
    """Whether an error means that a file was removed since it was listed."""
    return isinstance(error, FileNotFoundError) and not os.path.lexists(path)
