"""`session-memory web`: the local page."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from session_memory.cli.app import App, pass_app
from session_memory.cli.options import option
from session_memory.errors import ConfigError, SessionMemoryError, extra_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from session_memory.web.context import Finding, FirstStep, FrontEnd


@click.command()
@option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any free one.")
@option("--name", "names", multiple=True, metavar="HOST:PORT",
              help="Also answer under this name, for a port forward.")  # fmt: skip
@option("--idle", "idle_minutes", type=click.IntRange(1), default=30, show_default=True,
              metavar="MINUTES", help="Stop after this long without use.")  # fmt: skip
@option("--no-browser", is_flag=True, help="Only print the link.")
@pass_app
def command(
    app: App, *, port: int, names: tuple[str, ...], idle_minutes: int, no_browser: bool
) -> None:
    """Open the local page: read, search, review rules, see costs.

    It answers this machine only, to whoever opens the link that is printed; the link works once.
    It ends with Ctrl-C, or when it was not used for a while. Needs the extra `web`:
    `pip install 'session-memory[web]'`, or `make web` in a checkout.

    With `--store URL` before `web` it shows the hub you joined, where nothing can be decided.

    \b
    Examples:
      session-memory web
      session-memory web --no-browser --port 8420
      session-memory web --name devbox:9000     behind a port forward from devbox:9000
    """
    try:
        from session_memory.web.server import serve
    except ImportError as error:
        raise ConfigError(
            f"the page needs packages that are not installed ({error.name})",
            hint=f"{extra_hint('web')}, or make web",
        ) from None
    from session_memory.cli.hub_store import over_copy
    from session_memory.cli.store import reading
    from session_memory.web.context import WebContext

    def announce(link: str) -> None:
        click.echo(link)
        app.note("the link works once, while this command runs. Ctrl-C ends the page")
        if not no_browser:
            click.launch(link)

    with suppress(SessionMemoryError), reading(app):
        pass  # pages read the store in the schema it has: an older one is brought up to date here
    front_end = _front_end(app) if app.hub_url is None else _no_front_end(app)
    context = WebContext(
        app.config,
        app.paths,
        app.clock,
        app.environ,
        front_end,
        is_hub=app.hub_url is not None,
        over=over_copy(app),
    )
    serve(
        context,
        port=port,
        names=names,
        idle_seconds=idle_minutes * 60.0,
        announce=announce,
    )


def _no_front_end(app: App) -> FrontEnd:
    """Of a hub: what this machine is like, and what recurs in its own store, is not asked here."""
    from session_memory.web.context import FrontEnd

    return FrontEnd(check=lambda: (), detect=lambda: None, plan_init=lambda: (), warn=app.warn)


def _front_end(app: App) -> FrontEnd:
    """The doctor and the plan of `init`, imported when a page first asks for them."""
    from session_memory.web.context import FirstStep, FrontEnd

    def check() -> Sequence[Finding]:
        from session_memory.cli.child_commands import findings

        return findings(app)

    def detect() -> None:
        from session_memory.cli.child_commands import look_for_rules

        look_for_rules(app)

    def plan_init() -> Sequence[FirstStep]:
        from session_memory.cli.init_summary import planned

        return [FirstStep(agent, lines) for agent, lines in planned(app)]

    return FrontEnd(check, detect, plan_init, app.warn)
