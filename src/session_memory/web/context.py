"""What every page is made from."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Literal

import msgspec

from session_memory.clock import Clock
from session_memory.errors import SessionMemoryError
from session_memory.paths import Paths
from session_memory.recall.context import RecallContext
from session_memory.settings import Config
from session_memory.store import open_store
from session_memory.store.port import Store

if TYPE_CHECKING:
    from session_memory.curate.decisions import CurateContext


class FirstStep(msgspec.Struct, frozen=True):
    """What `init` would do for one agent of this machine."""

    agent: str
    what: tuple[str, ...]


class Finding(msgspec.Struct, frozen=True):
    """One thing the doctor looked at."""

    name: str
    result: Literal["pass", "warn", "fail"]
    detail: str
    fix: str | None = None


class FrontEnd(msgspec.Struct, frozen=True):
    """What the command line knows and the page shows: it checks agents and plans their wiring."""

    check: Callable[[], Sequence[Finding]]
    detect: Callable[[], None]
    plan_init: Callable[[], Sequence[FirstStep]]
    warn: Callable[[str], None]


class Health:
    """What the last check of this run found."""

    def __init__(self) -> None:
        self.findings: Sequence[Finding] = ()
        self.at = 0
        self.checking = Lock()
        """A request during a check waits for that check."""

    @property
    def problems(self) -> int:
        """The number of findings that need attention."""
        return sum(finding.result != "pass" for finding in self.findings)


class WebContext(msgspec.Struct, frozen=True):
    """Settings, paths and the clock; the store is opened for each request."""

    config: Config
    paths: Paths
    clock: Clock
    environ: Mapping[str, str]
    front_end: FrontEnd
    is_hub: bool = False
    """The store is a copy of a hub: it is shown, and nothing in it is decided."""
    over: Callable[[Store], Store] = lambda store: store
    """Answers instead of the store, such as the hub that the store is a copy of."""
    health: Health = msgspec.field(default_factory=Health)
    detecting: Lock = msgspec.field(default_factory=Lock)
    """A request for rules during detection waits for it."""
    warned: set[str] = msgspec.field(default_factory=set[str])
    """Warnings that were shown: each page and decision would repeat them."""

    @contextmanager
    def reading(self) -> Generator[Store]:
        """The store, for a page that only shows: sweeps go on meanwhile."""
        opened = open_store(str(self.paths.data), self.clock(), read_only=True)
        with self.over(opened) as store:
            yield store

    @contextmanager
    def changing(self) -> Generator[Store]:
        """The store, for a decision of the user."""
        with open_store(str(self.paths.data), self.clock()) as store:
            yield store

    @property
    def curate(self) -> CurateContext:
        """What deciding on rules needs."""
        from session_memory.curate.decisions import CurateContext  # slow to import

        return CurateContext(
            paths=self.paths,
            config=self.config,
            environ=self.environ,
            clock=self.clock,
            open_store=self.changing,
            warn=self.warn_once,
            decided=self.renew_guards,
        )

    def warn_once(self, text: str) -> None:
        """Show a warning where the page was started, unless it was shown there before."""
        if text not in self.warned:
            self.warned.add(text)
            self.front_end.warn(text)

    def renew_guards(self) -> None:
        """Let hooks check what is approved now; the worker does it where this fails."""
        from session_memory.worker.guard_table import refresh_guards  # slow to import

        with suppress(OSError, SessionMemoryError), self.changing() as store:
            refresh_guards(store, self.paths, self.config, self.clock())

    @contextmanager
    def recall(self) -> Generator[RecallContext]:
        """The context for questions to the store."""
        with self.reading() as store:
            yield RecallContext(store, self.clock, True, self.paths.data, self.config.journal.vault)
