"""The command group: global options, the table of verbs, and the context every verb is given."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from session_memory import __version__
from session_memory.cli.output import safe, wants_color
from session_memory.clock import Clock, now_ms
from session_memory.config import Loaded, load
from session_memory.file_names import name_to_text
from session_memory.paths import Paths, find_paths
from session_memory.settings import Config


class Verb(NamedTuple):
    """A verb the group knows without importing it; its module holds it as `command`."""

    module: str
    help: str


VERBS: dict[str, Verb] = {
    "init": Verb("session_memory.cli.init", "Wire the agents of this machine: hooks and tools."),
    "uninstall": Verb("session_memory.cli.uninstall", "Take out what init put in, to the byte."),
    "schedule": Verb("session_memory.cli.schedule", "Have the system sweep by its clock."),
    "sweep": Verb("session_memory.cli.sweep", "Capture new sessions from the agents' logs."),
    "status": Verb("session_memory.cli.status", "What is stored, how much, and the last sweep."),
    "agents": Verb(
        "session_memory.cli.agents", "Agents found here, their logs, and what is captured."
    ),
    "sessions": Verb("session_memory.cli.sessions", "List captured sessions."),
    "show": Verb("session_memory.cli.show", "Show one session, event by event."),
    "digest": Verb("session_memory.cli.digest", "Show what was distilled from a session."),
    "observations": Verb(
        "session_memory.cli.observations", "What was asked, ruled, decided, planned and done."
    ),
    "search": Verb("session_memory.cli.search", "Find what was said or run, by its words."),
    "usage": Verb("session_memory.cli.usage", "Tokens and cost by day, project or model."),
    "spend": Verb("session_memory.cli.spend", "What our own calls of models cost."),
    "review": Verb("session_memory.cli.review", "Decide which patterns enter the catalog."),
    "distribute": Verb(
        "session_memory.cli.distribute", "Give approved patterns to agents through their files."
    ),
    "measure": Verb("session_memory.cli.measure", "Whether what agents were given helped."),
    "loop": Verb("session_memory.cli.loop", "Where every pattern stands, and what to do next."),
    "explain": Verb("session_memory.cli.explain", "Where a line, pattern or note comes from."),
    "detect": Verb("session_memory.cli.detect", "What recurs over sessions, trouble and success."),
    "fix": Verb("session_memory.cli.fix", "What worked after an error like this one."),
    "journal": Verb("session_memory.cli.journal", "The daily log of each project."),
    "memory": Verb("session_memory.cli.memory", "What sessions left for each project."),
    "pack": Verb("session_memory.cli.pack", "Where a project stands, in a few lines."),
    "brief": Verb("session_memory.cli.brief", "A project or session at a glance."),
    "open-work": Verb("session_memory.cli.open_work", "What is to do, and what is in the way."),
    "completion-check": Verb("session_memory.cli.completion_check", "Whether the work is done."),
    "changes": Verb("session_memory.cli.changes", "What is new since the pack was written out."),
    "lanes": Verb("session_memory.cli.lanes", "The parts of a project sessions worked in."),
    "mcp": Verb("session_memory.cli.mcp", "Serve memory to an agent that starts this command."),
    "retention": Verb("session_memory.cli.retention", "Show what the byte budget would evict."),
    "pause": Verb("session_memory.cli.pause", "Do not capture what happens from now on."),
    "resume": Verb("session_memory.cli.resume", "Capture again."),
    "forget": Verb("session_memory.cli.forget", "Remove sessions or texts for good."),
    "secrets": Verb("session_memory.cli.secrets", "Redact again what is stored."),
    "redact": Verb("session_memory.cli.redact", "Show what redaction would replace in a file."),
    "doctor": Verb("session_memory.cli.doctor", "Is all well, and if not, what cures it."),
    "repair": Verb("session_memory.cli.repair", "Mend what fsck found, layer by layer."),
    "worker": Verb("session_memory.cli.worker", "Do what hooks asked for."),
    "why-injected": Verb("session_memory.cli.why_injected", "What a session was given, and why."),
    "tail": Verb("session_memory.cli.tail", "Follow live sessions of all agents."),
    "jobs": Verb("session_memory.cli.jobs", "Background work: what waits, runs, failed."),
    "quarantine": Verb("session_memory.cli.quarantine", "Damaged lines of logs, and where."),
    "fsck": Verb("session_memory.cli.fsck", "Check every row and segment of the store."),
    "export": Verb("session_memory.cli.export", "Write sessions to files, for programs or people."),
    "import": Verb("session_memory.cli.import_", "Take an export in; what is here stays as it is."),
    "backup": Verb("session_memory.cli.backup", "Copy the store, and check the copy."),
    "restore": Verb("session_memory.cli.restore", "Put a backup in the place of the store."),
    "dump": Verb("session_memory.cli.dump", "Print the store in canonical form."),
    "audit": Verb("session_memory.cli.audit", "What was written outside the store, and why."),
    "shell-completion": Verb(
        "session_memory.cli.shell_completion", "The completion script for bash, zsh or fish."
    ),
    "version": Verb("session_memory.cli.version", "Versions of program, schema and parsers."),
    "config": Verb("session_memory.cli.config", "Show, locate or create the configuration."),
}


class App:
    """What a verb needs from outside: settings, places, the clock and how to talk."""

    def __init__(self, environ: Mapping[str, str] | None = None, clock: Clock = now_ms) -> None:
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.clock = clock
        self.json = False
        self.quiet = False
        self.verbosity = 0
        self.color = "auto"
        self.config_path: str | None = None
        self.flags: dict[str, str] = {}

    @cached_property
    def loaded(self) -> Loaded:
        """The configuration and its story; read once, at first need, warnings told then."""
        loaded = load(self.config_path, self.environ, self.flags, str(Path.home()))
        for text in loaded.warnings:
            self.warn(text)
        return loaded

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.loaded.config

    @cached_property
    def paths(self) -> Paths:
        """Our own places, with the store where the configuration says."""
        found = find_paths(self.environ)
        store = self.config.store.path
        found = found.with_store(Path(store)) if store else found
        if (found.data / "restore.json").exists():  # a restore was cut off: no verb sees half of it
            from session_memory.store.swap import finish

            finish(str(found.data))
        return found

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar is welcome; it also needs a terminal."""
        return not (self.quiet or self.json)

    def note(self, text: str) -> None:
        """Say something on stderr, unless asked to be quiet."""
        if not self.quiet:
            click.echo(safe(text), err=True)

    def warn(self, text: str) -> None:
        """Say on stderr that something is not as it should be; also when quiet."""
        click.echo(f"{self.style('warning:', fg='yellow')} {safe(text)}", err=True, color=True)

    def style(self, text: str, **style: Any) -> str:
        """Text for stderr, styled where that stream shows colours."""
        wanted = wants_color(self.color, self.environ, sys.stderr.isatty())
        return click.style(text, **style) if wanted else text


pass_app = click.make_pass_decorator(App)
Callback = TypeVar("Callback", bound=Callable[..., Any])


def json_option(callback: Callback) -> Callback:
    """`--json` for a verb that reads; the answer stands in `app.json`."""

    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        context.ensure_object(App).json |= value

    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Print JSON, for programs.",
    )(callback)


class LazyGroup(click.Group):
    """A group that names its verbs from a table and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module."""
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        command: click.Command = import_module(verb.module).command
        _take_text(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs from the table, so that help imports none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in VERBS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the verb that was probably meant when there is none of that name."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"no such command `{args[0]}`{_did_you_mean(args[0])}", ctx)
        return super().resolve_command(ctx, args)


class _Text(click.types.StringParamType):
    """Words of the user in the form in which names are stored, see `file_names`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """As any text, storable."""
        return name_to_text(str(super().convert(value, param, ctx)))


def _take_text(command: click.Command) -> None:
    """Have a command take what is no path of this machine as text that can be looked for."""
    for param in command.params:
        is_path = param.metavar in ("PATH", "FILE") or param.name == "file"
        if type(param.type) is click.types.StringParamType and not is_path:
            param.type = _Text()
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _take_text(inner)


def _did_you_mean(word: str) -> str:
    import difflib

    near = difflib.get_close_matches(word, VERBS, n=1, cutoff=0.5)
    return f"; did you mean `{near[0]}`?" if near else ""


def _split_settings(
    _context: click.Context, _parameter: click.Parameter, values: Sequence[str]
) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if wrong := [key for key, equals, _ in pairs if not equals]:
        raise click.BadParameter(f"`{wrong[0]}` is not KEY=VALUE")
    return {key.strip(): value for key, _, value in pairs}


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done with warnings, 4 configuration, "
    "5 no usable store, 6 locked, 7 wrong scope, 8 refused, 9 no model, 130 interrupted.",
)
@click.option("--config", "config_path", metavar="PATH", help="Read this file, not the default.")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_split_settings,
    help="Set one configuration key for this run; repeatable.",
)
@click.option("-q", "--quiet", is_flag=True, help="Only results and warnings.")
@click.option("-v", "--verbose", count=True, help="Say more; repeatable.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour: on a terminal (auto), always or never; NO_COLOR is honoured.",
)
@click.version_option(__version__, message="session-memory %(version)s")
@click.pass_context
def cli(
    ctx: click.Context,
    config_path: str | None,
    settings: dict[str, str],
    color: str,
    **talk: Any,
) -> None:
    """One memory for every coding agent on this machine.

    \b
    Examples:
      session-memory sweep                capture what is new
      session-memory status               what is stored, and how much
      session-memory sessions --json      sessions, for programs
      session-memory show 42              one session
      session-memory config show          every setting and where it came from
    """
    app = ctx.ensure_object(App)
    app.config_path, app.flags, app.color = config_path, settings, color
    app.quiet, app.verbosity = bool(talk["quiet"]), int(talk["verbose"])
    if color != "auto":
        ctx.color = color == "always"
    elif app.environ.get("NO_COLOR"):
        ctx.color = False
