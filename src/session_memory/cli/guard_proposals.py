"""Proposals to switch off guards that were overridden more often than they helped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from session_memory.cli.app import App
from session_memory.cli.store import reading
from session_memory.core.loop.guards import SPOKE
from session_memory.measure.guard_use import guard_uses, retirement_sentence
from session_memory.store import store_exists
from session_memory.store.guard_files import read_guards

if TYPE_CHECKING:
    from session_memory.store.port import BackgroundStore


def guard_proposals(app: App) -> list[str]:
    """A sentence for each such guard that is not switched off yet."""
    if not store_exists(app.paths.data):
        return []
    with reading(app) as store:
        return proposals_in(store, app.paths.data)


def proposals_in(store: BackgroundStore, data: Path) -> list[str]:
    """The same for an open store."""
    off = {choice.rule for choice in read_guards(data).choices if choice.wish == "off"}
    uses = guard_uses(store.live.given_with(SPOKE))
    return [retirement_sentence(use) for use in uses.values() if use.annoys and use.rule not in off]
