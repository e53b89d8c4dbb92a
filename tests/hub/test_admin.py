"""Invites, tokens and the audit, as the owner of a hub handles them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import errors
from tests.hub.content import counted, owner_of
from tests.hub.team import PROJECT, Request, Response, Team, send
from tests.hub.test_access import SECRET, assert_no_leak, owner, requests_for

from session_memory.core.sharing import wire
from session_memory.hub import admin, tokens
from session_memory.hub.app import Hub


@pytest.mark.rows("HUB-10")
@pytest.mark.parametrize("state", ["revoked", "expired", "rotated", "invented", "left", "none"])
def test_a_token_that_does_not_count_any_more_gets_nothing(
    team: Team, hub: Hub, database: str, state: str
) -> None:
    stranger = team.device("Bob", device_days=1)
    expected = {"revoked": "token_revoked", "expired": "token_expired", "left": "token_revoked",
                "none": "token_missing"}.get(state, "token_unknown")  # fmt: skip
    if state == "revoked":
        admin.revoke(hub.pool, hub.texts, "acme", stranger.joined.device)
    elif state == "expired":
        with psycopg.connect(owner_of(database)) as connection:
            past = datetime.now(UTC) - timedelta(seconds=1)
            connection.execute("UPDATE hub.device SET expires_at = %s", (past,))
    elif state == "rotated":
        stranger.post("/v1/rotate").value(wire.NewToken)
    elif state == "invented":
        stranger.token = str(tokens.new_token("device", stranger.joined.device))
    elif state == "left":
        stranger.post("/v1/leave").value(wire.Done)
    else:
        stranger.token = None  # type: ignore[assignment]
    hub.strangers = _no_limit()
    assert_no_leak(team, stranger, set(), database)
    for path, request in requests_for(stranger, PROJECT, "0" * 32).items():
        assert send(hub, request).code == expected, path


def _no_limit() -> object:
    class Unlimited:
        def wait(self, _name: str) -> int:
            return 0

    return Unlimited()


@pytest.mark.rows("HUB-10")
def test_an_invite_counts_once_and_not_after_its_time(team: Team, hub: Hub, database: str) -> None:
    def join(token: str) -> Response:
        return send(hub, Request("POST", "/v1/join", token, b'{"display_name": "Ann"}'))

    token = team.invite()
    assert join(token).status == 200
    assert join(token).code == "invite_used"
    late, revoked = team.invite(), team.invite()
    with psycopg.connect(owner_of(database)) as connection:
        connection.execute("UPDATE hub.invite SET expires_at = now() - interval '1 second'"
                           " WHERE id = %s", (late.split("_")[1],))  # fmt: skip
    admin.revoke(hub.pool, hub.texts, "acme", revoked.split("_")[1])
    assert join(late).code == "token_expired"
    assert join(revoked).code == "token_revoked"
    device = team.device("Bob")
    assert join(device.token).code == "token_unknown"  # a device's token is no invite
    assert send(hub, Request("GET", "/v1/whoami", team.invite())).code == "token_unknown"
    bad = send(hub, Request("POST", "/v1/join", team.invite(), b'{"display_name": "\\u0007"}'))
    assert bad.code == "bad_request"


@pytest.mark.rows("HUB-12")
def test_every_access_is_in_the_audit(team: Team, hub: Hub, database: str) -> None:
    ann = owner(team)
    ann.search(SECRET)
    ann.post("/v1/push", wire.Push("nowhere", 1))
    lines = admin.audit(hub.pool, "acme", 100)
    assert [(line.action, line.status) for line in lines] == [
        ("POST /v1/join", 200), ("POST /v1/share", 200), ("POST /v1/push", 200),
        ("POST /v1/search", 200), ("POST /v1/push", 403),
    ]  # fmt: skip
    assert lines[2].items == 4 and lines[2].bytes > 100 and lines[2].project == PROJECT
    send(hub, Request("GET", "/v1/whoami", "nonsense"))
    assert counted(database, "audit") == 6
    with hub.pool.connection() as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute("DELETE FROM hub.audit")
