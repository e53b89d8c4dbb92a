"""`session-memory store fsck`: check every row, segment and index entry."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import count_progress, emit_json, one_line, paint
from session_memory.cli.store import alone
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, DatabaseDamaged
from session_memory.store.damage import note_damage
from session_memory.store.maintenance import is_file_damage
from session_memory.store.port import Finding


@click.command(name="fsck")
@json_option
@pass_app
def command(app: App) -> int:
    """Check every row and segment of the store.

    Exit code 0: no damage. 3: only warnings, such as files left by a crash. 1: damage.

    \b
    Examples:
      session-memory store fsck
      session-memory store fsck --json
    """
    try:
        with (
            alone(app, "a sweep") as store,
            count_progress("checks", shown=app.shows_progress) as bar,
        ):
            findings = store.fsck(bar)
    except DatabaseDamaged as error:  # so damaged that it cannot be opened
        findings = [Finding("integrity", error.message)]
    bad = next((finding for finding in findings if is_file_damage(finding)), None)
    if bad is not None:  # so that the next sweep does not write into it
        note_damage(str(app.paths.data), app.clock(), f"fsck found: {bad.detail}")
    if app.json:
        emit_json({"ok": not findings, "findings": findings})
    else:
        for finding in findings:
            level = paint(
                f"{finding.severity}:", "error" if finding.severity == "error" else "warn"
            )
            click.echo(f"{level} {finding.check}: {one_line(finding.detail)}")
        click.echo(
            paint("the store is whole", "ok") if not findings else f"{len(findings)} findings"
        )
        if findings:
            click.echo("`session-memory store repair` shows what can be repaired")
    if any(finding.severity == "error" for finding in findings):
        return 1
    return EXIT_WARNINGS if findings else EXIT_OK
