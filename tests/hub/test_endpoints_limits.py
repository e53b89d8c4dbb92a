"""Requests that are too many, too large, damaged or of another version are answered clearly."""

from __future__ import annotations

import gzip

import msgspec
import pytest
from tests.hub.team import PROJECT, Request, Team, send

from session_memory.core.sharing import wire
from session_memory.hub.app import Hub
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
