"""What a team shares, as Parquet: a fleet finds in it what recurs over members."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from tests.detect.digests import digest, ran
from tests.fleet.inline import by_fleet
from tests.hub.conftest import hub, team, texts  # noqa: F401  # fixtures
from tests.hub.team import PROJECT, Team
from tests.servers import *  # noqa: F403  # fixtures

from session_memory.core.sharing.wire import SessionBody
from session_memory.errors import NotFound
from session_memory.fleet.dataset import Dataset
from session_memory.fleet.detect import FleetQuery
from session_memory.fleet.hub import export_hub
from session_memory.testing.command import run_command
from session_memory.testing.store_drafts import START

PUSH = ran("git push origin main", 2, ok=False)


def pushed(team: Team, name: str) -> None:  # noqa: F811
    device = team.device(name)
    device.share("lessons")
    body = msgspec.to_builtins(digest(commands=(PUSH,), events=40, requests=2))
    header = SessionBody("claude", "push it", START, START + 1, event_count=40)
    parent = device.session_key(f"s-{name}")
    child = SessionBody("claude", "help", START, START + 1, event_count=9, parent=parent)
    device.push(
        device.item("session", f"s-{name}", session=f"s-{name}", body=msgspec.to_builtins(header)),
        device.item("digest", f"s-{name}", session=f"s-{name}", body=body),
        device.item("session", f"c-{name}", session=f"c-{name}", body=msgspec.to_builtins(child)),
        device.item("digest", f"c-{name}", session=f"c-{name}", body=body),
        device.item("digest", f"x-{name}", session=f"x-{name}", body={"flavor": 3}),
        device.item(
            "usage",
            f"s-{name}",
            session=f"s-{name}",
            body={"flavor": "claude", "responses": 3, "models": ["m"], "cost": {"usd": 1.5}},
        ),
    )


@pytest.mark.rows("FLT-05")
def test_what_recurs_over_members_is_found(team: Team, tmp_path: Path) -> None:  # noqa: F811
    for name in ("anna", "bert"):
        pushed(team, name)
    dataset = Dataset(str(tmp_path / "parquet"))
    done = export_hub(team.hub.pool, "acme", dataset)
    assert (done.sessions, done.digests) == (6, 4)
    (found,) = (
        one
        for one in by_fleet(tmp_path / "parquet", FleetQuery(1))
        if one.type == "failing_command"
    )
    assert (found.sessions, found.frequency, found.repos) == (2, 4, {PROJECT: 2})
    costs = [dataset.read("usage", part).to_pylist() for part in dataset.parts("usage")]
    assert [row["usd"] for row in costs[0]] == [1.5, 1.5]


@pytest.mark.rows("FLT-05")
def test_the_command_writes_the_same(team: Team, database: str, tmp_path: Path) -> None:  # noqa: F811
    pushed(team, "anna")
    words = ("hub", "export", "--team", "acme", "--parquet", str(tmp_path / "parquet"), "--json")
    done = run_command(*words, "--database", database)
    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["sessions"], json.loads(done.stdout)["digests"]) == (3, 2)
    unnamed = run_command("fleet", "redistil", "--from", database, "--to", str(tmp_path / "new"))
    assert unnamed.returncode == 2 and "events" in unnamed.stderr


def test_a_team_that_is_not_there_is_named(team: Team, tmp_path: Path) -> None:  # noqa: F811
    with pytest.raises(NotFound, match="no team nobody"):
        export_hub(team.hub.pool, "nobody", Dataset(str(tmp_path)))
