"""Files that are named like logs and are none."""

from __future__ import annotations

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.errors import AdapterError


class NoRecordError(AdapterError):
    """A file that is named like a log and holds not one record."""


def refuse_no_log(adapter: Adapter, file: SourceFile, unread: int) -> None:
    """Raise NoRecordError for a file without a record, unless it is empty or just begun."""
    with adapter.open(file) as stream:
        head = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head and (unread or not head.startswith(b"{")):
        raise NoRecordError(_why_no_record(adapter, head))


def _why_no_record(adapter: Adapter, head: bytes) -> str:
    if head.startswith(b"\x1f\x8b"):
        return "no record in it: it is packed with gzip, but not named .jsonl.gz"
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return "no record in it: it is packed with zstd, but not named .jsonl.zst"
    if head[:1] in (b"{", b"["):
        return "no record in it: a record must be one line of JSON"
    return f"no record in it: it is not a log of {adapter.title}"
