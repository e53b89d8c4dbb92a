"""Loads what the other screens need, once, after the first one was sent.

So start is quick, and so is the first look at each screen: importing what a screen needs takes up
to half a second, which the reader waits before a page is sent, but not after it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from importlib import import_module
from threading import Event, Lock

from jinja2 import Environment

PATIENCE_SECONDS = 1.0
"""How long it waits for a page that is being made before it continues anyway."""
YIELD_SECONDS = 0.0005
"""How long it loads before it lets a waiting request go first."""


class WarmUp:
    """The modules and templates of all screens, until they are loaded."""

    def __init__(self, modules: Iterable[str], templates: Environment) -> None:
        self._modules = tuple(dict.fromkeys(modules))
        self._templates = templates
        self._lock = Lock()
        self._idle = Event()
        self._idle.set()
        self._busy = 0
        self.is_due = True

    @contextmanager
    def held(self) -> Generator[None]:
        """Pause loading while a page is made, so that its reader does not wait longer."""
        with self._lock:
            self._busy += 1
            self._idle.clear()
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1
                if not self._busy:
                    self._idle.set()

    def run(self) -> None:
        """Load everything, the first time this is called."""
        with self._lock:
            if not self.is_due:
                return
            self.is_due = False
        before = sys.getswitchinterval()
        sys.setswitchinterval(YIELD_SECONDS)
        try:
            for name in self._modules:
                self._idle.wait(PATIENCE_SECONDS)
                import_module(f"session_memory.web.{name}")
            for name in self._templates.list_templates(extensions=["html"]):
                self._idle.wait(PATIENCE_SECONDS)
                self._templates.get_template(name)
        finally:
            sys.setswitchinterval(before)
