"""What the digest and the observations of a session both need, read from its events once."""

from __future__ import annotations

from session_memory.core.schema import RuleStatement, SessionEvent
from session_memory.distil.attempts import AttemptLog
from session_memory.distil.rules import RuleLog
from session_memory.distil.work import Work, WorkLog


class SessionLogs:
    """The calls and the rules of a session so far."""

    def __init__(self) -> None:
        self.calls = AttemptLog()
        self.rules = RuleLog()
        self._work = WorkLog()
        self.new_rules: tuple[RuleStatement, ...] = ()
        """What the last event added to the rules."""
        self.pos = 0
        """How many events were read: the place of the last one in the order of the log."""

    def add(self, event: SessionEvent) -> None:
        """Take in the next event, before any reader of these logs sees it."""
        self.pos += 1
        self.new_rules = self.rules.add(event)
        if event.inherited:  # its calls were made in the original session
            return
        if event.kind == "tool_result":
            self.calls.result(event, self.pos)
        elif event.kind == "tool_call":
            self.calls.call(event, self.pos)

    def work_in(self, cwd: str) -> Work:
        """What all calls did, of a session that ran in this directory."""
        return self._work.all(self.calls, cwd)
