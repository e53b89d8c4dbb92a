"""Every command that takes a session takes the same references to it, and names it so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from session_memory import open_store
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.cli.app import App, cli
from session_memory.errors import Ambiguous, NotFound, SessionMemoryError, UsageError
from session_memory.testing.workspace import Workspace

DIGITS, FIRST, SECOND = "2", "abc-first", "abd-second"
"""The one that is digits alone is the number of another session."""


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Three sessions of one project, each with a trace; numbered in the order of their ids."""
    place = Workspace(tmp_path_factory.mktemp("references"))
    root = place.root / "shop"
    (root / ".git").mkdir(parents=True)
    for seed, name in enumerate((DIGITS, FIRST, SECOND), 1):
        log = ClaudeLog(seed, cwd=str(root))
        log.session_id = name
        log.prompt(f"Please mend the house before winter {seed} comes, and run the tests.")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.edit("src/house.py", "roof = 0", f"roof = {seed}")
        log.run("pytest -q", "9 passed")
        for _ in range(seed):  # so that no two sessions have as many events
            log.say(f"Decision: use green colour {seed}\n\nPending: buy tiles {seed}")
        place.write(log)
        place.sweep()
    assert [place.session(name).id for name in (DIGITS, FIRST, SECOND)] == [1, 2, 3]
    assert run(place, "project", "memory", "extract", "--now").exit_code == 0
    return place


def run(space: Workspace, *arguments: str) -> Result:
    app = App(space.environ(), clock=lambda: space.now)
    config = ["--config", str(space.write_config())]
    return CliRunner().invoke(cli, [*config, *arguments, "--json"], obj=app)


def events_of(space: Workspace, told: dict[str, Any]) -> set[int]:
    """An export tells counts alone, so the session is known by its number of events."""
    return {one.id for one in space.sessions().values() if one.event_count == told["events"]}


Meant = Callable[[Workspace, dict[str, Any]], set[int]]
VERBS: dict[str, tuple[tuple[str, ...], Meant]] = {
    "show": (("show", "REF"), lambda _, told: {told["session"]["id"]}),
    "handoff": (
        ("handoff", "--session", "REF", "--no-sweep"),
        lambda _, told: {told["session_id"]},
    ),
    "show --digest": (("show", "--digest", "REF"), lambda _, told: {told["session_id"]}),
    "rules explain": (("rules", "explain", "REF"), lambda _, told: {told["session_id"]}),
    "rules injected": (("rules", "injected", "REF"), lambda _, told: {told["session_id"]}),
    "project observations": (
        ("project", "observations", "--session", "REF"),
        lambda _, told: {one["session_id"] for one in told["observations"]},
    ),
    "search": (
        ("search", "tiles", "--session", "REF"),
        lambda _, told: {one["session_id"] for one in told["items"]},
    ),
    "project pack": (
        ("project", "pack", "--session", "REF"),
        lambda _, told: {one["session_id"] for one in told["stats"]["source_sessions"]},
    ),
    "project brief": (
        ("project", "brief", "--session", "REF"),
        lambda _, told: {told["session_filter"]["session_id"]},
    ),
    "project open-work": (
        ("project", "open-work", "--session", "REF"),
        lambda _, told: {told["session_filter"]["session_id"]},
    ),
    "project completion-check": (
        ("project", "completion-check", "--dry-run", "--session", "REF"),
        lambda _, told: {told["session_filter"]["session_id"]},
    ),
    "project changes": (
        ("project", "changes", "--session", "REF"),
        lambda _, told: {told["session_filter"]["session_id"]},
    ),
    "forget": (
        ("forget", "--dry-run", "--session", "REF"),
        lambda _, told: {one["session_id"] for one in told["sessions"]},
    ),
    "store export": (
        ("store", "export", "--dry-run", "--session", "REF", "out.jsonl"),
        events_of,
    ),
    "project journal flush": (
        ("project", "journal", "flush", "--dry-run", "REF"),
        lambda _, told: {told["session_id"]},
    ),
    "project memory extract": (
        ("project", "memory", "extract", "--dry-run", "--session", "REF"),
        lambda _, told: {one["session_id"] for one in told["candidates"]},
    ),
    "project memory show": (
        ("project", "memory", "show", "REF"),
        lambda _, told: {one["session_id"] for one in told["traces"]},
    ),
    "project memory forget": (
        ("project", "memory", "forget", "--dry-run", "REF"),
        lambda _, told: {told["session_id"]},
    ),
    "project memory why": (
        ("project", "memory", "why", "REF"),
        lambda _, told: {one["session_id"] for one in told["evidence"]},
    ),
}


def asked(space: Workspace, verb: str, reference: str) -> set[int]:
    """The sessions a verb answers about; raises what it raises."""
    arguments, meant = VERBS[verb]
    result = run(space, *(reference if word == "REF" else word for word in arguments))
    if isinstance(result.exception, SessionMemoryError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return meant(space, json.loads(result.stdout))


@pytest.mark.rows("REF-01")
@pytest.mark.parametrize("verb", VERBS)
def test_a_number_an_id_a_beginning_and_a_marked_id_name_one_session(
    space: Workspace, verb: str
) -> None:
    assert asked(space, verb, "2") == {2}, "digits alone are the number"
    assert asked(space, verb, "id:2") == {1}, "marked, they are the agent's id"
    assert asked(space, verb, "claude:2") == {1}, "and so they are with the agent before them"
    assert asked(space, verb, FIRST) == asked(space, verb, "abc") == {2}
    assert asked(space, verb, f"id:{SECOND}") == asked(space, verb, "id:abd") == {3}


@pytest.mark.rows("REF-01")
@pytest.mark.parametrize("verb", VERBS)
def test_what_fits_several_nothing_or_is_empty_is_an_error(space: Workspace, verb: str) -> None:
    with pytest.raises(Ambiguous) as several:
        asked(space, verb, "ab")
    assert FIRST in several.value.message and SECOND in several.value.message
    for nobody in ("99", "nobody", "id:99", "codex:2"):
        with pytest.raises(NotFound):
            asked(space, verb, nobody)
    with pytest.raises(UsageError, match="empty"):
        asked(space, verb, "")


@pytest.mark.rows("REF-01")
def test_python_takes_the_same_references(space: Workspace) -> None:
    with open_store(space.store_directory) as memory:
        assert [memory.session(name).id for name in ("2", "id:2", "abc", SECOND, 3)] == [
            2,
            1,
            2,
            3,
            3,
        ]
        with pytest.raises(Ambiguous):
            memory.session("ab")
        with pytest.raises(NotFound):
            memory.session("99")
        with pytest.raises(UsageError):
            memory.session("")


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def test_no_verb_that_takes_a_session_is_left_out() -> None:
    taking = {
        name
        for name, command in commands(cli)
        if any(one.metavar in ("SESSION", "LINE-OR-SESSION") for one in command.params)
        or any(one.name in ("session", "sessions") for one in command.params)
    }
    assert taking | {"rules explain", "show --digest", "store forget"} == set(VERBS) | {
        "store forget"
    }


def words(space: Workspace, *arguments: str) -> str:
    app = App(space.environ(), clock=lambda: space.now)
    config = ["--config", str(space.write_config())]
    result = CliRunner().invoke(cli, [*config, *arguments], obj=app)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.rows("REF-02")
@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "3"),
        ("show", "--digest", "3"),
        ("rules", "explain", "3"),
        ("search", "tiles", "--session", "3"),
        ("usage", "--by", "session"),
        ("forget", "--session", "3", "--dry-run"),
        ("project", "memory", "extract", "--session", "3", "--dry-run"),
        ("project", "memory", "why", "3"),
        ("project", "memory", "forget", "3", "--dry-run"),
        ("project", "journal", "flush", "3"),
        ("sessions",),
    ],
    ids=" ".join,
)
def test_text_names_a_session_by_number_and_id(
    space: Workspace, arguments: tuple[str, ...]
) -> None:
    lines = [line.split() for line in words(space, *arguments).splitlines()]
    assert any("3" in line and any(SECOND in word for word in line) for line in lines)


@pytest.mark.rows("REF-02")
def test_narrow_lines_name_a_session_by_its_number(space: Workspace) -> None:
    listed = words(space, "project", "observations", "--session", "3")
    told = [line for line in listed.splitlines() if "tiles 3" in line]
    assert told and all("3" in line.split()[:3] for line in told)
