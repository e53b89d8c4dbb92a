"""Flavours by name: built in, plugged in, registered; and where their homes are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest

from session_memory.adapters import registry
from session_memory.adapters.agent import McpFacts, from_adapter
from session_memory.adapters.claude.logs import ADAPTER as CLAUDE
from session_memory.adapters.common import Adapter, Block, Json, Normalized, SourceFile, walk_files
from session_memory.errors import AdapterError, ConfigError


def _discover(root: str) -> Iterator[SourceFile]:
    return walk_files(root, ".dummy")


def _parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    return Normalized(records=len(block.lines))


DUMMY = Adapter("dummy", "Dummy", None, ("~/.dummy",), _discover, 1, _parse)


@pytest.mark.rows("CAP-09")
def test_a_registered_flavour_is_one_of_all_without_any_other_change(tmp_path: Path) -> None:
    (tmp_path / ".dummy").mkdir()
    (tmp_path / ".dummy" / "one.dummy").write_text("x\n")
    registry.register(DUMMY)
    try:
        flavour = registry.adapters()["dummy"]
        (root,) = registry.homes(flavour, {}, str(tmp_path))
        (file,) = flavour.discover(root)
        assert flavour.parse(file, Block([(0, b"x")], 0, 2), {}).records == 1
        assert registry.adapter("dummy") is DUMMY
    finally:
        registry.unregister("dummy")
    assert "dummy" not in registry.adapters()


def test_built_in_flavours_come_first_and_under_their_own_name() -> None:
    found = registry.adapters()
    assert next(iter(found)) == "claude"
    assert all(name == adapter.name for name, adapter in found.items())
    assert registry.adapter("claude") is CLAUDE


def test_an_unknown_flavour_is_refused_with_the_known_ones() -> None:
    with pytest.raises(AdapterError, match="no flavour is called 'cladue'") as caught:
        registry.adapter("cladue")
    assert "claude" in str(caught.value.hint)


def test_plug_ins_that_cannot_be_used_are_named_and_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_plugin_x.py").write_text("1 / 0\n")
    (tmp_path / "good_plugin_x.py").write_text(
        "from session_memory.adapters.claude.logs import ADAPTER\n"
        "import msgspec\n"
        "OTHER = msgspec.structs.replace(ADAPTER, name='other')\n"
        "NUMBER = 7\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    group = registry.GROUP
    points = [
        EntryPoint("gone", "no_such_plugin_x:ADAPTER", group),
        EntryPoint("broken", "broken_plugin_x:ADAPTER", group),
        EntryPoint("good", "good_plugin_x:OTHER", group),
        EntryPoint("number", "good_plugin_x:NUMBER", group),
        EntryPoint("thief", "good_plugin_x:ADAPTER", group),
    ]
    found, warnings = registry.load_plugins(points)
    sys.modules.pop("good_plugin_x", None)
    assert found["other"].load_reader() == msgspec.structs.replace(CLAUDE, name="other")
    assert list(found) == ["other"]
    assert [w.split("'")[1] for w in warnings] == ["gone", "broken", "number", "thief"]
    assert "ZeroDivisionError" in warnings[1]


def test_no_plug_in_of_this_installation_is_broken() -> None:
    assert registry.plugin_warnings() == ()


def test_homes_default_to_the_usual_places_that_exist(tmp_path: Path) -> None:
    assert registry.homes(CLAUDE, {}, str(tmp_path)) == []
    (tmp_path / ".config" / "claude").mkdir(parents=True)
    assert registry.homes(CLAUDE, {}, str(tmp_path)) == [str(tmp_path / ".config" / "claude")]
    (tmp_path / ".claude").mkdir()
    assert registry.homes(CLAUDE, {}, str(tmp_path)) == [
        str(tmp_path / ".claude"),
        str(tmp_path / ".config" / "claude"),
    ]


def test_the_agents_own_variable_moves_its_home_and_may_name_several(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    environ = {"CLAUDE_CONFIG_DIR": "~/work, /srv/team ,"}
    assert registry.homes(CLAUDE, environ, str(tmp_path)) == [str(tmp_path / "work"), "/srv/team"]
    assert registry.homes(CLAUDE, {"CLAUDE_CONFIG_DIR": " "}, str(tmp_path)) == [
        str(tmp_path / ".claude")
    ]


def test_configured_homes_win_over_the_variable(tmp_path: Path) -> None:
    environ = {"CLAUDE_CONFIG_DIR": "/srv/team"}
    assert registry.homes(CLAUDE, environ, str(tmp_path), ["~"]) == [str(tmp_path)]


def test_two_names_of_one_directory_are_one_home(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "claude").symlink_to(tmp_path / ".claude")
    assert registry.homes(CLAUDE, {}, str(tmp_path)) == [str(tmp_path / ".claude")]


def test_a_usual_place_below_a_variable_counts_where_the_variable_is_set(tmp_path: Path) -> None:
    moved, usual = tmp_path / "data" / "opencode", tmp_path / ".local" / "share" / "opencode"
    moved.mkdir(parents=True)
    usual.mkdir(parents=True)
    opencode = registry.adapter("opencode")
    assert registry.homes(opencode, {}, str(tmp_path)) == [str(usual)]
    environ = {"XDG_DATA_HOME": str(tmp_path / "data")}
    assert registry.homes(opencode, environ, str(tmp_path)) == [str(moved), str(usual)]
    assert "opencode" in registry.adapters_here(environ, str(tmp_path / "elsewhere"), ())


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_the_parts_that_a_record_names_are_there_and_of_the_same_agent(name: str) -> None:
    agent = registry.built_in()[name]
    reader, wiring = agent.load_reader(), agent.load_wiring()
    assert agent.name == reader.name == name
    assert wiring is None or wiring.name == name
    assert (agent.home_variable, agent.homes) == (reader.env, reader.default_dirs)
    assert agent.load_log_builder().__name__.lower() == f"{name.replace('_', '')}log"


def test_only_flavours_that_can_be_here_are_loaded(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    assert list(registry.adapters_here({}, str(tmp_path), ())) == ["codex"]
    assert list(registry.adapters_here({"GROK_HOME": "/x"}, str(tmp_path), ["pi"])) == [
        "codex",
        "grok",
        "pi",
    ]


def test_where_no_agent_seems_to_be_all_are_looked_for(tmp_path: Path) -> None:
    assert registry.adapters_here({}, str(tmp_path), ()) == registry.adapters()


def test_what_a_record_says_reaches_the_server_and_distribution() -> None:
    from session_memory.distribute.targets import check_targets
    from session_memory.mcp.callers import caller, default_mode

    mcp = McpFacts(client_name="dummy", model_sees="structured", session_variable="DUMMY_SESSION")
    agent = from_adapter(DUMMY)
    agent = msgspec.structs.replace(agent, mcp=mcp, instruction_files=("DUMMY.md",))
    environ = {"DUMMY_SESSION": "s-1"}
    with pytest.raises(ConfigError):
        check_targets(["DUMMY.md"])
    assert (default_mode("dummy-cli"), caller(None, {}, environ, "/").external_session_id) == (
        "complete",
        None,
    )
    registry.register(agent)
    try:
        assert check_targets(["DUMMY.md"]) == ("DUMMY.md",)
        assert default_mode("dummy-cli") == "compact"
        assert caller(None, {}, environ, "/").external_session_id == "s-1"
    finally:
        registry.unregister("dummy")
