"""Removes forgotten sessions and texts, and secrets found later, from every journal."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from session_memory.core.forget import FORGOTTEN, Remains
from session_memory.journal.articles import KINDS
from session_memory.journal.daily import content_spans, days, entries, without_sessions
from session_memory.journal.excerpt import file_name
from session_memory.journal.files import (
    atomic_write_text,
    file_lock,
    read_text,
    remove_leftovers,
    save_json,
)
from session_memory.journal.flush_records import read_flush_records, read_pending, save_pending
from session_memory.journal.knowledge import (
    INDEX,
    LOG,
    Articles,
    changed_files,
    index,
    knowledge_lock,
    read_knowledge,
    save,
)
from session_memory.journal.links import normal_target
from session_memory.journal.merge import forget_entries, without_empty
from session_memory.journal.paths import JournalPaths, all_journals, journal_paths
from session_memory.journal.state import read_state, without_days

Edit = Callable[[str], str]
_LOG_ENTRY = re.compile(r"^## \[.*?(?=^## \[|\Z)", re.DOTALL | re.MULTILINE)
_FILED_ANSWER = re.compile(r"^## \[[^\]]*\] query \(filed\) \| (?P<path>\S+)")


def forget_sessions(data: Path, vault: str, sessions: Collection[str], now: int) -> int:
    """Remove entries, excerpts and records of sessions; returns how many files changed.

    Sessions are given by the ids of their agents. The logs of flushes name sessions too and are
    dispensable, so they are deleted.
    """
    names = {*sessions, *(file_name(session) for session in sessions)}
    if not names:
        return 0
    return sum(_forget_in(journal, names, now) for journal in all_journals(data, vault))


def forget_places(data: Path, roots: Collection[str]) -> tuple[Remains, ...]:
    """Remove journals of projects without sessions, except for what the user wrote in them.

    A vault stays: it is the journal of all projects, in the user's own folder.
    """
    remains: list[Remains] = []
    for journal in (journal_paths(data, root) for root in sorted(roots)):
        if not (journal.root.is_dir() or journal.work.is_dir()):
            continue
        written = [path for path in days(journal) if _has_text(path)]
        written += [journal.root / path for path in read_knowledge(journal).articles]
        if written:
            why = "it holds what you wrote, or what other sessions said; delete it if it must go"
            remains += [Remains(str(path), why) for path in written]
        else:
            for folder in (journal.root, journal.work):
                shutil.rmtree(folder, ignore_errors=True)
    return tuple(remains)


def _has_text(day: Path) -> bool:
    """Whether a daily log has anything besides headings."""
    lines = (read_text(day) or "").splitlines()
    return any(line.strip() and not line.startswith("#") for line in lines)


def rewrite(data: Path, vault: str, edit: Edit) -> int:
    """Pass every text of every journal through `edit`, such as today's redaction rules."""
    changed = 0
    for journal in all_journals(data, vault):
        with _exclusive(journal):
            articles = read_knowledge(journal).articles
            for path, text in _edited_files(journal, edit):
                atomic_write_text(path, text)
                changed += 1
            # A file name is made from its title and cannot be edited: such articles are removed.
            renamed = {
                path for path, article in articles.items() if edit(article.title) != article.title
            }
            if renamed:
                _remove_articles(journal, renamed)
    return changed


def count_edits(data: Path, vault: str, edit: Edit) -> int:
    """How many files `rewrite` would change."""
    return sum(1 for journal in all_journals(data, vault) for _ in _edited_files(journal, edit))


@contextmanager
def _exclusive(journal: JournalPaths) -> Generator[None]:
    """Keep out flushes, compiles and queries, and remove leftovers of killed ones."""
    with (
        file_lock(journal.lock("flush"), "a flush"),
        file_lock(journal.lock("daily"), "a writer"),
        knowledge_lock(journal),
    ):
        kinds = [journal.knowledge / kind for kind in KINDS]
        work = (journal.work, journal.excerpts)
        remove_leftovers(
            journal.root, journal.daily, *work, journal.knowledge, *kinds, journal.reports
        )
        yield


def _forget_in(journal: JournalPaths, sessions: Collection[str], now: int) -> int:
    changed = 0
    with _exclusive(journal):
        # Articles first: they are found by the entries, which must still be there.
        changed += _forget_knowledge(journal, sessions, now)
        for path in days(journal):
            text = read_text(path) or ""
            left = without_sessions(text, sessions)
            if left != text:
                atomic_write_text(path, left)
                changed += 1
        changed += _forget_pending(journal, sessions, now)
        changed += _forget_records(journal, sessions, now)
        if changed:
            for path in (*journal.work.glob("*.log*"), *journal.work.glob("*.corrupt-*")):
                path.unlink(missing_ok=True)
    return changed


def _forget_knowledge(journal: JournalPaths, sessions: Collection[str], now: int) -> int:
    """Remove what entries of the sessions left in articles; returns how many files changed."""
    keys: set[str] = set()
    logs: set[str] = set()
    for path in days(journal):
        in_log = {e.key for e in entries(read_text(path) or "") if e.session in sessions}
        keys |= in_log
        logs |= {path.name} if in_log else set()
    if not keys:
        return 0
    before = read_knowledge(journal).articles
    after = forget_entries(before, keys, {f"daily/{normal_target(log)}" for log in logs})
    return _replace_articles(journal, before, after, logs, now)


def _remove_articles(journal: JournalPaths, paths: Collection[str]) -> None:
    before = read_knowledge(journal).articles
    left = {path: article for path, article in before.items() if path not in paths}
    # The time only names the copy of a damaged state, which is removed in the same step.
    _replace_articles(journal, before, without_empty(left, before), (), now=0)


def _replace_articles(
    journal: JournalPaths, before: Articles, after: Articles, logs: Collection[str], now: int
) -> int:
    """Write the articles, index and build log; returns how many files changed.

    `logs`, and the logs that changed articles came from, are to be compiled again in full.
    """
    files = changed_files(before, after)
    touched = {path for path, article in before.items() if after.get(path) != article}
    sources = {day.removeprefix("daily/") for path in touched for day in before[path].sources}
    state = read_state(journal, now, _ignore)
    new_state = without_days(state, {*logs, *sources})
    if new_state != state:
        files["state.json"] = new_state.text()
    if not files:
        return 0
    log = read_text(journal.root / LOG)
    if log is not None:
        files[LOG] = _build_log_without(log, set(before) - set(after))
        files[INDEX] = index(after)
    for path in (*journal.reports.glob("lint-*.md"), *journal.root.glob("state.json.corrupt-*")):
        files[path.relative_to(journal.root).as_posix()] = None
    save(journal, files)
    return len(files)


def _build_log_without(text: str, removed: Collection[str]) -> str:
    """The build log without the names of removed articles, and without removed answers."""

    def without_answer(match: re.Match[str]) -> str:
        filed = _FILED_ANSWER.match(match[0])
        return "" if filed and filed["path"] in removed else match[0]

    links = "|".join(re.escape(f"[[{path}]]") for path in sorted(removed))
    left = _LOG_ENTRY.sub(without_answer, text)
    return re.sub(links, FORGOTTEN, left) if links else left


def _forget_pending(journal: JournalPaths, sessions: Collection[str], now: int) -> int:
    pending = read_pending(journal, now, _ignore)
    removed = [excerpt for excerpt in pending if excerpt.session in sessions]
    for excerpt in removed:
        Path(excerpt.path).unlink(missing_ok=True)
    if journal.pending.exists():
        save_pending(journal, [excerpt for excerpt in pending if excerpt not in removed])
    return len(removed)


def _forget_records(journal: JournalPaths, sessions: Collection[str], now: int) -> int:
    records = read_flush_records(journal, now, _ignore)
    left = [record for record in records if record.session_id not in sessions]
    if len(left) != len(records):
        save_json(journal.flushed, {"recent": msgspec.to_builtins(left)})
    return len(records) - len(left)


def _edited_files(journal: JournalPaths, edit: Edit) -> Iterator[tuple[Path, str]]:
    """Every file that `edit` would change, with its new text."""
    for path in _text_files(journal):
        before = read_text(path)
        if before is None:
            continue
        # In a vault the user keeps notes next to our entries; those are not ours to change.
        shared = journal.is_vault and path.parent == journal.daily
        after = _edit_entries(before, edit) if shared else edit(before)
        if after != before:
            yield path, after


def _edit_entries(text: str, edit: Edit) -> str:
    parts: list[str] = []
    position = 0
    for start, end in content_spans(text):
        parts += (text[position:start], edit(text[start:end]))
        position = end
    return "".join((*parts, text[position:]))


def _text_files(journal: JournalPaths) -> Iterable[Path]:
    """All our files that can contain words of a session."""
    yield from days(journal)
    for folder in (journal.knowledge, journal.reports, journal.work):
        yield from sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")
    yield from sorted(journal.root.glob(f"{journal.state.name}*"))


def _ignore(_text: str) -> None:
    """A damaged list needs no warning while it is being emptied."""
