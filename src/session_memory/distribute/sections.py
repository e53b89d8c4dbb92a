"""The lessons that the hook gives sessions of a repository: those that no file gives already."""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.core.loop.injection import Section
from session_memory.distribute.ledger import Ledger, TargetFile
from session_memory.distribute.ownership import said_by, sort_blocks
from session_memory.distribute.plan_builder import ReadFile
from session_memory.distribute.render import Lesson, section
from session_memory.distribute.targets import OVERRIDE, Repo, block_targets, reach
from session_memory.errors import Refused


def sections_for(
    root: str,
    lessons: Iterable[Lesson],
    repos: tuple[Repo, ...],
    ledger: Ledger,
    *,
    on_trial: frozenset[str] = frozenset(),
    default_domain: str = "default",
    said: frozenset[str] = frozenset(),
) -> tuple[Section, ...]:
    """Lessons for the page of a root: those under trial, and those that no file there gives.

    `said` is what blocks of teammates give there (`said_by_others`). Nothing is given twice: that
    would cost tokens and blur what is measured.
    """
    keys = {repo.key for repo in repos if repo.root == root}
    placed = ledger.given_in(root)
    return tuple(
        section(lesson, on_trial=lesson.id in on_trial)
        for lesson in lessons
        if not lesson.is_foreign
        and keys & reach(lesson, repos, default_domain)
        and (lesson.id in on_trial or not (lesson.id in placed or lesson.line_id in said))
    )


def said_by_others(root: str, ledger: Ledger, read: ReadFile) -> frozenset[str]:
    """What blocks that this store did not write give in the files of a root: ids and texts."""
    given_texts: frozenset[str] = frozenset()
    for path in (*block_targets(), OVERRIDE):
        entry = ledger.by_file().get(TargetFile(root, path))
        try:
            given_texts |= said_by(sort_blocks(read(root, path).data, ledger.seal, entry).others)
        except Refused:  # its markers do not pair up: what it gives is unknown
            continue
    return given_texts
