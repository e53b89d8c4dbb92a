"""`session-memory review draft`: let a model word a pattern's text; nothing is decided by it."""

from __future__ import annotations

import secrets

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json
from session_memory.cli.store import reading
from session_memory.core.loop.catalog import Catalog
from session_memory.errors import ModelUnavailable


@click.command()
@click.argument("pattern")
@json_option
@pass_app
def draft(app: App, pattern: str) -> None:
    """Ask the model of [model] for a better wording, and print it. Nothing is changed.

    \b
    Examples:
      session-memory review draft fc-12ab
      session-memory review draft fc-12ab | session-memory review edit fc-12ab --file -
    """
    from session_memory.curate.catalog import read_catalog
    from session_memory.curate.draft import ask_for, improved
    from session_memory.curate.review import find
    from session_memory.curate.wording import make_clean
    from session_memory.ingest.redaction import make_redactor
    from session_memory.model.open import open_model

    catalog = read_catalog(app.paths.data)
    entry = find(catalog, full_name(catalog, pattern))
    request = ask_for(entry, quotes_of(catalog, entry.id), app.config.model.timeout_seconds)
    redactor, _ = make_redactor(b"review", app.config.redact)
    with reading(app) as store:
        run = secrets.token_hex(8)
        model = open_model(app.config.model, app.environ, store.spend, app.clock, run)
        if model is None:
            raise ModelUnavailable(
                "no model is turned on", hint="set model.provider, or use `review edit`"
            )
        text = improved(model, request, make_clean(redactor))
    if app.json:
        emit_json({"pattern": entry.id, "before": entry.text, "draft": text})
        return
    click.echo(text)


def full_name(catalog: Catalog, given: str) -> str:
    """The pattern whose id begins so, where there is one."""
    names = {*catalog.patterns, *catalog.proposals}
    near = [name for name in names if name.startswith(given)]
    return near[0] if given not in names and len(near) == 1 else given


def quotes_of(catalog: Catalog, name: str) -> tuple[str, ...]:
    """Words that show the pattern, as far as the proposal keeps them."""
    proposal = catalog.proposals.get(name)
    found = proposal.evidence if proposal is not None else ()
    return tuple(dict.fromkeys(item.quote for item in found if item.quote))
