"""Only the browser that opened the printed link is answered."""

from __future__ import annotations

import asyncio
import selectors
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from tests.web.served import Served, serving

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace
from session_memory.web.server import IdleServer, Use


@pytest.fixture
def served(space: Workspace) -> Iterator[Served]:
    with serving(space) as page:
        yield page


@pytest.mark.rows("WEB-02")
def test_without_the_link_nothing_is_shown(served: Served) -> None:
    for path in ("/", "/sessions", "/static/page.css", "/no/such/page"):
        assert served.ask(path).status == 401
    answer = served.open()
    assert answer.status == 303
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    assert served.ask("/").status == 200


@pytest.mark.rows("WEB-02")
def test_the_link_works_once(served: Served) -> None:
    assert served.open().status == 303
    cookie, served.cookie = served.cookie, ""
    assert served.open().status == 401
    served.cookie = f"{cookie}x"
    assert served.ask("/").status == 401
    served.cookie = cookie
    assert served.ask("/").status == 200


@pytest.mark.rows("WEB-03")
def test_another_name_of_this_machine_is_refused_and_told_what_to_do(served: Served) -> None:
    served.open()
    for host in ("evil.test", f"evil.test:{served.port}", "", "127.0.0.1"):
        answer = served.ask("/", headers={"Host": host})
        assert answer.status == 421
        assert "--name" in answer.text
    assert served.ask("/", headers={"Host": f"localhost:{served.port}"}).status == 200


@pytest.mark.rows("WEB-03")
def test_a_name_of_a_port_forward_is_answered(space: Workspace) -> None:
    with serving(space, "--name", "devbox:9000") as served:
        served.open()
        assert served.ask("/", headers={"Host": "devbox:9000"}).status == 200
        assert served.ask("/", headers={"Host": "devbox:9001"}).status == 421
        own = {"Host": "devbox:9000", "Origin": "http://devbox:9000"}
        assert served.ask("/", headers=own).status == 200
        other = served.ask("/", headers={"Origin": "https://forward.test:8443"})
        assert other.status == 403 and "--name forward.test:8443" in other.text


@pytest.mark.rows("WEB-03")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_requests_of_other_sites_are_refused(served: Served, headers: dict[str, str]) -> None:
    served.open()
    assert served.ask("/", headers=headers).status == 403
    assert served.ask("/", form={"a": "b"}, headers=headers).status == 403


@pytest.mark.rows("WEB-03")
def test_a_form_needs_its_token_and_other_methods_have_no_use(served: Served) -> None:
    served.open()
    assert served.ask("/", form={"form_token": "guess"}).status == 403
    assert served.ask("/", form={"form_token": "x" * 400_000}).status == 413
    for method in ("PUT", "DELETE", "OPTIONS"):
        assert served.ask("/", method=method).status == 405


@pytest.mark.rows("WEB-03")
def test_every_answer_forbids_foreign_scripts_frames_and_caches(served: Served) -> None:
    refused, opened = served.ask("/"), served.open()
    for answer in (refused, opened, served.ask("/"), served.ask("/static/page.js")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.rows("WEB-01")
def test_it_ends_with_ctrl_c_and_without_complaint(served: Served) -> None:
    served.open()
    code, said = served.end()
    assert code == 0
    assert "Traceback" not in said and "error" not in said


@pytest.mark.rows("WEB-01")
def test_without_a_store_the_page_says_how_to_begin(served: Served) -> None:
    served.open()
    assert "session-memory init" in served.ask("/").text


@pytest.mark.rows("WEB-03")
def test_a_name_of_another_site_that_leads_here_gets_nothing_even_with_the_cookie(
    served: Served,
) -> None:
    """DNS rebinding: the browser believes it talks to evil.test, and sends what it has for it."""
    served.open()
    rebound = {
        "Host": f"evil.test:{served.port}",
        "Origin": f"http://evil.test:{served.port}",
        "Sec-Fetch-Site": "same-origin",
    }
    for path in ("/", "/sessions", "/open?key=guess", "/static/page.js"):
        assert served.ask(path, headers=rebound).status == 421
    assert served.ask("/rules/add", form={"text": "x"}, headers=rebound).status == 421


@pytest.mark.rows("WEB-03")
def test_a_form_of_another_site_changes_nothing(space: Workspace) -> None:
    log = ClaudeLog(seed=1)
    log.prompt("hello")
    space.write(log)
    space.sweep()
    with serving(space) as served:
        served.open()
        page = served.ask("/privacy").text
        token = page.partition('name="form_token" value="')[2].partition('"')[0]
        form = {"form_token": token, "action": "pause"}
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.test"}):
            assert served.ask("/privacy/pause", form=form, headers=headers).status == 403
        assert "New sessions are captured" in served.ask("/privacy").text
        own = {"Sec-Fetch-Site": "same-origin", "Origin": f"http://{served.host}"}
        assert served.ask("/privacy/pause", form=form, headers=own).status == 303
        assert "Capture is paused" in served.ask("/privacy").text


@pytest.mark.rows("WEB-01")
def test_it_ends_by_itself_when_nobody_uses_it(space: Workspace) -> None:
    """On the server's own clock, which stands in for half an hour."""
    now = [0.0]
    use = Use(lambda: now[0])
    assert use.remaining(1_800) == 1_800
    now[0] = 1_000
    assert use.remaining(1_800) == 800
    use.note()
    assert use.remaining(1_800) == 1_800
    now[0] = 2_801
    assert use.remaining(1_800) <= 0


class Dozing(selectors.DefaultSelector):
    """Where nothing is ready, the time of a wait passes at once, and the wait is noted."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.waits: list[float] = []

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready and timeout != 0:
            assert timeout is not None, "nothing would ever end this wait"
            self.waits.append(timeout)
            self.now += timeout
        return ready


class DozingLoop(asyncio.SelectorEventLoop):
    """A loop on the clock of its selector."""

    def __init__(self, selector: Dozing) -> None:
        self._dozing = selector
        super().__init__(selector)

    def time(self) -> float:
        return self._dozing.now


@pytest.mark.rows("WEB-01")
def test_it_sleeps_between_requests_and_until_it_ends() -> None:
    """No timer of it goes by itself: a request after 1,000 seconds, and then only the idle time."""
    selector = Dozing()
    loop, use = DozingLoop(selector), Use(lambda: selector.now)
    settings = uvicorn.Config(_no_page, log_level="warning", lifespan="off", ws="none")
    with closing(loop), socket.create_server(("127.0.0.1", 0)) as listener:
        loop.call_later(1_000, use.note)
        server = IdleServer(settings, use, 1_800, lambda: None)
        loop.run_until_complete(server.serve([listener]))
    assert [round(wait) for wait in selector.waits if wait >= 1] == [1_000, 800, 1_000]
    assert len(selector.waits) <= 5  # uvicorn looks once or twice whether all connections ended


async def _no_page(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Nobody asks."""
