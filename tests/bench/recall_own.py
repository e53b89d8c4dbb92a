"""Eighty questions a developer asks weeks later, over logs of real sessions outside this project.

They were written by reading the sessions: how, why, command, error, paraphrase, symbol.
`recall_questions.json` has each question and where its answer stands: session and byte position of
the records, none of their text. A result is right when it shows such a record. Without the logs
the run says so and skips. Every second question of a kind is held back from choosing weights, and
those marked `later` were written, by reading again, after the weights were chosen: 1 for the
first choice of them, 2 for the second. recall_peers.py asks them by session, agentsview too.

`python -m tests.bench.recall_own [--misses]`
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.corpora import SHARED
from tests.bench.plain_fts5 import PlainFts5
from tests.bench.recall import printed

from session_memory.recall.context import RecallContext
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import search
from session_memory.store.port import SessionQuery, Store
from session_memory.testing.workspace import Workspace

QUESTIONS = Path(__file__).with_name("recall_questions.json")
SHOWN = 10
"""What an answer shows unless more is wanted."""
ROOTS = ("logs", "quality/logs")
FLAVORS = {"mixed": "claude"}
"""Folders whose name is not that of the agent."""


class Asked(NamedTuple):
    """A question, and the events that answer it."""

    kind: str
    text: str
    held_back: bool
    gold: frozenset[int]
    later: int


class Found(NamedTuple):
    """What an order of results is worth to one question."""

    asked: Asked
    rank: int | None
    sessions_shown: int


def swept(space: Workspace) -> bool:
    """Sweep the logs of every agent; False where there are none."""
    folders = [
        each
        for root in ROOTS
        if (SHARED / root).is_dir()
        for each in sorted((SHARED / root).iterdir())
        if each.is_dir()
    ]
    for folder in folders:
        flavor = FLAVORS.get(folder.name, folder.name)
        space.paths[flavor] = (*space.paths.get(flavor, ()), str(folder))
    if folders:
        space.sweep()
    return bool(folders)


def questions(store: Store) -> list[Asked]:
    """The questions with the events their records became; those that are nowhere are left out."""
    known: dict[tuple[str, int], list[int]] = {}
    for session in store.sessions(SessionQuery(limit=100_000)):
        for event in store.events(session.id):
            if event.source_ref is not None:
                place = (session.external_id, event.source_ref[1])
                known.setdefault(place, []).append(event.id)
    asked: list[Asked] = []
    count: dict[str, int] = {}
    for one in json.loads(QUESTIONS.read_text(encoding="utf-8")):
        places = [(session, at) for session, ats in one["gold"].items() for at in ats]
        gold = frozenset(event for place in places for event in known.get(place, ()))
        number = count[one["kind"]] = count.get(one["kind"], 0) + 1
        if gold:
            later = int(one.get("later", 0))
            asked.append(Asked(one["kind"], one["question"], number % 2 == 0, gold, later))
    return asked


def ask(store: Store, asked: Sequence[Asked]) -> list[Found]:
    """Our search, as it is printed."""
    context = RecallContext(store, lambda: 0)
    found: list[Found] = []
    for one in asked:
        results = printed(search(context, SearchRequest(one.text, limit=SHOWN)))
        rank = next((n for n, (_, event) in enumerate(results) if event in one.gold), None)
        found.append(Found(one, rank, len({session for session, _ in results[:10]})))
    return found


def plain_index(store: Store) -> PlainFts5:
    """Plain FTS5 over the whole text of every event."""
    return PlainFts5(
        (event.id, f"{event.command or ''}\n{event.text or ''}")
        for session in store.sessions(SessionQuery(limit=100_000))
        for event in store.events(session.id, texts=True)
    )


def ask_plain(store: Store, asked: Sequence[Asked]) -> list[Found]:
    """The same questions to plain FTS5."""
    index = plain_index(store)
    found: list[Found] = []
    for one in asked:
        results = index.search(one.text, SHOWN)
        rank = next((n for n, event in enumerate(results) if event in one.gold), None)
        found.append(Found(one, rank, 0))
    return found


def table(found: Sequence[Found]) -> dict[str, float]:
    """Shares in per cent."""
    ranks = [one.rank for one in found]

    def share(most: int) -> float:
        hits = sum(rank is not None and rank < most for rank in ranks)
        return round(100 * hits / len(ranks), 1) if ranks else 0.0

    mrr = sum(1 / (rank + 1) for rank in ranks if rank is not None) / (len(ranks) or 1)
    return {
        "questions": len(found),
        "hit@1": share(1),
        "hit@5": share(5),
        "hit@10": share(10),
        "MRR": round(mrr, 3),
        "one session only": sum(one.sessions_shown == 1 for one in found),
    }


def lines(system: str, found: Sequence[Found]) -> Iterable[dict[str, object]]:
    """The figures by half and by kind."""
    halves = {
        "dev": [one for one in found if not one.asked.held_back and not one.asked.later],
        "held": [one for one in found if one.asked.held_back and not one.asked.later],
        "later": [one for one in found if one.asked.later == 1],
        "latest": [one for one in found if one.asked.later == 2],
        "all": list(found),
    }
    for half, part in halves.items():
        yield {"system": system, "half": half, **table(part)}
    for kind in dict.fromkeys(one.asked.kind for one in found):
        part = [one for one in found if one.asked.kind == kind]
        yield {"system": system, "kind": kind, **table(part)}


def main(*, misses: bool = False) -> int:
    """Print the figures as JSON, one line each."""
    from tests.bench import recall_peers

    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        if not swept(space):
            print("skipped: the logs these questions are about are not here", file=sys.stderr)
            return 0
        with space.store() as store:
            asked = questions(store)
            ours = ask(store, asked)
            for system, found in (("session-memory", ours), ("FTS5", ask_plain(store, asked))):
                for line in lines(system, found):
                    print(json.dumps(line))
            for line in recall_peers.lines(store, asked):
                print(json.dumps(line))
            for one in ours if misses else ():
                if one.rank != 0 and not (one.asked.held_back or one.asked.later):
                    print(one.asked.kind, one.rank, one.asked.text)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="list what was not found first")
    sys.exit(main(misses=parser.parse_args().misses))
