"""Cures as answers: what failed and what made it work are one item.

A cure has no index of its own. It was read from events that have one, its failure and the steps
that helped, so a question that looks like it finds those, and the best of them says where the cure
stands; and what is not stored twice need not be forgotten twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from session_memory.core.event_ids import event_id
from session_memory.core.forget import FORGOTTEN
from session_memory.core.schema import Cure
from session_memory.store.port import RecallStore
from session_memory.store.search_rank import Hit

LOOKED_AT = 40
"""Hits among which events of cures are looked for: the same for every page."""
MOST_SESSIONS = 12


def with_cures(
    store: RecallStore, hits: Sequence[Hit], stems: Sequence[str]
) -> tuple[list[Hit], dict[int, Cure]]:
    """The hits, those of one cure as one of them; and by its event the cure each now stands for."""
    near = [hit for hit in hits[:LOOKED_AT] if hit.event is not None]
    sessions = list(dict.fromkeys(hit.session for hit in near))[:MOST_SESSIONS]
    of_event = {
        event_id(session, seq): cure
        for session, cures in (store.scopes.cures(sessions) if sessions else {}).items()
        for cure in cures
        if looks_like(cure, stems)
        for seq in (cure.error_seq, *cure.step_seqs)
    }
    hits_by_cure: dict[int, list[Hit]] = {}
    for hit in near:
        cure = of_event.get(hit.event or 0)
        if cure is not None:
            hits_by_cure.setdefault(event_id(hit.session, cure.error_seq), []).append(hit)
    cured: dict[int, Cure] = {}
    repeats: set[Hit] = set()
    for best, *others in (
        sorted(each, key=lambda hit: -hit.score) for each in hits_by_cure.values()
    ):
        cured[best.event or 0] = of_event[best.event or 0]
        repeats.update(others)
    return [hit for hit in hits if hit not in repeats], cured


def looks_like(cure: Cure, stems: Sequence[str]) -> bool:
    """Whether a question has half of its words, or more, from an error and its cure."""
    cure_text = "\n".join((cure.failed, cure.sample, *cure.lines, *cure.steps)).casefold()
    if FORGOTTEN in cure_text or not cure.steps:
        return False
    return 2 * sum(each in cure_text for each in stems) >= len(stems)
