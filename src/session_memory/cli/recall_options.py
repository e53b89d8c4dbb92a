"""What the recall commands share: which project is meant, and how items are printed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from session_memory.cli.app import App
from session_memory.cli.options import option
from session_memory.cli.output import fit, paint, safe, say
from session_memory.cli.store import reading
from session_memory.core.project.directory import current_directory, project_at
from session_memory.errors import NotFound
from session_memory.recall.context import RecallContext
from session_memory.recall.requests import ScopeRequest
from session_memory.store.port import SessionReader, Store

if TYPE_CHECKING:  # their modules load the rules of distilling, which a search does not need
    from session_memory.recall.items import Item
    from session_memory.recall.left_out import LeftOut

Callback = TypeVar("Callback", bound=Callable[..., Any])


def project_option(callback: Callback) -> Callback:
    """`--project`, else the project of the working directory."""
    return option(
        "--project", metavar="KEY", help="This project, not that of the working directory."
    )(callback)


@contextmanager
def open_recall(app: App, *, read_only: bool = False) -> Generator[tuple[RecallContext, Store]]:
    """The open store, and the context for questions to it."""
    with reading(app) as store:
        if app.hub_url is not None:  # memories are shared line by line, and not as files
            yield RecallContext(store, app.clock, True), store
            return
        yield (
            RecallContext(store, app.clock, read_only, app.paths.data, app.config.journal.vault),
            store,
        )


def project_key(store: SessionReader, project: str | None) -> str:
    """The project that was named, or the one the working directory belongs to."""
    if project is not None:
        return project
    here = project_at(store.projects(), current_directory())
    if here is None:
        raise NotFound(
            "Project not found for this directory",
            hint="name one with --project KEY; `session-memory project list` lists them",
        )
    return here.key


def scope_request(store: SessionReader, project: str | None, session: str | None) -> ScopeRequest:
    """The requested scope; a session needs no project."""
    if session is None:
        return ScopeRequest(project_key(store, project))
    return ScopeRequest(project, store.find_session(session).id)


_REASONS = {
    "pending_items_open": "items are open",
    "blockers_open": "something blocks it",
    "dod_incomplete": "parts of the definition of done are missing",
    "missing_evidence": "nothing shows that it is done",
}


def reason_text(reason: str) -> str:
    """Why work is not done, in plain words."""
    return _REASONS.get(reason, reason)


def echo_items(heading: str, items: Iterable[Item], total: int | None = None) -> None:
    """A heading and its lines; nothing if there are none."""
    lines = tuple(items)
    if lines:
        of = f" ({len(lines)} of {total})" if total is not None and total > len(lines) else ""
        click.echo(paint(f"{heading}{of}:", "strong"))
        for line in lines:
            details = ", ".join(part for part in (line.sure, (line.at or "")[:10]) if part)
            click.echo(fit(f"  - {safe(line.text)}" + (f"  ({details})" if details else "")))


def echo_left_out(left: Iterable[LeftOut]) -> None:
    """What is not shown, each line with the reason."""
    lines = tuple(left)
    click.echo("left out:" if lines else "nothing is left out")
    for line in lines:
        say(f"  - {line.type}: {safe(line.text)}  [{line.reason}]")
