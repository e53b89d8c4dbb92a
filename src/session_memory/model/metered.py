"""The meter around every provider: each call must fit under the caps and gets a row in the ledger.

Before a call its estimated cost is reserved in the ledger, in one transaction with the check; later
the true figures replace it. If the process dies in between, the estimate stays, so that a cap is
kept whatever happens.

Estimates are far above what most calls cost. A call that does not fit only because of reservations
of other calls under way therefore waits for those, and is deferred only if it still does not fit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from session_memory.clock import Clock, local_date
from session_memory.core import pricing
from session_memory.core import schema as core
from session_memory.core.spend import Call, Settled, Spent
from session_memory.errors import BudgetSpent, ModelUnavailable
from session_memory.model.budget import (
    Caps,
    Estimate,
    answer_tokens,
    input_limit,
    largest,
    reason_to_defer,
    tokens_in,
    tokens_of,
    window_bytes,
)
from session_memory.model.failures import CallFailed
from session_memory.model.port import (
    USUAL_TIMEOUT_S,
    Answer,
    InputRoom,
    Provider,
    Request,
    Usage,
)

LEAST_INPUT = 1_000
"""Bytes; a model cannot do anything useful with less."""
LEAST_TURNS = 4
"""An agent that works in a folder lists it, reads, writes and reports."""


class Ledger(Protocol):
    """Where calls are recorded; `store.spend` is one."""

    def reserve(self, call: Call, permit: Callable[[Spent], None]) -> int:
        """Record a call about to be made, unless `permit` raises, given what is spent."""
        ...

    def settle(self, reservation: int, settled: Settled) -> None:
        """Replace the estimate of a call by what it really cost."""
        ...

    def spent(self, run: str, day: str) -> Spent:
        """What a run and a day have cost so far."""
        ...


class Meter(msgspec.Struct, frozen=True):
    """What a call is checked against: the caps, the ledger, the clock and its run."""

    caps: Caps
    ledger: Ledger
    clock: Clock
    run: str
    turn_tokens: int = 0
    """What an agent's own instructions and tools add to each turn."""
    window: int = 128_000
    """The model's context window in tokens, its answer included."""
    timeout_s: float = USUAL_TIMEOUT_S
    """How long a call may take that asks for no time of its own."""


class Metered:
    """A provider that stays within its caps and records every call. Threads may share it."""

    def __init__(self, provider: Provider, meter: Meter) -> None:
        self._provider = provider
        self._meter = meter
        self._began = meter.clock()
        self._settled = threading.Condition()
        self._under_way = 0

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
        bounded = self._bounded(request)
        call, reservation = self._reserve(bounded)
        try:
            return self._ask(bounded, call, reservation)
        finally:
            with self._settled:
                self._under_way -= 1
                self._settled.notify_all()

    def _ask(self, request: Request, call: Call, reservation: int) -> Answer:
        left = max(1.0, (self._meter.caps.run_ms - (call.at - self._began)) / 1000)
        own = request.timeout_s != USUAL_TIMEOUT_S
        wanted = request.timeout_s if own else self._meter.timeout_s
        timely = msgspec.structs.replace(request, timeout_s=min(wanted, left))
        try:
            answer = _usable(self._provider.ask(timely), timely)
        except ModelUnavailable as error:
            self._meter.ledger.settle(reservation, _failed(call, error))
            raise
        usage = answer.usage
        if usage == Usage():  # some servers report no usage, but the call was not free
            usage = Usage(call.input_tokens, tokens_of(answer.text))
        self._meter.ledger.settle(reservation, _settled(call, answer.model, usage))
        return answer

    def input_limit(self, bare: Request, sizes: Sequence[int]) -> int:
        """See model.port.Model."""
        bounded = self._bounded(bare)
        return self._affordable(
            bare, sizes, self._window_limit(bounded), lambda size: self._cost(bounded, size)
        )

    def input_room(self, bare: Request, sizes: Sequence[int]) -> InputRoom:
        """See model.port.Model."""
        bounded = self._bounded(bare)
        window = self._window_limit(bounded)

        def cost(size: int) -> Estimate:
            if size <= window:
                return self._cost(bounded, size)
            calls = -(-size // window) + 1  # one for each part, one to put the answers together
            single = self._cost(bounded, 0)
            read = calls * (single.input_tokens + single.output_tokens) + tokens_in(size)
            written = calls * single.output_tokens
            return Estimate(read, written, price_of(self.name, Usage(read, written)))

        return InputRoom(window, self._affordable(bare, sizes, max(sizes), cost))

    def _cost(self, request: Request, size: int) -> Estimate:
        return estimate_of(request, self.name, self._meter.turn_tokens, size)

    def _window_limit(self, bounded: Request) -> int:
        """How many bytes of input one call has room for."""
        meter, without_input = self._meter, self._cost(bounded, 0)
        turns = _turns(bounded, meter.turn_tokens)
        other_tokens = without_input.input_tokens // turns + without_input.output_tokens
        limit = window_bytes(meter.window, other_tokens)
        if limit < LEAST_INPUT:
            raise ModelUnavailable(
                f"a window of {meter.window} tokens has no room for {bounded.purpose}",
                hint="set model.context_tokens to the window of your model, or take a larger one",
            )
        return limit

    def _affordable(
        self, bare: Request, sizes: Sequence[int], most: int, cost: Callable[[int], Estimate]
    ) -> int:
        """How many bytes of each input the caps allow."""
        meter, now = self._meter, self._meter.clock()
        spent = meter.ledger.spent(meter.run, local_date(now))
        limit = input_limit(meter.caps, self._timed(spent, now), cost, sizes, most)
        if limit < LEAST_INPUT and limit < most:
            raise BudgetSpent(f"{bare.purpose} is put off: the caps leave no room for it")
        return limit

    def _bounded(self, request: Request) -> Request:
        """The request with its answer and turns cut to what the window and a fresh run allow."""
        window, meter = self._meter.window, self._meter
        tokens = answer_tokens(request.max_output_tokens, window)
        request = msgspec.structs.replace(request, max_output_tokens=tokens)
        if request.folder is None:
            return request

        def fits(turns: int) -> bool:
            shorter = msgspec.structs.replace(request, max_turns=turns)
            cost = estimate_of(shorter, self.name, meter.turn_tokens)
            return reason_to_defer(meter.caps, Spent(), cost) is None

        turns = max(largest(request.max_turns, fits), min(LEAST_TURNS, request.max_turns))
        return msgspec.structs.replace(request, max_turns=turns)

    def _reserve(self, request: Request) -> tuple[Call, int]:
        """Reserve the call as soon as it fits; BudgetSpent if no other call can free any budget."""
        meter = self._meter
        with self._settled:
            while True:
                call = self._call(request, meter.clock())
                try:
                    reservation = meter.ledger.reserve(
                        call, lambda spent, call=call: self._permit(call, spent)
                    )
                except BudgetSpent:
                    left = meter.caps.run_ms - (call.at - self._began)
                    if not self._under_way or left <= 0:
                        raise
                    self._settled.wait(left / 1000)
                    continue
                self._under_way += 1
                return call, reservation

    def _call(self, request: Request, at: int) -> Call:
        estimate = estimate_of(request, self.name, self._meter.turn_tokens)
        return Call(
            at=at,
            day=local_date(at),
            run=self._meter.run,
            purpose=request.purpose,
            provider=self.provider,
            model=self.name,
            input_tokens=estimate.input_tokens,
            output_tokens=estimate.output_tokens,
            usd=estimate.usd,
        )

    def _permit(self, call: Call, spent: Spent) -> None:
        estimate = Estimate(call.input_tokens, call.output_tokens, call.usd)
        reason = reason_to_defer(self._meter.caps, self._timed(spent, call.at), estimate)
        if reason is not None:
            raise BudgetSpent(f"{call.purpose} is put off: {reason}")

    def _timed(self, spent: Spent, at: int) -> Spent:
        return msgspec.structs.replace(spent, run_ms=max(0, at - self._began))


def estimate_of(
    request: Request, model: str, turn_tokens: int = 0, more_bytes: int = 0
) -> Estimate:
    """The most a request is expected to cost; an agent reads everything again on each turn.

    `more_bytes` is the size of input that the request does not contain yet.
    """
    prompt = tokens_of(request.system) + tokens_of(request.user) + tokens_in(more_bytes)
    if request.schema is not None:
        prompt += tokens_of(msgspec.json.encode(request.schema).decode())
    turns = _turns(request, turn_tokens)
    read, written = (prompt + turn_tokens) * turns, request.max_output_tokens * turns
    return Estimate(read, written, price_of(model, Usage(read, written)))


def _turns(request: Request, turn_tokens: int) -> int:
    return max(1, request.max_turns) if turn_tokens else 1


def _usable(answer: Answer, request: Request) -> Answer:
    """The answer; raises CallFailed if it is empty, refused or cut off."""
    if answer.stop == "refusal":
        raise CallFailed("the model refused to answer", "refusal", usage=answer.usage)
    if answer.stop == "length" and request.schema is not None:
        raise CallFailed(
            "the answer was cut off at its maximum length", "length", usage=answer.usage
        )
    if not answer.text.strip():
        raise CallFailed("the model gave an empty answer", "empty", usage=answer.usage)
    return answer


def _settled(call: Call, model: str, usage: Usage, error: str | None = None) -> Settled:
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    name = model or call.model
    return Settled(name, read, usage.output_tokens, price_of(name, usage), error)


def _failed(call: Call, error: ModelUnavailable) -> Settled:
    """A failure that may have been billed costs its estimate; one that was not is free."""
    if isinstance(error, CallFailed):
        if error.usage is None:
            return Settled(call.model, call.input_tokens, call.output_tokens, call.usd, error.kind)
        return _settled(call, call.model, error.usage, error.kind)
    if type(error) is ModelUnavailable:
        return _settled(call, call.model, Usage(), error.code)
    return Settled(call.model, call.input_tokens, call.output_tokens, call.usd, error.code)


def price_of(model: str, usage: Usage) -> float | None:
    """What a call cost in dollars, as stated or by the price table; None if no price is known."""
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
