"""What extraction and consolidation need: folders, log, clock, redaction and model."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from session_memory.clock import Clock
from session_memory.errors import SessionMemoryError
from session_memory.memory.log import MemoryLog
from session_memory.memory.stale import Lookup
from session_memory.memory.working_tree import look_into
from session_memory.model.port import Model
from session_memory.paths import Paths
from session_memory.redact import Redactor, make_redactor, render
from session_memory.settings import Config
from session_memory.store.port import Store

MAX_TRACES = 10
LOCK_RENEWAL_S = 60.0
OpenModel = Callable[[Store], Model | None]
"""Opens the enabled model with the store's ledger; None if no model is enabled."""
Redact = Callable[[str], str]


class MemoryContext(msgspec.Struct, frozen=True):
    """Shared by every step of a run. Make one with `open_context`."""

    data: Path
    log: MemoryLog
    clock: Clock
    make_redactor: Callable[[bytes], Redactor]
    """Makes the redactor of a store from its key."""
    open_model: OpenModel
    """Called at most once in a run."""
    max_traces: int = MAX_TRACES
    """How many traces of a project are consolidated."""
    heartbeat: Callable[[], None] = lambda: None
    """Called between sessions, to renew the lease of a long job."""
    lock_renewal_s: float = LOCK_RENEWAL_S
    """How often a running consolidation renews its lock."""
    wait: Callable[[float], None] = time.sleep
    """Waits so many seconds before a model is asked again."""
    open_tree: Callable[[str], Lookup] = look_into
    """Opens the working tree of a project root."""


def open_context(
    paths: Paths, config: Config, clock: Clock, open_model: OpenModel
) -> MemoryContext:
    """The context for the program's paths and settings."""
    log = MemoryLog(paths.logs, clock)

    def warn(text: str) -> None:
        log.warn("redaction_rule", reason=text)

    return MemoryContext(
        data=paths.data,
        log=log,
        clock=clock,
        make_redactor=lambda key: make_redactor(key, config.redact, warn),
        open_model=open_model,
        max_traces=config.memory.max_traces,
    )


def redact_with(redactor: Redactor) -> Redact:
    """Redaction for text that people and models read: placeholders show no tags."""
    return lambda text: render(redactor.redact_text(text))


def reason_of(error: OSError | SessionMemoryError) -> str:
    """An error in a few words, for logs and reports."""
    if isinstance(error, SessionMemoryError):
        return error.message
    return error.strerror or type(error).__name__
