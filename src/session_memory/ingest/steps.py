"""Steps of a sweep that may fail for one session or agent: noted, and the rest goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from session_memory.clock import Clock
from session_memory.core.text.reason import reason_of
from session_memory.file_names import name_to_text
from session_memory.ingest.report import Failure, StepFailure, SweepReport
from session_memory.store.port import Store

T = TypeVar("T")


class Steps(msgspec.Struct, frozen=True):
    """Where failures of one sweep are noted."""

    store: Store | None
    report: SweepReport
    clock: Clock
    clean: Callable[[str], str] = str
    """Takes secrets out of reasons: an error may quote what it choked on."""

    def attempt(self, step: str, what: str | int, action: Callable[[], T]) -> T | None:
        """Do something for a session (by our id) or something else; None where it failed.

        A store that is broken ends the sweep.
        """
        try:
            return action()
        except Exception as error:  # noqa: BLE001 - whatever it is, other sessions go on
            self.check(error)
            name = self._name(what) if isinstance(what, int) else name_to_text(what)
            told = StepFailure(step, name, self.clean(reason_of(error)), self.clock())
            self.report.failed_steps.append(told)
            return None

    def unread(self, path: str, error: Exception, *, deferred: bool = False) -> None:
        """Note a file that could not be read."""
        reason = self.clean(reason_of(error))
        self.report.failed.append(Failure(name_to_text(path), reason, self.clock(), deferred))

    def check(self, error: Exception) -> None:
        """Raise an error on that no other session would be spared."""
        if self.store is not None and self.store.is_unusable_after(error):
            raise error

    def _name(self, session_id: int) -> str:
        """A session as a person knows it."""
        try:
            session = self.store.session(session_id) if self.store else None
        except Exception as error:  # noqa: BLE001 - it is only a name
            self.check(error)
            session = None
        return f"{session.flavor} {session.external_id}" if session else f"session {session_id}"
