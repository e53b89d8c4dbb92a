"""Laptops against a hub that is really served: TLS, other versions, wrong clocks, kills."""

from __future__ import annotations

import ipaddress
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.hub.content import content, counted, miscounted, owner_of
from tests.hub.team import Team
from tests.hub.test_erase_faults import Served
from tests.team.laptop import ERROR, Laptop
from tests.team.test_push_faults import killed_at, until_whole

from session_memory.hub.admin import prune_audit
from session_memory.store import remote_call
from session_memory.testing.s3_server import S3Server

MakeLaptop = Callable[[str], Laptop]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")


@pytest.fixture
def served(database: str, tmp_path: Path) -> Iterator[Served]:
    server = Served(database, tmp_path)
    yield server
    server.kill()


@pytest.fixture
def laptop(team: Team, served: Served, tmp_path: Path) -> MakeLaptop:
    """Makes a machine that worked and has joined."""

    def make(name: str) -> Laptop:
        made = Laptop(tmp_path / name, name, served.address)
        made.worked(made.cured(1, f"pip install {name}"), made.cured(2, "poetry add pyyaml"))
        made.do("team", "join", served.address, team.invite(), "--name", name)
        made.share("sessions")
        return made

    return make


def kept(database: str) -> list[tuple[str, str, bytes | None]]:
    """Kinds, texts and bodies that the hub holds, in an order of their own."""
    rows = content(database)["items"]
    return sorted((row[2], str(row[7]), row[8]) for row in rows)


@pytest.mark.rows("HUB-24")
def test_a_laptop_killed_at_every_step_of_a_push_leaves_what_a_calm_one_does(
    laptop: MakeLaptop, database: str
) -> None:
    ada = laptop("ada")
    steps = until_whole(lambda step: killed_at(ada, step, "team", "push"))
    assert steps > 5
    after = kept(database)
    assert ada.read("team", "push")["projects"][0]["unchanged"]
    assert kept(database) == after
    with psycopg.connect(owner_of(database)) as connection:
        kinds = connection.execute("SELECT kind, count(*) FROM hub.item GROUP BY 1").fetchall()
    assert dict(kinds)["session"] == 2  # type: ignore[arg-type]
    assert miscounted(database) == []


@pytest.mark.rows("HUB-24")
def test_laptops_killed_while_they_forget_and_pull_keep_nothing_that_was_forgotten(
    laptop: MakeLaptop, database: str
) -> None:
    ada, bob = laptop("ada"), laptop("bob")
    ada.do("team", "push")
    until_whole(lambda step: killed_at(bob, step, "team", "pull"))
    assert "pip install ada" in bob.do("fix", ERROR, "--team").stdout
    ada.do("forget", "--session", ada.cured(1).session_id, "--yes")
    until_whole(lambda step: killed_at(ada, step, "team", "push"))
    until_whole(lambda step: killed_at(bob, step, "team", "pull"))
    assert "pip install ada" not in bob.do("fix", ERROR, "--team", code=None).stdout
    assert not any(b"pip install ada" in (body or b"") for _, _, body in kept(database))
    assert miscounted(database) == []


@pytest.mark.rows("TEA-07")
def test_what_is_taken_back_or_shared_at_a_lower_level_leaves_the_laptops_of_others(
    laptop: MakeLaptop,
) -> None:
    ada, bob = laptop("ada"), laptop("bob")
    ada.do("team", "push")
    assert bob.read("team", "pull")["projects"][0]["items"] > 0
    ada.share("numbers")
    (pulled,) = bob.read("team", "pull")["projects"]
    assert (pulled["items"], pulled["gone"] > 0) == (0, True)
    ada.share("lessons")
    ada.do("team", "push")
    before = bob.read("team", "pull")["projects"][0]["items"]
    assert before > 0
    ada.do("team", "unshare", ada.key, "--yes")
    (pulled,) = bob.read("team", "pull")["projects"]
    assert (pulled["items"], pulled["gone"]) == (0, before)


@contextmanager
def away(s3: S3Server) -> Generator[None]:
    """The storage was killed, and comes back."""
    s3.kill()
    try:
        yield
    finally:
        s3.start()


@pytest.mark.rows("HUB-24")
def test_an_s3_server_killed_during_push_and_forget_loses_nothing(
    team: Team, database: str, s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    bucket = s3.make_bucket("killed")
    served = Served(database, tmp_path, "--objects", bucket)
    try:
        ada = Laptop(tmp_path / "ada", "ada", served.address)
        ada.worked(ada.cured(1, "pip install ada"))
        ada.do("team", "join", served.address, team.invite(), "--name", "ada")
        ada.share("sessions")
        with away(s3):
            refused = ada.do("team", "push", code=10)
            assert "storage" in refused.stderr
        ada.do("team", "push")
        assert ada.read("team", "push")["projects"][0]["unchanged"]
        ada.do("forget", "--session", ada.cured(1).session_id, "--yes")
        with away(s3):
            ada.do("team", "push", code=None)
        ada.do("team", "push")
        assert not any(row[0] == "events" for row in kept(database))
        left = [path.name for path in (tmp_path / "vault" / "keys").rglob("*") if path.is_file()]
        with psycopg.connect(owner_of(database)) as connection:
            listed = connection.execute("SELECT name FROM hub.erasure WHERE after > now()")
            waiting = {str(row[0]).rpartition("/")[2] for row in listed.fetchall()}
        assert set(left) <= waiting, "only keys of the refused upload, which no text has, wait"
    finally:
        served.kill()


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of this machine's own, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hub")])
    now = datetime.now(UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    places = folder / "hub.crt", folder / "hub.key"
    places[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    places[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return places


@pytest.mark.rows("HUB-25")
def test_over_tls_a_laptop_speaks_only_to_a_hub_whose_certificate_it_trusts(
    team: Team, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted, key = certificate(tmp_path)
    served = Served(database, tmp_path, "--tls-cert", str(trusted), "--tls-key", str(key))
    address = served.address.replace("http://", "https://")
    try:
        ada = Laptop(tmp_path / "ada", "ada", address)
        ada.worked(ada.cured(1))
        token = team.invite()
        refused = ada.do("team", "join", address, token, "--name", "ada", code=10)
        assert "certificate" in refused.stderr and "SSL_CERT_FILE" in refused.stderr
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        ada.do("team", "join", address, token, "--name", "ada")
        ada.share("sessions")
        ada.do("team", "push")
        assert counted(database, "item") > 0
        plain = ada.do("team", "join", served.address, team.invite(), "--name", "x", code=None)
        assert plain.returncode != 0, "the port speaks TLS alone"
    finally:
        served.kill()


@pytest.mark.rows("HUB-26")
@pytest.mark.parametrize(
    ("version", "who"),
    [(99, "ask for the hub's upgrade"), (0, "upgrade session-memory on this machine")],
)
def test_a_laptop_that_is_newer_or_older_than_its_hub_waits_and_loses_nothing(
    laptop: MakeLaptop, database: str, monkeypatch: pytest.MonkeyPatch, version: int, who: str
) -> None:
    ada = laptop("ada")
    for told in (("push",), ("pull",)):
        with monkeypatch.context() as other:
            other.setattr(remote_call, "WIRE_VERSION", version)
            refused = ada.do("team", *told, code=10)
            assert f"this hub speaks versions 1-1, not {version}" in refused.stderr
            assert who in refused.stderr
    assert counted(database, "item") == 0
    ada.do("team", "push")
    assert ada.read("team", "push")["projects"][0]["unchanged"]
    stays = kept(database)
    ada.do("forget", "--session", ada.cured(1).session_id, "--yes")
    with monkeypatch.context() as other:
        other.setattr(remote_call, "WIRE_VERSION", version)
        ada.do("team", "push", code=10)
    assert kept(database) == stays
    ada.do("team", "push")
    assert len(kept(database)) < len(stays), "what was forgotten meanwhile goes"


@pytest.mark.rows("HUB-27")
@pytest.mark.parametrize("days", [-4000, 4000])
def test_a_laptop_with_a_wrong_clock_pushes_pulls_and_forgets(
    laptop: MakeLaptop, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    ada, bob = laptop("ada"), laptop("bob")
    right = time.time_ns

    @contextmanager
    def wrong_clock() -> Generator[None]:
        with monkeypatch.context() as wrong:
            wrong.setattr(time, "time_ns", lambda: right() + days * 86_400 * 10**9)
            yield

    with wrong_clock():
        ada.do("team", "push")
    bob.do("team", "pull")
    assert "pip install ada" in bob.do("fix", ERROR, "--team").stdout
    bob.do("team", "push")
    with wrong_clock():
        ada.do("team", "pull")
        ada.do("forget", "--session", ada.cured(1).session_id, "--yes")
        ada.do("team", "push")
    bob.do("team", "pull")
    assert "pip install ada" not in bob.do("fix", ERROR, "--team", code=None).stdout


@pytest.mark.rows("HUB-28")
def test_old_requests_leave_the_audit_by_its_owner_alone(team: Team, database: str) -> None:
    ann = team.device("Ann")
    for _ in range(3):
        ann.get("/v1/whoami")
    with psycopg.connect(owner_of(database)) as connection:
        connection.execute("UPDATE hub.audit SET at = at - interval '400 days' WHERE id <= 2")
    limit = datetime.now(UTC) - timedelta(days=365)
    before = counted(database, "audit")
    assert prune_audit(owner_of(database), limit, dry_run=True) == 2
    assert counted(database, "audit") == before
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        prune_audit(database, limit)
    assert prune_audit(owner_of(database), limit) == 2
    assert counted(database, "audit") == before - 2
