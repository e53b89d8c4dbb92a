"""What a flush writes down, asked of a model: the question, the attempts, and the failure."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import msgspec

from session_memory.core.text.safe_text import fence
from session_memory.errors import BudgetSpent
from session_memory.journal.files import held
from session_memory.journal.log import FlushLog
from session_memory.model.port import Model, Request

OK = "FLUSH_OK"
ERROR = "FLUSH_ERROR"
PURPOSE = "journal.flush"
MAX_TURNS = 2

Write = Callable[[str, str], str]
"""Context and session in, text for the daily log out; raises when there is none."""


class Patience(msgspec.Struct, frozen=True):
    """How often a flush asks, and how long it waits after the first failure; then twice that."""

    attempts: int = 3
    base_s: float = 2.0


class EmptyAnswerError(Exception):
    """An answer without words is a failure, whatever the provider called it."""


def prompt(context: str) -> str:
    """The question, with the context as data at its end."""
    asked = files("session_memory.journal").joinpath("prompts/flush.md").read_text("utf-8")
    return asked + fence(context, secrets.token_hex(8), "session")


def request(context: str, timeout_s: float, root: Path) -> Request:
    """One question: no folder, so no tools, and hardly more than one turn.

    An agent is started at the journal's root, where nobody else's instructions lie.
    """
    system = "You keep the daily log of a programmer. Answer in plain text, without using tools."
    return Request(
        purpose=PURPOSE,
        system=system,
        user=prompt(context),
        max_output_tokens=4_000,
        timeout_s=timeout_s,
        max_turns=MAX_TURNS,
        cwd=str(root),
    )


def model_writer(model: Model, lock: Path, timeout_s: float, root: Path) -> Write:
    """Asks a model; one call at a time over all journals, as `lock` says."""

    def write(context: str, _session: str) -> str:
        root.mkdir(0o700, parents=True, exist_ok=True)  # nothing may be written there yet
        asked = request(context, timeout_s, root)
        with held(lock, "a model call of the journal"):
            return model.ask(asked).text

    return write


def respond(
    write: Callable[[], str], patience: Patience, sleep: Callable[[float], None], log: FlushLog
) -> str:
    """The text of the first attempt that succeeds, or `FLUSH_ERROR: <type>: <message>`.

    Nothing of a failed attempt is kept. A spent budget is no passing trouble: it ends the attempts.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            text = write()
            if not text.strip():
                raise EmptyAnswerError("the answer is empty")
            return text
        except Exception as error:  # noqa: BLE001 - whatever failed, the context must be kept
            log.warning(
                f"Attempt {attempt}/{patience.attempts} failed: {type(error).__name__}: {error}"
            )
            if attempt >= patience.attempts or isinstance(error, BudgetSpent):
                log.error(f"No answer after {attempt} attempts", cause=error)
                return f"{ERROR}: {type(error).__name__}: {error}"
        sleep(patience.base_s * 2 ** (attempt - 1))
