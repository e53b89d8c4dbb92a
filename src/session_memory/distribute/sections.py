"""What sessions of a repository are given at their start, besides what files already give."""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.core.injection import Section
from session_memory.distribute.ledger import Ledger
from session_memory.distribute.render import Lesson, section
from session_memory.distribute.targets import Repo, reach


def sections_for(
    root: str,
    lessons: Iterable[Lesson],
    repos: tuple[Repo, ...],
    ledger: Ledger,
    *,
    on_trial: frozenset[str] = frozenset(),
    default_domain: str = "default",
) -> tuple[Section, ...]:
    """Patterns for the page of a root: those under trial, and those no file there gives.

    Nothing is given twice: a second giving would cost tokens and blur what is measured.
    """
    keys = {repo.key for repo in repos if repo.root == root}
    placed = ledger.given_in(root)
    return tuple(
        section(lesson, on_trial=lesson.id in on_trial)
        for lesson in lessons
        if not lesson.is_foreign
        and keys & reach(lesson, repos, default_domain)
        and (lesson.id in on_trial or lesson.id not in placed)
    )
