"""What a forgotten session said leaves the journal too, and so does a secret found later."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from session_memory.core.forget import FORGOTTEN, Remains
from session_memory.journal.articles import KINDS
from session_memory.journal.context import file_name
from session_memory.journal.daily import content_spans, days, entries, without_sessions
from session_memory.journal.files import (
    atomic_write_text,
    held,
    read_text,
    remove_leftovers,
    save_json,
)
from session_memory.journal.knowledge import read_shelf, tending
from session_memory.journal.knowledge_forget import drop, unlearn
from session_memory.journal.paths import Place, all_places, place_of
from session_memory.journal.pending import read_waiting
from session_memory.journal.recent_flushes import read_recent

Edit = Callable[[str], str]


def forget_sessions(data: Path, vault: str, sessions: Collection[str], now: int) -> int:
    """Take entries, contexts and notes of sessions out of every journal; how many files changed.

    Sessions are named as their agents name them. Logs of flushes name sessions too: they can be
    missed, so they go.
    """
    gone = {*sessions, *(file_name(name) for name in sessions)}
    return sum(_forget_in(place, gone, now) for place in all_places(data, vault)) if gone else 0


def forget_places(data: Path, roots: Collection[str]) -> tuple[Remains, ...]:
    """Remove the journals of places that no session is left of, except what the user wrote there.

    A vault is one journal of all places, and the user's own folder: it stays.
    """
    remains: list[Remains] = []
    for place in (place_of(data, root) for root in sorted(roots)):
        if not (place.root.is_dir() or place.work.is_dir()):
            continue
        yours = [path for path in days(place) if _is_written_in(path)]
        yours += [place.root / path for path in read_shelf(place).articles]
        if yours:
            why = "it holds what you wrote, or what other sessions said; delete it if it must go"
            remains += [Remains(str(path), why) for path in yours]
        else:
            for folder in (place.root, place.work):
                shutil.rmtree(folder, ignore_errors=True)
    return tuple(remains)


def _is_written_in(day: Path) -> bool:
    """Whether a day's log says anything beyond its headings."""
    lines = (read_text(day) or "").splitlines()
    return any(line.strip() and not line.startswith("#") for line in lines)


def forget_text(data: Path, vault: str, text: str, *, ignore_case: bool = False) -> int:
    """Replace a text wherever a journal of ours holds it; returns how many files changed."""
    pattern = re.compile(re.escape(text), re.IGNORECASE if ignore_case else 0)
    return rewrite(data, vault, lambda found: pattern.sub(FORGOTTEN, found))


def rewrite(data: Path, vault: str, edit: Edit, now: int = 0) -> int:
    """Pass every text of every journal through `edit`, such as today's redaction rules."""
    changed = 0
    for place in all_places(data, vault):
        with _alone(place):
            titles = {path: one.title for path, one in read_shelf(place).articles.items()}
            for path, after in _edits(place, edit):
                atomic_write_text(path, after)
                changed += 1
            # The names of files cannot be edited like their text: such an article is made anew.
            renamed = {path for path, title in titles.items() if edit(title) != title}
            if renamed:
                drop(place, renamed, now)
    return changed


@contextmanager
def _alone(place: Place) -> Generator[None]:
    """No flush, no compile and no question at work in a journal; leftovers of killed ones gone."""
    with (
        held(place.lock("flush"), "a flush"),
        held(place.lock("daily"), "a writer"),
        tending(place),
    ):
        folders = (place.knowledge, *(place.knowledge / kind for kind in KINDS), place.reports)
        remove_leftovers(place.root, place.daily, place.work, place.contexts, *folders)
        yield


def count_edits(data: Path, vault: str, edit: Edit) -> int:
    """How many files `rewrite` would change; nothing is changed."""
    return sum(1 for place in all_places(data, vault) for _ in _edits(place, edit))


def _forget_in(place: Place, gone: Collection[str], now: int) -> int:
    changed = 0
    with _alone(place):
        # Articles first: while the entries are there, so is the way to what they left.
        changed += _forget_learnt(place, gone, now)
        for path in days(place):
            text = read_text(path) or ""
            left = without_sessions(text, gone)
            if left != text:
                atomic_write_text(path, left)
                changed += 1
        changed += _forget_waiting(place, gone, now)
        changed += _forget_recent(place, gone, now)
        if changed:
            for path in (*place.work.glob("*.log*"), *place.work.glob("*.corrupt-*")):
                path.unlink(missing_ok=True)
    return changed


def _forget_learnt(place: Place, gone: Collection[str], now: int) -> int:
    """Take out of the knowledge base what the entries of sessions left there."""
    keys: set[str] = set()
    touched: set[str] = set()
    for path in days(place):
        found = {one.key for one in entries(read_text(path) or "") if one.session in gone}
        keys |= found
        touched |= {path.name} if found else set()
    return unlearn(place, keys, touched, now) if keys else 0


def _forget_waiting(place: Place, gone: Collection[str], now: int) -> int:
    waiting = read_waiting(place, now, _unheard)
    lost = [one for one in waiting if one.session in gone]
    for one in lost:
        Path(one.path).unlink(missing_ok=True)
    if place.pending.exists():
        left = [one for one in waiting if one not in lost]
        save_json(place.pending, {"contexts": msgspec.to_builtins(left)})
    return len(lost)


def _forget_recent(place: Place, gone: Collection[str], now: int) -> int:
    recent = read_recent(place, now, _unheard)
    left = [one for one in recent if one.session_id not in gone]
    if len(left) != len(recent):
        save_json(place.flushed, {"recent": msgspec.to_builtins(left)})
    return len(recent) - len(left)


def _edits(place: Place, edit: Edit) -> Iterator[tuple[Path, str]]:
    """Every file that would change, with its text afterwards."""
    for path in _texts(place):
        before = read_text(path)
        if before is None:
            continue
        # In a vault the user keeps notes beside our entries: those are not ours to change.
        shared = place.is_vault and path.parent == place.daily
        after = _inside_entries(before, edit) if shared else edit(before)
        if after != before:
            yield path, after


def _inside_entries(text: str, edit: Edit) -> str:
    parts: list[str] = []
    here = 0
    for start, end in content_spans(text):
        parts += (text[here:start], edit(text[start:end]))
        here = end
    return "".join((*parts, text[here:]))


def _texts(place: Place) -> Iterable[Path]:
    """Everything of ours that can hold words of a session; locks cannot."""
    yield from days(place)
    for folder in (place.knowledge, place.reports, place.work):
        yield from sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")
    yield from sorted(place.root.glob(f"{place.state.name}*"))


def _unheard(_text: str) -> None:
    """Nobody needs to hear of a damaged list while it is being emptied."""
