"""Tool calls joined with their results, also where a result comes in pieces."""

from __future__ import annotations

import re

import msgspec

from session_memory.core.commands import changes_files, reads_only, steps
from session_memory.core.schema import SessionEvent
from session_memory.core.text.masks import error_lines
from session_memory.distil.check_output import check_passed
from session_memory.distil.checks import check_of
from session_memory.regex_cache import compiled

MAX_ATTEMPTS = 3000
"""Calls of a session that are kept for finding cures; later ones replace the oldest."""
RECENT = 120
"""Calls whose results are still to be expected."""
_OUTPUT_CHARS = 1500
_HEAD_CHARS = 300
_ERROR_LINES = 8
_MAX_OPEN = 2000  # calls whose result never came
# Codex answers at once for a command that takes long, and gives the rest when it is polled.
_RUNNING_CHARS = 400
_STILL_RUNNING = compiled(r"Process running with session ID (\d+)")
_POLLED = compiled(r'"session_id":\s*"?(\d+)')
_PREFACES = ("Chunk ID", "Wall time", "Process exited", "Original token")
_OUTPUT = "Output:"
# A shell that could not begin a part of a pipe says so; the exit code is of the last part.
_SHELL_ERROR = compiled(
    r"^(?:\(eval\):\d+: |zsh:\d+: |bash: line \d+: |sh: )"
    r"(?:no matches found|command not found|\S+: command not found)",
    re.M,
)
# What a package manager or a tool prints when it gives up, where a pipe hides its exit code.
_ERROR_CUES = ("ERR_", "ERR!", "npm error", "error: ", "fatal: ")
_SAYS_ERROR = compiled(r"^\s*(?:ERR_[A-Z]|\u2009?ERR!|npm (?:ERR!|error)|error: |fatal: )", re.M)


class Attempt(msgspec.Struct):
    """One tool call and what became of it."""

    pos: int
    """Its place in the order of the log; `seq` is the number of its event in the store."""
    seq: int
    tool: str
    command: str | None
    files: tuple[str, ...]
    edits: bool
    result_pos: int | None = None
    result_seq: int = 0
    exit: int | None = None
    failed: bool = False
    denied: bool = False
    output: str = ""
    """The end of its output, without what the client puts before it."""
    head: str = ""
    """The beginning of its output, where `output` has only the end."""
    errors: tuple[str, ...] = ()
    """Lines of a failure that say what went wrong, the most specific first."""

    @property
    def error(self) -> str:
        """The line that says most about the failure; '' where there is none."""
        return self.errors[0] if self.errors else ""

    @property
    def is_cut(self) -> bool:
        """Its output begins somewhere inside a line."""
        return len(self.output) >= _OUTPUT_CHARS

    @property
    def worked(self) -> bool:
        """It ran to its end and did not fail."""
        return self.result_pos is not None and not self.failed and not self.denied


class AttemptLog:
    """Every call of a session in order, each with its final result."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self._open: dict[str, Attempt] = {}
        self._running: dict[str, Attempt] = {}
        self.dropped = self.late = 0
        """`late` counts results that came for calls before the `RECENT` last ones."""

    def call(self, event: SessionEvent, pos: int) -> None:
        """Take in a tool call; a poll belongs to the command it asks about."""
        attempt = self._polled(event) if self._running else None
        if attempt is None:
            command = event.command if event.tool_class == "shell" else None
            edits = event.tool_class == "edit" or (command is not None and changes_files(command))
            attempt = Attempt(pos, event.seq, event.tool or "", command, event.files, edits)
            self.attempts.append(attempt)
            if len(self.attempts) > MAX_ATTEMPTS * 2:
                del self.attempts[:MAX_ATTEMPTS]
                self.dropped += MAX_ATTEMPTS
        if event.call_id is not None:
            self._open[event.call_id] = attempt
            if len(self._open) > _MAX_OPEN:
                del self._open[next(iter(self._open))]

    def result(self, event: SessionEvent, pos: int) -> None:
        """Take in a result; one that says "still running" is not the last of its call."""
        attempt = self._open.pop(event.call_id or "", None)
        if attempt is None:
            return
        if len(self.attempts) > RECENT and attempt.pos < self.attempts[-RECENT].pos:
            self.late += 1
        text = event.text or ""
        before, start = attempt.output, _preface_end(text)
        if len(before) + len(text) - start > _OUTPUT_CHARS:
            head = before + text[start : start + _HEAD_CHARS]
            attempt.head = attempt.head or head[:_HEAD_CHARS]
        tail = text[max(start, len(text) - _OUTPUT_CHARS) :]
        attempt.output = (before + tail)[-_OUTPUT_CHARS:]
        may_run = event.exit_code is None and "Process running" in text[:_RUNNING_CHARS]
        running = _STILL_RUNNING.search(text, 0, _RUNNING_CHARS) if may_run else None
        if running is not None:
            self._running[running[1]] = attempt
            return
        attempt.result_pos, attempt.result_seq = pos, event.seq
        attempt.exit = event.exit_code
        attempt.denied = event.label in ("denied", "interrupted")
        attempt.failed = not attempt.denied and _has_failed(attempt.command, event, text)
        if attempt.failed:
            lines = error_lines(text, _ERROR_LINES) or error_lines(attempt.output, _ERROR_LINES)
            attempt.errors = tuple(lines)

    def _polled(self, event: SessionEvent) -> Attempt | None:
        if event.command is not None or event.tool_class != "shell":
            return None
        match = _POLLED.search(event.text or "")
        return self._running.get(match[1]) if match is not None else None


def _preface_end(text: str) -> int:
    """Where the output of a command begins, behind the lines that Codex puts before it."""
    start = 0
    while text.startswith(_PREFACES, start):
        end = text.find("\n", start)
        if end < 0:
            return 0
        start = end + 1
    if not text.startswith(_OUTPUT, start):
        return 0
    start += len(_OUTPUT)
    return start + text.startswith("\n", start)


def _has_failed(command: str | None, event: SessionEvent, text: str) -> bool:
    failed = event.is_error or event.exit_code not in (None, 0)
    if command is None:
        return failed
    check = check_of(command)
    if check is not None:
        passed = check_passed(check, text, event.exit_code, event.is_error)
        failed = passed is False or (failed and passed is not True)
    end, tail = max(0, len(text) - _OUTPUT_CHARS), text[-_OUTPUT_CHARS:]
    if failed or (" found" in tail and _SHELL_ERROR.search(text, end)):
        return True
    if check is not None or not any(map(tail.__contains__, _ERROR_CUES)):
        return False
    if _SAYS_ERROR.search(text, end) is None:
        return False
    return any(step.hides_exit for step in steps(command)) and not reads_only(command)
