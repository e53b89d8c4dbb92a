"""What the digest and the observations of a session both need, read from its events once."""

from __future__ import annotations

import msgspec

from session_memory.core.schema import GitState, RuleStatement, SessionEvent
from session_memory.distil.attempts import AttemptLog
from session_memory.distil.git_state import git_state
from session_memory.distil.rules import RuleLog
from session_memory.distil.work import Work, WorkLog


class SessionEnd(msgspec.Struct, frozen=True):
    """What all calls of a session come to."""

    cwd: str
    pos: int
    """How many events were read."""
    work: Work
    git: GitState | None


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
        self._end: SessionEnd | None = None

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

    def end_in(self, cwd: str) -> SessionEnd:
        """What the calls so far come to, of a session that ran in this directory; found out once.

        The digest and the observations both ask for it, when all events are read.
        """
        if self._end is None or (self._end.cwd, self._end.pos) != (cwd, self.pos):
            work, git = self._work.all(self.calls, cwd), git_state(self.calls.attempts)
            self._end = SessionEnd(cwd, self.pos, work, git)
        return self._end

    def settle(self, cwd: str) -> None:
        """Look at the calls long past, so that nobody has to do so again."""
        self._work.all(self.calls, cwd)
        self._end = None
