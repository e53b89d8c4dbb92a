"""What the verbs that wire agents share: our commands, the files, diffs and the question."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from session_memory.adapters import registry
from session_memory.adapters.shared_wiring.client import Client, InstallContext
from session_memory.adapters.shared_wiring.launchers import Launchers, find_launchers
from session_memory.adapters.shared_wiring.policies import SystemPlaces
from session_memory.cli.app import App
from session_memory.cli.output import Meaning, one_line, paint, safe
from session_memory.errors import Refused
from session_memory.install import files
from session_memory.install.ledger import Ledger, read_ledger
from session_memory.install.plan import (
    CurrentFile,
    FileChange,
    Problem,
    ReadFile,
    WiringState,
    wiring_state,
)
from session_memory.install.survey import chosen, present, project_root

SYSTEM_ROOT = ""
"""In front of places of the whole machine, such as /etc; tests have a machine of their own."""
LONGEST = 300
"""Characters of a line that are shown; some clients keep everything on one."""


def launchers(app: App) -> Launchers:
    """Our commands on this machine."""
    named = app.config_path or app.environ.get("SESSION_MEMORY_CONFIG")
    return find_launchers(app.environ, app.paths, named)


def context(app: App, *, project: bool = False) -> InstallContext:
    """The user's home, or the project this was started in."""
    home = str(Path.home())
    root = project_root(os.getcwd(), home) if project else None
    system = SystemPlaces(sys.platform, SYSTEM_ROOT)
    return InstallContext(home, dict(app.environ), root, system)


def file_reader(where: InstallContext, ledger: Ledger | None = None) -> ReadFile:
    """How files are read there: those of a project may not lead out of it."""
    wired_projects = {entry.project for entry in ledger.entries} if ledger else set[str | None]()
    projects = [root for root in (where.project, *wired_projects) if root]

    def read(path: str) -> CurrentFile:
        root = next((project for project in projects if path.startswith(project + os.sep)), None)
        return files.read_file(path, root)

    return read


def clients(where: InstallContext, names: tuple[str, ...]) -> list[Client]:
    """Those that were named, else all that are here."""
    return chosen(names) if names else present(where)


def wirings(app: App) -> dict[str, WiringState]:
    """How each client of this user is wired."""
    where, ours = context(app), launchers(app)
    return {
        name: wiring_state(client, where, ours, file_reader(where))
        for name, client in registry.clients().items()
    }


def hooked_places(app: App) -> frozenset[str | None]:
    """Where some agent has our hook: None for the whole account, else roots of projects."""
    ledger = read_ledger(app.paths.data)
    projects = {entry.project for entry in ledger.entries if entry.project}
    everywhere = any(state.hooks in ("wired", "outdated") for state in wirings(app).values())
    return frozenset({*projects, *([None] if everywhere else [])})


def diff(change: FileChange) -> str:
    """A change as a unified diff, without secrets and without anything a terminal would obey."""
    import difflib

    from session_memory.redact import Redactor

    name = one_line(change.path)
    before = name if change.before is not None else "/dev/null"
    after = name if change.after is not None else "/dev/null"
    lines = difflib.unified_diff(
        *(_lines(change.before), _lines(change.after), before, after), n=2, lineterm=""
    )
    hide = Redactor(b"not stored").redact_text
    return "\n".join(safe(_cut(hide(line))) for line in lines)


def warn_of_problems(app: App, problems: Iterable[Problem]) -> None:
    """Warn of files that cannot be changed."""
    for problem in problems:
        hint = f" ({problem.hint})" if problem.hint else ""
        app.warn(f"{one_line(problem.path)}: {problem.message}{hint}")


def ask(
    app: App, question: str, what: str, changes: Sequence[FileChange], *, hint: str = ""
) -> bool:
    """Ask once at a terminal, with the diff on demand; without a terminal `--yes` is needed."""
    if app.json or not sys.stdin.isatty():
        why = "--json asks no questions" if app.json else "without a terminal we cannot ask"
        raise Refused(
            f"{what}; {why}",
            hint=f"add --yes to do it{hint}",
        )
    legend = ", d for the diff" if changes else ""
    while True:
        click.echo(f"{question} [y/N{legend}] ", err=True, nl=False)
        answer = click.prompt("", "n", show_default=False, prompt_suffix="", err=True)
        match answer.strip().lower():
            case "y" | "yes":
                return True
            case "n" | "no":
                app.note("nothing was written")
                return False
            case "d" | "diff" if changes:
                show_diffs(app, changes)
            case _:
                click.echo(f"please answer y or n{legend}", err=True)


def show_diffs(app: App, changes: Iterable[FileChange]) -> None:
    """Print every change as a coloured diff, through the pager where it is long."""
    from session_memory.cli.pager import paged

    with paged(app.environ, wanted=not app.no_pager):
        for change in changes:
            for line in diff(change).split("\n"):
                click.echo(paint(line, _diff_meaning(line)))


def _diff_meaning(line: str) -> Meaning | None:
    if line.startswith(("+++ ", "--- ")):
        return "strong"
    meanings: dict[str, Meaning] = {"+": "ok", "-": "error", "@": "dim"}
    return meanings.get(line[:1])


def line_counts(change: FileChange) -> tuple[int, int]:
    """Lines that a change adds and removes."""
    import difflib

    before, after = _lines(change.before), _lines(change.after)
    start = _same(before, after)
    end = _same(before[start:][::-1], after[start:][::-1])
    # Without what is the same at both ends: some clients keep files of many thousand lines.
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    steps = difflib.SequenceMatcher(None, old, new).get_opcodes()
    changed = [step for step in steps if step[0] != "equal"]
    added = sum(end - start for _, _, _, start, end in changed)
    return added, sum(end - start for _, start, end, _, _ in changed)


def _same(first: list[str], second: list[str]) -> int:
    """How many lines two texts share at their start."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(first), len(second)))


def change_line(change: FileChange, home: str) -> str:
    """What happens to a file, in one line."""
    added, removed = line_counts(change)
    verb = "change"
    if change.before is None or change.after is None:
        verb = "create" if change.before is None else "remove"
    counts = " ".join(f"{sign}{n}" for sign, n in (("+", added), ("-", removed)) if n)
    return f"{verb} {short_path(change.path, home)}{f' ({counts})' if counts else ''}"


def short_path(path: str, home: str) -> str:
    """A path for people: `~` for the home, nothing a terminal would obey."""
    inside = path.startswith(home.rstrip(os.sep) + os.sep) and len(home) > 1
    return one_line(f"~{path[len(home.rstrip(os.sep)) :]}" if inside else path)


def _lines(data: bytes | None) -> list[str]:
    if data is None:
        return []
    text = data.decode("utf-8", "replace")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]}\\ no newline at the end"]


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line)} characters)"
