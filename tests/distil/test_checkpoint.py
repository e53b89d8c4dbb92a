"""Distilling that goes on from a checkpoint gives what distilling from the start does."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from msgspec.structs import replace

from session_memory.core.hashing import text_key
from session_memory.core.schema import Session, SessionEvent
from session_memory.distil import attempts, checkpoint, cures, observe, runs, work
from session_memory.distil.checkpoint import Reading, made_for, resume
from session_memory.store.values import Checkpoint

SESSION = Session(7, "claude", "abc", cwd="/work/shop", event_count=10**6)
NAME = made_for(SESSION, continued=False)
PROMPTS = (
    "Please fix the login, test_login fails.",
    "No, that is wrong. Never commit without asking me.",
    "thanks, perfect",
    "Always run the linter before you commit.",
    "continue",
    "What is left?",
)
ANSWERS = (
    "Done: the login reads the cookie once.\n- [ ] write a test for logout",
    "We decided to keep the cache in memory. Next: measure it.",
    "Blocked: the database is not reachable.",
    "I will look at the code first:",
)
COMMANDS = (
    ("pytest -q tests/test_login.py", "FAILED test_login - KeyError: 'cookie'\n1 failed", 1),
    ("pytest -q tests/test_login.py", "3 passed in 0.1s", 0),
    ("python -m pytest", "(eval):1: command not found: python", 127),
    ("python3 -m pytest", "9 passed in 1s", 0),
    ("git status", "On branch fix-login", 0),
    ("git commit -m 'Read the cookie once'", "[fix-login 1234567] Read the cookie once", 0),
    ("git push", "* [new branch]      fix-login -> fix-login", 0),
    ("npm start", "Error: listen EADDRINUSE: address already in use :::3000", 1),
    ("ruff check", "All checks passed!", 0),
)


class Checkpoints:
    """A store that has one checkpoint."""

    def __init__(self, found: Checkpoint | None) -> None:
        self.found = found

    def checkpoint(self, session_id: int) -> Checkpoint | None:
        return self.found

    def events_to_distil(self, session_id: int, from_seq: int = 0) -> Iterator[SessionEvent]:
        raise AssertionError


def story(chance: random.Random, length: int) -> list[SessionEvent]:
    """A session in which results come late, twice, or never."""
    events: list[SessionEvent] = []
    waiting: list[SessionEvent] = []
    late_results = chance.choice((0.0, 0.01, 0.5))

    def add(kind: str, origin: str, text: str, **fields: object) -> SessionEvent:
        seq = len(events)
        event = SessionEvent(
            7, seq, kind, origin, text=text, at=seq * 1000, fingerprint=seq * 31, id=(7 << 24) + seq
        )  # type: ignore[arg-type]
        events.append(replace(event, **fields))
        return events[-1]

    while len(events) < length:
        choice = chance.random()
        if choice < 0.1:
            add("user_prompt", "user", chance.choice(PROMPTS), inherited=chance.random() < 0.1)
        elif choice < 0.2:
            add("assistant_text", "agent", chance.choice(ANSWERS))
        elif choice < 0.25:
            add("injected", "user", chance.choice(PROMPTS), label="queued_prompt")
        elif choice < 0.28:
            add("error", "harness", "API Error: overloaded")
        elif choice < 0.32:
            plan = '{"todos": [{"content": "write %s", "status": "%s"}]}'
            state = chance.choice(("pending", "completed"))
            text = plan % (chance.choice(("a test", "the code")), state)
            add("tool_call", "agent", text, tool="TodoWrite", tool_class="plan")
        elif choice < 0.45:
            path = f"/work/shop/{chance.choice('abc')}.py"
            fields = {"tool": "Edit", "tool_class": "edit", "files": (path,)}
            waiting.append(add("tool_call", "agent", "{}", call_id=f"e{len(events)}", **fields))
        elif choice < 0.7 or not waiting:
            command, output, code = chance.choice(COMMANDS)
            fields = {"tool": "Bash", "tool_class": "shell", "command": command}
            call = add("tool_call", "agent", command, call_id=f"c{len(events)}", **fields)
            waiting.append(replace(call, text=output, exit_code=code))
        else:
            late = chance.random() < late_results
            call = waiting.pop(chance.randrange(len(waiting)) if late else -1)
            text, code = call.text or "", call.exit_code
            running = chance.random() < 0.1 and call.command is not None
            if running:
                text, code = f"Process running with session ID {chance.randrange(5)}", None
            add(
                *("tool_result", "tool", text),
                call_id=call.call_id,
                exit_code=code,
                is_error=code not in (None, 0),
                label="denied" if chance.random() < 0.05 else None,
            )
            if running:
                poll = {"tool": "Bash", "tool_class": "shell", "call_id": f"p{len(events)}"}
                asked = f'{{"session_id": {chance.randrange(5)}}}'
                waiting.append(add("tool_call", "agent", asked, **poll))
    return events


def distilled(reading: Reading) -> tuple[object, object]:
    return reading.builder.digest(SESSION), reading.observer.finish()


def read(events: list[SessionEvent], reading: Reading | None = None) -> Reading:
    reading = reading or Reading(SESSION, continued=False)
    for event in events:
        reading.add(event)
    return reading


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so low that a short session meets them all."""
    monkeypatch.setattr(checkpoint, "WORTHWHILE", 1)
    monkeypatch.setattr(checkpoint, "APART", 1)
    monkeypatch.setattr(attempts, "MAX_ATTEMPTS", 40)
    monkeypatch.setattr(observe, "MAX_PER_SESSION", 12)
    monkeypatch.setattr(runs, "MAX_COMMANDS", 15)
    for module in (attempts, cures, work):
        monkeypatch.setattr(module, "RECENT", 6)
    monkeypatch.setattr(cures, "AFTER", 6)


@pytest.mark.rows("CAP-48")
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.usefixtures("small")
def test_going_on_from_checkpoints_gives_what_reading_it_all_does(seed: int) -> None:
    chance = random.Random(seed)
    events = story(chance, 400)
    cuts = [0, *sorted(chance.randrange(400) for _ in range(chance.choice((1, 3, 30)))), 400]
    reading: Reading | None = None
    for start, end in pairwise(cuts):
        reading = read(events[start:end], reading)
        made = checkpoint.checkpoint(reading, SESSION, continued=False)
        assert distilled(reading) == distilled(read(events[:end]))
        if made is not None:  # what distilling did to the reading is not in it
            reading = resume(Checkpoints(made), SESSION, continued=False)
            assert reading is not None
        else:
            reading = read(events[:end])


def test_texts_that_were_heard_are_known_again_in_every_process() -> None:
    assert text_key("continue") == 3594273624406130694


def test_short_sessions_have_none() -> None:
    events = story(random.Random(1), checkpoint.WORTHWHILE - 1)
    assert checkpoint.checkpoint(read(events), SESSION, continued=False) is None


def test_a_few_new_events_are_no_reason_for_another() -> None:
    reading = read(story(random.Random(1), checkpoint.WORTHWHILE))
    assert checkpoint.checkpoint(reading, SESSION, continued=False) is not None
    read(story(random.Random(2), checkpoint.APART - 1), reading)
    assert checkpoint.checkpoint(reading, SESSION, continued=False) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(SESSION, cwd="/work/elsewhere"),
        replace(SESSION, source_kind="internal"),
        replace(SESSION, id=8),
    ],
)
def test_it_is_of_no_use_for_another_session_place_or_kind(other: Session) -> None:
    assert made_for(other, continued=False) != NAME
    assert made_for(SESSION, continued=True) != NAME


class Harmful:
    """What a planted checkpoint would bring along."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("planted",)


@pytest.mark.parametrize("body", [b"", b"no pickle", pickle.dumps(Harmful()), pickle.dumps([])])
def test_what_is_no_reading_is_not_loaded(
    body: bytes, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    planted = Checkpoints(Checkpoint(NAME, 1, 1, body))
    assert resume(planted, SESSION, continued=False) is None
    assert not os.path.exists("planted")
