"""The OpenAI Responses API, and Chat Completions for any compatible server.

Nearly all servers other than OpenAI's own speak Chat Completions and few speak Responses, so Chat
Completions is used whenever an address is configured.
"""

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
from session_memory.model.streams import Completed, Delta, ItemDone, StreamError, StreamEvent, fold

if TYPE_CHECKING:
    from openai import OpenAI

SMALL_MODEL = "gpt-5-mini"
KEY_VARIABLE = "OPENAI_API_KEY"
NO_KEY = "not-needed"
"""The SDK insists on a key; local servers do not."""
FINISHES: dict[str, Stop] = {"stop": "end", "length": "length", "content_filter": "refusal"}
INCOMPLETE: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "refusal"}


def open_openai(settings: settings.Model, environ: Mapping[str, str]) -> OpenAiModel:
    """The provider; raises ModelUnavailable, saying what is missing."""
    try:
        import openai
    except ImportError:
        raise ModelUnavailable(
            "the openai package is not installed", hint=extra_hint("openai")
        ) from None
    base_url = settings.base_url or environ.get("OPENAI_BASE_URL", "")
    variable = settings.key_variable or KEY_VARIABLE
    key = environ.get(variable, "")
    if not key and (not base_url or settings.key_variable):
        raise ModelUnavailable(f"{variable} is not set", hint=f"export {variable}=<your key>")
    if base_url and not settings.name:
        raise ModelUnavailable(
            f"which model at {base_url}?", hint="set model.name to one the server offers"
        )

    def connect() -> OpenAI:
        return openai.OpenAI(api_key=key or NO_KEY, base_url=base_url or None, max_retries=0)

    errors = errors_of(openai, "OpenAIError")
    return OpenAiModel(connect, settings.name or SMALL_MODEL, errors, chat=bool(base_url))


class OpenAiModel(SchemaFirst):
    """See model.port.Model. Each call opens its own client, so that calls share nothing."""

    provider = "openai"
    works_in_folders = False

    def __init__(
        self, connect: Callable[[], OpenAI], name: str, errors: SdkErrors, *, chat: bool
    ) -> None:
        self._connect = connect
        self._errors = errors
        self._chat = chat
        self.name = name

    def _once(self, request: Request, *, plain: bool) -> Answer:
        deadline = time.monotonic() + request.timeout_s
        open_stream = self._open_chat if self._chat else self._open_response
        read = _chat_events if self._chat else _response_events
        with (
            self._connect() as client,
            translated_errors(self._errors, client.api_key, schema=not plain),
            open_stream(client, request, plain) as stream,
        ):
            return fold(read(until_deadline(deadline, stream)), self.name)

    def _open_response(self, client: OpenAI, request: Request, plain: bool) -> Any:
        schema: dict[str, Any] = {
            "type": "json_schema",
            "name": request.schema_name,
            "schema": request.schema,
            "strict": True,
        }
        extra: dict[str, Any] = {} if plain else {"text": {"format": schema}}
        return client.responses.create(
            model=self.name,
            instructions=system_with_schema(request) if plain else request.system,
            input=[{"role": "user", "content": request.user}],
            max_output_tokens=request.max_output_tokens,
            tools=[],
            parallel_tool_calls=False,
            store=False,
            stream=True,
            timeout=request.timeout_s,
            **extra,
        )

    def _open_chat(self, client: OpenAI, request: Request, plain: bool) -> Any:
        schema: dict[str, Any] = {
            "name": request.schema_name,
            "schema": request.schema,
            "strict": True,
        }
        extra: dict[str, Any] = (
            {} if plain else {"response_format": {"type": "json_schema", "json_schema": schema}}
        )
        return client.chat.completions.create(
            model=self.name,
            messages=[
                {
                    "role": "system",
                    "content": system_with_schema(request) if plain else request.system,
                },
                {"role": "user", "content": request.user},
            ],
            max_tokens=request.max_output_tokens,
            stream=True,
            stream_options={"include_usage": True},
            timeout=request.timeout_s,
            **extra,
        )


def _response_events(raw: Iterator[Any]) -> Iterator[StreamEvent]:
    refused = False
    for event in raw:
        match event.type:
            case "response.output_text.delta":
                yield Delta(event.delta)
            case "response.refusal.delta" | "response.refusal.done":
                refused = True
            case "response.output_item.done":
                yield ItemDone(event.item.type, _item_text(event.item))
            case "response.completed" | "response.incomplete":
                response = event.response
                details = getattr(response.incomplete_details, "reason", None)
                stop = INCOMPLETE.get(details, "other") if details else "end"
                stop = "refusal" if refused else stop
                yield Completed(_usage(response.usage, "input", "output"), response.model, stop)
            case "response.failed":
                error = event.response.error
                yield StreamError(getattr(error, "message", None) or "the response failed")
            case "error":
                yield StreamError(event.message or "unknown error")
            case _:
                pass


def _item_text(item: Any) -> str:
    parts: list[Any] = getattr(item, "content", None) or []
    return "".join(part.text for part in parts if getattr(part, "type", "") == "output_text")


def _chat_events(raw: Iterator[Any]) -> Iterator[StreamEvent]:
    """Chunks of text. One of them has the finish reason; usage may come in a later one."""
    model, finish, refused = "", "", False
    usage = Usage()
    for chunk in raw:
        model = chunk.model or model
        if getattr(chunk, "usage", None) is not None:
            usage = _usage(chunk.usage, "prompt", "completion")
        for choice in chunk.choices or ():
            finish = choice.finish_reason or finish
            delta = choice.delta
            refused = refused or bool(getattr(delta, "refusal", None))
            if delta is not None and delta.content:
                yield Delta(delta.content)
    if finish:
        yield Completed(usage, model, "refusal" if refused else FINISHES.get(finish, "other"))


def _usage(counts: Any, read: str, written: str) -> Usage:
    """The token counts of a response, if it has any; cached tokens are part of its input count."""
    if counts is None:
        return Usage()
    details = getattr(counts, f"{read}_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    tokens_in = getattr(counts, f"{read}_tokens", None) or 0
    return Usage(
        input_tokens=max(0, tokens_in - cached),
        output_tokens=getattr(counts, f"{written}_tokens", None) or 0,
        cache_read_tokens=min(cached, tokens_in),
    )
