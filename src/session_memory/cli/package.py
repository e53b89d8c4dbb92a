"""`session-memory package`: build the plug-in or extension that users of an agent install."""

from __future__ import annotations

from pathlib import Path

import click

from session_memory.atomic_files import replace_file
from session_memory.cli.app import App, dry_run_option, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, one_line
from session_memory.errors import Refused
from session_memory.packages.build import package_of, standalone_files


@click.command(name="package")
@option("--agent", metavar="NAME", required=True, help="The agent it is for.")
@dry_run_option
@json_option
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@pass_app
def command(app: App, agent: str, *, dry_run: bool, out: Path) -> None:
    """Build the package of an agent in the folder OUT, and say how it is installed.

    There is one for claude, codex, gemini, opencode, copilot and pi: hooks, MCP server, a skill and
    commands. It names no path of this machine, so it can be shared; whoever installs it needs
    session-memory too. OUT must be empty or hold an earlier build. Where `init` has run too,
    hooks are still called only once.

    \b
    Examples:
      session-memory package --agent claude ~/session-memory-plugin
      session-memory package --agent gemini build/gemini --dry-run
    """
    files, (_, package) = standalone_files(agent), package_of(agent)
    strange = _strange(out, files)
    if strange:
        raise Refused(
            f"{one_line(str(out))} has files that are not part of a package: {', '.join(strange)}",
            hint="name an empty folder",
        )
    for name, text in files.items():
        if not dry_run:
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode(), 0o644)
    absolute_path = str(out.absolute())
    how = [line.format(path=absolute_path, market=absolute_path) for line in package.install]
    if app.json:
        emit_json(
            {"path": absolute_path, "files": sorted(files), "install": how, "dry_run": dry_run}
        )
        return
    verb = "would be written" if dry_run else "written"
    click.echo(f"{len(files)} files {verb} in {one_line(absolute_path)}; to install them:")
    for line in how:
        click.echo(f"  {one_line(line)}")


def _strange(out: Path, files: dict[str, str]) -> list[str]:
    """The first files in the folder that no build would have written."""
    if not out.exists():
        return []
    present = (path.relative_to(out).as_posix() for path in out.rglob("*") if not path.is_dir())
    return sorted(name for name in present if name not in files)[:3]
