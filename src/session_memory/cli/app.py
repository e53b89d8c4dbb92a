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


# By task; `--help` and docs/cli.md list the verbs in this order.
GROUPS: dict[str, dict[str, Verb]] = {
    "First steps": {
        "init": Verb("session_memory.cli.init", "Connect the agents on this machine."),
        "sweep": Verb("session_memory.cli.sweep", "Capture new sessions from the agents' logs."),
        "schedule": Verb("session_memory.cli.schedule", "Run sweeps on a schedule."),
        "status": Verb("session_memory.cli.status", "Show what is stored and the last sweep."),
        "agents": Verb(
            "session_memory.cli.agents", "List agents, their logs and what is captured."
        ),
        "doctor": Verb("session_memory.cli.doctor", "Check the installation and suggest fixes."),
        "config": Verb("session_memory.cli.config", "Show, locate or create the configuration."),
        "uninstall": Verb("session_memory.cli.uninstall", "Remove everything init added."),
    },
    "Find": {
        "search": Verb("session_memory.cli.search", "Search everything that was said or run."),
        "sessions": Verb("session_memory.cli.sessions", "List captured sessions."),
        "show": Verb("session_memory.cli.show", "Show one session, event by event."),
        "digest": Verb("session_memory.cli.digest", "Show the digest of a session."),
        "brief": Verb("session_memory.cli.brief", "Summarise a project or session."),
        "pack": Verb("session_memory.cli.pack", "Show the state of a project in a few lines."),
        "observations": Verb(
            "session_memory.cli.observations",
            "List requests, constraints, decisions, plans and completed work.",
        ),
        "open-work": Verb("session_memory.cli.open_work", "List open items and blockers."),
        "completion-check": Verb(
            "session_memory.cli.completion_check", "Check whether the work is done."
        ),
        "changes": Verb("session_memory.cli.changes", "Show what is new since the last pack."),
        "project": Verb("session_memory.cli.project", "List, merge and rename projects."),
        "lanes": Verb("session_memory.cli.lanes", "List the parts of a project worked on."),
        "fix": Verb("session_memory.cli.fix", "Show what fixed an error like this before."),
        "usage": Verb("session_memory.cli.usage", "Show tokens and cost by day, project or model."),
        "tail": Verb("session_memory.cli.tail", "Follow live sessions of all agents."),
    },
    "Review, distribute, measure": {
        "detect": Verb("session_memory.cli.detect", "Show problems and solutions that recur."),
        "review": Verb("session_memory.cli.review", "Decide which patterns enter the catalog."),
        "distribute": Verb(
            "session_memory.cli.distribute", "Write approved patterns into files agents read."
        ),
        "measure": Verb("session_memory.cli.measure", "Measure whether distributed patterns help."),
        "loop": Verb("session_memory.cli.loop", "Show every pattern's stage and the next step."),
        "explain": Verb("session_memory.cli.explain", "Show the evidence behind any id."),
        "why-injected": Verb(
            "session_memory.cli.why_injected", "Show what a session was given at its start."
        ),
    },
    "Memory and journal": {
        "memory": Verb("session_memory.cli.memory", "Project memories made from sessions."),
        "journal": Verb("session_memory.cli.journal", "Daily logs and knowledge base of projects."),
    },
    "Privacy": {
        "pause": Verb("session_memory.cli.pause", "Stop capturing from now on."),
        "resume": Verb("session_memory.cli.resume", "Capture again."),
        "forget": Verb("session_memory.cli.forget", "Delete sessions or texts for good."),
        "secrets": Verb("session_memory.cli.secrets", "Find and redact secrets in the store."),
        "redact": Verb("session_memory.cli.redact", "Show what redaction would replace in a file."),
        "audit": Verb("session_memory.cli.audit", "List files written outside the store, and why."),
    },
    "Maintenance": {
        "retention": Verb("session_memory.cli.retention", "Show or apply the byte budget."),
        "backup": Verb("session_memory.cli.backup", "Copy the store and verify the copy."),
        "restore": Verb("session_memory.cli.restore", "Replace the store with a backup."),
        "fsck": Verb("session_memory.cli.fsck", "Check every row and segment of the store."),
        "repair": Verb("session_memory.cli.repair", "Repair what fsck found."),
        "worker": Verb("session_memory.cli.worker", "Process queued hook events."),
        "jobs": Verb("session_memory.cli.jobs", "List, retry or drop background jobs."),
        "quarantine": Verb("session_memory.cli.quarantine", "List damaged lines of logs."),
        "spend": Verb("session_memory.cli.spend", "Show what our own model calls cost."),
    },
    "For programs": {
        "mcp": Verb("session_memory.cli.mcp", "Serve memory to agents (MCP server)."),
        "export": Verb("session_memory.cli.export", "Export sessions as JSON Lines or Markdown."),
        "import": Verb("session_memory.cli.import_", "Import an export; nothing is overwritten."),
        "dump": Verb("session_memory.cli.dump", "Print the store in canonical form."),
        "shell-completion": Verb(
            "session_memory.cli.shell_completion", "Print the completion script of a shell."
        ),
        "version": Verb("session_memory.cli.version", "Show program, schema and parser versions."),
    },
}
VERBS = {name: verb for verbs in GROUPS.values() for name, verb in verbs.items()}


class App:
    """What a verb needs from outside: settings, paths, the clock, and stderr."""

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
        """The configuration and where each value came from; warnings are printed on first use."""
        loaded = load(self.config_path, self.environ, self.flags, str(Path.home()))
        for text in loaded.warnings:
            self.warn(text)
        self.log(f"configuration: {loaded.file or 'no file, defaults'}")
        return loaded

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.loaded.config

    @cached_property
    def paths(self) -> Paths:
        """Our own directories, with the store where the configuration says."""
        paths = find_paths(self.environ)
        store = self.config.store.path
        paths = paths.with_store(Path(store)) if store else paths
        if (paths.data / "restore.json").exists():  # a restore was cut off: no verb sees half of it
            from session_memory.store.swap import finish

            finish(str(paths.data))
        self.log(f"store: {paths.data}")
        return paths

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar is welcome; it also needs a terminal."""
        return not (self.quiet or self.json or self.verbosity)

    def note(self, text: str) -> None:
        """Print to stderr, except with --quiet."""
        if not self.quiet:
            click.echo(safe(text), err=True)

    def log(self, text: str) -> None:
        """Print to stderr what is being done, with --verbose."""
        if self.verbosity:
            click.echo(safe(text), err=True)

    def warn(self, text: str) -> None:
        """Print a warning to stderr, also with --quiet."""
        click.echo(f"{self.style('warning:', fg='yellow')} {safe(text)}", err=True, color=True)

    def style(self, text: str, **style: Any) -> str:
        """Text for stderr, styled where that stream shows colours."""
        wanted = wants_color(self.color, self.environ, sys.stderr.isatty())
        return click.style(text, **style) if wanted else text


pass_app = click.make_pass_decorator(App)
Callback = TypeVar("Callback", bound=Callable[..., Any])


def json_option(callback: Callback) -> Callback:
    """`--json` for a verb that reads; sets `app.json`."""

    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        context.ensure_object(App).json |= value

    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Print JSON, for programs.",
    )(callback)


dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would happen; change nothing."
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


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
        width = max(map(len, VERBS))
        for heading, verbs in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", verb.help) for name, verb in verbs.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the verb that was probably meant."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"no such command `{args[0]}`{_did_you_mean(args[0])}", ctx)
        return super().resolve_command(ctx, args)


class _Text(click.types.StringParamType):
    """Text from the command line in the form in which names are stored, see `file_names`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Like any text, in storable form."""
        return name_to_text(str(super().convert(value, param, ctx)))


def _take_text(command: click.Command) -> None:
    """Make every text parameter of a command storable, except paths of this machine."""
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
@click.option("--config", "config_path", metavar="PATH", help="Read this configuration file.")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_split_settings,
    help="Set a configuration key for this run; repeatable.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only results and warnings.")
@click.option(
    "-v",
    "--verbose",
    count=True,
    help="Print each step of a sweep or worker run to stderr; -vv also files that are skipped.",
)
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
    *,
    config_path: str | None,
    settings: dict[str, str],
    color: str,
    quiet: bool,
    verbose: int,
) -> None:
    """One memory for every coding agent on this machine.

    \b
    Examples:
      session-memory sweep                capture new sessions
      session-memory status               show what is stored
      session-memory search "flaky test"  find what was said or run
      session-memory show 42              show one session
      session-memory config show          show every setting and where it came from
    """
    app = ctx.ensure_object(App)
    app.config_path, app.flags, app.color = config_path, settings, color
    app.quiet, app.verbosity = quiet, verbose
    if color != "auto":
        ctx.color = color == "always"
    elif app.environ.get("NO_COLOR"):
        ctx.color = False
