"""How verbs take and name a session: by the store's number or by the id its agent gave it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from session_memory.cli.options import option
from session_memory.cli.output import one_line
from session_memory.core.schema import Session

Callback = TypeVar("Callback", bound=Callable[..., Any])
NAMED_BY = "by its number or its agent's id"


def session_option(what: str = "Only this session") -> Callable[[Callback], Callback]:
    """`--session`, see core.session_reference for what it takes."""
    return option("--session", metavar="SESSION", help=f"{what}, {NAMED_BY}.")


def named(session: Session) -> str:
    """A session for people; number and id can both be typed back."""
    return one_line(f"{session.id}  {session.flavor} {session.external_id}")


def names(session: Session) -> dict[str, object]:
    """The same for programs."""
    return {"session_id": session.id, "session": session.external_id, "flavor": session.flavor}
