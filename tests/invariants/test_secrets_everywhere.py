"""A secret in every text of every record of every flavour: none of them is stored anywhere."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.invariants.broken import Known, broken, core_of, everything_stored, leaked
from tests.invariants.sessions import FLAVORS, claude, codex, grok
from tests.invariants.sizes import SIZES, record

from session_memory.redact.engine import Redactor
from session_memory.testing.faults import Stopped, StoppingStore
from session_memory.testing.workspace import Workspace

_STRUCTURE = """
agentId call_id checkpoint_file child_session_id commandMode created_at eventId history_mode id
kind leafUuid messageUuid method operation outcome parentUuid parent_session_id promptId
prompt_id requestId response_id role sessionId sessionUpdate status stop_reason subagent_id
subtype thread_id timestamp toolCallId tool_call_id tool_use_id ts turn_id type userType uuid
"""
STRUCTURE = frozenset(_STRUCTURE.split())
"""Names whose values tell one record from another: with a secret in them it would be no record."""
CALLS = ("save_cursor", "commit", "save_digest", "save_observations")


class Planter:
    """Appends another secret to every text, and remembers them."""

    def __init__(self, flavor: str) -> None:
        self._flavor = flavor
        self.secrets: list[str] = []

    def secret(self) -> str:
        digest = hashlib.sha256(f"{self._flavor} {len(self.secrets)}".encode()).hexdigest()
        self.secrets.append("ghp_" + digest[:36])
        return self.secrets[-1]

    def plant(self, value: Any, name: str = "") -> Any:
        """The same value with secrets in it; JSON inside a text stays JSON."""
        if isinstance(value, dict):
            return {key: self.plant(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [self.plant(item, name) for item in value]
        if not isinstance(value, str) or name in STRUCTURE:
            return value
        if name == "arguments":
            return json.dumps(self.plant(json.loads(value)))
        if name in ("name", "tool_name"):  # a tool of that name is known; one that is not follows
            return value
        return f"{value} {self.secret()}"

    def plant_file(self, path: Path) -> None:
        content = path.read_text()
        if path.suffix == ".json":
            path.write_text(json.dumps(self.plant(json.loads(content))))
        else:
            rows = [json.dumps(self.plant(json.loads(line))) for line in content.splitlines()]
            path.write_text("".join(f"{row}\n" for row in rows))


def planted(space: Workspace, flavor: str) -> tuple[str, ...]:
    """One busy session of a flavour with secrets in all of it."""
    home, planter = space.flavor_home(flavor), Planter(flavor)
    if flavor == "claude":
        log = claude(20)
        log.read("/work/a.py", "content")
        log.edit("/work/b.py", "old", "new")
        log.deny("Bash", {"command": "rm -r x"})
        log.api_error("overloaded")
        log.attach("hologram", content="unheard of")
        log.queue("and this")
        log.compact("so far")
        log.row("hologram", shape="unheard of")
        log.title("a title")
        log.write(home)
    elif flavor == "codex":
        rollout = codex(20)
        rollout.row("compacted", {"message": "so far"})
        rollout.event("error", message="overloaded")
        rollout.event("hologram", message="unheard of")
        rollout.write(home)
    else:
        session = grok(20)
        session.think("let me see")
        session.edit("/work/b.py", "old", "new")
        session.compact("so far")
        session.spawn(21, "look around").write(home)
        session.update("hologram", own=True, shape="unheard of")
        session.write(home)
    for path in sorted(home.rglob("*.json*")):
        planter.plant_file(path)
    return tuple(planter.secrets)


@pytest.mark.parametrize("flavor", FLAVORS)
def test_no_secret_of_any_field_is_stored(space: Workspace, flavor: str) -> None:
    secrets = planted(space, flavor)
    logs = space.log_hashes()
    report = space.sweep()
    assert report.failed == []
    assert broken(space, Known(secrets=secrets, logs=logs)) == []
    record(f"planted secrets, {flavor}", secrets=len(secrets), stored=0, problems=0)


@pytest.mark.parametrize("flavor", FLAVORS)
def test_the_check_finds_them_where_redaction_is_off(
    space: Workspace, flavor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Redactor, "redact", lambda _self, data: data)
    monkeypatch.setattr(Redactor, "redact_json", lambda _self, data: data)
    monkeypatch.setattr(Redactor, "redact_text", lambda _self, text: text)
    secrets = planted(space, flavor)
    space.sweep()
    found = sum(1 for _ in leaked(space.store_directory, secrets))
    record(f"planted secrets, redaction off, {flavor}", secrets=len(secrets), found=found)
    assert found >= len(secrets) // 4  # client settings and second copies are not kept at all


@pytest.mark.parametrize("flavor", FLAVORS)
def test_no_secret_is_left_by_a_sweep_that_died_anywhere(tmp_path: Path, flavor: str) -> None:
    chance = random.Random(SIZES.seed)
    first = Workspace(tmp_path)
    secrets = planted(first, flavor)
    for number in range(SIZES.cuts // 2):
        space = first.beside(f"store-{number}")
        call, nth = chance.choice(CALLS), chance.randint(1, 3)
        with contextlib.suppress(Stopped):
            space.sweep(open_as=lambda store, c=call, n=nth: StoppingStore(store, c, n))
        assert list(leaked(space.store_directory, secrets)) == [], f"{call} {nth}"


def test_a_secret_is_looked_for_in_compressed_texts_and_indexed_words(space: Workspace) -> None:
    """Otherwise the search would prove nothing about them."""
    log = claude(490)
    log.run("count", " ".join(f"word{n} blue whale {n * n}" for n in range(900)))
    space.write(log)
    space.sweep()
    stored = b"\n".join(everything_stored(space.store_directory)).lower()
    raw = b"\n".join(
        path.read_bytes() for path in space.store_directory.rglob("*") if path.is_file()
    )
    assert core_of("xxxxword321 blue whale 103041") in stored
    assert b"word321 blue whale 103041" not in raw
