"""Model calls of the journal: one at a time over all journals, each with a hard time limit."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import msgspec

from session_memory.errors import ModelFailed
from session_memory.journal.files import file_lock
from session_memory.model.metered import price_of
from session_memory.model.port import Answer, Model, Request

HEARTBEAT_S = 60.0
_Outcome = queue.Queue[Answer | Exception]


class JournalModel(msgspec.Struct, frozen=True):
    """A model, the lock that every call of a journal holds, and the time limit of a call."""

    model: Model
    lock: Path
    timeout_s: float = 1200.0
    heartbeat: Callable[[], object] = lambda: None
    """Called about once a minute, to renew the lease of the job that waits for the answer."""

    def ask(self, request: Request) -> Answer:
        """The answer; raises ModelFailed if none came in time, whatever the provider does."""
        bounded = msgspec.structs.replace(request, timeout_s=self.timeout_s)
        with file_lock(self.lock, "a model call of the journal"):
            outcome = _Outcome(1)
            # A daemon thread: a provider that hangs must not keep the process from ending.
            threading.Thread(
                target=_ask_into, args=(self.model, bounded, outcome), daemon=True
            ).start()
            answer = self._wait(outcome)
        if isinstance(answer, Answer):
            return answer
        raise answer

    def _wait(self, outcome: _Outcome) -> Answer | Exception:
        deadline = time.monotonic() + self.timeout_s
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return ModelFailed(f"no answer within {self.timeout_s:g} seconds")
            try:
                return outcome.get(timeout=min(HEARTBEAT_S, left))
            except queue.Empty:
                self.heartbeat()


def _ask_into(model: Model, request: Request, outcome: _Outcome) -> None:
    try:
        outcome.put(model.ask(request))
    except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
        outcome.put(error)


def read_prompt(name: str) -> str:
    """A text from prompts/."""
    return files("session_memory.journal").joinpath(f"prompts/{name}.md").read_text("utf-8")


def cost_of(answer: Answer) -> float:
    """What an answer cost in dollars; 0 if no price is known."""
    return price_of(answer.model, answer.usage) or 0.0
