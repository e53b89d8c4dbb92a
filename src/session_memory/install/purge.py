"""Removing everything of ours from the disk: store, state, cache and configuration."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from session_memory.errors import Refused
from session_memory.paths import HOME_VARIABLE, Paths, find_paths
from session_memory.store import store_exists


class PurgePlan(msgspec.Struct, frozen=True):
    """What would be removed."""

    whole: tuple[Path, ...] = ()
    """Files, and directories with all that is in them."""
    if_empty: tuple[Path, ...] = ()


def plan_purge(paths: Paths, environ: Mapping[str, str]) -> PurgePlan:
    """What would be removed; refuses a place that cannot be ours alone."""
    standard = find_paths(environ)
    targets = [standard.config_file, standard.data, standard.state, standard.cache]
    if paths.data != standard.data:  # `store.path` names it
        targets.append(paths.data)
        if paths.data.exists() and not store_exists(paths.data):
            raise Refused(f"{paths.data} holds no store", hint="see `store.path` in your settings")
    whole = tuple(path for path in dict.fromkeys(targets) if os.path.lexists(path))
    home = Path.home().resolve()
    for path in whole:
        if path.resolve() in (home, *home.parents) or path.is_symlink():
            raise Refused(f"{path} is not removed: it is more than ours", hint="remove it by hand")
    folders = [standard.config_file.parent]
    folders += [standard.data.parent] if environ.get(HOME_VARIABLE) else []
    return PurgePlan(whole, tuple(dict.fromkeys(folders)))


def remove(plan: PurgePlan) -> None:
    """Remove them."""
    for path in plan.whole:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for path in plan.if_empty:
        with contextlib.suppress(OSError):
            path.rmdir()
