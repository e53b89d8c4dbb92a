"""What is forgotten leaves the knowledge base: lines, articles, their names in index and log."""

from __future__ import annotations

import re
from collections.abc import Collection

from session_memory.core.forget import FORGOTTEN
from session_memory.journal.files import read_text
from session_memory.journal.knowledge import (
    INDEX,
    LOG,
    Articles,
    changed_files,
    index,
    read_shelf,
    save,
)
from session_memory.journal.links import normal
from session_memory.journal.merge import forget_entries, without_empty
from session_memory.journal.paths import Place
from session_memory.journal.state import read_state, without_days

_BLOCK = re.compile(r"^## \[.*?(?=^## \[|\Z)", re.DOTALL | re.MULTILINE)
_FILED = re.compile(r"^## \[[^\]]*\] query \(filed\) \| (?P<path>\S+)")


def unlearn(place: Place, entries: Collection[str], days: Collection[str], now_ms: int) -> int:
    """Take out what came from entries of those logs; the logs are compiled whole the next time.

    Only inside `tending`. Returns how many files changed.
    """
    before = read_shelf(place).articles
    after = forget_entries(before, entries, {f"daily/{normal(day)}" for day in days})
    return _replace(place, before, after, days, now_ms)


def drop(place: Place, paths: Collection[str], now_ms: int) -> int:
    """Take out whole articles; the logs they came from are compiled whole the next time."""
    before = read_shelf(place).articles
    after = without_empty({path: one for path, one in before.items() if path not in paths}, before)
    return _replace(place, before, after, (), now_ms)


def _replace(
    place: Place, before: Articles, after: Articles, days: Collection[str], now_ms: int
) -> int:
    files = changed_files(before, after)
    touched = {path for path, one in before.items() if after.get(path) != one}
    sources = {day.removeprefix("daily/") for path in touched for day in before[path].sources}
    state = read_state(place, now_ms, lambda _text: None)
    left = without_days(state, {*days, *sources})
    if left != state:
        files["state.json"] = left.text()
    if not files:
        return 0
    log = read_text(place.root / LOG)
    if log is not None:
        files[LOG] = _log_without(log, set(before) - set(after))
        files[INDEX] = index(after)
    for path in (*place.reports.glob("lint-*.md"), *place.root.glob("state.json.corrupt-*")):
        files[path.relative_to(place.root).as_posix()] = None
    save(place, files)
    return len(files)


def _log_without(text: str, gone: Collection[str]) -> str:
    """The log without the names of articles that went, and without questions about them."""

    def block(found: re.Match[str]) -> str:
        filed = _FILED.match(found[0])
        return "" if filed and filed["path"] in gone else found[0]

    dead = "|".join(re.escape(f"[[{path}]]") for path in sorted(gone))
    left = _BLOCK.sub(block, text)
    return re.sub(dead, FORGOTTEN, left) if dead else left
