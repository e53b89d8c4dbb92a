"""`session-memory hub`: what who runs a hub types, against a real PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result
from tests.servers import *  # noqa: F403  # fixtures
from tests.servers import storage

from session_memory.cli.app import cli
from session_memory.errors import SessionMemoryError
from session_memory.hub import schema
from session_memory.testing.postgres_server import PostgresServer


def run(*words: str, fails: bool = False) -> Result:
    result = CliRunner().invoke(cli, ["hub", *words])
    assert bool(result.exit_code) == fails, (result.output, result.exception)
    return result


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    objects, vault = storage(tmp_path)
    return ["--objects", objects, "--vault", vault]


@pytest.mark.rows("HUB-20")
def test_a_hub_is_neither_served_nor_found_healthy_with_too_many_rights(
    postgres: PostgresServer, database: str, places: list[str]
) -> None:
    owner = postgres.url(database.rpartition("/")[2])
    report = json.loads(run("doctor", "--json", "--database", owner, *places, fails=True).stdout)
    wrong = [finding["what"] for finding in report["findings"] if not finding["ok"]]
    assert len(wrong) == 1 and "is a superuser, bypasses row-level security, owns" in wrong[0]
    refused = run("serve", "--database", owner, *places, fails=True).exception
    assert isinstance(refused, SessionMemoryError) and refused.exit_code == 8
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS sneaky")
        connection.execute("CREATE ROLE sneaky LOGIN BYPASSRLS IN ROLE session_memory_hub")
    sneaky = database.replace("session_memory_hub@", "sneaky@")
    assert (
        "bypasses row-level security"
        in run("doctor", "--database", sneaky, *places, fails=True).output
    )
    assert "FAIL" not in run("doctor", "--database", database, *places).output


@pytest.mark.rows("HUB-20")
def test_a_table_without_row_level_security_is_found_and_init_mends_nothing_silently(
    postgres: PostgresServer, database: str, places: list[str]
) -> None:
    owner = postgres.url(database.rpartition("/")[2])
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("ALTER TABLE hub.item NO FORCE ROW LEVEL SECURITY")
    assert "security: item" in run("doctor", "--database", database, *places, fails=True).output
    again = json.loads(run("init", "--json", "--database", owner).stdout)
    assert again["applied"] == [] and again["schema"] == schema.newest()
    assert "FAIL" not in run("doctor", "--database", database, *places).output


def test_a_newer_schema_is_refused(
    postgres: PostgresServer, database: str, places: list[str]
) -> None:
    owner = postgres.url(database.rpartition("/")[2])
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("INSERT INTO hub.migration (number) VALUES (9999)")
    refused = run("init", "--database", owner, fails=True).exception
    assert isinstance(refused, SessionMemoryError) and refused.exit_code == 5
    assert "newer one" in run("doctor", "--database", database, *places, fails=True).output


def test_other_machines_need_tls_and_the_vault_is_not_beside_the_texts(
    database: str, places: list[str]
) -> None:
    refused = run(
        "serve", "--host", "0.0.0.0", "--database", database, *places, fails=True
    ).exception
    assert isinstance(refused, SessionMemoryError) and "--tls-cert" in (refused.hint or "")
    same = ["--objects", places[1], "--vault", places[1]]
    assert run("serve", "--database", database, *same, fails=True).exception is not None


def test_devices_are_invited_listed_and_revoked(database: str, places: list[str]) -> None:
    team = ["--team", "acme", "--database", database]
    made = json.loads(run("invite", "--json", "--project", "github.com/acme/shop", *team).stdout)
    assert made["token"].startswith("smi_")
    line = run("invite", "--url", "https://hub.example", *team).stdout
    assert line.startswith("session-memory team join https://hub.example smi_")
    listed = json.loads(run("devices", "--json", *team).stdout)["devices"]
    assert [(one["kind"], one["state"]) for one in listed] == [("invite", "open")] * 2
    run("revoke", made["id"], *team, *places)
    states = {
        one["id"]: one["state"]
        for one in json.loads(run("devices", "--json", *team).stdout)["devices"]
    }
    assert states[made["id"]] == "revoked"
    missing = run("revoke", "0" * 16, *team, *places, fails=True).exception
    assert isinstance(missing, SessionMemoryError) and missing.code == "not_found"
    nobody = run("invite", "--member", "nobody", *team, fails=True).exception
    assert isinstance(nobody, SessionMemoryError)
    assert json.loads(run("audit", "--json", *team).stdout)["requests"] == []
    assert json.loads(run("restore", "--json", "--database", database, *places).stdout) == {
        "schema_version": 1, "applied": 0,
    }  # fmt: skip
    assert made["expires_at"] > datetime.now(UTC).isoformat()


def test_what_is_missing_or_away_is_said_plainly() -> None:
    missing = run("devices", "--team", "acme", fails=True).exception
    assert isinstance(missing, SessionMemoryError) and "HUB_DATABASE" in (missing.hint or "")
    away = run("devices", "--team", "a", "--database", "postgresql://x@127.0.0.1:1/y", fails=True)
    assert isinstance(away.exception, SessionMemoryError)


def test_nothing_but_the_hubs_own_verbs_loads_its_packages() -> None:
    program = (
        "import sys; from session_memory.cli.app import cli\n"
        "try: cli(['hub', 'serve', '--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('psycopg', 'starlette', 'obstore') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
