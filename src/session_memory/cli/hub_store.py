"""`--store URL`: the hub that this machine joined, copied into a store that one command reads."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import partial
from pathlib import Path

from session_memory.cli.app import App
from session_memory.cli.output import count_progress
from session_memory.errors import Refused
from session_memory.paths import Paths
from session_memory.store.remote_call import HubClient, check_url


def copied_hub(app: App, own: Paths, url: str) -> Paths:
    """Where the copy is; it is deleted when the process ends."""
    from session_memory.team.membership import membership
    from session_memory.team.mirror import fill

    joined = membership(own.data)
    if check_url(url) != joined.url:
        raise Refused(
            f"this machine has no token for {url}", hint=f"it belongs to the hub at {joined.url}"
        )
    place = Path(tempfile.mkdtemp(prefix="session-memory-hub-"))
    atexit.register(partial(shutil.rmtree, place, ignore_errors=True))
    projects = tuple(sorted({share.project for share in joined.shared}))
    client = HubClient(joined.url, joined.token)
    try:
        with count_progress("session", shown=app.shows_progress) as advance:
            fill(str(place), client, projects, app.clock(), lambda n, name: advance(n, 0, name))
    finally:
        client.close()
    return own.with_store(place)
