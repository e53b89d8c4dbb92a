"""Entry point: runs the command line and turns every way it can end into an exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence

from session_memory.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    SessionMemoryError,
    as_disk_trouble,
)

LONGEST_MESSAGE = 2_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    os.umask(0o077)  # whatever a library creates on our behalf is private too
    # Events and records form no cycles: looking for some every 700 objects is 4 % of a sweep.
    gc.set_threshold(200_000, 50, 100)
    atexit.register(_skip_last_collection)
    try:
        code = _version() if args == ["--version"] else _run(args)
        sys.stdout.flush()  # here, so that a closed pipe is noticed where it is handled
    except SessionMemoryError as error:
        return _fail(args, error.exit_code, error.code, (error.message, error.hint))
    except KeyboardInterrupt:
        return _fail(args, EXIT_INTERRUPTED, "interrupted", ("interrupted", None))
    except BrokenPipeError:
        # The reader (`head`, a pager) has what it wants; nothing may be flushed there at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception as error:  # noqa: BLE001 - the last resort: users see no traceback
        from session_memory.store.failures import as_store_error

        if (expected := as_store_error(error) or as_disk_trouble(error)) is not None:
            return _fail(args, expected.exit_code, expected.code, (expected.message, expected.hint))
        if os.environ.get("SESSION_MEMORY_DEBUG"):
            import traceback

            traceback.print_exc()
        text = f"unexpected {type(error).__name__}: {error}"
        return _fail(args, 1, "unexpected", (text, "set SESSION_MEMORY_DEBUG=1 for the traceback"))
    return code


def _skip_last_collection() -> None:
    """At its end Python collects garbage once more, which takes a tenth of `status`."""
    if "_duckdb" not in sys.modules:  # it would report the rest as leaks, on stderr
        gc.freeze()


def _version() -> int:
    """Scripts and installers call this often: it does not import click."""
    from session_memory import __version__

    print(f"session-memory {__version__}")
    return EXIT_OK


def _open_closed_streams() -> None:
    """Open the standard streams that the caller closed, on the null device.

    Otherwise a file of ours would get the free number, and be written over.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def main_as(verb: str, given: Sequence[str]) -> int:
    """Run one verb by its module (`python -m session_memory.ingest`).

    `verb` is what follows `session-memory` on a command line. `--config` and `--set` belong to the
    group, everything else to the verb.
    """
    group: list[str] = []
    own: list[str] = []
    rest = iter(given)
    for argument in rest:
        if argument in ("--config", "--set"):
            group += [argument, *([value] if (value := next(rest, None)) is not None else [])]
        elif argument.startswith(("--config=", "--set=")):
            group.append(argument)
        else:
            own.append(argument)
    return main([*group, *verb.split(), *own])


def _run(args: list[str]) -> int:
    from session_memory.late_modules import load_late

    load_late()
    import click

    from session_memory.cli.app import App, cli

    if "_SESSION_MEMORY_COMPLETE" in os.environ:
        return _complete(args)
    try:
        # Not cli.main(): it would turn a closed pipe into exit 1.
        # A copy of the arguments: click takes out what it has parsed, and errors look for --json.
        with cli.make_context(
            "session-memory", list(args), obj=App(), terminal_width=_help_width()
        ) as context:
            result = cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return _fail(args, EXIT_INTERRUPTED, "interrupted", ("interrupted", None))
    except click.ClickException as error:
        return _fail(args, error.exit_code, "usage", (error.format_message(), None))
    return result if isinstance(result, int) else EXIT_OK


def _help_width() -> int | None:
    """The width of help at a narrow terminal, where click would take 50 columns."""
    from session_memory.cli.output import columns

    limit = columns()
    return max(limit - 2, 20) if limit is not None and limit < 52 else None


def _complete(args: list[str]) -> int:
    """Print what a shell can complete; an error must not write onto the line being typed."""
    from session_memory.cli.app import cli

    try:
        cli.main(args, prog_name="session-memory")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except Exception:  # noqa: BLE001 - see above
        return 1
    return EXIT_OK


def _fail(
    args: list[str], exit_code: int, code: str, message_and_hint: tuple[str, str | None]
) -> int:
    """Print what went wrong to stderr, as JSON with `--json`."""
    import click

    from session_memory.cli.output import message, to_json, wants_color

    text, hint = message_and_hint
    if hint is None and exit_code != EXIT_INTERRUPTED:
        hint = f"see `{_command_of(args)} --help`"
    if "--json" in args:
        print(to_json({"error": {"code": code, "message": text, "hint": hint}}), file=sys.stderr)
        return exit_code
    color = wants_color(_color_choice(args), os.environ, sys.stderr.isatty())
    if len(text) > LONGEST_MESSAGE:  # it repeats an argument, which may be huge
        text = f"{text[:LONGEST_MESSAGE]}… ({len(text):,} characters)"
    click.echo(message("error:", "error", text), err=True, color=color)
    if hint:
        click.echo(message("hint:", "dim", hint), err=True, color=color)
    return exit_code


def _command_of(args: list[str]) -> str:
    """The command that was called, as far as the words name one."""
    from session_memory.cli.verbs import VERBS, Section

    path, verbs = ["session-memory"], dict[str, object](VERBS)
    for word in args:
        if word in verbs:
            path.append(word)
            verb = verbs[word]
            if not isinstance(verb, Section):
                break
            verbs = dict[str, object](verb.verbs)
    return " ".join(path)


def _color_choice(args: list[str]) -> str:
    """The value of `--color`; the command line may be too wrong for click to know it."""
    pairs = zip(args, [*args[1:], ""], strict=True)
    chosen = [value for name, value in pairs if name == "--color"]
    chosen += [arg.removeprefix("--color=") for arg in args if arg.startswith("--color=")]
    return next((value for value in chosen if value in ("always", "never")), "auto")


if __name__ == "__main__":
    sys.exit(main())
