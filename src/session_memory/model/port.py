"""Requests to a language model and its answers, as values; providers implement `Provider`.

A provider makes exactly one call per `ask`. Retries, the budget and the ledger are wrapped around
it in one place, so that no provider can spend money unnoticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

USUAL_TIMEOUT_S = 120.0
"""Of a request that asks for no other; a metered model gives it what the user set."""
Stop = Literal["end", "length", "refusal", "other"]


class Request(msgspec.Struct, frozen=True):
    """One question. `schema` asks for a JSON object; `folder` lets an agent edit files there."""

    purpose: str
    """What it is for, as shown in the ledger: "memory.extract", "journal.flush"."""
    system: str
    user: str
    schema: dict[str, Any] | None = None
    schema_name: str = "answer"
    max_output_tokens: int = 8_000
    timeout_s: float = USUAL_TIMEOUT_S
    folder: str | None = None
    """Working directory of an agent that may read and write files there; None means no tools."""
    cwd: str | None = None
    """Where an agent without a folder is started; None means an empty temporary directory."""
    max_turns: int = 2


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one call as the provider counted them; `usd` only if it stated a price."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    usd: float | None = None


class Answer(msgspec.Struct, frozen=True):
    """A model's answer and what it cost."""

    text: str
    model: str
    usage: Usage = Usage()
    stop: Stop = "end"


class InputRoom(msgspec.Struct, frozen=True):
    """How many bytes of input fit, if they may be split over several calls."""

    call: int
    """Into one call: what the model's window holds."""
    total: int
    """Into all calls: what the budget allows."""


class Provider(Protocol):
    """A way to ask a model. Raises ModelUnavailable or ModelFailed, nothing else."""

    @property
    def provider(self) -> str:
        """The provider's name in the configuration."""
        ...

    @property
    def name(self) -> str:
        """The model that will answer, or "" if the provider decides."""
        ...

    @property
    def works_in_folders(self) -> bool:
        """Whether `Request.folder` is honoured: an agent that edits files, not a plain model."""
        ...

    def ask(self, request: Request) -> Answer:
        """One answer; an empty answer, a refusal or a cut stream raises an error."""
        ...


class Model(Provider, Protocol):
    """A provider with a budget: `ask` also raises BudgetSpent, before anything is sent."""

    def input_limit(self, bare: Request, sizes: Sequence[int]) -> int:
        """How many bytes of input each of several calls may have.

        `bare` is such a request without its input; `sizes` are the sizes of the inputs in bytes.
        Raises ModelUnavailable if the model's window has no room for any input.
        """
        ...

    def input_room(self, bare: Request, sizes: Sequence[int]) -> InputRoom:
        """The same for inputs that are split where they exceed the window, then put together."""
        ...
