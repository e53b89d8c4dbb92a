"""The table of guards, from the catalog, the user's decisions, the trials and the store.

Curation, distribution and guards do not import each other; they are joined here. The table lies
next to the hook file; without one there is no hook, and so no table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.loop.givings import renewed
from session_memory.core.loop.guards import Choice, Guard, GuardRecord
from session_memory.core.schema import Project
from session_memory.curate.catalog import read_catalog
from session_memory.distribute.targets import reach
from session_memory.guards.table import FILE, Rule, compile_guards, encode_table
from session_memory.paths import Paths
from session_memory.settings import Config
from session_memory.store.guard_files import change_guards, read_guards
from session_memory.store.port import CaptureStore
from session_memory.worker.injection_pages import REMOTE, SHARED
from session_memory.worker.lessons import gather


def guard_rules(store: CaptureStore, data: Path, config: Config) -> tuple[Rule, ...]:
    """Approved rules that may have a guard; one that quotes the output of a tool may not."""
    request, _ = gather(store, data, config)
    return tuple(
        Rule(
            lesson.id,
            lesson.text,
            reach(lesson, request.repos, request.default_domain),
            lesson.id in request.on_trial,
        )
        for lesson in request.lessons
        if not lesson.is_foreign
    )


def choices_by_rule(record: GuardRecord) -> dict[str, Choice]:
    """The user's decision on each rule that has one."""
    return {choice.rule: choice for choice in record.choices}


def refresh_guards(store: CaptureStore, paths: Paths, config: Config, now_ms: int) -> int:
    """Write the table where there is a hook to read it; returns how many guards there are."""
    rules = guard_rules(store, paths.data, config)
    guards: dict[str, Guard] = {}
    if config.guards.enabled:
        guards = compile_guards(rules, choices_by_rule(read_guards(paths.data)))
    if not paths.hooks.is_dir():
        return 0
    projects = store.projects()
    table = encode_table(tuple(guards.values()), _places(projects, rules, config))
    _write(paths.hooks / FILE, table if guards else None)
    known = {project.key for project in projects}
    patterns = read_catalog(paths.data).patterns
    given = {
        (rule.id, patterns[rule.id].current.number, repo)
        for rule in rules
        if rule.id in guards and not rule.on_trial
        for repo in rule.repos & known
    }
    change_guards(
        paths.data,
        lambda record: msgspec.structs.replace(record, given=renewed(record.given, given, now_ms)),
    )
    return len(guards)


def drop_table(paths: Paths) -> None:
    """Remove the table; guards are silent until the worker writes it again."""
    (paths.hooks / FILE).unlink(missing_ok=True)


def table_text(paths: Paths) -> str:
    """The table as it is; empty where there is none."""
    try:
        return (paths.hooks / FILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _write(path: Path, data: bytes | None) -> None:
    """Replace the table; without a guard there is none, so that a tool's hook costs nothing."""
    try:
        known = path.read_bytes()
    except OSError:
        known = None
    if data == known:
        return
    if data is None:
        path.unlink(missing_ok=True)
    else:
        replace_file(path, data)


def _places(
    projects: Iterable[Project], rules: Iterable[Rule], config: Config
) -> dict[str, list[str]]:
    """The rules that hold in each directory or repository, as the hook will ask for it."""
    places: dict[str, list[str]] = {}
    known = list(rules)
    for project in projects:
        names = [rule.id for rule in known if project.key in rule.repos]
        if not project.root or not names:
            continue
        here = [project.root, *project.aliases]
        if config.identity.share_worktrees:
            here.append(f"{SHARED}{project.root}")
            if project.remote and os.path.exists(os.path.join(project.root, ".git")):
                here.append(f"{REMOTE}{project.remote}")
        for place in here:
            places[place] = list(dict.fromkeys((*places.get(place, ()), *names)))
    return places
