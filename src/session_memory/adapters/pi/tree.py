"""Which entries of a pi session are on the branch the user is on: a session is a tree."""

from __future__ import annotations

import msgspec

from session_memory.adapters.common import Json, as_text

Record = dict[str, Json]


class Entry(msgspec.Struct):
    """One line of a session file and where it stands."""

    offset: int
    record: Record

    @property
    def name(self) -> str:
        """Its id; empty in the first version of the format, which knew no branches."""
        return as_text(self.record.get("id")) if self.record.get("type") != "session" else ""


def live_places(entries: list[Entry]) -> set[int]:
    """Indexes of the entries on the live branch: from the last one written back to the first.

    A parent that is not in the file was on a line that broke. The entry before it in the file is
    the best guess then; to drop all history for one torn line would be worse.
    """
    places = {entry.name: index for index, entry in enumerate(entries) if entry.name}
    live = {index for index, entry in enumerate(entries) if not entry.name}
    index = _leaf(entries, places)
    while index >= 0:
        live.add(index)
        index = _parent(entries, places, index)
    return live


def _parent(entries: list[Entry], places: dict[str, int], index: int) -> int:
    record = entries[index].record
    if "parentId" in record and record["parentId"] is None:
        return -1
    place = places.get(as_text(record.get("parentId")), -1)
    if not 0 <= place < index:  # a parent is always older: anything else would be a circle
        place = index - 1
    while place >= 0 and not entries[place].name:
        place -= 1
    return place


def _leaf(entries: list[Entry], places: dict[str, int]) -> int:
    """The entry the next one would be appended to: the last, unless the log points at another."""
    for index in range(len(entries) - 1, -1, -1):
        record = entries[index].record
        if record.get("type") == "leaf" and (target := as_text(record.get("targetId"))) in places:
            return places[target]
        if entries[index].name:
            return index
    return -1
