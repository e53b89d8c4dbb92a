"""`--store URL`: the hub that this machine joined, copied into a store that one command reads."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from session_memory.cli.app import App
from session_memory.cli.output import count_progress
from session_memory.errors import HubRefused, Refused, SessionMemoryError
from session_memory.paths import Paths
from session_memory.store import open_store
from session_memory.store.port import Store
from session_memory.store.remote_call import HubClient, check_url
from session_memory.team.membership import Membership, membership
from session_memory.team.mirror import Progress, fill, state_of
from session_memory.team.remote_store import RemoteStore, as_store

FOLLOW_SECONDS = 60.0
"""How often a server that shows a hub asks whether anything changed there."""


def joined_hub(own: Paths, url: str) -> Membership:
    """This machine as a member of the hub at an address."""
    joined = membership(own.data)
    if check_url(url) != joined.url:
        raise Refused(
            f"this machine has no token for {url}", hint=f"it belongs to the hub at {joined.url}"
        )
    return joined


@contextmanager
def open_hub(app: App, url: str) -> Generator[Store]:
    """The hub as a store: it is asked itself, and copied only for what it cannot answer."""

    def copy() -> Store:
        app.note("the newest sessions of the hub are copied to answer this")
        return open_store(str(app.paths.data), app.clock(), read_only=True)

    with RemoteStore(joined_hub(app.own_paths, url), copy) as store:
        yield as_store(store)


def over_copy(app: App) -> Callable[[Store], Store]:
    """For a server that has the copy open: what the hub answers itself is asked of it."""
    if app.hub_url is None:
        return lambda store: store
    joined = joined_hub(app.own_paths, app.hub_url)
    return lambda store: as_store(RemoteStore(joined, lambda: store, store))


def copied_hub(app: App, own: Paths, url: str) -> Paths:
    """Where the copy is; it is deleted when the process ends, and renewed where that lasts."""
    folder = Path(tempfile.mkdtemp(prefix="session-memory-hub-"))
    atexit.register(partial(shutil.rmtree, folder, ignore_errors=True))
    copy = HubCopy(joined_hub(own, url), folder, app.clock)
    with count_progress("session", shown=app.shows_progress) as advance:
        copy.renew(lambda n, name: advance(n, 0, name))
    if app.follows_hub:
        threading.Thread(target=copy.follow, args=(app.warn,), daemon=True).start()
    return Paths(own.config_file, copy.data, folder / "state", folder / "cache", own.hooks)


class HubCopy:
    """A copy of what this machine may see of its shared projects, below a directory of its own."""

    def __init__(self, joined: Membership, folder: Path, clock: Callable[[], int]) -> None:
        self._joined = joined
        self._folder = folder
        self._clock = clock
        self._copied_state: dict[str, str] | None = None
        self._made = 0
        self._current = folder / "current"
        self.data = self._current / "store"
        """A link to the newest copy; a reader of it is not disturbed by the next one."""

    def renew(self, progress: Progress = lambda _count, _project: None) -> bool:
        """Copy the hub if it changed since the last time; returns whether it did."""
        client = HubClient(self._joined.url, self._joined.token)
        try:
            state = state_of(client, self._joined)
            if state == self._copied_state:
                return False
            directory = self._folder / str(self._made + 1)
            shutil.rmtree(directory, ignore_errors=True)  # of a copy that was cut off
            directory.mkdir(mode=0o700)
            fill(str(directory / "store"), client, tuple(sorted(state)), self._clock(), progress)
        finally:
            client.close()
        self._made += 1
        link = self._folder / "next"
        link.unlink(missing_ok=True)
        link.symlink_to(directory.name, target_is_directory=True)
        os.replace(link, self._current)
        # A page that is being made may still read the last one.
        shutil.rmtree(self._folder / str(self._made - 2), ignore_errors=True)
        self._copied_state = state
        return True

    def follow(self, warn: Callable[[str], None], stop: threading.Event | None = None) -> None:
        """Renew it again and again; what the hub no longer shows this device is not kept either."""
        stop = stop or threading.Event()
        while not stop.wait(FOLLOW_SECONDS):
            try:
                self.renew()
            except HubRefused as error:
                warn(f"{error.message}: the copy of the hub is deleted")
                self.drop()
                return
            except (SessionMemoryError, OSError) as error:
                warn(f"the hub was not asked for news: {error}")

    def drop(self) -> None:
        """Delete every copy."""
        self._current.unlink(missing_ok=True)
        for entry in self._folder.iterdir():
            with suppress(OSError):
                shutil.rmtree(entry)
