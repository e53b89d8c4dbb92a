"""Bringing the lessons of others down, and taking away what they took back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from session_memory.core.sharing.wire import Pulled, SharedItem
from session_memory.errors import HubRefused
from session_memory.store.remote_call import HubClient
from session_memory.team.membership import Membership
from session_memory.team.pulled import drop_pulled, read_pulled, write_pulled

PAGE = 500


class ProjectPull(msgspec.Struct):
    """What a pull did for one project."""

    project: str
    items: int = 0
    """Of others, known now."""
    new: int = 0
    gone: int = 0
    people: int = 0
    failed: str = ""
    hint: str = ""


def pull(
    data: Path,
    joined: Membership,
    client: HubClient,
    progress: Callable[[str, int], None] = lambda _project, _count: None,
) -> list[ProjectPull]:
    """Pull every project that this machine shares; one that fails does not stop the others."""
    projects = sorted({share.project for share in joined.shared})
    # What is not shared any more is not kept either: one takes part, or one does not.
    drop_pulled(data, lambda pulled: pulled.project not in projects or pulled.hub != joined.url)
    return [_pull(data, joined.url, client, project, progress) for project in projects]


def _pull(
    data: Path,
    hub: str,
    client: HubClient,
    project: str,
    progress: Callable[[str, int], None],
) -> ProjectPull:
    result = ProjectPull(project)
    pulled = read_pulled(data, project, hub)
    before = _versions(pulled.all)
    try:
        more = True
        while more:
            page = client.get("/v1/pull", Pulled, project=project, after=pulled.cursor, limit=PAGE)
            moved = page.cursor != pulled.cursor or page.items or page.deleted or page.restart
            pulled.take(page)
            if moved or not pulled.complete:
                write_pulled(data, pulled)
            progress(project, len(pulled.items))
            more = page.more
    except HubRefused as error:
        if error.reason.startswith("token"):
            raise
        result.failed, result.hint = error.message, error.hint or ""
    after = _versions(pulled.all)
    result.items = len(after)
    result.new = len(after - before)
    result.gone = len({name for name, _ in before} - {name for name, _ in after})
    result.people = len({shared.member for shared in pulled.all})
    return result


def _versions(items: Iterable[SharedItem]) -> set[tuple[str, str]]:
    return {(f"{each.member} {each.item.key}", each.item.hash) for each in items}
