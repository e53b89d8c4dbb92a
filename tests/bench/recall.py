"""Does search find what was said? Dialogues with questions, asked as a user asks.

`make bench-recall` sweeps the conversations of bench/locomo_dev.json as logs of two people's
sessions into one store, each conversation a project of its own, and asks mem_search, once within
the project and once over all of them (`pooled`). No model is involved. What is scored is the order
that the command line and the tools print. A turn is found when it stands among the first k results;
a session's rank is that of its best result. Plain FTS5 over the same turns runs beside it.

R@k = share of the evidence among the first k. MRR = 1 / rank of the first evidence.
any session@10 = some session with evidence is among the sessions of the first ten results.

Weights are chosen on the first three conversations; the rest is the held-back half. `--own` adds
the questions of recall_questions.json over the logs outside this repository.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.corpora import SHARED
from tests.bench.plain_fts5 import PlainFts5

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.recall.context import RecallContext
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import SearchAnswer, search
from session_memory.store.port import SessionQuery, Store
from session_memory.testing.workspace import Workspace

DEPTH = 50
"""The most results one answer gives."""
TUNED = 3
"""Conversations on which weights may be chosen."""
_EVIDENCE = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")

Turn = tuple[int, str]
"""Number of the conversation, and id of the turn in it."""
Place = tuple[int, int]
"""Number of the conversation, and number of the session in it."""


class Question(NamedTuple):
    """What is asked, and the turns that answer it."""

    text: str
    gold: tuple[str, ...]


class Dialogue(NamedTuple):
    """One conversation: sessions of (turn id, speaker is the first, text)."""

    name: str
    sessions: tuple[tuple[tuple[str, bool, str], ...], ...]
    questions: tuple[Question, ...]


class Score(NamedTuple):
    """What one question got."""

    turn_at_5: float
    turn_at_10: float
    turn_rank: float
    session_at_5: float
    any_session_at_10: float


class Filled(NamedTuple):
    """A store with dialogues, and which event is which turn."""

    store: Store
    turn_of: dict[int, Turn]
    session_of: dict[Turn, Place]


def dialogues(path: Path) -> list[Dialogue]:
    """The conversations of a LoCoMo file."""
    return [_dialogue(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def _dialogue(sample: dict[str, Any]) -> Dialogue:
    talk = sample["conversation"]
    numbers = sorted(int(found[1]) for name in talk if (found := _SESSION.fullmatch(name.strip())))
    by_name = {name.strip(): turns for name, turns in talk.items()}
    sessions = tuple(
        tuple(
            (str(turn["dia_id"]).strip(), turn["speaker"] == talk["speaker_a"], _said(turn))
            for turn in by_name[f"session_{number}"]
        )
        for number in numbers
    )
    known = {turn_id for session in sessions for turn_id, _, _ in session}
    questions = [
        Question(str(one["question"]), tuple(dict.fromkeys(_gold(one.get("evidence") or ()))))
        for one in sample["qa"]
    ]
    valid = [
        Question(one.text, tuple(turn for turn in one.gold if turn in known)) for one in questions
    ]
    return Dialogue(
        str(sample["sample_id"]).strip(),
        sessions,
        tuple(question for question in valid if question.gold),
    )


def _said(turn: dict[str, Any]) -> str:
    seen = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [image: {seen}]" if seen else "")


def _gold(evidence: Iterable[object]) -> Iterable[str]:
    for named in evidence:
        for session, turn in _EVIDENCE.findall(str(named)):
            yield f"D{int(session)}:{int(turn)}"


def fill(space: Workspace, talks: Sequence[Dialogue]) -> dict[str, Place]:
    """Write and sweep the dialogues: one person prompts, the other answers."""
    places: dict[str, Place] = {}
    for number, talk in enumerate(talks):
        for place, turns in enumerate(talk.sessions):
            log = ClaudeLog(seed=1000 * number + place, cwd=f"/talks/{number}")
            for _, first, text in turns:
                _ = log.prompt(text) if first else log.say(text)
            space.write(log)
            places[log.session_id] = (number, place)
    space.sweep()
    return places


def filled(store: Store, talks: Sequence[Dialogue], places: dict[str, Place]) -> Filled:
    """Which event is which turn, by order: a turn is the n-th of its session."""
    turn_of: dict[int, Turn] = {}
    session_of: dict[Turn, Place] = {}
    for session in store.sessions(SessionQuery(limit=100_000)):
        number, place = places[session.external_id]
        turns = talks[number].sessions[place]
        events = [
            event.id
            for event in store.events(session.id)
            if event.kind in ("user_prompt", "assistant_text")
        ]
        assert len(turns) == len(events), (number, place, len(turns), len(events))
        for event, (turn, _, _) in zip(events, turns, strict=True):
            turn_of[event] = (number, turn)
            session_of[number, turn] = (number, place)
    return Filled(store, turn_of, session_of)


def printed(answer: SearchAnswer) -> list[tuple[int, int | None]]:
    """(session, event) of each result, in the order in which they are printed."""
    return [(item.session_id or 0, item.turn_id) for item in answer.items]


def evaluate(here: Filled, number: int, talk: Dialogue, *, pooled: bool = False) -> list[Score]:
    """Ask every question of one conversation, within its project or over all."""
    root = f"/talks/{number}"
    key = next(one.key for one in here.store.projects() if one.root == root)
    context = RecallContext(here.store, lambda: 0)
    scores: list[Score] = []
    for question in talk.questions:
        request = SearchRequest(question.text, None if pooled else key, limit=DEPTH)
        found = [event for _, event in printed(search(context, request)) if event is not None]
        ranked = list(dict.fromkeys(here.turn_of[one] for one in found if one in here.turn_of))
        scores.append(score(ranked, {(number, turn) for turn in question.gold}, here.session_of))
    return scores


def baseline(
    talks: Sequence[Dialogue], session_of: dict[Turn, Place], *, pooled: bool = False
) -> list[list[Score]]:
    """The same questions to plain FTS5, by conversation."""
    texts = [
        [((number, turn), text) for session in talk.sessions for turn, _, text in session]
        for number, talk in enumerate(talks)
    ]
    everything = PlainFts5(one for talk in texts for one in talk) if pooled else None
    scores: list[list[Score]] = []
    for number, talk in enumerate(talks):
        index = everything or PlainFts5(texts[number])
        scores.append(
            [
                score(
                    index.search(question.text, DEPTH),
                    {(number, turn) for turn in question.gold},
                    session_of,
                )
                for question in talk.questions
            ]
        )
    return scores


def score(ranked: Sequence[Any], gold: set[Turn], session_of: dict[Turn, Place]) -> Score:
    """What an order of turns is worth."""
    sessions = list(dict.fromkeys(session_of[turn] for turn in ranked))
    wanted = {session_of[turn] for turn in gold}
    return Score(
        len(gold & set(ranked[:5])) / len(gold),
        len(gold & set(ranked[:10])) / len(gold),
        next((1 / (rank + 1) for rank, turn in enumerate(ranked) if turn in gold), 0.0),
        len(wanted & set(sessions[:5])) / len(wanted),
        float(bool(wanted & {session_of[turn] for turn in ranked[:10]})),
    )


def table(scores: Sequence[Score]) -> dict[str, float]:
    """Averages in per cent, MRR as it is."""

    def mean(of: Callable[[Score], float]) -> float:
        return sum(of(score) for score in scores) / len(scores) if scores else 0.0

    return {
        "questions": len(scores),
        "turn R@5": round(100 * mean(lambda score: score.turn_at_5), 1),
        "turn R@10": round(100 * mean(lambda score: score.turn_at_10), 1),
        "MRR": round(mean(lambda score: score.turn_rank), 3),
        "session R@5": round(100 * mean(lambda score: score.session_at_5), 1),
        "any session@10": round(100 * mean(lambda score: score.any_session_at_10), 1),
    }


def lines(here: Filled, talks: Sequence[Dialogue]) -> Iterable[dict[str, object]]:
    """The figures: ours and the baseline, within the project and pooled, both halves and all."""
    for pooled in (False, True):
        ours = [evaluate(here, n, talk, pooled=pooled) for n, talk in enumerate(talks)]
        plain = baseline(talks, here.session_of, pooled=pooled)
        for system, scores in (("session-memory", ours), ("FTS5", plain)):
            for half, part in (("dev", scores[:TUNED]), ("held", scores[TUNED:]), ("all", scores)):
                flat = [one for talk in part for one in talk]
                yield {"system": system, "pooled": pooled, "half": half, **table(flat)}


def main(arguments: Sequence[str]) -> int:
    """Print the figures as JSON, one line each."""
    parser = argparse.ArgumentParser(prog="make bench-recall", description=__doc__)
    parser.add_argument("file", nargs="?", default=str(SHARED / "bench" / "locomo_dev.json"))
    parser.add_argument("--own", action="store_true", help="also our own questions")
    given = parser.parse_args(arguments)
    path = Path(given.file)
    if not path.exists():
        print(f"no dialogues at {path}: the figures need bench/locomo_dev.json", file=sys.stderr)
        return 1
    talks = dialogues(path)
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        places = fill(space, talks)
        with space.store() as store:
            for line in lines(filled(store, talks, places), talks):
                print(json.dumps(line))
    if given.own:
        from tests.bench import recall_own

        return recall_own.main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
