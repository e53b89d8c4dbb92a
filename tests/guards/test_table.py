"""The table and the bytecode beside the hook: what is read of them, and what breaks is no harm."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from tests.guards.conftest import Hook, User, words

from session_memory.guards.table import FILE

NPM, CHECK = "Use `bun`, not `npm`.", "Run `make check` before you finish."
RULES = (NPM, "Never push to main.", "Do not edit `gen/`: it is generated.", CHECK)


def test_the_table_is_one_json_object_with_a_guard_in_each_line(hook: Hook) -> None:
    hook.guard(*RULES)
    data = (hook.hooks / FILE).read_bytes()
    table = msgspec.json.decode(data)
    assert [guard["id"] for guard in table["guards"]] == ["r0", "r1", "r2", "r3"]
    lines = data.decode().splitlines()[1:-1]
    assert [json.loads(line.rstrip(",")) for line in lines] == table["guards"]
    assert table["concerns"] == {
        "npm": [0],
        "bun": [0],
        "git push": [1],
        "*edits": [2, 3],
        "make check": [3],
    }


@pytest.mark.rows("GRD-17")
def test_guards_that_a_call_does_not_concern_are_not_read(hook: Hook) -> None:
    """So they cost nothing: here one that cannot be read stands beside others."""
    hook.guard(*RULES)
    file = hook.hooks / FILE
    file.write_text(file.read_text().replace('{"id":"r1"', '{"id":r1'))
    assert NPM in words(hook.shell("npm i"))
    assert "gen/" in words(hook.edit("gen/a.py"))
    assert CHECK in hook.call("Stop")["reason"] and hook.log == ""
    assert hook.shell("git push origin main") == {}
    assert "the table of guards is damaged" in hook.log


@pytest.mark.rows("GRD-10")
@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("\n]}\n", ""),
        ('"npm":[0]', '"npm":[7]'),
        ('"npm":[0]', '"npm":["x"]'),
        ('"v":2', '"v":1'),
        ("\n", ""),
        ('"mode":"hint"', '"mode"'),
    ],
)
def test_a_table_that_was_cut_or_tampered_with_stops_nobody(
    hook: Hook, part: str, wrong: str
) -> None:
    hook.guard(NPM)
    file = hook.hooks / FILE
    text = file.read_text()
    assert part in text
    file.write_text(text.replace(part, wrong))
    assert hook.shell("npm i") == {}
    hook.guard(NPM)
    assert NPM in words(hook.shell("npm i"))


def compiled(user: User) -> Path:
    user.run("init", "--yes", "--agent", "claude")
    user.run("rules", "add", NPM)
    return user.data / "hooks" / "entry.pyc"


@pytest.mark.rows("GRD-16")
def test_bytecode_of_another_python_or_damaged_gives_way_to_the_source(user: User) -> None:
    file = compiled(user)
    whole = file.read_bytes()
    other = b"\xcb\x0d" + whole[2:]  # the number of Python 3.12
    for at, data in enumerate((other, whole[:5_000], whole[:16], b"", b"\xff" * 4_000)):
        file.write_bytes(data)
        assert NPM in user.npm(f"s{at}")
    file.unlink()
    assert NPM in user.npm("none")
    assert not (user.state / "hook-errors.log").exists()


@pytest.mark.rows("GRD-16")
def test_agents_run_the_bytecode(user: User) -> None:
    source = compiled(user).with_name("entry.py")
    source.write_text("raise SystemExit(1)\n")
    assert NPM in user.npm("s")
