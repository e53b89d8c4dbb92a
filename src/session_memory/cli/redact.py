"""`session-memory store redact test`: what redaction would replace in a file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import msgspec

from session_memory.cli.app import App, VerbGroup, json_option, pass_app
from session_memory.cli.output import emit_json, table
from session_memory.errors import NotFound
from session_memory.redact import Hit, make_redactor

# Tags are not shown, so any key will do: no store is needed to try a rule.
KEY = b"no store"


class SecretPosition(msgspec.Struct, frozen=True):
    """Where a secret is, without its value."""

    line: int
    column: int
    """In characters, from 1."""
    rule: str
    length: int
    """In characters."""


@click.group(cls=VerbGroup, name="redact", epilog="")
def command() -> None:
    """Show what redaction would replace in a file.

    \b
    Examples:
      session-memory store redact test notes.txt
      env | session-memory store redact test -
    """


@command.command(epilog="")
@click.argument("file")
@json_option
@pass_app
def test(app: App, file: str) -> None:
    """Show where FILE (`-` reads stdin) holds secrets, by which rule and how long; never the value.

    \b
    Examples:
      session-memory store redact test build.log
      session-memory store redact test - < build.log
    """
    warnings: list[str] = []
    redactor = make_redactor(KEY, app.config.redact, warnings.append)
    for text in warnings:
        app.warn(text)
    data = _read(file)
    secrets = list(positions(data, redactor.find(data)))
    counts = Counter(secret.rule for secret in secrets)
    if app.json:
        emit_json({"file": file, "found": secrets, "rules": counts, "warnings": warnings})
        return
    if secrets:
        rows = [(secret.line, secret.column, secret.rule, secret.length) for secret in secrets]
        click.echo(table(rows, ("line", "column", "rule", "length")))
    count = f"{len(secrets)} secret{'' if len(secrets) == 1 else 's'}"
    app.note(f"{count} in {file}" if secrets else f"no secrets found in {file}")


def positions(data: bytes, hits: Iterable[Hit]) -> Iterator[SecretPosition]:
    """Hits (byte offsets, in order) as lines and columns."""
    position, line, begin = 0, 1, 0
    for hit in hits:
        passed = data.count(b"\n", position, hit.start)
        if passed:
            line += passed
            begin = data.rfind(b"\n", position, hit.start) + 1
        position = hit.start
        column = _length(data[begin : hit.start]) + 1
        yield SecretPosition(line, column, hit.rule, _length(data[hit.start : hit.end]))


def _length(data: bytes) -> int:
    return len(data.decode("utf-8", "replace"))


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise NotFound(f"{file}: cannot be read: {error.strerror}") from error
