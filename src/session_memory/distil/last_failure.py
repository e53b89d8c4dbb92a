"""The command that failed last and was not cured since: what blocks a session that ends there."""

from __future__ import annotations

import msgspec

from session_memory.core.commands import normalized
from session_memory.core.schema import SessionEvent
from session_memory.core.text.masks import error_line, excerpt, window
from session_memory.distil.check_output import check_passed
from session_memory.distil.checks import Check, CheckKind, check_of
from session_memory.distil.turns import Ref

_MAX_WAITING = 200  # calls whose result has not come
_COMMAND_CHARS = 120
_LINE_CHARS = 240
_NO_FAILURES = ("denied", "interrupted")


class _Ran(msgspec.Struct, frozen=True):
    """A command with what came back; judged only if it is the last of its kind."""

    command: str
    check: Check | None
    output: str
    exit_code: int | None
    is_error: bool
    ref: Ref

    def failed(self) -> bool:
        marked = self.is_error or self.exit_code not in (None, 0)
        if self.check is None:
            return marked and bool(error_line(self.output))  # `grep` without a find says nothing
        passed = check_passed(self.check, self.output, self.exit_code, self.is_error)
        return marked if passed is None else not passed

    def told(self) -> str:
        shown = excerpt(normalized(self.command) or self.command, _COMMAND_CHARS)
        line = excerpt(error_line(self.output), _LINE_CHARS)
        return f"`{shown}` fails: {line}" if line else f"`{shown}` fails"


class FailingCommand:
    """Follows shell commands and keeps the last run of each kind of check, and the last of all."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        self._last: _Ran | None = None
        self._checks: dict[CheckKind, _Ran] = {}

    def call(self, call_id: str | None, command: str) -> None:
        """Take in a call."""
        self._last = None
        if call_id is not None:
            self._waiting[call_id] = command
            if len(self._waiting) > _MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]

    def waits_for(self, event: SessionEvent) -> bool:
        """Whether a result is that of a command."""
        return event.call_id in self._waiting

    def result(self, event: SessionEvent, ref: Ref) -> None:
        """Take in a result."""
        command = self._waiting.pop(event.call_id, None) if event.call_id is not None else None
        if command is None or event.label in _NO_FAILURES:
            return
        check = check_of(command)
        if check is None and not event.is_error and event.exit_code in (None, 0):
            return
        output = window(event.text or "")
        ran = _Ran(command, check, output, event.exit_code, event.is_error, ref)
        self._last = ran
        for kind in check.kinds if check is not None else ():
            self._checks[kind] = ran

    def blocker(self) -> tuple[Ref, str] | None:
        """What still fails, in words: a check whose last run failed, else the very last command."""
        failed = [ran for ran in self._checks.values() if ran.failed()]
        if not failed and self._last is not None and self._last.failed():
            failed = [self._last]
        if not failed:
            return None
        worst = max(failed, key=lambda ran: ran.ref.pos)
        return worst.ref, worst.told()
