"""A model provider on loopback that speaks the real protocols and misbehaves as a test asks.

        with ModelServer([Play("overloaded"), Play("deltas", text="hi")]) as server:
            client = anthropic.Anthropic(base_url=server.url, api_key="k")

Each request plays the next part; the last one repeats. Requests are kept in `server.requests`, and
`server.most_under_way` is how many were there at the same time. With `together`, the first so many
are answered only once all of them have come.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

import msgspec

Part = Literal[
    "deltas",
    "item",
    "two_items",
    "overloaded",
    "rate_limited",
    "broken",
    "unauthorized",
    "no_schema",
    "cut",
    "error_event",
    "garbage",
    "refusal",
    "length",
    "empty",
    "slow",
    "no_usage",
]
Event = tuple[str, dict[str, Any]]
STATUS: dict[Part, int] = {
    "overloaded": 529,
    "rate_limited": 429,
    "broken": 500,
    "unauthorized": 401,
}


class Play(msgspec.Struct, frozen=True):
    """How one request is answered."""

    part: Part = "deltas"
    text: str = "hello"
    """`${trace}` in it becomes the id of the newest trace that the request shows."""
    answer: Callable[[str], str] | None = None
    """Makes the text of what the request says, instead of `text`."""
    retry_after: str = ""


class Received(msgspec.Struct, frozen=True):
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ModelServer:
    """The server, running while the block is entered."""

    def __init__(self, plays: Sequence[Play], together: int = 0) -> None:
        self._plays = list(plays)
        self._lock = threading.Lock()
        self._meeting = threading.Barrier(together) if together else None
        self._under_way = self.most_under_way = 0
        self.requests: list[Received] = []
        self.requested = threading.Event()
        """Set by the first request."""
        self.gate = threading.Event()
        """A slow answer waits for it; leaving the block sets it, so that nothing hangs."""
        handler = type("Handler", (_Handler,), {"stage": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def next_play(self, received: Received) -> Play:
        """The part of this request."""
        with self._lock:
            self.requests.append(received)
            self.requested.set()
            return self._plays[min(len(self.requests), len(self._plays)) - 1]

    @contextmanager
    def attending(self) -> Generator[None]:
        """One request from its arrival to the end of its answer."""
        with self._lock:
            self._under_way += 1
            self.most_under_way = max(self.most_under_way, self._under_way)
            meets = self._meeting is not None and len(self.requests) < self._meeting.parties
        try:
            if meets and self._meeting is not None:
                self._meeting.wait(60)  # breaks, and fails the requests, where they do not come
            yield
        finally:
            with self._lock:
                self._under_way -= 1

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.gate.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    stage: ModelServer
    disable_nagle_algorithm = True  # else a client may wait 40 ms between two parts of an answer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on standard error."""

    def do_POST(self) -> None:
        with self.stage.attending():
            self._answer()

    def _answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        path = self.path.partition("?")[0]
        play = self.stage.next_play(Received(path, dict(self.headers), body))
        if play.answer is not None:
            text = play.answer("\n".join(_contents(body)))
        else:
            shown = json.dumps(body).partition("(trace: `")[2].partition("`")[0]
            text = play.text.replace("${trace}", shown)
        play = msgspec.structs.replace(play, text=text)
        wants_schema = "output_config" in body or "text" in body or "response_format" in body
        if play.part == "no_schema" and wants_schema:
            self._refuse(400, play, "response_format is not supported")
        elif play.part in STATUS:
            key = self.headers.get("authorization") or self.headers.get("x-api-key") or ""
            self._refuse(STATUS[play.part], play, f"no, says the server to {key}")
        else:
            self._stream(PROTOCOLS[path.rpartition("/")[2]](play, str(body.get("model"))), play)

    def _refuse(self, status: int, play: Play, message: str) -> None:
        data = json.dumps({"type": "error", "error": {"type": "x", "message": message}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if play.retry_after:
            self.send_header("retry-after", play.retry_after)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[Event], play: Play) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if play.part == "garbage":
            self.wfile.write(b"event: message_start\ndata: {\xff\xfe not json\n\n")
            return
        for number, (name, data) in enumerate(events):
            if play.part == "slow" and number == 1:
                self.wfile.flush()
                self.stage.gate.wait()
            line = f"event: {name}\n" if name else ""
            try:
                self.wfile.write(f"{line}data: {json.dumps(data)}\n\n".encode())
            except OSError:
                return  # the client has given up


def _contents(body: dict[str, Any]) -> Iterator[str]:
    """The texts of a request's messages."""
    for message in body.get("messages") or body.get("input") or ():
        content = message.get("content", "")
        yield content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


def _said(play: Play) -> list[str]:
    return [] if play.part in ("empty", "refusal") else _halves(play.text)


def messages(play: Play, model: str) -> Iterator[Event]:
    """Anthropic Messages."""
    used = {"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 1}
    start: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": model,
    }
    yield "message_start", {"type": "message_start", "message": {**start, "usage": used}}
    block = {"type": "text", "text": ""}
    yield "content_block_start", _indexed("content_block_start", content_block=block)
    for text in _said(play):
        delta = {"type": "text_delta", "text": text}
        yield "content_block_delta", _indexed("content_block_delta", delta=delta)
    if play.part == "error_event":
        error = {"type": "overloaded_error", "message": "Overloaded"}
        yield "error", {"type": "error", "error": error}
        return
    yield "content_block_stop", _indexed("content_block_stop")
    stops = {"length": "max_tokens", "refusal": "refusal"}
    end = {"stop_reason": stops.get(play.part, "end_turn"), "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}}
    if play.part != "cut":
        yield "message_stop", {"type": "message_stop"}


def _indexed(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "index": 0, **fields}


def responses(play: Play, model: str) -> Iterator[Event]:
    """OpenAI Responses."""
    yield _response("response.created", {"id": "r", "model": model})
    if play.part == "refusal":
        yield _response("response.refusal.delta", None, delta="I will not")
    if play.part not in ("item", "two_items"):
        for text in _said(play):
            yield _response("response.output_text.delta", None, delta=text)
    if play.part == "error_event":
        yield "error", {"type": "error", "message": "no luck", "sequence_number": 1}
        return
    for text in {"item": [play.text], "two_items": [play.text, "second"]}.get(play.part, []):
        thought: dict[str, Any] = {"type": "reasoning", "id": "t", "summary": []}
        yield _response("response.output_item.done", None, item=thought, output_index=0)
        content: list[Any] = [{"type": "output_text", "text": text, "annotations": []}]
        item: dict[str, Any] = {
            "type": "message",
            "id": "i",
            "role": "assistant",
            "content": content,
        }
        yield _response("response.output_item.done", None, item=item, output_index=0)
    used = {
        "input_tokens": 120,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 129,
    }
    whole: dict[str, Any] = {"id": "r", "model": model, "usage": used, "output": []}
    if play.part == "length":
        whole["incomplete_details"] = {"reason": "max_output_tokens"}
        yield _response("response.incomplete", whole)
    elif play.part != "cut":
        yield _response("response.completed", whole)


def _response(kind: str, response: dict[str, Any] | None, **fields: Any) -> Event:
    inner = {} if response is None else {"response": response}
    return kind, {"type": kind, "sequence_number": 1, **inner, **fields}


def completions(play: Play, model: str) -> Iterator[Event]:
    """OpenAI Chat Completions."""
    for text in _said(play):
        yield "", _chunk(model, {"content": text}, None)
    if play.part == "refusal":
        yield "", _chunk(model, {"refusal": "I will not"}, None)
    if play.part == "error_event":
        yield "", {"error": {"message": "no luck"}}
        return
    if play.part == "cut":
        return
    yield "", _chunk(model, {}, "length" if play.part == "length" else "stop")
    if play.part != "no_usage":
        used = {"prompt_tokens": 120, "completion_tokens": 9, "total_tokens": 129}
        cached = {"prompt_tokens_details": {"cached_tokens": 20}}
        yield "", {**_chunk(model, {}, None), "choices": [], "usage": {**used, **cached}}


def _chunk(model: str, delta: dict[str, str], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    kind = "chat.completion.chunk"
    return {"id": "c", "object": kind, "created": 1, "model": model, "choices": [choice]}


PROTOCOLS = {"messages": messages, "responses": responses, "completions": completions}
