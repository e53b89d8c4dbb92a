"""Entries written by a model: the prompt, and the attempts to get an answer."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import msgspec

from session_memory.core.text.safe_text import fence
from session_memory.errors import BudgetSpent
from session_memory.journal.files import file_lock
from session_memory.journal.log import FlushLog
from session_memory.journal.model_call import read_prompt
from session_memory.model.port import Model, Request

OK = "FLUSH_OK"
ERROR = "FLUSH_ERROR"
PURPOSE = "journal.flush"
MAX_TURNS = 2

WriteEntry = Callable[[str, str], str]
"""Takes an excerpt and its session, returns the text of the entry; raises if there is none."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """How many attempts to make, and how long to wait after the first; the wait then doubles."""

    attempts: int = 3
    base_s: float = 2.0


class EmptyAnswerError(Exception):
    """An answer without text is a failure, even if the provider reports success."""


def prompt(excerpt: str) -> str:
    """The instructions, with the excerpt fenced as data at the end."""
    return read_prompt("flush") + fence(excerpt, secrets.token_hex(8), "session")


def request(excerpt: str, timeout_s: float, root: Path) -> Request:
    """The request: no folder and so no tools, and hardly more than one turn.

    An agent is started at the journal's root, where there are no instruction files.
    """
    system = "You keep the daily log of a programmer. Answer in plain text, without using tools."
    return Request(
        purpose=PURPOSE,
        system=system,
        user=prompt(excerpt),
        max_output_tokens=4_000,
        timeout_s=timeout_s,
        max_turns=MAX_TURNS,
        cwd=str(root),
    )


def model_writer(model: Model, lock: Path, timeout_s: float, root: Path) -> WriteEntry:
    """Writes entries with a model; `lock` allows one call at a time over all journals."""

    def write(excerpt: str, _session: str) -> str:
        root.mkdir(0o700, parents=True, exist_ok=True)  # the first entry may not be written yet
        entry_request = request(excerpt, timeout_s, root)
        with file_lock(lock, "a model call of the journal"):
            return model.ask(entry_request).text

    return write


def write_with_retries(
    write: Callable[[], str], policy: RetryPolicy, sleep: Callable[[float], None], log: FlushLog
) -> str:
    """The text of the first attempt that succeeds, or `FLUSH_ERROR: <type>: <message>`.

    Nothing of a failed attempt is kept. A spent budget ends the attempts, since waiting a few
    seconds does not help.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            text = write()
            if not text.strip():
                raise EmptyAnswerError("the answer is empty")
            return text
        except Exception as error:  # noqa: BLE001 - whatever failed, the excerpt must be kept
            log.warning(
                f"Attempt {attempt}/{policy.attempts} failed: {type(error).__name__}: {error}"
            )
            if attempt >= policy.attempts or isinstance(error, BudgetSpent):
                log.error(f"No answer after {attempt} attempts", cause=error)
                return f"{ERROR}: {type(error).__name__}: {error}"
        sleep(policy.base_s * 2 ** (attempt - 1))
