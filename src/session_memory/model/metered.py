"""The meter around every provider: no call without room under the caps, none without a ledger row.

The room is reserved in the ledger, in one transaction with the check, before the call; afterwards
the true figures take its place. A process that dies in between leaves its estimate standing, so
that a cap is kept whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from session_memory.clock import Clock
from session_memory.core import pricing
from session_memory.core import schema as core
from session_memory.core.spend import Call, Settled, Spent
from session_memory.errors import BudgetSpent, ModelUnavailable
from session_memory.model.budget import Caps, Deferred, Estimate, decide, tokens_of
from session_memory.model.failures import CallFailed
from session_memory.model.port import Answer, Model, Request, Usage


class Ledger(Protocol):
    """Where calls are noted; `store.spend` is one."""

    def reserve(self, call: Call, permit: Callable[[Spent], None]) -> int:
        """Note a call about to be made, unless `permit` raises at what is spent."""
        ...

    def settle(self, reservation: int, settled: Settled) -> None:
        """Put what a call really cost in place of what it might have."""
        ...


class Meter(msgspec.Struct, frozen=True):
    """What a call is held against: the caps, the ledger, the clock, the run it belongs to."""

    caps: Caps
    ledger: Ledger
    clock: Clock
    run: str
    turn_tokens: int = 0
    """What an agent adds to each turn by itself: its own instructions and tools."""


class Metered:
    """A provider that cannot spend more than its caps, nor unseen. Safe to share by threads."""

    def __init__(self, provider: Model, meter: Meter) -> None:
        self._provider = provider
        self._meter = meter
        self._began = meter.clock()

    @property
    def provider(self) -> str:
        """See model.port.Model."""
        return self._provider.provider

    @property
    def name(self) -> str:
        """See model.port.Model."""
        return self._provider.name

    @property
    def works_in_folders(self) -> bool:
        """See model.port.Model."""
        return self._provider.works_in_folders

    def ask(self, request: Request) -> Answer:
        """See model.port.Model."""
        if request.folder is not None and not self.works_in_folders:
            raise ModelUnavailable(
                f"{self.provider} cannot work in a folder",
                hint="set model.provider to claude_cli, codex_cli or agent_sdk",
            )
        at = self._meter.clock()
        call = self._call(request, at)
        reservation = self._meter.ledger.reserve(call, lambda spent: self._permit(call, spent))
        seconds_left = max(1.0, (self._meter.caps.run_ms - (at - self._began)) / 1000)
        bounded = msgspec.structs.replace(request, timeout_s=min(request.timeout_s, seconds_left))
        try:
            answer = _usable(self._provider.ask(bounded), bounded)
        except ModelUnavailable as error:
            self._meter.ledger.settle(reservation, _failed(call, error))
            raise
        usage = answer.usage
        if usage == Usage():  # some servers count nothing: free it was not
            usage = Usage(call.input_tokens, tokens_of(answer.text))
        self._meter.ledger.settle(reservation, _settled(call, answer.model, usage))
        return answer

    def _call(self, request: Request, at: int) -> Call:
        estimate = estimate_of(request, self.name, self._meter.turn_tokens)
        return Call(
            at=at,
            day=local_day(at),
            run=self._meter.run,
            purpose=request.purpose,
            provider=self.provider,
            model=self.name,
            input_tokens=estimate.input_tokens,
            output_tokens=estimate.output_tokens,
            usd=estimate.usd,
        )

    def _permit(self, call: Call, spent: Spent) -> None:
        timed = msgspec.structs.replace(spent, run_ms=max(0, call.at - self._began))
        estimate = Estimate(call.input_tokens, call.output_tokens, call.usd)
        verdict = decide(self._meter.caps, timed, estimate)
        if isinstance(verdict, Deferred):
            raise BudgetSpent(f"{call.purpose} is put off: {verdict.reason}")


def estimate_of(request: Request, model: str, turn_tokens: int = 0) -> Estimate:
    """The most a request is expected to cost; an agent reads everything again on each turn."""
    asked = tokens_of(request.system) + tokens_of(request.user)
    if request.schema is not None:
        asked += tokens_of(msgspec.json.encode(request.schema).decode())
    turns = max(1, request.max_turns) if turn_tokens else 1
    tokens_in = (asked + turn_tokens) * turns
    tokens_out = request.max_output_tokens * turns
    return Estimate(tokens_in, tokens_out, _dollars(model, Usage(tokens_in, tokens_out)))


def local_day(at_ms: int) -> str:
    """The user's date at a moment."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().date().isoformat()


def _usable(answer: Answer, request: Request) -> Answer:
    """The answer, unless it is one that must not be taken for one."""
    if answer.stop == "refusal":
        raise CallFailed("the model refused to answer", "refusal", usage=answer.usage)
    if answer.stop == "length" and request.schema is not None:
        raise CallFailed("the answer was cut off at its longest", "length", usage=answer.usage)
    if not answer.text.strip():
        raise CallFailed("the model gave an empty answer", "empty", usage=answer.usage)
    return answer


def _settled(call: Call, model: str, usage: Usage, error: str | None = None) -> Settled:
    tokens_in = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    name = model or call.model
    return Settled(name, tokens_in, usage.output_tokens, _dollars(name, usage), error)


def _failed(call: Call, error: ModelUnavailable) -> Settled:
    """A failure the provider may have billed counts with its estimate, one it did not is free."""
    if isinstance(error, CallFailed):
        if error.usage is None:
            return Settled(call.model, call.input_tokens, call.output_tokens, call.usd, error.kind)
        return _settled(call, call.model, error.usage, error.kind)
    if type(error) is ModelUnavailable:
        return _settled(call, call.model, Usage(), error.code)
    return Settled(call.model, call.input_tokens, call.output_tokens, call.usd, error.code)


def _dollars(model: str, usage: Usage) -> float | None:
    if usage == Usage():
        return 0.0
    counted = core.Usage(
        key="",
        model=model,
        input=usage.input_tokens,
        output=usage.output_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write_5m=usage.cache_write_tokens,
        usd=usage.usd,
    )
    return pricing.price(counted, pricing.load_table())
