"""Times at which capture was paused: what happened then is never captured."""

from __future__ import annotations

import msgspec


class Pause(msgspec.Struct, frozen=True):
    """Start and end in milliseconds; without an end the pause goes on."""

    since: int
    until: int | None = None


Pauses = tuple[Pause, ...]


def is_paused(pauses: Pauses, at: int | None) -> bool:
    """Whether something happened during a pause. Events without a timestamp are kept."""
    if at is None:
        return False
    return any(pause.since <= at and (pause.until is None or at < pause.until) for pause in pauses)


def begin(pauses: Pauses, now_ms: int, until: int | None = None) -> Pauses:
    """The pauses with one that starts now; a pause that already lasts until then is enough."""
    if any(_covers(pause, now_ms, until) for pause in pauses):
        return pauses
    taken = {pause.since for pause in pauses}
    while now_ms in taken:  # the start identifies a pause, see merge_pauses
        now_ms -= 1
    return (*pauses, Pause(now_ms, until))


def end(pauses: Pauses, now_ms: int) -> Pauses:
    """The pauses, with every open one ended now."""
    return tuple(
        Pause(pause.since, now_ms) if pause.until is None or pause.until > now_ms else pause
        for pause in pauses
    )


def merge_pauses(first: Pauses, second: Pauses) -> Pauses:
    """The pauses of both, by their start; of one that both know, the earlier end.

    A pause never gets longer: where one says that it lasts and the other that it ended, it ended.
    """
    merged: dict[int, int | None] = {}
    for pause in (*first, *second):
        ends = [end for end in (merged.get(pause.since), pause.until) if end is not None]
        merged[pause.since] = min(ends, default=None)
    return tuple(Pause(since, merged[since]) for since in sorted(merged))


def _covers(pause: Pause, now_ms: int, until: int | None) -> bool:
    if pause.since > now_ms:
        return False
    return pause.until is None or (until is not None and pause.until >= until)
