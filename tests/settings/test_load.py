"""The configuration: defaults, layers, provenance, refusals."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.cli.config import commented, flat, packaged
from session_memory.errors import ConfigError
from session_memory.settings import FLAVORS, KINDS, SECTIONS, Config, Ingest, Retention, Source
from session_memory.settings.load import Loaded, load, read_toml, variable
from session_memory.settings.units import parse_size

GIB = 1024**3


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing is configured."""
    return {"SESSION_MEMORY_HOME": str(tmp_path / "memory")}


def write(folder: Path, text: str) -> str:
    """A configuration file of that text."""
    file = folder / "some.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def load_text(folder: Path, text: str, env: dict[str, str] | None = None) -> Loaded:
    """What a file of that text means."""
    environ = {"SESSION_MEMORY_HOME": str(folder / "memory"), **(env or {})}
    return load(write(folder, text), environ, None, str(folder))


@pytest.mark.rows("ING-05")
def test_without_a_file_the_defaults_hold(env: dict[str, str], tmp_path: Path) -> None:
    loaded = load(None, env, None, str(tmp_path))
    assert loaded.config == Config()
    assert loaded.file is None
    assert set(loaded.provenance) == set(KINDS)
    assert set(loaded.provenance.values()) == {"default"}
    assert not loaded.warnings


@pytest.mark.rows("ING-05")
def test_the_packaged_file_holds_every_key_with_the_default_of_the_code(
    env: dict[str, str], tmp_path: Path
) -> None:
    file = write(tmp_path, packaged())
    loaded = load(file, env, None, str(tmp_path))
    assert loaded.config == Config()
    assert loaded.provenance == dict.fromkeys(KINDS, file)
    assert list(flat(loaded.config)) == list(KINDS)


def test_every_key_of_the_packaged_file_has_a_comment() -> None:
    lines = packaged().splitlines()
    for before, line in pairwise(lines):
        if "=" in line and not line.startswith("#"):
            assert before.startswith("# "), line


def test_the_file_that_init_writes_sets_nothing() -> None:
    tables = tomllib.loads(commented(packaged()))
    assert set(tables) == set(SECTIONS)
    assert tables.pop("curate") == {"gate": {}}
    assert all(not table or set(table) == set(FLAVORS) for table in tables.values())
    assert not any(tables["sources"].values())


@pytest.mark.rows("ING-05")
def test_a_file_sets_paths_caps_sources_and_domains(tmp_path: Path) -> None:
    loaded = load_text(
        tmp_path,
        """
        [store]
        path = "~/elsewhere"
        [sources]
        exclude_paths = ["~/secret", "*/client-*"]
        [sources.claude]
        enabled = false
        paths = ["~/logs"]
        [sources.mine]
        paths = ["/var/mine"]
        [domains]
        "acme/api" = "work"
        "example.org/x" = "play"
        [retention]
        raw_soft_cap_bytes = 1000
        raw_hard_cap_bytes = "unlimited"
        raw_max_age_days = "unlimited"
        distilled_cap_bytes = "1.5 MiB"
        [ingest]
        line_cap_bytes = "2 MB"
        """,
    )
    config = loaded.config
    assert config.store.path == f"{tmp_path}/elsewhere"
    assert config.sources.exclude_paths == (f"{tmp_path}/secret", "*/client-*")
    assert config.sources.of("claude") == Source(False, (f"{tmp_path}/logs",))
    assert config.sources.of("mine") == Source(True, ("/var/mine",))
    assert config.sources.of("unheard-of") == Source()
    assert config.domains == {"acme/api": "work", "example.org/x": "play"}
    assert config.retention == Retention(1000, None, None, 3 * 1024**2 // 2)
    assert config.ingest == Ingest(line_cap_bytes=2_000_000)
    assert loaded.provenance["domains.acme/api"] == loaded.file
    assert loaded.provenance["ingest.commit_bytes"] == "default"
    assert not loaded.warnings


def test_flags_beat_variables_beat_the_file_beats_defaults(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "[retention]\nraw_max_age_days = 10\nraw_soft_cap_bytes = 10\ndistilled_cap_bytes = 10",
    )
    env = {
        "SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS": "20",
        "SESSION_MEMORY_RETENTION_RAW_SOFT_CAP_BYTES": "20 kB",
    }
    loaded = load(file, env, {"retention.raw_max_age_days": "30"}, str(tmp_path))
    assert loaded.config.retention == Retention(20_000, 8 * GIB, 30, 10)
    where = {key.partition(".")[2]: source for key, source in loaded.provenance.items()}
    assert where["raw_max_age_days"] == "flag"
    assert where["raw_soft_cap_bytes"] == "env:SESSION_MEMORY_RETENTION_RAW_SOFT_CAP_BYTES"
    assert where["distilled_cap_bytes"] == file
    assert where["raw_hard_cap_bytes"] == "default"


def test_every_key_can_be_set_by_a_variable(tmp_path: Path) -> None:
    samples = {
        "flag": "off", "path": "/a", "paths": "/a:/b", "name": "n", "list": "x:y",
        "size": "1 MiB", "cap": "unlimited", "days": "7", "file": "/a",
        "count": "7", "money": "1.5", "tokens": "9", "text": "t", "provider": "openai",
        "interval": "30m", "scope": "all",
        "share": "0.5",
        "rules": '[{"id": "a", "pattern": "b", "keywords": ["c"]}]',
    }  # fmt: skip
    env = {variable(key): samples[kind] for key, kind in KINDS.items()}
    loaded = load(None, {**env, "SESSION_MEMORY_HOME": str(tmp_path)}, None, str(tmp_path))
    assert loaded.provenance == {key: f"env:{variable(key)}" for key in KINDS}
    assert loaded.config.sources.of("claude") == Source(False, ("/a", "/b"))
    assert not loaded.warnings


def test_a_variable_reaches_a_flavour_without_a_packaged_table(tmp_path: Path) -> None:
    env = {"SESSION_MEMORY_HOME": str(tmp_path), "SESSION_MEMORY_SOURCES_CODEX_ENABLED": "no"}
    assert not load(None, env, None, "").config.sources.of("codex").enabled


@pytest.mark.rows("ING-05")
@pytest.mark.parametrize(
    ("text", "key", "meant"),
    [
        ("[retention]\nraw_soft_cap = 5", "retention.raw_soft_cap", "raw_soft_cap_bytes"),
        ("[retnetion]\nraw_max_age_days = 5", "retnetion.raw_max_age_days", "raw_max_age_days"),
        ("[sources.cluade]\nenabled = false", "sources.cluade.enabled", "sources.claude.enabled"),
        ("[sources.claude]\npath = []", "sources.claude.path", "sources.claude.paths"),
        ("colour = 1", "colour", ""),
    ],
)
def test_an_unknown_key_is_warned_about_and_not_used(
    tmp_path: Path, text: str, key: str, meant: str
) -> None:
    loaded = load_text(tmp_path, text)
    assert loaded.config == Config()
    [warning] = loaded.warnings
    assert f"`{key}`" in warning
    assert str(loaded.file) in warning
    assert meant in warning


def test_an_unknown_variable_is_warned_about(env: dict[str, str]) -> None:
    loaded = load(None, {**env, "SESSION_MEMORY_RETENTION_RAW_MAX_AGE": "9"}, None, "")
    [warning] = loaded.warnings
    assert "SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS" in warning
    assert loaded.config == Config()


def test_an_unknown_flag_key_is_an_error(env: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"retention\.raw_max_age_days"):
        load(None, env, {"retention.raw_max_age": "9"}, "")


@pytest.mark.rows("RET-09")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("retention.raw_soft_cap_bytes", "0"),
        ("retention.raw_soft_cap_bytes", "-1"),
        ("retention.raw_hard_cap_bytes", "true"),
        ("retention.raw_hard_cap_bytes", '"a lot"'),
        ("retention.raw_hard_cap_bytes", '"4 GiBi"'),
        ("retention.raw_hard_cap_bytes", "4.5"),
        ("retention.distilled_cap_bytes", "9223372036854775808"),
        ("retention.distilled_cap_bytes", "{ a = 1 }"),
        ("retention.raw_max_age_days", "0"),
        ("retention.raw_max_age_days", "1.5"),
        ("retention.raw_max_age_days", '"soon"'),
        ("ingest.line_cap_bytes", '"unlimited"'),
        ("ingest.commit_bytes", "[]"),
        ("store.path", '"relative/store"'),
        ("store.path", "7"),
        ("sources.claude.enabled", '"no"'),
        ("sources.claude.paths", '["relative"]'),
        ("sources.exclude_paths", '"one"'),
        ("sources.exclude_paths", "[1]"),
        ("identity.default_domain", '""'),
        ("identity.default_domain", '"a\\u001bb"'),
    ],
)
def test_an_invalid_value_is_refused_with_file_key_value_and_what_is_allowed(
    tmp_path: Path, key: str, value: str
) -> None:
    section, _, name = key.rpartition(".")
    with pytest.raises(ConfigError) as caught:
        load_text(tmp_path, f"[{section}]\n{name} = {value}")
    message = caught.value.message
    assert caught.value.exit_code == 4
    assert str(tmp_path / "some.toml") in message
    assert f"{key} = " in message
    assert repr(tomllib.loads(f"x = {value}")["x"]) in message
    assert "allowed: " in message


@pytest.mark.rows("RET-09")
@pytest.mark.parametrize(
    ("soft", "hard", "fine"),
    [
        ("5", "4", False),
        ('"unlimited"', "4", False),
        ("4", "4", True),
        ("5", '"unlimited"', True),
        ('"unlimited"', '"unlimited"', True),
    ],
)
def test_the_soft_cap_may_not_be_above_the_hard_cap(
    tmp_path: Path, soft: str, hard: str, fine: bool
) -> None:
    text = f"[retention]\nraw_soft_cap_bytes = {soft}\nraw_hard_cap_bytes = {hard}"
    if fine:
        load_text(tmp_path, text)
        return
    with pytest.raises(
        ConfigError, match=r"some\.toml.*raw_soft_cap_bytes.*raw_hard_cap_bytes = 4"
    ):
        load_text(tmp_path, text)


@pytest.mark.rows("RET-09")
def test_a_hard_cap_below_the_default_soft_cap_names_the_place_it_was_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^SESSION_MEMORY_RETENTION_RAW_HARD_CAP_BYTES"):
        load_text(tmp_path, "", {"SESSION_MEMORY_RETENTION_RAW_HARD_CAP_BYTES": "1 GiB"})


def test_an_invalid_value_is_refused_even_when_a_stronger_layer_hides_it(tmp_path: Path) -> None:
    env = {"SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS": "5"}
    with pytest.raises(ConfigError, match=r"some\.toml"):
        load_text(tmp_path, "[retention]\nraw_max_age_days = 0", env)


@pytest.mark.parametrize("text", ["retention = 5", "[retention", "x = '\udcff'"])
def test_a_file_of_the_wrong_shape_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "some.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=r"some\.toml"):
        load(str(tmp_path / "some.toml"), {"SESSION_MEMORY_HOME": str(tmp_path)}, None, "")


def test_a_file_that_was_named_must_exist(env: dict[str, str], tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(missing, env, None, "")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(None, {**env, "SESSION_MEMORY_CONFIG": missing}, None, "")


def test_the_default_file_is_found_and_a_named_one_wins(tmp_path: Path) -> None:
    env = {"SESSION_MEMORY_HOME": str(tmp_path)}
    (tmp_path / "config.toml").write_text("[retention]\nraw_max_age_days = 1")
    named = write(tmp_path, "[retention]\nraw_max_age_days = 2")
    assert load(None, env, None, "").config.retention.raw_max_age_days == 1
    by_variable = load(None, {**env, "SESSION_MEMORY_CONFIG": named}, None, "")
    assert by_variable.config.retention.raw_max_age_days == 2
    assert load(named, env, None, "").file == named


@given(st.integers(1, 2**40), st.sampled_from(["", " B", "KiB", " kB", " MiB", "mb", " GiB", "GB"]))
def test_sizes_are_a_number_times_a_unit(number: int, unit: str) -> None:
    power = {"": 0, "k": 1, "m": 2, "g": 3}[unit.strip().lower().rstrip("b").rstrip("i")]
    base = 1024 if "i" in unit else 1000
    wanted = number * base**power
    assert parse_size(f"{number}{unit}") == (wanted if wanted < 2**63 else None)


@given(st.text(max_size=30))
def test_no_text_breaks_the_size_parser(text: str) -> None:
    size = parse_size(text)
    assert size is None or 0 < size < 2**63


@pytest.mark.parametrize("name", ["INJECT", "INTERNAL", "DEBUG"])
def test_documented_variables_that_are_no_settings_are_known(tmp_path: Path, name: str) -> None:
    assert load_text(tmp_path, "", {f"SESSION_MEMORY_{name}": "1"}).warnings == ()


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "9" * 5000], ids=["deep", "long"])
def test_values_that_no_reader_can_take_are_an_error_of_the_file(
    tmp_path: Path, value: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"a = {value}\n")
    with pytest.raises(ConfigError, match="is not TOML"):
        read_toml(str(file))
