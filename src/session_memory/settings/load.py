"""What the user can decide: every key, its default, and which of several statements of it wins.

defaults < user file < project file (which may only narrow) < environment < flags
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from session_memory.errors import ConfigError
from session_memory.paths import find_paths
from session_memory.plain_files import read_plain
from session_memory.settings import (
    FLAVORS,
    KINDS,
    PLAIN,
    SECTIONS,
    SOURCE_KINDS,
    Config,
    Curate,
    Gate,
    Retention,
    Source,
    Sources,
)
from session_memory.settings.kinds import (
    ALLOWED,
    InvalidValueError,
    Kind,
    Value,
    check,
    from_text,
)

ENV_PREFIX = "SESSION_MEMORY_"
RESERVED_ENV = frozenset(
    ENV_PREFIX + name for name in ("HOME", "CONFIG", "DEBUG", "INJECT", "INTERNAL")
)
"""Variables that are not settings: documented where the hook and the command line read them."""

FILE_CAP = 4 * 1024 * 1024

HINT = "correct it, or remove it to get the default; nothing was written"


class Loaded(msgspec.Struct, frozen=True):
    """A configuration, where each value came from, and what was odd on the way."""

    config: Config
    provenance: dict[str, str]
    """Key to "default", a file's path, "env:NAME" or "flag"."""
    warnings: tuple[str, ...] = ()
    file: str | None = None


def kind_of(key: str) -> Kind | None:
    """The kind of a key, also of the open ones (a third-party flavour, a repository's domain)."""
    if key in KINDS:
        return KINDS[key]
    section, _, rest = key.partition(".")
    if section == "domains" and rest:
        return "name"
    flavor, _, name = rest.partition(".")
    if section == "sources" and flavor and not _like(flavor, FLAVORS):
        return SOURCE_KINDS.get(name)
    return None


# --- layers ----------------------------------------------------------------------------------


class _Layers:
    """Collects values, strongest last, and remembers where each came from."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.provenance: dict[str, str] = {}
        self.warnings: list[str] = []

    def put(self, key: str, value: object, source: str) -> None:
        kind = kind_of(key)
        if kind is None:
            near = _suggest(key, KINDS)
            self.warnings.append(f"{_place(source)}: unknown key `{key}` is ignored{near}")
            return
        try:
            self.values[key] = check(kind, value)
        except InvalidValueError:
            raise invalid(key, value, source, ALLOWED[kind]) from None
        self.provenance[key] = source


def invalid(key: str, value: object, source: str, allowed: str) -> ConfigError:
    """The error for a value that cannot be used, with what is allowed."""
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    message = f"{_place(source)}: {key} = {shown} is not allowed; allowed: {allowed}"
    return ConfigError(message, hint=HINT)


def _place(source: str) -> str:
    return "--set" if source == "flag" else source.removeprefix("env:")


def load(
    path: str | None, environ: Mapping[str, str], flags: Mapping[str, str] | None, home: str
) -> Loaded:
    """The configuration in force. A file that was named must exist; the default one need not."""
    layers = _Layers()
    file = _file(path, environ)
    if file is not None:
        for key, value in _flatten(read_toml(file), file):
            layers.put(key, value, file)
    for name, text in sorted(environ.items()):
        if name.startswith(ENV_PREFIX) and name not in RESERVED_ENV:
            _put_variable(layers, name, text)
    for key, text in (flags or {}).items():
        if kind_of(key) is None:  # typed by hand just now: an error, not a warning
            raise ConfigError(f"--set: unknown key `{key}`{_suggest(key, KINDS)}", hint=HINT)
        layers.put(key, from_text(kind_of(key) or "name", text), "flag")
    config = _build(layers.values, home)
    _check_caps(config.retention, layers.provenance)
    _check_floors(config.curate.gate, layers.provenance)
    defaults = dict.fromkeys(KINDS, "default")
    return Loaded(config, defaults | layers.provenance, tuple(layers.warnings), file)


def _file(path: str | None, environ: Mapping[str, str]) -> str | None:
    named = path or environ.get("SESSION_MEMORY_CONFIG")
    if named:
        return named
    default = find_paths(environ).config_file
    return str(default) if default.exists() else None


def _put_variable(layers: _Layers, name: str, text: str) -> None:
    variables = {variable(key): key for key in KINDS}
    key = variables.get(name)
    parts = name.removeprefix(ENV_PREFIX).lower().split("_")
    if key is None and parts[0] == "sources" and len(parts) == 3:
        key = ".".join(parts)
    kind = kind_of(key) if key else None
    if key is None or kind is None:
        near = _suggest(name, variables)
        layers.warnings.append(f"unknown variable {name} is ignored{near}")
        return
    layers.put(key, from_text(kind, text), f"env:{name}")


def variable(key: str) -> str:
    """The environment variable of a key."""
    return ENV_PREFIX + key.upper().replace(".", "_")


def read_toml(file: str, hint: str = HINT) -> dict[str, Any]:
    """A TOML file as a table, or a ConfigError that says what is wrong with it."""
    import tomllib  # 15 ms, and most runs have no file

    try:
        return tomllib.loads(read_plain(file, FILE_CAP).decode("utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"{file}: cannot be read: {reason}", hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: is not TOML: {error}", hint=hint) from error


def _flatten(table: Mapping[str, Any], file: str) -> Iterable[tuple[str, object]]:
    for section, value in table.items():
        if section in SECTIONS and not isinstance(value, dict):
            raise invalid(section, value, file, f"a table, written as [{section}]")
        yield from _walk(section, cast(object, value))


def _walk(key: str, value: object) -> Iterable[tuple[str, object]]:
    if isinstance(value, dict) and key not in KINDS:
        for name, inner in cast("dict[str, object]", value).items():
            yield from _walk(f"{key}.{name}", inner)
    else:
        yield key, value


def _build(values: Mapping[str, Value], home: str) -> Config:
    """The frozen value of what the layers left standing."""
    tables: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    flavors: dict[str, dict[str, Any]] = {name: {} for name in FLAVORS}
    gate: dict[str, Any] = {}
    for key, value in values.items():
        section, _, name = key.partition(".")
        if section == "sources" and "." in name:
            flavor, _, name = name.partition(".")
            flavors.setdefault(flavor, {})[name] = _expand(value, home)
        elif key.startswith("curate.gate."):
            gate[name.removeprefix("gate.")] = value
        else:
            tables[section][name] = value if section == "domains" else _expand(value, home)
    sources = Sources(
        **tables["sources"], flavors={name: Source(**given) for name, given in flavors.items()}
    )
    plain: dict[str, Any] = {name: kind(**tables[name]) for name, kind in PLAIN.items()}
    curate = Curate(**tables["curate"], gate=Gate(**gate))
    return Config(sources=sources, domains=tables["domains"], curate=curate, **plain)


def _expand(value: Value, home: str) -> Value:
    if isinstance(value, tuple):
        return cast(Value, tuple(_expand(cast(str, item), home) for item in value))
    if isinstance(value, str) and (value == "~" or value.startswith("~/")):
        return home + value[1:]
    return value


def _check_caps(retention: Retention, provenance: Mapping[str, str]) -> None:
    soft, hard = retention.raw_soft_cap_bytes, retention.raw_hard_cap_bytes
    if hard is None or (soft is not None and soft <= hard):
        return
    key = "retention.raw_soft_cap_bytes"
    if provenance.get(key, "default") == "default":  # then it is the hard cap that was set too low
        key = "retention.raw_hard_cap_bytes"
    value = "unlimited" if soft is None else soft
    raise ConfigError(
        f"{_place(provenance.get(key, 'default'))}: retention.raw_soft_cap_bytes = {value} is more"
        f" than retention.raw_hard_cap_bytes = {hard}; allowed: soft cap at most the hard cap",
        hint=HINT,
    )


def _check_floors(gate: Gate, provenance: Mapping[str, str]) -> None:
    """Agents are given nothing on less evidence than the catalog itself asks for."""
    for field in ("frequency", "sessions", "cost_impact"):
        promote = getattr(gate, f"promote_min_{field}")
        distribute = getattr(gate, f"distribute_min_{field}")
        if distribute >= promote:
            continue
        key = f"curate.gate.distribute_min_{field}"
        if provenance.get(key, "default") == "default":  # then the other one was set too high
            key = f"curate.gate.promote_min_{field}"
        raise ConfigError(
            f"{_place(provenance.get(key, 'default'))}: curate.gate.distribute_min_{field} ="
            f" {distribute} is less than curate.gate.promote_min_{field} = {promote}; allowed:"
            " a distribution floor at least its promotion floor",
            hint=HINT,
        )


def _like(word: str, words: Iterable[str]) -> str | None:
    """The known word this one is probably a slip of, if it is not that word itself."""
    import difflib

    near = difflib.get_close_matches(word, list(words), n=1, cutoff=0.7)
    return near[0] if near and near[0] != word else None


def _suggest(word: str, words: Iterable[str]) -> str:
    near = _like(word, words)
    return f"; did you mean `{near}`?" if near else ""
