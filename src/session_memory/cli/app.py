"""The command group: global options, the table of verbs, and the context every verb is given."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property, partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click

from session_memory import __version__
from session_memory.cli.help_format import HelpContext
from session_memory.cli.options import Callback, Option, option, printing_option
from session_memory.cli.output import fit, message, safe, wants_color
from session_memory.cli.parameters import take_text
from session_memory.cli.verbs import TASKS, VERBS, Section, Verb
from session_memory.clock import Clock, now_ms
from session_memory.errors import EXIT_INTERRUPTED, UsageError
from session_memory.paths import Paths, find_paths
from session_memory.settings import Config
from session_memory.settings.load import Loaded, load


class App:
    """What a verb needs from outside: settings, paths, the clock, and stderr."""

    def __init__(self, environ: Mapping[str, str] | None = None, clock: Clock = now_ms) -> None:
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.clock = clock
        self.json = False
        self.quiet = False
        self.verbosity = 0
        self.color = "auto"
        self.no_pager = False
        self.config_path: str | None = None
        self.hub_url: str | None = None
        """The hub to read instead of the local store."""
        self.follows_hub = False
        """The command keeps running, and must see changes of the hub."""
        self.copies_hub = True
        """A copy may answer what the hub itself does not."""
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
        """Our own directories, with the store where the configuration says, or a copy of a hub."""
        if self.hub_url is not None:
            if not self.copies_hub:
                raise UsageError("a hub only lists its rules", hint="decide in your own store")
            from session_memory.cli.hub_store import copied_hub

            return copied_hub(self, self.own_paths, self.hub_url)
        return self.own_paths

    @cached_property
    def own_paths(self) -> Paths:
        """Our own directories on this machine."""
        paths = find_paths(self.environ)
        store = self.config.store.path
        paths = paths.with_store(Path(store)) if store else paths
        # A restore was cut off: no verb sees half of it. In a folder that may not be looked into,
        # `Path.exists` would raise, and `doctor` could not say whose it is.
        if os.path.exists(paths.data / "restore.json"):
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
            click.echo(fit(safe(text), sys.stderr), err=True)

    def log(self, text: str) -> None:
        """Print to stderr what is being done, with --verbose."""
        if self.verbosity:
            click.echo(safe(text), err=True)

    def warn(self, text: str) -> None:
        """Print a warning to stderr, also with --quiet."""
        click.echo(message("warning:", "warn", text), err=True)


_HELP = ("-h", "--help", "show_help")
FOLLOWS_HUBS = ("mcp", "web")
READS_HUBS = ("search", "fix", "sessions", "show", "rules", *FOLLOWS_HUBS)
"""Verbs that only ask; of `rules` only the list does."""
pass_app = click.make_pass_decorator(App)


def _remember_json(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    context.ensure_object(App).json |= value


def json_option(callback: Callback) -> Callback:
    """`--json` for a verb that reads; sets `app.json`."""
    return option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=_remember_json,
        help="Print JSON, for programs.",
    )(callback)


def long_output(callback: Callback) -> Callback:
    """For a verb that only prints: on a terminal its output goes through a pager if it is long."""

    @wraps(callback)
    def run(app: App, *args: Any, **options: Any) -> object:
        from session_memory.cli.pager import paged

        with paged(app.environ, wanted=not (app.no_pager or app.json)):
            return callback(app, *args, **options)

    return cast("Callback", run)


dry_run_option = option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")


def confirm_or_leave(question: str, otherwise: str) -> None:
    """Ask at the terminal; a no says what did not happen and ends the command like an interrupt."""
    if not click.confirm(question, err=True):
        click.echo(fit(otherwise, sys.stderr), err=True)
        raise click.exceptions.Exit(EXIT_INTERRUPTED)


yes_option = option("--yes", is_flag=True, help="Do not ask for confirmation.")


class VerbGroup(click.Group):
    """A group that lists its verbs first, each with a whole sentence, and knows slips of them."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands first: they are what a reader looks for."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs in the order in which they are declared."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, _first_sentence(verb.help)) for name, verb in self.commands.items()]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the verb that was probably meant."""
        verbs = self.list_commands(ctx)
        if args and args[0] not in verbs and not args[0].startswith("-"):
            meant = self.nearest(args[0], verbs)
            suggestion = f"; did you mean `{meant}`?" if meant else ""
            raise click.UsageError(f"no such command `{args[0]}`{suggestion}", ctx)
        return super().resolve_command(ctx, args)

    def nearest(self, word: str, verbs: Sequence[str]) -> str | None:
        """The verb that is spelled most alike."""
        import difflib

        return next(iter(difflib.get_close_matches(word, verbs, 1, 0.5)), None)


def _first_sentence(text: str | None) -> str:
    paragraph = " ".join((text or "").strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s", paragraph, maxsplit=1)[0]


class LazyGroup(VerbGroup):
    """A group that names its verbs from a table and imports only the one that is called."""

    verbs: Mapping[str, Verb | Section] = VERBS
    context_class = HelpContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the order of the table."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module, or make the section with its verbs."""
        verb = self.verbs.get(cmd_name)
        if verb is None:
            return None
        if isinstance(verb, Section):
            return _section(cmd_name, verb)
        module, _, name = verb.target.partition(":")
        held = getattr(import_module(f"session_memory.cli.{module}"), name or "command")
        command: click.Command = copy(held)
        command.name = cmd_name
        take_text(command)
        _take_global_options(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs from the table, so that help imports none of them."""
        tasks = TASKS if self.verbs is VERBS else {"Commands": self.verbs}
        width = max(len(name) for verbs in tasks.values() for name in verbs)
        for heading, verbs in tasks.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", verb.help) for name, verb in verbs.items()])

    def nearest(self, word: str, verbs: Sequence[str]) -> str | None:
        """The verb of this name in another section, or the one that is spelled most alike."""
        inner = {
            verb: f"{name} {verb}"
            for name, section in reversed(VERBS.items())  # of equal names the first one counts
            if isinstance(section, Section)
            for verb in section.verbs
        }
        paths = {**inner, **{name: name for name in verbs}}
        meant = word if word in paths else super().nearest(word, list(paths))
        return paths[meant] if meant else None


def _refuse_early_json(context: click.Context) -> None:
    """--json before the verb: whether the verb has it is not known there."""
    if context.ensure_object(App).json:
        verb = f"{context.command_path} {context.invoked_subcommand}"
        raise click.UsageError(f"--json goes behind the command: `{verb} --json`", context)


def _section_help(section: Section) -> str:
    return "\n".join((section.help, "", "\b", "Examples:", *(f"  {e}" for e in section.examples)))


def _section(name: str, section: Section) -> LazyGroup:
    """The group of a section; called without a verb it runs the section's own, or shows help."""

    def run_bare(context: click.Context) -> object:
        if context.invoked_subcommand is not None or section.bare is None:
            _refuse_early_json(context)
            return None
        command = group.get_command(context, section.bare)
        assert command is not None
        return context.invoke(command)

    group = LazyGroup(
        name=name,
        help=_section_help(section),
        epilog="",
        callback=click.pass_context(run_bare),
        invoke_without_command=section.bare is not None,
        no_args_is_help=section.bare is None,
    )
    group.verbs = section.verbs
    _take_global_options(group)
    return group


def _take_global_options(command: click.Command) -> None:
    """Accept -q, -v and --color behind the verb too, and show help that fits narrow terminals.

    A verb that has no --json says so, instead of calling it an unknown option.
    """
    taken = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    offered = [*_global_options(), _json_option(command)]
    command.params = [*command.params, *(o for o in offered if not taken & set(o.opts))]
    _take_help_option(command)
    command.context_class = HelpContext
    if isinstance(command, click.Group) and not isinstance(command, LazyGroup):
        for inner in command.commands.values():
            _take_global_options(inner)


def _take_help_option(command: click.Command) -> None:
    """Instead of click's own, for which it would load `inspect` and look for translations."""
    if command.add_help_option:
        command.add_help_option = False
        shown = "Show this message and exit."
        command.params.append(printing_option(_HELP, shown, click.Context.get_help))


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Combine an option after the verb with the same one before it."""
    app = context.ensure_object(App)
    if parameter.name == "quiet":
        app.quiet |= value
    elif parameter.name == "verbose":
        app.verbosity += value
    elif parameter.name == "no_pager":
        app.no_pager |= value
    elif value is not None:
        app.color = value
        _apply_color(context, value, app.environ)


def _apply_color(context: click.Context, choice: str, environ: Mapping[str, str]) -> None:
    """Fix whether `click.echo` keeps colours; None leaves it to each stream: is it a terminal?"""
    on, off = (wants_color(choice, environ, is_terminal) for is_terminal in (True, False))
    context.color = on if on == off else None


def _global_options() -> list[click.Option]:
    """Hidden: the help of the program names them once, for every verb."""
    hidden = partial(Option, expose_value=False, hidden=True, callback=_remember)
    return [
        hidden(["-q", "--quiet"], is_flag=True),
        hidden(["-v", "--verbose"], count=True),
        hidden(["--no-pager"], is_flag=True),
        hidden(["--color"], type=click.Choice(["auto", "always", "never"])),
    ]


def _json_option(command: click.Command) -> click.Option:
    """--json of a section goes to its own verb; of a command that has none, it is refused."""
    is_group = isinstance(command, click.Group)
    runs_bare = is_group and command.invoke_without_command

    def refuse(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value:
            why = "takes --json behind one of its commands" if is_group else "prints no JSON"
            raise click.UsageError(f"`{context.command_path}` {why}", context)

    callback = _remember_json if runs_bare else refuse
    return Option(["--json"], is_flag=True, expose_value=False, hidden=True, callback=callback)


def _split_settings(
    _context: click.Context, _parameter: click.Parameter, values: Sequence[str]
) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if wrong := [key for key, equals, _ in pairs if not equals]:
        raise click.BadParameter(f"`{wrong[0]}` is not KEY=VALUE")
    return {key.strip(): value for key, _, value in pairs}


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    epilog="Words, output and exit codes are explained by `session-memory help`.",
)
@option("--config", "config_path", metavar="PATH", help="Read this configuration file.")
@option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_split_settings,
    help="Set a key for this run; repeatable.",
)
@option("--store", "hub_url", metavar="URL", help="Read the hub you joined, not your store.")
@option("-q", "--quiet", is_flag=True, help="Print only results and warnings, no hints.")
@option(
    "-v",
    "--verbose",
    count=True,
    help="Say more; -vv names files that are skipped too.",
)
@option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour; NO_COLOR is honoured.",
)
@option("--json", is_flag=True, expose_value=False, hidden=True, callback=_remember_json)
@option("--no-pager", is_flag=True, help="Print long output at once; so does NO_PAGER=1.")
@click.pass_context
def cli(
    ctx: click.Context,
    *,
    config_path: str | None,
    settings: dict[str, str],
    hub_url: str | None,
    color: str,
    quiet: bool,
    verbose: int,
    no_pager: bool,
) -> None:
    """One memory for every coding agent on this machine.

    \b
    Examples:
      session-memory                      what is here, and what to type next
      session-memory sweep                capture new sessions
      session-memory search "flaky test"  find what was said or run
      session-memory show 42              show one session
      session-memory help                 what the words mean
    """
    app = ctx.ensure_object(App)
    app.config_path, app.flags, app.color = config_path, settings, color
    app.quiet, app.verbosity, app.no_pager = quiet, verbose, no_pager
    app.hub_url = hub_url
    app.follows_hub = ctx.invoked_subcommand in FOLLOWS_HUBS
    _apply_color(ctx, color, app.environ)
    if hub_url is not None and ctx.invoked_subcommand not in READS_HUBS:
        raise click.UsageError(f"--store URL is for {', '.join(READS_HUBS)}", ctx)
    app.copies_hub = ctx.invoked_subcommand != "rules"
    if ctx.invoked_subcommand is not None:
        _refuse_early_json(ctx)
        return
    from session_memory.cli.overview import show_overview

    show_overview(app)


cli.params.append(
    printing_option(
        ["--version"], "Show the version and exit.", lambda _: f"session-memory {__version__}"
    )
)
_take_help_option(cli)
