"""Changes of the agents' own memory files that the user said yes to, each exactly undoable.

Only files of a repository are changed, through `distribute.files`, which refuses links that lead
out and files that changed meanwhile. The list of what was done keeps the old line, so a line with
a secret is never offered for a change.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from session_memory import audit
from session_memory.atomic_files import replace_file
from session_memory.distribute.files import put, read_file
from session_memory.errors import NotFound, Refused
from session_memory.memory.native.audit import Finding, Fix
from session_memory.paths import private_dir
from session_memory.store.json_files import read_json_file
from session_memory.store.lock import exclusive

FILE = "native-fixes.json"


class Applied(msgspec.Struct, frozen=True):
    """One change of a line."""

    id: str
    root: str
    path: str
    """Below the root."""
    line: int
    old: str
    """The line as it was, with its end."""
    new: str
    """The line in its place; "" where it was removed."""
    above: str
    """The line before it, to find the place again."""
    after: str
    """SHA-256 of the file after the change."""
    at: int


def read_applied(data: Path) -> tuple[Applied, ...]:
    """Every change that can be undone, oldest first."""
    return read_json_file(data / FILE, tuple[Applied, ...], "put a copy of it back") or ()


def diff_of(fix: Fix, name: str) -> str:
    """The change as a unified diff of one line."""
    old = [f"{fix.old}\n"]
    new = [] if fix.new is None else [f"{fix.new}\n"]
    lines = list(difflib.unified_diff(old, new, name, name, n=0))
    return "".join((*lines[:2], f"@@ line {fix.line} @@\n", *lines[3:])).rstrip("\n")


def apply_fix(data: Path, root: str, finding: Finding, now_ms: int) -> Applied:
    """Change the line, note how to undo it, and write it into the audit."""
    fix = finding.fix
    if fix is None:
        raise Refused(f"there is no certain fix for {finding.id}", hint="edit the file yourself")
    inside = os.path.relpath(fix.path, os.path.realpath(root))
    with _changing(data):
        lines = _lines(root, inside)
        at = fix.line - 1
        if not 0 <= at < len(lines) or lines[at].rstrip("\r\n") != fix.old:
            raise Refused(f"{inside} has changed meanwhile", hint="run the command again")
        old, before = lines[at], "".join(lines)
        end = old[len(old.rstrip("\r\n")) :]
        new = "" if fix.new is None else fix.new + end
        changed = "".join((*lines[:at], new, *lines[at + 1 :]))
        above = lines[at - 1] if at else ""
        after = audit.sha256(changed.encode()) or ""
        applied = Applied(finding.id, root, inside, fix.line, old, new, above, after, now_ms)
        # First the way back: cut off in between, undoing finds the old line and does nothing.
        _write(data, [*_others(data, applied), applied])
        _replace(data, applied, before, changed, f"fix {finding.id}: {finding.kind}")
    return applied


def undo_fix(data: Path, name: str, now_ms: int) -> Applied:
    """Put a line back where it was; exactly the file before, if nothing else changed since."""
    with _changing(data):
        matching = [fix for fix in read_applied(data) if fix.id == name]
        if not matching:
            raise NotFound(f"no change {name} is noted", hint="`--json` lists those that are")
        fix = matching[-1]
        lines = _lines(fix.root, fix.path)
        before = "".join(lines)
        changed = _restored(fix, lines, before)
        if changed != before:
            _replace(data, fix, before, changed, f"undo of {name}")
        _write(data, [each for each in read_applied(data) if each != fix])
    return msgspec.structs.replace(fix, at=now_ms)


def _restored(fix: Applied, lines: list[str], before: str) -> str:
    at = fix.line - 1
    if audit.sha256(before.encode()) == fix.after:
        rest = lines[at + 1 :] if fix.new else lines[at:]
        return "".join((*lines[:at], fix.old, *rest))
    anchor = fix.new or fix.above
    places = [number for number, line in enumerate(lines) if anchor and line == anchor]
    if fix.new and not places and fix.old in lines:
        return before  # it was never replaced, or was put back
    if len(places) == 1 and fix.new:
        lines[places[0]] = fix.old
        return "".join(lines)
    if len(places) == 1:
        if fix.old not in lines[places[0] + 1 : places[0] + 2]:
            lines.insert(places[0] + 1, fix.old)
        return "".join(lines)
    raise Refused(
        f"{fix.path} was changed since, and the place is not certain",
        hint=f"line {fix.line} was: {fix.old.strip()}",
    )


def _lines(root: str, inside: str) -> list[str]:
    content = read_file(root, inside)
    if content.problem or content.data is None:
        raise Refused(f"{inside}: {content.problem or 'it is gone'}")
    try:
        text = content.data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{inside} is not UTF-8") from None
    return text.splitlines(keepends=True)


def _replace(data: Path, fix: Applied, before: str, after: str, why: str) -> None:
    real = read_file(fix.root, fix.path).real
    put(fix.root, real, before.encode(), after.encode())
    hashes = audit.sha256(before.encode()), audit.sha256(after.encode())
    audit.append(data, audit.Written(fix.at, "memory audit", real, why, *hashes))


def _others(data: Path, applied: Applied) -> list[Applied]:
    return [other for other in read_applied(data) if other.id != applied.id]


def _write(data: Path, applied: Iterable[Applied]) -> None:
    replace_file(private_dir(data) / FILE, msgspec.json.encode(tuple(applied)))


def _changing(data: Path) -> AbstractContextManager[None]:
    private_dir(data)
    return exclusive(str(data / "native-fixes.lock"), "another change of memory files", wait=True)


def drop_applied(data: Path, is_gone: Callable[[Applied], bool]) -> None:
    """Remove the way back of some changes: their words or their project must go."""
    if not (data / FILE).exists():
        return
    with _changing(data):
        all_applied = read_applied(data)
        remaining = [applied for applied in all_applied if not is_gone(applied)]
        if len(remaining) < len(all_applied):
            _write(data, remaining)
