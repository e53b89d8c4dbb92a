"""Does search find what was said? Dialogues with questions, and turns by their own words.

`make bench-recall` sweeps the dialogues of bench/locomo_dev.json (five conversations; the other
five are for judging) as logs of two people's sessions into one store, each conversation a project
of its own, and asks our search. No model is involved. A turn is found when it stands among the
first k events; a session's rank is that of its best event. The figures are averages over all
questions that name evidence:

R@k = share of the evidence among the first k. MRR = 1 / rank of the first evidence.
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

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.store.port import SessionQuery, Store, TextFilter
from session_memory.testing.workspace import Workspace

DEPTH = 200
_EVIDENCE = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")


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


def dialogues(path: Path) -> list[Dialogue]:
    """The conversations of a LoCoMo file."""
    return [_dialogue(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def _dialogue(sample: dict[str, Any]) -> Dialogue:
    talk = sample["conversation"]
    numbers = sorted(int(found[1]) for name in talk if (found := _SESSION.fullmatch(name)))
    sessions = tuple(
        tuple(
            (turn["dia_id"], turn["speaker"] == talk["speaker_a"], _said(turn))
            for turn in talk[f"session_{number}"]
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
        sample["sample_id"], sessions, tuple(question for question in valid if question.gold)
    )


def _said(turn: dict[str, Any]) -> str:
    seen = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [image: {seen}]" if seen else "")


def _gold(evidence: Iterable[object]) -> Iterable[str]:
    for named in evidence:
        for session, turn in _EVIDENCE.findall(str(named)):
            yield f"D{int(session)}:{int(turn)}"


def fill(space: Workspace, talks: Sequence[Dialogue]) -> None:
    """Write and sweep the dialogues: one person prompts, the other answers."""
    for number, talk in enumerate(talks):
        for place, turns in enumerate(talk.sessions):
            log = ClaudeLog(seed=1000 * number + place, cwd=f"/talks/{talk.name}")
            for _, first, text in turns:
                _ = log.prompt(text) if first else log.say(text)
            space.write(log)
    space.sweep()


def evaluate(store: Store, talk: Dialogue) -> list[Score]:
    """Ask every question of one conversation within its project."""
    project = next(one for one in store.projects() if talk.name in one.root)
    turn_of, session_of = _places(store, talk, project.key)
    where = TextFilter(project_id=project.id)
    scores: list[Score] = []
    for question in talk.questions:
        found = [event for event, _ in store.search(question.text, DEPTH, where)]
        turns = [turn_of[event] for event in found if event in turn_of]
        sessions = list(dict.fromkeys(session_of[turn] for turn in turns))
        gold = set(question.gold)
        wanted = {session_of[turn] for turn in gold}
        scores.append(
            Score(
                len(gold & set(turns[:5])) / len(gold),
                len(gold & set(turns[:10])) / len(gold),
                next((1 / (rank + 1) for rank, turn in enumerate(turns) if turn in gold), 0.0),
                len(wanted & set(sessions[:5])) / len(wanted),
            )
        )
    return scores


def _places(store: Store, talk: Dialogue, key: str) -> tuple[dict[int, str], dict[str, int]]:
    """Event to turn and turn to session, by order: a turn is the n-th of its session."""
    by_first = {turns[0][2]: turns for turns in talk.sessions}
    turn_of: dict[int, str] = {}
    session_of: dict[str, int] = {}
    for session in store.sessions(SessionQuery(project=key, limit=10_000)):
        events = [
            event
            for event in store.events(session.id, texts=True)
            if event.kind in ("user_prompt", "assistant_text")
        ]
        turns = by_first[(events[0].text or "").strip()]
        assert len(turns) == len(events), (talk.name, session.id, len(turns), len(events))
        for event, (turn, _, _) in zip(events, turns, strict=True):
            turn_of[event.id] = turn
            session_of[turn] = session.id
    return turn_of, session_of


def table(scores: Sequence[Score]) -> dict[str, float]:
    """Averages in per cent, MRR as it is."""

    def mean(of: Callable[[Score], float]) -> float:
        return sum(of(score) for score in scores) / len(scores)

    return {
        "questions": len(scores),
        "turn R@5": round(100 * mean(lambda score: score.turn_at_5), 1),
        "turn R@10": round(100 * mean(lambda score: score.turn_at_10), 1),
        "MRR": round(mean(lambda score: score.turn_rank), 3),
        "session R@5": round(100 * mean(lambda score: score.session_at_5), 1),
    }


def main(arguments: Sequence[str]) -> int:
    """Print the figures as JSON, one line per conversation and one for all."""
    parser = argparse.ArgumentParser(prog="make bench-recall", description=__doc__)
    parser.add_argument("file", nargs="?", default=str(SHARED / "bench" / "locomo_dev.json"))
    path = Path(parser.parse_args(arguments).file)
    if not path.exists():
        print(f"no dialogues at {path}: the figures need bench/locomo_dev.json", file=sys.stderr)
        return 1
    talks = dialogues(path)
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        fill(space, talks)
        scores: list[Score] = []
        with space.store() as store:
            for talk in talks:
                of_talk = evaluate(store, talk)
                print(json.dumps({"conversation": talk.name, **table(of_talk)}))
                scores += of_talk
        print(json.dumps({"conversation": "all", **table(scores)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
