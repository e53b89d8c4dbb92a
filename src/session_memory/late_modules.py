"""Modules that our libraries import and that most commands never use: loaded on first use.

They are a seventh of what a short command costs. Whoever uses one gets the module itself. Python's
own `LazyLoader` would load them at the second `import` of the same name.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

LATE = frozenset(
    {
        "inspect",  # click, for help texts of several lines
        "ipaddress",  # urllib.parse, for addresses in brackets
        "msgspec.inspect",  # msgspec, for JSON schemas
        "textwrap",  # likewise
    }
)
_lock = RLock()


class _LateModule(ModuleType):
    """A module whose code runs when something is asked for that is not there yet."""

    def __getattr__(self, name: str) -> object:
        with _lock:  # another thread waits for the whole module
            loader: Loader | None = self.__dict__.pop("_late_loader", None)
            if loader is not None:
                loader.exec_module(self)
                self.__class__ = ModuleType  # pyright: ignore[reportAttributeAccessIssue]
        return ModuleType.__getattribute__(self, name)


class _LateLoader:
    """Makes the module without running its code."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _LateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        module.__dict__["_late_loader"] = self._loader


class _LateFinder:
    """Finds the modules above, and nothing else."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name not in LATE:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _LateLoader(spec.loader))
        return spec


def load_late() -> None:
    """Put the loading of these modules off; without effect on those that are loaded."""
    if _LateFinder in sys.meta_path:
        return
    sys.meta_path.insert(0, _LateFinder)
    if "typing_extensions" not in sys.modules:
        # msgspec takes from it what Python has itself, and does without where it is not installed.
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]
        import_module("msgspec")
        del sys.modules["typing_extensions"]


@cache
def load_zstd() -> ModuleType:
    """The module for packed texts, imported at the first one: most commands never touch one."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
