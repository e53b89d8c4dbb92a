"""The log of changes that VS Code keeps a chat in, replayed to the document it describes.

    {"kind": 0, "v": document}             begin with this
    {"kind": 1, "k": path, "v": value}     set
    {"kind": 2, "k": path, "v": list, "i": length}   cut to `length` if given, then append
    {"kind": 3, "k": path}                 delete

VS Code rewrites the file from time to time, so it is always replayed from its start.
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from session_memory.adapters.common import Json, Normalized, as_list
from session_memory.adapters.whole_log import Record, Records

_SET, _APPEND, _DELETE = 1, 2, 3


def is_change(record: Record) -> bool:
    """Whether an object is a line of the log, and not one nested in it."""
    kind = record.get("kind")
    return type(kind) is int and 0 <= kind <= _DELETE and ("v" in record or "k" in record)


def replay(records: Records, bundle: Normalized) -> Record:
    """The document after all changes; one whose place is not there is counted and left out."""
    document: Record = {}
    for _, record in records:
        value, path = record.get("v"), as_list(record.get("k"))
        if record["kind"] == 0:
            document = cast("Record", value) if isinstance(value, dict) else {}
        elif not path or not _apply(document, record, path):
            bundle.missing["change without a place"] += 1
    return document


def _apply(document: Record, record: Record, path: list[Json]) -> bool:
    holder: Json = document
    for step, following in pairwise(path):
        holder = _step(holder, step, [] if isinstance(following, int) else {})
    key = path[-1]
    if record["kind"] == _SET:
        return _set(holder, key, record.get("v"))
    if record["kind"] == _APPEND:
        return _append(_step(holder, key, []), record)
    return isinstance(holder, dict) and cast("Record", holder).pop(key, None) is not None


def _append(target: Json, record: Record) -> bool:
    if not isinstance(target, list):
        return False
    items = cast("list[Json]", target)
    cut = record.get("i")
    if type(cut) is int and cut >= 0:
        del items[cut:]
    items += as_list(record.get("v"))
    return True


def _step(holder: Json, key: Json, new: Json) -> Json:
    """What is at a key; in an object, made if it is missing."""
    if isinstance(holder, dict) and isinstance(key, str):
        return cast("Record", holder).setdefault(key, new)
    items = as_list(holder)
    if type(key) is int and 0 <= key < len(items):
        return items[key]
    return None


def _set(holder: Json, key: Json, value: Json) -> bool:
    if isinstance(holder, dict) and isinstance(key, str):
        holder[key] = value
        return True
    if isinstance(holder, list) and type(key) is int:
        items = cast("list[Json]", holder)
        if 0 <= key < len(items):
            items[key] = value
            return True
        if key == len(items):
            items.append(value)
            return True
    return False
