"""The answer to every form when the page shows a hub."""

from __future__ import annotations

from typing import NoReturn

from session_memory.errors import Refused
from session_memory.web.context import WebContext
from session_memory.web.page import PageRequest


def refuse(_web: WebContext, _request: PageRequest) -> NoReturn:
    """Nothing can be changed in a copy."""
    raise Refused(
        "this page shows a hub, where nothing can be decided",
        hint="open your own with `session-memory web`; what you push is what changes on the hub",
    )
