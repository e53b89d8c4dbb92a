"""The lessons that may be given to agents, from the catalog, the trials and the store.

Curation, distribution and measurement do not import each other; they are joined here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from session_memory.core.loop.catalog import Pattern
from session_memory.core.loop.injection import Section
from session_memory.core.loop.trials import under_trial
from session_memory.curate.catalog import read_catalog
from session_memory.curate.review import distributable, held_back
from session_memory.curate.wording import make_clean
from session_memory.distribute.files import read_file, repository_problem
from session_memory.distribute.ledger import read_ledger
from session_memory.distribute.plan import DistributeRequest
from session_memory.distribute.render import lessons
from session_memory.distribute.sections import said_by_others, sections_for
from session_memory.distribute.targets import Repo, reach
from session_memory.narrowing import read_project_rules
from session_memory.redact import make_redactor
from session_memory.settings import Config
from session_memory.store.port import CaptureStore, SessionReader
from session_memory.store.trial_files import read_trials


def gather(
    store: CaptureStore, data: Path, config: Config, also: Pattern | None = None
) -> tuple[DistributeRequest, tuple[str, ...]]:
    """What to give and where, and warnings for the user.

    `also` is a pattern as a decision would leave it, to show what that would change.
    """
    warnings: list[str] = []
    redactor = make_redactor(store.tag_key, config.redact, warnings.append)
    catalog = read_catalog(data)
    if also is not None:
        catalog = catalog.with_pattern(also)
    patterns = distributable(catalog, config.curate)
    request = DistributeRequest(
        lessons=lessons(patterns, make_clean(redactor)),
        repos=known_repos(store),
        settings=config.distribute,
        default_domain=config.identity.default_domain,
        on_trial=frozenset(under_trial(read_trials(data))),
    )
    notes = (
        f"{name} is not given to agents, the gate holds it back: {reason}"
        for name, reason in held_back(catalog, config.curate).items()
    )
    return request, (*warnings, *notes)


def known_repos(store: SessionReader) -> tuple[Repo, ...]:
    """Every project that has a root."""
    return tuple(
        Repo(project.key, project.root, project.domain)
        for project in store.projects()
        if project.root
    )


def writing_problem(root: str) -> str | None:
    """Why nothing may be written into a repository; its own files can only ask for less."""
    problem = repository_problem(root)
    if problem is None and not (rules := read_project_rules(root)).enabled:
        return f"it asks to be left alone: {rules.file}"
    return problem


def pattern_sections(
    store: CaptureStore, data: Path, config: Config
) -> Callable[[str], tuple[Section, ...]]:
    """A function from a root to the patterns that its sessions are given at their start."""
    request, _ = gather(store, data, config)
    ledger = read_ledger(data)

    def of_root(root: str) -> tuple[Section, ...]:
        return sections_for(
            root,
            request.lessons,
            request.repos,
            ledger,
            on_trial=request.on_trial,
            default_domain=request.default_domain,
            said=said_by_others(root, ledger, read_file) if request.lessons else frozenset(),
        )

    return of_root


def trial_roots(store: CaptureStore, data: Path, config: Config, pattern: str) -> tuple[str, ...]:
    """The roots on this machine whose sessions would take part in a trial of a pattern."""
    request, _ = gather(store, data, config)
    lesson = next((each for each in request.lessons if each.id == pattern), None)
    if lesson is None or lesson.is_foreign:
        return ()
    keys = reach(lesson, request.repos, request.default_domain)
    return tuple(
        repo.root
        for repo in request.repos
        if repo.key in keys and os.path.isdir(repo.root) and read_project_rules(repo.root).enabled
    )
