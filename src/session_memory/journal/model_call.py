"""One question of the journal to a model: one at a time over all journals, and never for ever."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import msgspec

from session_memory.core import pricing
from session_memory.core.schema import Usage
from session_memory.errors import ModelFailed, SessionMemoryError
from session_memory.journal.files import held
from session_memory.model.port import Answer, Model, Request

BEAT_S = 60.0


class Asker(msgspec.Struct, frozen=True):
    """A model, the lock every call of the journal holds, and how long one may take."""

    model: Model
    lock: Path
    timeout_s: float = 1200.0
    alive: Callable[[], object] = lambda: None
    """Called about once a minute, for whoever lends us work only while we show that we live."""

    def ask(self, request: Request) -> Answer:
        """The answer; raises ModelFailed when none came in time, whatever the provider does."""
        bounded = msgspec.structs.replace(request, timeout_s=self.timeout_s)
        with held(self.lock, "a model call of the journal"):
            box: queue.Queue[Answer | SessionMemoryError | Exception] = queue.Queue(1)
            # A daemon: a provider that hangs for good must not keep the process from ending.
            threading.Thread(target=_answer, args=(self.model, bounded, box), daemon=True).start()
            said = self._wait(box)
        if isinstance(said, Answer):
            return said
        raise said

    def _wait(
        self, box: queue.Queue[Answer | SessionMemoryError | Exception]
    ) -> Answer | Exception:
        end = time.monotonic() + self.timeout_s
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return ModelFailed(f"no answer within {self.timeout_s:g} seconds")
            try:
                return box.get(timeout=min(BEAT_S, left))
            except queue.Empty:
                self.alive()


def _answer(
    model: Model, request: Request, box: queue.Queue[Answer | SessionMemoryError | Exception]
) -> None:
    try:
        box.put(model.ask(request))
    except Exception as error:  # noqa: BLE001 - it is raised again where somebody waits for it
        box.put(error)


def template(name: str) -> str:
    """A question as it lies in prompts/."""
    return files("session_memory.journal").joinpath(f"prompts/{name}.md").read_text("utf-8")


def cost_of(answer: Answer) -> float:
    """What an answer cost in dollars: as stated, or by the price table; 0 where nobody knows."""
    said = answer.usage
    counted = Usage(
        key="",
        model=answer.model,
        input=said.input_tokens,
        output=said.output_tokens,
        cache_read=said.cache_read_tokens,
        cache_write_5m=said.cache_write_tokens,
        usd=said.usd,
    )
    return pricing.price(counted, pricing.load_table()) or 0.0
