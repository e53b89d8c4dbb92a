"""`session-memory config`: every setting with where it came from, the file, and a first file."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import cast

import click
import msgspec

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.config_file import named_file
from session_memory.cli.options import option
from session_memory.cli.output import Column, columns, emit_json, fit, human_bytes, table
from session_memory.errors import ConfigError, Refused
from session_memory.narrowing import PROJECT_FILE, ProjectRules, read_project_rules
from session_memory.paths import find_paths, open_private, private_dir
from session_memory.settings import Config
from session_memory.settings.load import load


@click.command()
@click.argument("key", required=False)
@option("--all", "everything", is_flag=True, help="Also keys that have their default.")
@json_option
@pass_app
@long_output
def show(app: App, key: str | None, everything: bool) -> None:
    """Show the settings, each with its value and where that came from.

    At a terminal only what you have set, unless --all is given; pipes and --json get every key.
    KEY shows one key, or all that begin with it.

    \b
    Examples:
      session-memory config show
      session-memory config show --all
      session-memory config show retention
      session-memory config show --json
    """
    loaded = app.loaded
    values = flat(loaded.config)
    rules = _project_here()
    for text in rules.warnings if rules else ():
        app.warn(text)
    if app.json:
        emit_json(
            {
                "file": loaded.file,
                "store": str(app.paths.data),
                "values": values,
                "provenance": loaded.provenance,
                "project": rules,
                "warnings": [*loaded.warnings, *(rules.warnings if rules else ())],
            }
        )
        return
    begun = [name for name in values if key is None or name == key or name.startswith(f"{key}.")]
    if not begun:
        hint = "`session-memory config show --all` lists them"
        raise ConfigError(f"no configuration key {key}", hint=hint)
    limited = columns() is not None and not (everything or app.verbosity or key)
    listed = [n for n in begun if not limited or loaded.provenance[n] != "default"]
    rows = [(name, shown(values[name], name), loaded.provenance[name]) for name in listed]
    if rules and key is None:
        rows += [
            (f"project {name}", shown(getattr(rules, name)), rules.file or "")
            for name in ("enabled", "exclude", "domain")
        ]
    if rows:
        click.echo(table(rows, ("key", Column("value", folds=True), Column("from", drop=1))))
    if len(listed) < len(begun):
        count = len(begun) - len(listed)
        click.echo(fit(f"{count:,} keys have their default value: --all shows them"))


@click.command()
@pass_app
def path(app: App) -> None:
    """Print the path of the configuration file, even if there is none yet.

    \b
    Examples:
      session-memory config path
    """
    click.echo(named_file(app))


@click.command()
@pass_app
def init(app: App) -> None:
    """Write a configuration file that lists every key, commented out.

    \b
    Examples:
      session-memory config init
    """
    target = named_file(app)
    if target == find_paths(app.environ).config_file:
        private_dir(target.parent)  # a directory the user named is the user's own affair
    try:
        with open_private(target, "x") as file:
            file.write(commented(packaged()))
    except FileExistsError:
        hint = "`session-memory config edit` opens it; or move it away first"
        raise Refused(f"{target} exists and is left as it is", hint=hint) from None
    load(str(target), {}, None, str(Path.home()))
    app.note(f"wrote {target}")


AGENT_TABLES = "# Here `config init` puts a table for each agent.\n"
AGENT_TABLE = """\
# {about}
[sources.{name}]

# false: leave the logs of this agent alone.
enabled = true

# Directories to look in; empty means where the agent itself keeps its logs.
paths = []
"""


def packaged() -> str:
    """The configuration file: every key with its default and a comment."""
    from session_memory.adapters.registry import built_in

    text = files("session_memory.settings").joinpath("config.toml").read_text(encoding="utf-8")
    tables = (
        AGENT_TABLE.format(about=f"{agent.title}. {agent.config_note}".strip(), name=agent.name)
        for agent in built_in().values()
    )
    return text.replace(AGENT_TABLES, "\n".join(tables))


def commented(text: str) -> str:
    """The same file with every key switched off, so that later defaults still reach the user."""
    return re.sub(r"^(\w+ = )", r"#\1", text, flags=re.MULTILINE)


def flat(config: Config) -> dict[str, object]:
    """Key to value, in the order of the packaged file."""
    result: dict[str, object] = {"store.path": config.store.path}
    result["sources.exclude_paths"] = config.sources.exclude_paths
    for flavor, source in config.sources.flavors.items():
        result[f"sources.{flavor}.enabled"] = source.enabled
        result[f"sources.{flavor}.paths"] = source.paths
    rest = [name for name in Config.__struct_fields__ if name not in ("store", "sources")]
    for section in rest:
        for name, value in msgspec.to_builtins(getattr(config, section)).items():
            if name == "gate":
                result |= {f"curate.gate.{key}": floor for key, floor in value.items()}
            else:
                result[f"{section}.{name}"] = value
    return result


def shown(value: object, key: str = "") -> str:
    """A value as a person would write it."""
    if key.startswith("retention.") and value is None:
        return "unlimited"
    match value:
        case bool():
            return "true" if value else "false"
        case int() if key.endswith("_bytes"):
            return f"{value} ({human_bytes(value)})"
        case tuple() | list():
            return ", ".join(map(str, cast("list[object]", value))) or "[]"
        case _:
            return str(value) if value not in ("", None) else '""'


def _project_here() -> ProjectRules | None:
    """What the repository around the working directory asks for, if it has a file of its own."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / PROJECT_FILE).exists():
            return read_project_rules(str(folder))
        if (folder / ".git").exists():
            return None
    return None
