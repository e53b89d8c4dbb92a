"""Is this an export, whole, and can this program read it? Asked before anything is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from session_memory.errors import NotFound, Refused
from session_memory.export.jsonl import Progress, Target, target_of
from session_memory.export.records import FORMAT, KIND, EventLine, Line, Manifest, SessionLine

_CHUNK = 1024 * 1024
_AGAIN = "make the export again, or copy it again from where it was made"


def read_manifest(target: Target) -> Manifest:
    """The manifest of an export; refuses what is none, and what a newer program wrote."""
    try:
        data = target.manifest.read_bytes()
    except FileNotFoundError:
        raise NotFound(
            f"{target.manifest} is not there, so this is no whole export",
            hint="an export that was cut off has no manifest: make it again",
        ) from None
    except NotADirectoryError:
        raise NotFound(
            f"{target.manifest.parent} is no export",
            hint="name the directory, or the .jsonl file, that `session-memory export` wrote",
        ) from None
    try:
        head = msgspec.json.decode(data, type=_Head)
    except msgspec.DecodeError as error:
        raise Refused(f"{target.manifest} is damaged: {error}", hint=_AGAIN) from None
    if head.kind != KIND:
        raise Refused(f"{target.manifest} is not the manifest of an export")
    if head.format > FORMAT:
        raise Refused(
            f"a newer session-memory ({head.version}) wrote this export",
            hint="upgrade session-memory, then import it",
        )
    try:
        return msgspec.json.decode(data, type=Manifest)
    except msgspec.DecodeError as error:
        raise Refused(f"{target.manifest} is damaged: {error}", hint=_AGAIN) from None


class _Head(msgspec.Struct, frozen=True):
    kind: str
    format: int
    version: str = "?"


def open_export(path: Path) -> tuple[Manifest, Path]:
    """The manifest and the file of lines of an export, checked to the last byte."""
    target = target_of(path)
    manifest = read_manifest(target)
    entry = next((e for e in manifest.files if e.name == target.lines.name), None)
    if entry is None:
        raise Refused(f"{target.manifest} does not list {target.lines.name}", hint=_AGAIN)
    seen, size = hashlib.sha256(), 0
    try:
        with open(target.lines, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                seen.update(chunk)
                size += len(chunk)
    except FileNotFoundError:
        raise NotFound(f"{target.lines} is not there", hint=_AGAIN) from None
    if (size, seen.hexdigest()) != (entry.bytes, entry.sha256):
        raise Refused(
            f"{target.lines} is damaged: it is not what its manifest says ({size} bytes,"
            f" {entry.bytes} expected)",
            hint=_AGAIN,
        )
    return manifest, target.lines


def read_lines(path: Path, progress: Progress) -> Iterator[Line]:
    """The lines of an export, one after the other."""
    decoder = msgspec.json.Decoder(SessionLine | EventLine)
    total = path.stat().st_size
    done = 0
    with open(path, "rb") as stream:
        for number, data in enumerate(stream, 1):
            try:
                line = decoder.decode(data)
            except msgspec.DecodeError as error:
                raise Refused(f"line {number} of {path} is damaged: {error}", hint=_AGAIN) from None
            done += len(data)
            if isinstance(line, SessionLine):
                progress(done, total, line.session.external_id)
            yield line
