"""The application: health, unknown paths, and requests that break off or are too many."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import msgspec
import pytest
from tests.hub.team import Request, Response, Team, give, send

from session_memory.core.sharing import wire
from session_memory.hub import app as application
from session_memory.hub import endpoints
from session_memory.hub.app import Hub, make_app


def test_a_client_that_goes_away_within_a_request_is_no_failure_of_the_hub(
    team: Team, hub: Hub
) -> None:
    ann = team.device("Ann")
    request = Request("POST", "/v1/push", ann.token, b"{", goes_away=True)
    assert send(hub, request).status == 400


def test_health_says_ok_and_nothing_else_and_other_paths_say_nothing(hub: Hub) -> None:
    assert send(hub, Request("GET", "/healthz")).body == b"ok"
    assert send(hub, Request("GET", "/v2/anything")).code == "not_found"
    assert send(hub, Request("GET", "/v1/push")).status == 405


@pytest.mark.rows("HUB-14")
def test_pushes_wait_for_each_other_and_one_too_many_comes_again(
    team: Team, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "PUSHES_AT_ONCE", 1)
    monkeypatch.setattr(application, "PUSHES_WAITING", 1)
    ann = team.device("Ann")
    ann.share()
    bodies = [msgspec.json.encode(ann.batch(ann.item("rule", f"r{n}", f"rule {n}"))) for n in "123"]
    pushes = [Request("POST", "/v1/push", ann.token, body) for body in bodies]
    refused = threading.Event()
    taken = endpoints.push.push

    def slowly(*given: Any) -> wire.Pushed:
        assert refused.wait(60)
        return taken(*given)

    async def all_at_once() -> list[Response]:
        app = make_app(hub)

        async def one(request: Request) -> Response:
            answer = await give(app, request)
            if answer.status == 429:
                refused.set()
            return answer

        found = asyncio.gather(*map(one, pushes))
        searched = await give(app, Request("GET", "/v1/whoami", ann.token))
        assert searched.status == 200, "nothing else waits"
        return list(await found)

    monkeypatch.setattr(endpoints.push, "push", slowly)
    answers = asyncio.run(all_at_once())
    assert sorted(answer.status for answer in answers) == [200, 200, 429]
    (late,) = [answer for answer in answers if answer.status == 429]
    assert (late.code, late.headers["retry-after"]) == ("slow_down", "5")


@pytest.mark.rows("HUB-30")
def test_while_somebody_searches_pushes_are_taken_one_at_a_time(
    team: Team, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = team.device("Ann")
    ann.share()
    bodies = [msgspec.json.encode(ann.batch(ann.item("rule", f"r{n}", f"rule {n}"))) for n in "12"]
    pushes = [Request("POST", "/v1/push", ann.token, body) for body in bodies]
    search = Request("POST", "/v1/search", ann.token, msgspec.json.encode(wire.Search("rule")))
    taken, found = endpoints.push.push, endpoints.queries.search
    searching, both, at_work, most = threading.Event(), threading.Event(), [0], [0]

    def noted(*given: Any) -> wire.Pushed:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        if at_work[0] == 2:
            both.set()
        elif not searching.is_set():
            assert both.wait(60), "without a search two are taken at once"
        answer = taken(*given)
        at_work[0] -= 1
        return answer

    def slowly(*given: Any) -> wire.SearchAnswer:
        searching.set()
        assert pushed.wait(60)
        return found(*given)

    pushed = threading.Event()

    async def with_search() -> None:
        app = make_app(hub)
        waiting = asyncio.ensure_future(give(app, search))
        while not searching.is_set():
            await asyncio.sleep(0.01)
        answers = await asyncio.gather(*(give(app, each) for each in pushes))
        pushed.set()
        assert [answer.status for answer in (*answers, await waiting)] == [200, 200, 200]

    async def alone() -> None:
        app = make_app(hub)
        answers = await asyncio.gather(*(give(app, each) for each in pushes))
        assert [answer.status for answer in answers] == [200, 200]

    monkeypatch.setattr(endpoints.push, "push", noted)
    monkeypatch.setattr(endpoints.queries, "search", slowly)
    asyncio.run(with_search())
    assert most == [1]
    searching.clear()
    asyncio.run(alone())
    assert most == [2]
