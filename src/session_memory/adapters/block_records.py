"""The records in a block of lines: whole ones, those inside damaged lines, and a torn last one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from session_memory.adapters.common import (
    Block,
    Json,
    Normalized,
    as_text,
    decode_record,
    recover_records,
)

Records = Iterator[tuple[int, dict[str, Json]]]
"""Pairs of (offset in the file, record)."""
IsRecord = Callable[[dict[str, Json]], bool]


Recover = Callable[[bytes, IsRecord], list[tuple[int, dict[str, Json]]]]


def line_records(
    block: Block, bundle: Normalized, is_record: IsRecord, recover: Recover = recover_records
) -> Records:
    """Every object of a block but the tail, also those `is_record` knows inside damaged lines."""
    for offset, line in block.lines:
        record = decode_record(line)
        if record is not None:
            yield offset, record
            continue
        bundle.damage(offset)
        for inner, record in recover(line, is_record):
            bundle.recovered += 1
            yield offset + inner, record


def tail_record(block: Block, bundle: Normalized, is_whole: IsRecord) -> Records:
    """A last line without newline: a record if it is whole, else one still being written."""
    if block.tail is None:
        return
    offset, line = block.tail
    record = decode_record(line)
    if record is not None and is_whole(record):
        yield offset, record
    elif not line.isspace():
        bundle.incomplete_tail += 1


def whole_records(
    block: Block, bundle: Normalized, is_record: IsRecord, is_whole: IsRecord | None = None
) -> list[tuple[int, dict[str, Json]]]:
    """All records of a block, counted; a line that is an object and no record is damage.

    `is_whole` is for logs where a whole line needs less to be a record than a piece of one.
    """
    is_whole = is_whole or is_record
    records: list[tuple[int, dict[str, Json]]] = []
    for offset, record in line_records(block, bundle, is_record):
        if is_whole(record):
            records.append((offset, record))
        else:
            bundle.damage(offset)
    records += tail_record(block, bundle, is_whole)
    bundle.records += len(records)
    return records


def has_type(record: dict[str, Json]) -> bool:
    """Whether a record says what it is, in the field most logs have for that."""
    return bool(as_text(record.get("type")))
