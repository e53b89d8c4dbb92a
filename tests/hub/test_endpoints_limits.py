"""Requests that are too many, too large, damaged or of another version are answered clearly."""

from __future__ import annotations

import asyncio
import gzip
import threading
from typing import Any

import msgspec
import pytest
from tests.hub.team import PROJECT, Request, Response, Team, give, send

from session_memory.core.sharing import wire
from session_memory.hub import app as application
from session_memory.hub import endpoints
from session_memory.hub.app import Hub, make_app
from session_memory.hub.limits import Rate


@pytest.mark.rows("HUB-14")
def test_a_device_that_asks_too_often_is_told_when_to_come_back(team: Team, hub: Hub) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    now = [0.0]
    hub.devices = Rate(1.0, 2, lambda: now[0])
    assert [ann.get("/v1/whoami").status for _ in range(3)] == [200, 200, 429]
    refused = ann.get("/v1/whoami")
    assert (refused.code, refused.headers["retry-after"]) == ("slow_down", "1")
    assert bob.get("/v1/whoami").status == 200
    now[0] = 1.0
    assert ann.get("/v1/whoami").status == 200


@pytest.mark.rows("HUB-14")
def test_guessing_tokens_is_slowed_down(hub: Hub) -> None:
    hub.strangers = Rate(0.1, 3, lambda: 0.0)
    guesses = [send(hub, Request("GET", "/v1/whoami", "smd_x")).status for _ in range(5)]
    assert guesses == [401, 401, 401, 429, 429]


@pytest.mark.rows("HUB-14")
def test_a_request_that_is_too_large_is_refused_packed_or_not(team: Team, hub: Hub) -> None:
    ann = team.device("Ann")
    ann.share()
    large = b" " * (wire.MAX_PUSH_BYTES + 1)
    plain = send(hub, Request("POST", "/v1/push", ann.token, large))
    packed = Request(
        "POST", "/v1/push", ann.token, gzip.compress(large), {"Content-Encoding": "gzip"}
    )
    assert (plain.code, send(hub, packed).code) == ("too_large", "too_large")
    many = wire.Push(PROJECT, 1, tuple([ann.item("rule", "r", "x")] * (wire.MAX_ITEMS + 1)))
    assert ann.post("/v1/push", many).code == "too_large"


@pytest.mark.rows("HUB-14")
def test_a_length_that_is_too_large_is_refused_before_anything_is_read(
    team: Team, hub: Hub
) -> None:
    ann = team.device("Ann")
    announced = {"Content-Length": "10000000000"}
    request = Request("POST", "/v1/push", ann.token, b"x", announced)
    assert send(hub, request).code == "too_large"


def test_a_client_that_goes_away_within_a_request_is_no_failure_of_the_hub(
    team: Team, hub: Hub
) -> None:
    ann = team.device("Ann")
    request = Request("POST", "/v1/push", ann.token, b"{", goes_away=True)
    assert send(hub, request).status == 400


def test_a_half_sent_batch_changes_nothing(team: Team, hub: Hub) -> None:
    ann = team.device("Ann")
    ann.share()
    body = gzip.compress(msgspec.json.encode(ann.batch(ann.item("rule", "r", "use uv"))))
    cut = Request("POST", "/v1/push", ann.token, body[:-20], {"Content-Encoding": "gzip"})
    assert send(hub, cut).code == "bad_encoding"
    damaged = Request("POST", "/v1/push", ann.token, b"\x00" + body, {"Content-Encoding": "gzip"})
    assert send(hub, damaged).code == "bad_encoding"
    other = Request("POST", "/v1/push", ann.token, body, {"Content-Encoding": "br"})
    assert send(hub, other).code == "bad_encoding"
    assert send(hub, Request("POST", "/v1/push", ann.token, b'{"project": ')).code == "bad_request"
    assert ann.push(ann.item("rule", "r", "use uv")).taken == 1


@pytest.mark.rows("HUB-15")
@pytest.mark.parametrize("spoken", ["0", "2", "99", "one", "-1"])
def test_another_version_is_told_what_the_hub_speaks(team: Team, hub: Hub, spoken: str) -> None:
    ann = team.device("Ann")
    headers = {wire.WIRE_HEADER: spoken}
    answer = send(hub, Request("GET", "/v1/whoami", ann.token, headers=headers))
    assert (answer.status, answer.code) == (426, "wire_version")
    assert answer.headers[wire.WIRE_HEADER.lower()] == "1-1"


@pytest.mark.rows("HUB-15")
def test_fields_of_a_newer_laptop_are_ignored(team: Team, hub: Hub) -> None:
    ann = team.device("Ann")
    ann.share()
    batch = msgspec.json.decode(msgspec.json.encode(ann.batch(ann.item("rule", "r", "use uv"))))
    batch["mood"] = "sunny"
    batch["items"][0]["colour"] = "green"
    sent = Request("POST", "/v1/push", ann.token, msgspec.json.encode(batch))
    assert send(hub, sent).value(wire.Pushed).taken == 1


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
