"""The command that failed last and was not cured since: what blocks a session that ends there."""

from __future__ import annotations

from session_memory.core.checks import Check, check_of
from session_memory.core.commands import normalized
from session_memory.core.masks import error_line, excerpt
from session_memory.core.outcome import check_passed
from session_memory.core.schema import SessionEvent

_MAX_WAITING = 200  # calls whose result has not come
_COMMAND_CHARS = 120
_LINE_CHARS = 240
_TAIL_CHARS = 2000
_NO_FAILURES = ("denied", "interrupted")


class FailingCommand:
    """Follows shell commands; the last failure stands until the same thing succeeds."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        self._command = self._line = ""
        self._check: Check | None = None
        self._later = 0

    def call(self, call_id: str | None, command: str) -> None:
        """Take in a call."""
        self._later += 1
        if call_id is not None:
            self._waiting[call_id] = command
            if len(self._waiting) > _MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]

    def result(self, event: SessionEvent) -> bool:
        """Take in a result; True if it is a new last failure."""
        command = self._waiting.pop(event.call_id, None) if event.call_id is not None else None
        if command is None or event.label in _NO_FAILURES:
            return False
        text = event.text or ""
        failed = event.is_error or event.exit_code not in (None, 0)
        # Only a failed check can be cured: any other failure counts as the last word or not at all.
        if not failed and self._check is None and not _hides_failure(command, text):
            return False
        check = check_of(command)
        if check is not None and (failed or self._matters(check, command, text)):
            passed = check_passed(check, text, event.exit_code, event.is_error)
            if passed and self._same_kind(check):
                self._command, self._check = "", None
            failed = failed if passed is None else not passed
        if failed:
            return self._failed(command, check, error_line(text))
        return False

    def _failed(self, command: str, check: Check | None, line: str) -> bool:
        if check is None and (not line or self._check is not None):
            return False  # `grep` that found nothing; and a slip does not outweigh a failed check
        self._command, self._check, self._later = command, check, 0
        self._line = excerpt(line, _LINE_CHARS)
        return True

    def _matters(self, check: Check, command: str, text: str) -> bool:
        return self._same_kind(check) or _hides_failure(command, text)

    def _same_kind(self, check: Check) -> bool:
        return self._check is not None and not set(check.kinds).isdisjoint(self._check.kinds)

    def blocks(self) -> bool:
        """Whether the failure still stands: a check that was not passed since, or the last word."""
        return bool(self._command) and (self._check is not None or self._later == 0)

    def told(self) -> str:
        """The failure in words."""
        shown = excerpt(normalized(self._command) or self._command, _COMMAND_CHARS)
        return f"`{shown}` fails: {self._line}" if self._line else f"`{shown}` fails"


def _hides_failure(command: str, text: str) -> bool:
    """Behind a pipe or `|| true` only the output tells; most of them need no second look."""
    if "|" not in command and ";" not in command:
        return False
    tail = text[-_TAIL_CHARS:]
    return "ail" in tail or "FAIL" in tail or "rror" in tail
