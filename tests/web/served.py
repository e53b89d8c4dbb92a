"""A page served by a process of its own, and a client that speaks plain HTTP to it."""

from __future__ import annotations

import http.client
import signal
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.store.port import SessionQuery
from session_memory.testing.workspace import Workspace


class Answer(NamedTuple):
    """Status, headers and body of an answer."""

    status: int
    headers: Mapping[str, str]
    text: str


class Served:
    """A running page."""

    def __init__(self, process: subprocess.Popen[str], link: str) -> None:
        self.process = process
        self.link = link
        address = urlsplit(link)
        self.port = address.port or 0
        self.host = f"127.0.0.1:{self.port}"
        self._open_path = f"{address.path}?{address.query}"
        self.cookie = ""

    def ask(
        self,
        path: str,
        *,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        method: str | None = None,
    ) -> Answer:
        """Send one request, with the cookie if there is one."""
        sent = {"Host": self.host, **({"Cookie": self.cookie} if self.cookie else {})}
        sent |= dict(headers or {})
        body = None
        if form is not None:
            body = urlencode(form).encode()
            sent |= {"Content-Type": "application/x-www-form-urlencoded"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method or ("POST" if form is not None else "GET"), path, body, sent)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, text)
        finally:
            connection.close()

    def open(self) -> Answer:
        """Follow the printed link, as the browser does."""
        answer = self.ask(self._open_path)
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        return answer

    def end(self) -> tuple[int, str]:
        """Ctrl-C; the exit code, and what was said on the way."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


@contextmanager
def serving(space: Workspace, *options: str) -> Generator[Served]:
    """The page of a workspace, until the block ends."""
    config = str(space.write_config())
    process = space.start("--config", config, "web", "--no-browser", *options)
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    served = Served(process, link) if link else None
    try:
        assert served is not None, process.communicate(timeout=30)[1]
        yield served
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def number_of(space: Workspace, log: ClaudeLog) -> int:
    """The number of a session that was swept."""
    with space.store() as store:
        return next(s.id for s in store.sessions(SessionQuery()) if s.external_id == log.session_id)
