"""Reads an export: checks that it is complete and readable before anything is imported."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from session_memory.errors import NotFound, Refused
from session_memory.export.jsonl import ExportFiles, Progress, export_files
from session_memory.export.records import FORMAT, KIND, EventLine, Line, Manifest, SessionLine

_CHUNK = 1024 * 1024
MAX_LINE = 128 * 1024 * 1024
"""Bytes of one line: twice what a line of a log may have; memory takes several times that."""
_MAKE_AGAIN = "make the export again, or copy it again from where it was made"


def read_manifest(target: ExportFiles) -> Manifest:
    """The manifest of an export; refuses anything else, and what a newer program wrote."""
    try:
        data = target.manifest.read_bytes()
    except FileNotFoundError:
        raise NotFound(
            f"{target.manifest} is missing, so this is not a complete export",
            hint="an export that was cut off has no manifest: make it again",
        ) from None
    except NotADirectoryError:
        raise NotFound(
            f"{target.manifest.parent} is not an export",
            hint="name the directory, or the .jsonl file, that `session-memory store export` wrote",
        ) from None
    try:
        head = msgspec.json.decode(data, type=_ManifestHead)
    except msgspec.DecodeError as error:
        raise Refused(f"{target.manifest} is damaged: {error}", hint=_MAKE_AGAIN) from None
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
        raise Refused(f"{target.manifest} is damaged: {error}", hint=_MAKE_AGAIN) from None


class _ManifestHead(msgspec.Struct, frozen=True):
    """The fields that every version of the format has."""

    kind: str
    format: int
    version: str = "?"


def open_export(path: Path) -> tuple[Manifest, Path]:
    """The manifest and the file of lines of an export, checked to the last byte."""
    target = export_files(path)
    manifest = read_manifest(target)
    entry = next((file for file in manifest.files if file.name == target.lines.name), None)
    if entry is None:
        raise Refused(f"{target.manifest} does not list {target.lines.name}", hint=_MAKE_AGAIN)
    digest, size = hashlib.sha256(), 0
    try:
        with open(target.lines, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except FileNotFoundError:
        raise NotFound(f"{target.lines} is missing", hint=_MAKE_AGAIN) from None
    if (size, digest.hexdigest()) != (entry.bytes, entry.sha256):
        raise Refused(
            f"{target.lines} is damaged: it does not match its manifest ({size} bytes,"
            f" {entry.bytes} expected)",
            hint=_MAKE_AGAIN,
        )
    return manifest, target.lines


def read_lines(path: Path, progress: Progress) -> Iterator[Line]:
    """The lines of an export, one after the other."""
    decoder = msgspec.json.Decoder(SessionLine | EventLine)
    total = path.stat().st_size
    done = 0
    with open(path, "rb") as stream:
        for number, data in enumerate(iter(lambda: stream.readline(MAX_LINE + 1), b""), 1):
            if len(data) > MAX_LINE:
                raise Refused(
                    f"line {number} of {path} is longer than {MAX_LINE} bytes", hint=_MAKE_AGAIN
                )
            try:
                line = decoder.decode(data)
            except msgspec.DecodeError as error:
                raise Refused(
                    f"line {number} of {path} is damaged: {error}", hint=_MAKE_AGAIN
                ) from None
            done += len(data)
            if isinstance(line, SessionLine):
                progress(done, total, line.session.external_id)
            yield line
