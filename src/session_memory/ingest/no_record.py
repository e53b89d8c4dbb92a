"""Files that are named like logs but are not logs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.adapters.packed import open_log, unpacked_name
from session_memory.errors import AdapterError
from session_memory.file_names import text_to_name

if TYPE_CHECKING:
    from session_memory.store.port import CaptureStore


class NoRecordError(AdapterError):
    """A file that is named like a log but holds no record."""


def refuse_no_log(adapter: Adapter, file: SourceFile, damaged: int, too_long: int) -> None:
    """Raise NoRecordError for a file without a record, unless it is empty or just begun."""
    is_file = os.path.isfile(file.path)  # and not a session among others in a database
    with open_log(file.path, 0) if is_file else adapter.open(file) as stream:
        head = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    if too_long and not damaged:  # it may well be a log
        raise NoRecordError("no record in it is within ingest.line_cap_bytes")
    if head and (damaged or not head.startswith(b"{")):
        raise NoRecordError(_why_no_record(adapter, file, head))


def unread_logs(store: CaptureStore) -> list[str]:
    """Logs of which nothing could be read and that are still there."""
    return [path for path in store.unread_logs() if os.path.exists(text_to_name(path))]


def _why_no_record(adapter: Adapter, file: SourceFile, head: bytes) -> str:
    if head.startswith(b"\x1f\x8b"):
        return "no record in it: it is packed with gzip, but not named .jsonl.gz"
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return "no record in it: it is packed with zstd, but not named .jsonl.zst"
    is_lines = unpacked_name(file.path).endswith(".jsonl")
    if is_lines and head[:1] in (b"{", b"["):
        return "no record in it: a record must be one line of JSON"
    return f"no record in it: it is not a log of {adapter.title}"
