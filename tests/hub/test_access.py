"""Nobody sees or changes what their token does not allow, whatever endpoint they try."""

from __future__ import annotations

import msgspec
import psycopg
import pytest
from psycopg import errors
from tests.hub.content import content, counted, owner_of
from tests.hub.team import PROJECT, Device, Request, Team, send

from session_memory.core.sharing import wire
from session_memory.hub.app import Hub
from session_memory.hub.endpoints import ENDPOINTS

SECRET = "zeppelin"
OTHER = "github.com/acme/other"


def requests_for(device: Device, project: str, session: str) -> dict[str, Request]:
    """One request for each endpoint that needs a token, about a project and session."""
    item = device.item("rule", "r", "text")
    tombstone = (wire.Tombstone("session", session), wire.Tombstone("item", item.key))
    bodies: dict[str, msgspec.Struct] = {
        "/v1/share": wire.Share(project, "sessions"),
        "/v1/unshare": wire.Unshare(project),
        "/v1/sync": wire.Sync(project, 1, "0" * 32),
        "/v1/missing": wire.Missing(project, ((item.key, item.hash),)),
        "/v1/push": wire.Push(project, 1, (item,), tombstone, "0" * 32),
        "/v1/forget": wire.Forget(project, tombstone),
        "/v1/prove": wire.Prove(project, tombstone),
        "/v1/search": wire.Search(SECRET, projects=(project,)),
    }
    made = {
        path: Request("POST", path, device.token, msgspec.json.encode(value))
        for path, value in bodies.items()
    }
    for path in ("/v1/pull", "/v1/sessions", "/v1/numbers", "/v1/rules"):
        made[path] = Request("GET", f"{path}?project={project}", device.token)
    made["/v1/session/{key}"] = Request("GET", f"/v1/session/{session}", device.token)
    made["/v1/whoami"] = Request("GET", "/v1/whoami", device.token)
    made["/v1/rotate"] = Request("POST", "/v1/rotate", device.token)
    made["/v1/leave"] = Request("POST", "/v1/leave", device.token)
    return made


def owner(team: Team) -> Device:
    ann = team.device("Ann")
    ann.share()
    ann.push(
        ann.item("session", "s", "a session", session="s", body=wire.SessionBody("claude", SECRET)),
        ann.item("cure", "c", f"cure: {SECRET}", session="s"),
        ann.item("usage", "u", body={"model": SECRET}),
        ann.events("s", f"about the {SECRET}"),
    )
    return ann


def test_the_matrix_has_every_endpoint(team: Team) -> None:
    tried = set(requests_for(team.device("Ann"), PROJECT, "0" * 32))
    assert tried == {endpoint.path for endpoint in ENDPOINTS if not endpoint.is_open}


def assert_no_leak(team: Team, stranger: Device, allowed: set[str], database: str) -> None:
    """Every endpoint refuses or says nothing of the secret, and nothing of its owner's changes."""
    ann = owner(team)
    before = content(database)
    for path, request in requests_for(stranger, PROJECT, ann.session_key("s")).items():
        if path in ("/v1/rotate", "/v1/leave"):
            continue  # about the caller's own token alone
        answer = send(team.hub, request)
        assert SECRET.encode() not in answer.body, path
        assert ann.joined.member.encode() not in answer.body, path
        if path not in allowed:
            assert answer.status in (401, 403, 404), (path, answer)
    assert content(database) == before


@pytest.mark.rows("HUB-09")
def test_a_token_of_another_team_gets_nothing(team: Team, hub: Hub, database: str) -> None:
    # With a token for all projects of its own team, the same key names a project of that team.
    stranger = Team(hub, "rivals").device("Eve", projects=("github.com/rivals/x",))
    assert_no_leak(team, stranger, {"/v1/whoami"}, database)
    wide = Team(hub, "others").device("Mallory")
    found = [send(hub, each) for each in requests_for(wide, PROJECT, "0" * 32).values()]
    assert all(SECRET.encode() not in answer.body for answer in found)


@pytest.mark.rows("HUB-09")
def test_a_token_for_another_project_gets_nothing(team: Team, database: str) -> None:
    stranger = team.device("Bob", projects=(OTHER,))
    assert_no_leak(team, stranger, {"/v1/whoami"}, database)
    everything = stranger.post("/v1/search", wire.Search(SECRET)).value(wire.SearchAnswer)
    assert everything.hits == ()
    for path in ("/v1/sessions", "/v1/numbers", "/v1/rules"):
        assert SECRET.encode() not in stranger.get(path).body


@pytest.mark.rows("HUB-10")
def test_a_replayed_request_brings_nothing_back(team: Team, database: str) -> None:
    ann = owner(team)
    recorded = Request("POST", "/v1/push", ann.token, msgspec.json.encode(
        ann.batch(ann.item("cure", "c", f"cure: {SECRET}", session="s"))))  # fmt: skip
    ann.forget(wire.Tombstone("session", ann.session_key("s")))
    before = content(database)
    answer = send(ann.hub, recorded).value(wire.Pushed)
    assert [each.reason for each in answer.refused] == ["forgotten"]
    assert content(database) == before


@pytest.mark.rows("HUB-11")
def test_tokens_are_stored_as_hashes_only(team: Team, database: str) -> None:
    invite = team.invite()
    ann = team.device("Ann")
    with psycopg.connect(owner_of(database)) as connection:
        rows = connection.execute("SELECT d::text FROM hub.device d").fetchall()
        rows += connection.execute("SELECT i::text FROM hub.invite i").fetchall()
    secrets = [token.split("_", 2)[2] for token in (invite, ann.token)]
    assert not any(secret in row[0] for row in rows for secret in secrets)


@pytest.mark.rows("HUB-13")
def test_the_database_itself_refuses_rows_of_others(team: Team, hub: Hub, database: str) -> None:
    owner(team)
    tables = ("item", "session", "sharing", "tombstone", "posting", "run", "manifest", "member",
              "project", "team", "device", "invite", "audit")  # fmt: skip
    with psycopg.connect(database) as connection:
        for table in tables:  # nothing is set, so nothing is seen
            row = connection.execute(f"SELECT count(*) FROM hub.{table}").fetchone()  # type: ignore[arg-type]
            assert row == (0,), table
    with psycopg.connect(database) as connection:
        connection.execute("SELECT set_config('app.team', '1', true),"
                           " set_config('app.projects', '1', true)")  # fmt: skip
        assert connection.execute("SELECT count(*) FROM hub.item").fetchone() == (4,)
        deleted = connection.execute("DELETE FROM hub.item")
        assert deleted.rowcount == 0  # not the member of this transaction
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("ALTER TABLE hub.item DISABLE ROW LEVEL SECURITY")
    assert counted(database, "item") == 4
