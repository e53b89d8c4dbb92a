"""doctor: guards that do not speak although they should are found, with a fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.guards.conftest import User

NPM = "Use `bun`, not `npm`."


def found(user: User, name: str, *words: str) -> list[dict[str, Any]]:
    checks = user.json("doctor", *(words or ("--quick",)))["checks"]
    return [check for check in checks if check["name"] == name]


@pytest.fixture
def table(user: User) -> Path:
    user.run("init", "--yes", "--agent", "claude")
    return user.data / "hooks" / "guards.json"


@pytest.mark.rows("GRD-15")
def test_a_table_that_is_not_what_was_approved_is_named_and_renewed(
    user: User, table: Path
) -> None:
    (check,) = found(user, "guards")
    assert check["result"] == "pass"
    user.run("rules", "add", NPM)
    (check,) = found(user, "guards")
    assert (check["result"], check["detail"]) == ("pass", "1 approved rule checked by hooks")
    whole = table.read_bytes()
    for broken, state in (
        (None, "missing"),
        (b"{", "damaged"),
        (b"[]", "damaged"),
        (b"", "damaged"),
        (whole.replace(b"npm", b"pnpm"), "outdated"),
    ):
        table.unlink()
        if broken is not None:
            table.write_bytes(broken)
        (check,) = found(user, "guards")
        assert check["result"] == "warn" and f"1 approved rule is {state}" in check["detail"]
        assert check["fix"] == "session-memory worker run"
        assert "renewed the table of guards" in user.json("doctor", "--quick", "--fix")["fixed"]
        assert table.read_bytes() == whole
    table.unlink()
    user.run("worker", "run")
    assert table.read_bytes() == whole


@pytest.mark.rows("GRD-15")
def test_a_table_without_an_approved_rule_is_named(user: User, table: Path) -> None:
    user.run("rules", "add", NPM)
    whole = table.read_bytes()
    rule = user.json("rules", "guard", "list")["guards"][0]["id"]
    user.run("rules", "retire", rule, "--reason", "no longer true")
    table.write_bytes(whole)
    (check,) = found(user, "guards")
    assert "the table of 0 approved rules is outdated" in check["detail"]
    user.json("doctor", "--quick", "--fix")
    assert not table.exists()


@pytest.mark.rows("GRD-15")
def test_an_agent_that_does_not_tell_of_tools_is_named_once_there_is_a_guard(
    user: User, table: Path
) -> None:
    settings = user.home / ".claude" / "settings.json"
    wired = settings.read_bytes()
    known = json.loads(wired)
    del known["hooks"]["PreToolUse"]
    settings.write_text(json.dumps(known))
    assert found(user, "claude guards") == []
    user.run("rules", "add", NPM)
    (check,) = found(user, "claude guards")
    assert check["fix"] == "session-memory init --agent claude"
    settings.write_bytes(wired)
    assert found(user, "claude guards") == []


@pytest.mark.rows("GRD-15")
def test_a_compiled_hook_that_is_old_or_does_not_run_is_named_and_renewed(
    user: User, table: Path
) -> None:
    compiled = table.with_name("entry.pyc")
    whole = compiled.read_bytes()
    compiled.write_bytes(b"\0" * 16 + whole[16:])
    (check,) = found(user, "hook files")
    assert "entry.pyc outdated" in check["detail"]
    compiled.write_bytes(whole[:5_000])
    (check,) = found(user, "compiled hook", "--json")
    assert check["result"] == "warn" and check["fixable"]
    user.json("doctor", "--quick", "--fix")
    assert found(user, "compiled hook", "--json") == []
    assert compiled.read_bytes()[:16] == whole[:16]
