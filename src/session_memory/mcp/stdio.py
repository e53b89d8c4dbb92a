"""The server on standard input and output: answers lines in order until the client leaves."""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from session_memory.mcp import jsonrpc
from session_memory.mcp.jsonrpc import Id, Incoming, InvalidLine, Notification, Request
from session_memory.mcp.runtime import Runtime
from session_memory.mcp.server import Server

_CHUNK = 65_536
_WAITING = 1_024
"""Messages that may queue up; then the client has to wait."""
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


class Stopped(BaseException):
    """A signal asked the server to end; not an error, so no handler of errors may catch it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def lines(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Whole lines of a stream; of a line that is too long only its beginning."""
    partial = b""
    dropping = False
    while chunk := read():
        *whole, rest = (partial + chunk).split(b"\n")
        for line in whole:
            if not dropping:
                yield line
            dropping = False
        partial = b"" if dropping else rest
        if len(partial) > jsonrpc.MAX_LINE:
            yield partial
            partial, dropping = b"", True
    if partial:
        yield partial


class Inbox:
    """A queue of messages, read ahead so that a cancellation is seen in time."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._waiting: queue.Queue[Incoming | None] = queue.Queue(_WAITING)
        self._cancelled: set[Id] = set()

    def fill(self) -> None:
        """Read until the end of input; runs in its own thread."""
        try:
            for line in lines(self._read):
                message = jsonrpc.read_line(line)
                match message:
                    case Notification(method="notifications/cancelled"):
                        self._cancel(message)
                    case _:
                        self._waiting.put(message)
        finally:
            self._waiting.put(None)

    def next(self, idle_seconds: int) -> Incoming | None:
        """The next message, None at the end of input; raises queue.Empty after the idle time."""
        return self._waiting.get(timeout=idle_seconds or None)

    def cancelled(self, number: Id) -> bool:
        """Whether the client no longer waits for this answer."""
        return number in self._cancelled

    def done(self, number: Id) -> None:
        """Forget a cancellation once its request was handled: clients may reuse ids."""
        self._cancelled.discard(number)

    def _cancel(self, message: Notification) -> None:
        number = message.params.get("requestId")
        if isinstance(number, str | int) and len(self._cancelled) < _WAITING:
            self._cancelled.add(number)


def converse(server: Server, runtime: Runtime, inbox: Inbox, write: Callable[[bytes], None]) -> str:
    """Answer messages in order; returns why the conversation ended."""
    while True:
        try:
            message = inbox.next(runtime.options.idle_seconds)
        except queue.Empty:
            return "idle_timeout"
        if message is None:
            return "stdin_eof"
        if isinstance(message, InvalidLine):
            write(jsonrpc.to_line(jsonrpc.failure(message.id, message.code, message.message)))
        elif isinstance(message, Request):
            _serve(server, inbox, message, write)
            if message.method == "tools/list":  # after the answer, as it takes time
                runtime.enter()


def _serve(server: Server, inbox: Inbox, request: Request, write: Callable[[bytes], None]) -> None:
    answer = None if inbox.cancelled(request.id) else server.handle(request)
    if answer is not None and not inbox.cancelled(request.id):
        write(_line(request, answer))
    inbox.done(request.id)


def _line(request: Request, answer: jsonrpc.Json) -> bytes:
    try:
        return jsonrpc.to_line(answer)
    except ValueError:  # a lone surrogate that got past every check of text
        return jsonrpc.to_line(
            jsonrpc.failure(request.id, jsonrpc.INTERNAL_ERROR, "the answer cannot be written")
        )


@contextmanager
def _signals() -> Generator[None]:
    def stop(number: int, _frame: object) -> None:
        raise Stopped(f"signal_{signal.Signals(number).name.lower()}")

    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def serve(server: Server, runtime: Runtime) -> str:
    """Serve this process's standard streams; returns the reason it ended.

    Uses file descriptors directly: a thread blocked in a buffered reader cannot be stopped, and
    nothing but the protocol may reach standard output.
    """
    out = os.dup(1)
    os.dup2(2, 1)  # anything a library prints goes to the log

    def write(line: bytes) -> None:
        while line:
            line = line[os.write(out, line) :]

    inbox = Inbox(lambda: os.read(0, _CHUNK))
    reader = threading.Thread(target=inbox.fill, name="stdin", daemon=True)
    try:
        with _signals():
            reader.start()
            return converse(server, runtime, inbox, write)
    except Stopped as stopped:
        return stopped.reason
    except BrokenPipeError:
        return "stdout_closed"
    finally:
        runtime.close()
        os.close(out)
