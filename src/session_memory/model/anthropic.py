"""The Anthropic Messages API, or any compatible server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from session_memory import settings
from session_memory.errors import ModelUnavailable, extra_hint
from session_memory.model.port import Answer, Request, Stop, Usage
from session_memory.model.sdk import (
    SchemaFirst,
    SdkErrors,
    errors_of,
    system_with_schema,
    translated_errors,
    until_deadline,
)
from session_memory.model.streams import Completed, Delta, StreamEvent, fold

if TYPE_CHECKING:
    from anthropic import Anthropic

SMALL_MODEL = "claude-haiku-4-5"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def open_anthropic(settings: settings.Model, environ: Mapping[str, str]) -> AnthropicModel:
    """The provider; raises ModelUnavailable, saying what is missing."""
    try:
        import anthropic
    except ImportError:
        raise ModelUnavailable(
            "the anthropic package is not installed",
            hint=extra_hint("anthropic"),
        ) from None
    variable = settings.key_variable or KEY_VARIABLE
    key = environ.get(variable, "")
    if not key:
        raise ModelUnavailable(f"{variable} is not set", hint=f"export {variable}=<your key>")
    base_url = settings.base_url or environ.get("ANTHROPIC_BASE_URL") or None

    def connect() -> Anthropic:
        # The SDK must not retry by itself: every attempt has to be a metered call.
        return anthropic.Anthropic(api_key=key, base_url=base_url, max_retries=0)

    errors = errors_of(anthropic, "AnthropicError")
    return AnthropicModel(connect, settings.name or SMALL_MODEL, errors)


class AnthropicModel(SchemaFirst):
    """See model.port.Model. Each call opens its own client, so that calls share nothing."""

    provider = "anthropic"
    works_in_folders = False

    def __init__(self, connect: Callable[[], Anthropic], name: str, errors: SdkErrors) -> None:
        self._connect = connect
        self._errors = errors
        self.name = name

    def _once(self, request: Request, *, plain: bool) -> Answer:
        deadline = time.monotonic() + request.timeout_s
        output: dict[str, Any] = {"format": {"type": "json_schema", "schema": request.schema}}
        with (
            self._connect() as client,
            translated_errors(self._errors, client.api_key or "", schema=not plain),
            client.messages.create(
                model=self.name,
                max_tokens=request.max_output_tokens,
                system=system_with_schema(request) if plain else request.system,
                messages=[{"role": "user", "content": request.user}],
                stream=True,
                timeout=request.timeout_s,
                # In extra_body, so that SDKs that do not know the argument yet send it too.
                extra_body=None if plain else {"output_config": output},
            ) as stream,
        ):
            return fold(_events(until_deadline(deadline, stream)), self.name)


def _events(raw: Iterator[Any]) -> Iterator[StreamEvent]:
    """The provider's events as ours; usage comes in two parts, both cumulative."""
    model, stop = "", "end_turn"
    counts: dict[str, int] = {}
    for event in raw:
        match event.type:
            case "message_start":
                model = event.message.model
                _count(counts, event.message.usage)
            case "content_block_delta" if event.delta.type == "text_delta":
                yield Delta(event.delta.text)
            case "message_delta":
                stop = event.delta.stop_reason or stop
                _count(counts, event.usage)
            case "message_stop":
                usage = Usage(
                    counts.get("input_tokens", 0),
                    counts.get("output_tokens", 0),
                    counts.get("cache_read_input_tokens", 0),
                    counts.get("cache_creation_input_tokens", 0),
                )
                yield Completed(usage, model, STOPS.get(stop, "other"))
            case _:
                pass


def _count(counts: dict[str, int], usage: Any) -> None:
    for name in (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ):
        count = getattr(usage, name, None)
        if isinstance(count, int):
            counts[name] = count
