"""Is a turn found by its own words? Questions made from turns of genuine logs.

Three forms of each question: eight neighbouring words of the turn; half of them dropped; half of
them dropped and the rest inflected (plural, past, -ing on or off). A turn is found when its event,
or one with the same text, stands among the first k.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench.corpora import GENUINE, SHARED
from tests.bench.usage import arguments

from session_memory.store.port import SessionQuery, Store
from session_memory.testing.workspace import Workspace

QUESTIONS = 300
_WORD = re.compile(r"[^\W\d_]{3,}")
_ENDINGS = ("ing", "ed", "s")


def inflected(word: str) -> str:
    """Another form of a word, as somebody would remember it."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word[: -len(ending)]
    return word + "s"


def forms(words: Sequence[str], chance: random.Random) -> dict[str, str]:
    """The three questions for one run of words."""
    kept = sorted(chance.sample(range(len(words)), len(words) // 2))
    half = [words[place] for place in kept]
    return {
        "own words": " ".join(words),
        "half of them": " ".join(half),
        "half, inflected": " ".join(inflected(word.lower()) for word in half),
    }


def turns(store: Store) -> list[tuple[int, str]]:
    """Every prompt and answer with enough words to ask by."""
    return [
        (event.id, event.text or "")
        for session in store.sessions(SessionQuery(limit=100_000))
        for event in store.events(session.id, texts=True)
        if event.kind in ("user_prompt", "assistant_text") and not event.inherited
        if len(_WORD.findall(event.text or "")) >= 12
    ]


def evaluate(store: Store, count: int) -> dict[str, dict[str, float]]:
    """hit@1, hit@5 and MRR of each form."""
    chance = random.Random(7)
    known = turns(store)
    texts = dict(known)
    ranks: dict[str, list[int | None]] = {}
    for event, text in chance.sample(known, min(count, len(known))):
        words = _WORD.findall(text)
        first = chance.randrange(max(1, len(words) - 8))
        for name, question in forms(words[first : first + 8], chance).items():
            found = [hit for hit, _ in store.search(question, 20)]
            same = [place for place, hit in enumerate(found) if texts.get(hit) == texts[event]]
            ranks.setdefault(name, []).append(same[0] if same else None)
    return {name: _figures(places) for name, places in ranks.items()}


def _figures(places: Sequence[int | None]) -> dict[str, float]:
    def share(fits: Callable[[int], float]) -> float:
        return sum(fits(place) for place in places if place is not None) / len(places)

    return {
        "questions": len(places),
        "hit@1": round(100 * share(lambda place: place == 0), 1),
        "hit@5": round(100 * share(lambda place: place < 5), 1),
        "MRR": round(share(lambda place: 1 / (place + 1)), 3),
    }


def main() -> int:
    """Sweep the genuine logs and print the figures as JSON."""
    roots = [SHARED / name for name in GENUINE if (SHARED / name).exists()]
    if not roots:
        print("no genuine logs beside the repository", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        space.paths["claude"] = tuple(str(root) for root in roots)
        space.sweep()
        with space.store() as store:
            for name, figures in evaluate(store, QUESTIONS).items():
                print(json.dumps({"question": name, **figures}))
    return 0


if __name__ == "__main__":
    arguments(__doc__)
    sys.exit(main())
