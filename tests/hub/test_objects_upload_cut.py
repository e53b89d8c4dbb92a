"""An S3 server that is killed while an upload is on its way."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.hub.content import content, counted, misplaced, owner_of
from tests.hub.team import Team
from tests.servers import storage

from session_memory.core.sharing import wire
from session_memory.hub.app import Hub
from session_memory.hub.database import open_pool
from session_memory.hub.erase import finish
from session_memory.hub.objects import Texts, open_objects
from session_memory.testing.s3_server import S3Server

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
KILLED_AFTER = 200_000
"""Bytes of one request."""


class Between:
    """Passes everything on, and kills the server in the middle of the first large request."""

    def __init__(self, server: S3Server) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.is_armed = True
        self.killed_at = 0
        self._open: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            self._start(self._pass_on, client)

    def _pass_on(self, client: socket.socket) -> None:
        port = int(self._server.endpoint.rpartition(":")[2])
        with client:
            try:
                server = socket.create_connection(("127.0.0.1", port))
            except OSError:
                return
            self._open.append(server)
            with server:
                self._start(_copy, server, client)
                passed = 0
                try:
                    while data := client.recv(16_384):
                        server.sendall(data)
                        passed += len(data)
                        if self.is_armed and passed > KILLED_AFTER:
                            self.is_armed = False
                            self.killed_at = passed
                            self._server.kill()
                            return
                except OSError:
                    return
                finally:
                    _end(server)  # closing it would leave the other thread waiting

    def close(self) -> None:
        """End every thread: a process with threads is not forked by the tests after this one."""
        for each in self._open:
            _end(each)
        for thread in self._threads:
            thread.join(10)
        self._listener.close()


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it ended before
        connection.shutdown(socket.SHUT_RDWR)


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
    except OSError:
        return


@pytest.fixture
def between(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Between]:
    made = Between(s3)
    for name, value in {**s3.environment(), "AWS_ENDPOINT_URL": made.address}.items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


@pytest.mark.rows("HUB-31")
def test_an_s3_server_killed_within_an_upload_loses_and_doubles_nothing(
    database: str, s3: S3Server, between: Between, tmp_path: Path
) -> None:
    bucket = s3.make_bucket("cut")
    texts = Texts(open_objects(bucket), open_objects(storage(tmp_path)[1]))
    with open_pool(database, size=4) as pool:
        hub = Hub(pool, texts)
        ann = Team(hub).device("Ann")
        ann.share()
        assert ann.push(ann.events("before", "hello world")).taken == 1
        said = [f"event {n} " + "abcdefgh " * 400 for n in range(180)]
        large = ann.batch(ann.events("large", *said), ann.item("rule", "r", "use uv"))
        held = content(database)
        try:
            refused = ann.post("/v1/push", large)
        finally:
            assert between.killed_at > KILLED_AFTER, "the server was killed within the upload"
            s3.start()
        assert (refused.status, refused.code) == (503, "unavailable")
        assert content(database) == held
        assert ann.post("/v1/push", large).value(wire.Pushed).taken == 2
        assert ann.post("/v1/push", large).value(wire.Pushed).taken == 0
        key = ann.session_key("large")
        whole = ann.get(f"/v1/session/{key}").value(wire.SessionText)
        assert [event.text for event in whole.events] == said
        assert [hit.text for hit in ann.search("hello")] == ["hello world"]
        assert misplaced(database) == []
        with psycopg.connect(owner_of(database)) as connection:
            connection.execute("UPDATE hub.erasure SET after = now()")
        finish(hub.pool, hub.texts)
        assert counted(database, "erasure") == 0, "what the cut upload left is deleted"
        store: Any = open_objects(bucket)
        objects = [str(each["path"]) for page in store.list() for each in page]
        assert len(objects) == 2
