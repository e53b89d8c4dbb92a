"""Regular expressions compiled once for all processes, stored next to the bytecode of this module.

Compiling the expressions of a first sweep takes 100 ms, loading what was compiled 5 ms, and a
command that needs a few loads those alone. As with bytecode nothing depends on the file: without
one, or with one that is damaged or of another Python, expressions are compiled as usual, and a
directory that cannot be written gets none.
"""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import re
import sys
import zlib
from array import array
from functools import cache
from importlib import import_module
from typing import Any, AnyStr

LIMIT = 4_000
"""Expressions kept; more are those of older versions, and the file starts over."""
_SUM = _SIZE = 4

Key = tuple[str | bytes, int]
Parts = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]
"""What Python's matcher takes besides the expression: flags, program, and its groups."""

_fresh: dict[Key, bytes] = {}


def compiled(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile`, from the file if an earlier process had the same expression."""
    key = (pattern, int(flags))
    try:
        sealed = _stored().get(key)
        parts: Parts | None = None if sealed is None else _unsealed(sealed)
        if parts is None:
            parts = _parts(pattern, int(flags))
            _keep(key, _sealed(parts))
        return _matcher(pattern, parts)
    except re.error:
        raise
    except Exception:  # noqa: BLE001 - a Python that works in another way inside
        return re.compile(pattern, flags)


def _matcher(pattern: Any, parts: Parts) -> Any:
    flags, program, groups, by_name, names = parts
    # It checks the program before it takes it.
    make = import_module("_sre").compile
    return make(pattern, flags, memoryview(program).cast("I").tolist(), groups, by_name, names)


def _parts(pattern: str | bytes, flags: int) -> Parts:
    """What `re.compile` does, up to the last step."""
    parsed: Any = import_module("re._parser").parse(pattern, flags)
    program: list[int] = import_module("re._compiler")._code(parsed, flags)
    by_name: dict[str, int] = parsed.state.groupdict
    names: list[str | None] = [None] * parsed.state.groups
    for name, group in by_name.items():
        names[group] = name
    known_flags = flags | parsed.state.flags
    return known_flags, array("I", program).tobytes(), len(names) - 1, by_name, tuple(names)


def _sealed(value: Any) -> bytes:
    """A value as bytes, behind their sum."""
    body = marshal.dumps(value)
    # Not a hash of `hashlib`, which takes 3 ms to import.
    return zlib.crc32(body).to_bytes(_SUM, "little") + body


def _unsealed(data: bytes) -> Any:
    """The value, or None where the bytes are not what was written."""
    body = data[_SUM:]
    return marshal.loads(body) if zlib.crc32(body).to_bytes(_SUM, "little") == data[:_SUM] else None


def _python() -> tuple[str, int, int]:
    """Programs hold for this very Python only."""
    return sys.version, import_module("_sre").MAGIC, array("I").itemsize


def _file() -> str | None:
    """Next to our bytecode, wherever that is kept."""
    place = __spec__.cached if __spec__ is not None else None
    return None if place is None else place.removesuffix(".pyc") + ".patterns"


@cache
def _stored() -> dict[Key, bytes]:
    """The sealed parts of every expression in the file: a list of their lengths, then the parts."""
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError, AttributeError):
        with open(_file() or "", "rb") as file:
            data = file.read()
        start = _SIZE + int.from_bytes(data[:_SIZE], "little")
        python, lengths = _unsealed(data[_SIZE:start])
        stored: dict[Key, bytes] = {}
        for key, length in lengths.items() if python == _python() else ():
            stored[key] = data[start : start + length]
            start += length
        return stored
    return {}


def _keep(key: Key, sealed: bytes) -> None:
    if not (_fresh or sys.dont_write_bytecode):
        atexit.register(_write)
    _fresh[key] = sealed


def _write() -> None:
    path = _file()
    if path is None:
        return
    patterns = _stored() | _fresh
    patterns = patterns if len(patterns) <= LIMIT else _fresh
    head = _sealed((_python(), {key: len(sealed) for key, sealed in patterns.items()}))
    fresh = f"{path}.{os.getpid()}"
    try:
        with open(fresh, "xb") as file:
            file.write(b"".join([len(head).to_bytes(_SIZE, "little"), head, *patterns.values()]))
        os.chmod(fresh, 0o644)  # as bytecode has it: there is nothing private in it
        os.replace(fresh, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
