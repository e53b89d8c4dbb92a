"""What the two vendors' SDKs have in common: their errors in our terms, a deadline, a JSON wish."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import msgspec

from session_memory.errors import ModelUnavailable
from session_memory.model.failures import CallFailed, Kind, kind_of_status, tidy
from session_memory.model.port import Answer, Request

T = TypeVar("T")

AUTH = (401, 403)
SCHEMA_REFUSED = (400, 404, 415, 422, 501)
"""How servers that know no structured output say so."""
EVENT_KINDS: dict[str, Kind] = {
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "api_error": "server",
    "timeout_error": "timeout",
}


class SdkErrors(msgspec.Struct, frozen=True):
    """The errors of one SDK by their role; both SDKs have the same tree under other names."""

    base: type[Exception]
    status: type[Exception]
    connection: type[Exception]
    timeout: type[Exception]
    transport: type[Exception]
    """What the HTTP library under the SDK raises while a body is read: the SDK lets it through."""


def errors_of(sdk: Any, base: str) -> SdkErrors:
    """The errors of an SDK module."""
    # The SDKs changed their HTTP library once, and re-export its Timeout under their own name.
    library = sdk.Timeout.__init__.__module__.partition(".")[0]
    return SdkErrors(
        base=getattr(sdk, base),
        status=sdk.APIStatusError,
        connection=sdk.APIConnectionError,
        timeout=sdk.APITimeoutError,
        transport=importlib.import_module(library).HTTPError,
    )


class SchemaRefused(Exception):  # noqa: N818 - a turn of the conversation, not an error of ours
    """The server does not take the structured-output wish; the question may be asked plainly."""


class SchemaFirst:
    """Asks with the schema, and in words where the server knows no structured output."""

    _plain = False
    """The server refused a schema once: it is not asked with one again."""

    def ask(self, request: Request) -> Answer:
        """See model.port.Model."""
        if request.schema is not None and not self._plain:
            try:
                return self._once(request, plain=False)
            except SchemaRefused:  # refused before any work: nothing was billed
                answer = self._once(request, plain=True)
                self._plain = True
                return answer
        return self._once(request, plain=True)

    def _once(self, request: Request, *, plain: bool) -> Answer:
        """One call, with the schema or, plainly, with its words."""
        raise NotImplementedError


@contextmanager
def translated(errors: SdkErrors, secret: str, *, schema: bool) -> Generator[None]:
    """Raise what an SDK raises as one of our errors, without the key in its words."""
    try:
        yield
    except errors.timeout:
        raise CallFailed("the model did not answer in time", "timeout") from None
    except errors.connection as error:
        reason = str(error.__cause__ or error)
        raise CallFailed(f"no connection: {tidy(reason, secret)}", "connection") from None
    except errors.status as error:
        raise _of_status(cast("Any", error), secret, schema=schema) from None
    except errors.transport as error:
        late = "Timeout" in type(error).__name__
        words = "did not go on in time" if late else "broke off"
        raise CallFailed(f"the answer {words}", "timeout" if late else "cut_stream") from None
    except errors.base as error:
        message = tidy(str(error), secret)
        raise CallFailed(f"the model's server reported: {message}", "error_event") from None
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        # Bytes that are no JSON, no UTF-8 or no event of the protocol.
        raise CallFailed("the server's answer is not in its protocol", "garbage") from None


def before(deadline: float, events: Iterable[T]) -> Iterator[T]:
    """The same events, as long as there is time: a server can drip for ever within a time-out."""
    for event in events:
        if time.monotonic() > deadline:
            raise CallFailed("the model did not finish in time", "timeout")
        yield event


def plainly(request: Request) -> str:
    """The system text of a request that asks for JSON in words, for servers without schemas."""
    if request.schema is None:
        return request.system
    schema = json.dumps(request.schema, ensure_ascii=False)
    wish = f"Answer with one JSON object that fits this JSON schema, and nothing else:\n{schema}"
    return f"{request.system}\n\n{wish}".strip()


def _of_status(error: Any, secret: str, *, schema: bool) -> Exception:
    status = int(error.status_code)
    message = tidy(str(error), secret)
    if status in AUTH:
        return ModelUnavailable(
            f"the model's server refused the key ({status})",
            hint="check the variable named by model.key_variable and what the key may use",
        )
    if schema and status in SCHEMA_REFUSED:
        return SchemaRefused(message)
    if status < 400:  # an error event inside an answer that began well
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
        return None  # a date; our own delay will do
    return wait if wait is not None and 0 <= wait < float("inf") else None
