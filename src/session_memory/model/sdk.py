"""What the Anthropic and OpenAI SDKs share: error translation, a deadline, structured output."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import msgspec

from session_memory.errors import ModelUnavailable
from session_memory.model.failures import CallFailed, Kind, kind_of_status, short_message
from session_memory.model.port import Answer, Request

T = TypeVar("T")

AUTH = (401, 403)
SCHEMA_REFUSED = (400, 404, 415, 422, 501)
"""The statuses of servers that do not support structured output."""
EVENT_KINDS: dict[str, Kind] = {
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "api_error": "server",
    "timeout_error": "timeout",
}


class SdkErrors(msgspec.Struct, frozen=True):
    """The error classes of one SDK by role; both SDKs have the same hierarchy."""

    base: type[Exception]
    status: type[Exception]
    connection: type[Exception]
    timeout: type[Exception]
    transport: type[Exception]
    """Raised by the HTTP library while a body is read; the SDK passes it on unchanged."""


def errors_of(sdk: Any, base: str) -> SdkErrors:
    """The error classes of an SDK module."""
    # The SDKs changed their HTTP library once; they re-export its Timeout class.
    library = sdk.Timeout.__init__.__module__.partition(".")[0]
    return SdkErrors(
        base=getattr(sdk, base),
        status=sdk.APIStatusError,
        connection=sdk.APIConnectionError,
        timeout=sdk.APITimeoutError,
        transport=importlib.import_module(library).HTTPError,
    )


class SchemaRefused(Exception):  # noqa: N818 - caught here, and never an error for the user
    """The server does not support structured output; describe the schema in the prompt instead."""


class SchemaFirst:
    """Asks with structured output, or describes the schema if the server does not support it."""

    _plain = False
    """The server has refused a schema, so no further call sends one."""

    def ask(self, request: Request) -> Answer:
        """See model.port.Model."""
        if request.schema is not None and not self._plain:
            try:
                return self._once(request, plain=False)
            except SchemaRefused:  # refused before any work was done, so nothing was billed
                answer = self._once(request, plain=True)
                self._plain = True
                return answer
        return self._once(request, plain=True)

    def _once(self, request: Request, *, plain: bool) -> Answer:
        """One call; `plain` describes the schema in the prompt instead of sending it."""
        raise NotImplementedError


@contextmanager
def translated_errors(errors: SdkErrors, secret: str, *, schema: bool) -> Generator[None]:
    """Raise an SDK's errors as our own, without the API key in their messages."""
    try:
        yield
    except errors.timeout:
        raise CallFailed("the model did not answer in time", "timeout") from None
    except errors.connection as error:
        reason = str(error.__cause__ or error)
        raise CallFailed(f"no connection: {short_message(reason, secret)}", "connection") from None
    except errors.status as error:
        raise _status_error(cast("Any", error), secret, schema=schema) from None
    except errors.transport as error:
        late = "Timeout" in type(error).__name__
        what = "did not go on in time" if late else "broke off"
        raise CallFailed(f"the answer {what}", "timeout" if late else "cut_stream") from None
    except errors.base as error:
        message = short_message(str(error), secret)
        raise CallFailed(f"the model's server reported: {message}", "error_event") from None
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        # The bytes are not JSON, not UTF-8 or not an event of the protocol.
        raise CallFailed("the server's answer is not in its protocol", "garbage") from None


def until_deadline(deadline: float, events: Iterable[T]) -> Iterator[T]:
    """The same events until a deadline: a slow stream may never trigger the SDK's timeout."""
    for event in events:
        if time.monotonic() > deadline:
            raise CallFailed("the model did not finish in time", "timeout")
        yield event


def system_with_schema(request: Request) -> str:
    """The system text, with the request's schema described in it if there is one."""
    if request.schema is None:
        return request.system
    schema = json.dumps(request.schema, ensure_ascii=False)
    format_ = f"Answer with one JSON object that fits this JSON schema, and nothing else:\n{schema}"
    return f"{request.system}\n\n{format_}".strip()


def _status_error(error: Any, secret: str, *, schema: bool) -> Exception:
    status = int(error.status_code)
    message = short_message(str(error), secret)
    if status in AUTH:
        return ModelUnavailable(
            f"the model's server refused the key ({status})",
            hint="check the variable named by model.key_variable and what the key may use",
        )
    if schema and status in SCHEMA_REFUSED:
        return SchemaRefused(message)
    if status < 400:  # an error event inside a stream that began normally
        kind = EVENT_KINDS.get(_event_type(error.body), "error_event")
        return CallFailed(f"the model's server reported: {message}", kind)
    wait = _seconds(error.response.headers.get("retry-after"))
    kind = kind_of_status(status)
    return CallFailed(f"the model's server answered {status}: {message}", kind, retry_after=wait)


def _event_type(body: object) -> str:
    inner = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    kind = cast("dict[str, Any]", inner).get("type") if isinstance(inner, dict) else None
    return kind if isinstance(kind, str) else ""


def _seconds(header: str | None) -> float | None:
    try:
        wait = float(header) if header else None
    except ValueError:
        return None  # a date: our own delay is used instead
    return wait if wait is not None and 0 <= wait < float("inf") else None
