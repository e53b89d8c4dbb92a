"""The table of guards, from the catalog, the user's decisions, the trials and the store.

Curation, distribution and guards do not import each other; they are joined here. The table lies
next to the hook file; without one there is no hook, and so no table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.loop.givings import renewed
from session_memory.core.loop.guards import Choice, Guard, GuardRecord
from session_memory.core.schema import Project
from session_memory.curate.catalog import read_catalog
from session_memory.distribute.targets import reach
from session_memory.guards.history import Past, Worked, decided_at, says_it_fails, worked_since
from session_memory.guards.table import FILE, Rule, check_of, compile_guards, encode_table
from session_memory.paths import Paths
from session_memory.settings import Config
from session_memory.store.guard_files import change_guards, read_guards
from session_memory.store.port import CaptureStore, SessionQuery, SessionReader
from session_memory.worker.injection_pages import REMOTE, SHARED
from session_memory.worker.lessons import gather

LOOK_BACK = 200
"""Sessions of a project, the newest, in which a command that is said to fail is looked for."""


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


class Compiled(msgspec.Struct, frozen=True):
    """What the hook is to check, and where."""

    rules: tuple[Rule, ...]
    """Each with the projects where its guard speaks."""
    guards: dict[str, Guard]
    table: bytes | None
    """What the file holds; None: there is nothing to check, and so no file."""


def contradicted(
    store: SessionReader, rules: Iterable[Rule], choices: Mapping[str, Choice]
) -> dict[str, dict[str, Worked]]:
    """Rules that say that a command fails, and the projects in which it has worked since."""
    past: dict[str, list[Past]] = {}
    worked_by_rule: dict[str, dict[str, Worked]] = {}
    for rule in rules:
        choice = choices.get(rule.id)
        check = check_of(rule, choice)
        if check is None or not says_it_fails(check.when):
            continue
        for repo in sorted(rule.repos):
            if repo not in past:
                past[repo] = _past(store, repo)
            worked = worked_since(check.when, past[repo], decided_at(choice, rule.text))
            if worked is not None:
                worked_by_rule.setdefault(rule.id, {})[repo] = worked
    return worked_by_rule


def compile_table(store: CaptureStore, data: Path, config: Config) -> Compiled:
    """The table as it should be now; a guard is silent where its command has worked since."""
    choices = choices_by_rule(read_guards(data))
    approved = guard_rules(store, data, config) if config.guards.enabled else ()
    wrong = contradicted(store, approved, choices)
    rules = tuple(
        msgspec.structs.replace(rule, repos=rule.repos - wrong[rule.id].keys())
        if rule.id in wrong
        else rule
        for rule in approved
    )
    guards = compile_guards((rule for rule in rules if rule.repos), choices)
    table = encode_table(tuple(guards.values()), _places(store.projects(), rules, config))
    return Compiled(rules, guards, table if guards else None)


def refresh_guards(store: CaptureStore, paths: Paths, config: Config, now_ms: int) -> int:
    """Write the table where there is a hook to read it; returns how many guards there are."""
    if not paths.hooks.is_dir():
        return 0
    compiled = compile_table(store, paths.data, config)
    rules, guards = compiled.rules, compiled.guards
    _write(paths.hooks / FILE, compiled.table)
    project_keys = {project.key for project in store.projects()}
    patterns = read_catalog(paths.data).patterns
    given_keys = {
        (rule.id, patterns[rule.id].current.number, repo)
        for rule in rules
        if rule.id in guards and not rule.on_trial
        for repo in rule.repos & project_keys
    }
    change_guards(
        paths.data,
        lambda record: msgspec.structs.replace(
            record, given=renewed(record.given, given_keys, now_ms)
        ),
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


def _past(store: SessionReader, project: str) -> list[Past]:
    """The commands of the newest sessions of a project."""
    past: list[Past] = []
    for session in store.sessions(SessionQuery(project=project, limit=LOOK_BACK)):
        digest = store.digest(session.id)
        if digest is not None:
            past.append(Past(session.id, session.started_at or 0, digest.commands))
    return past


def _write(path: Path, data: bytes | None) -> None:
    """Replace the table; without a guard there is none, so that a tool's hook costs nothing."""
    try:
        present = path.read_bytes()
    except OSError:
        present = None
    if data == present:
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
    all_rules = list(rules)
    for project in projects:
        names = [rule.id for rule in all_rules if project.key in rule.repos]
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
