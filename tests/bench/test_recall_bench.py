"""The recall benchmark itself: data as others write it, and figures of what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.bench import recall, recall_own
from tests.bench.plain_fts5 import PlainFts5

TURNS = [
    {"speaker": "Ann", "dia_id": "D1:1 ", "text": "I bought a pelican kite "},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "Mine is a heron"},
]
SAMPLE = {
    "sample_id": "conv-1 ",
    "conversation": {"speaker_a": "Ann", "session_1": TURNS},
    "qa": [{"question": "Which kite did Ann buy?", "evidence": ["D1:1 "]}],
}


def test_names_with_a_trailing_blank_are_the_same_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dialogues.json"
    path.write_text(json.dumps([SAMPLE, SAMPLE]))
    assert recall.main([str(path)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (ours,) = [
        one
        for one in lines
        if (one["system"], one["pooled"], one["half"]) == ("session-memory", False, "all")
    ]
    assert ours["questions"] == 2 and ours["turn R@5"] == ours["any session@10"] == 100.0
    assert {one["system"] for one in lines} == {"session-memory", "FTS5"}


def test_our_questions_say_where_the_answer_is_and_quote_nothing_else() -> None:
    asked = json.loads(recall_own.QUESTIONS.read_text())
    assert len(asked) >= 40
    assert len({one["kind"] for one in asked}) == 6
    for one in asked:
        assert set(one) - {"later"} == {"kind", "question", "gold"}
        assert all(isinstance(at, int) for ats in one["gold"].values() for at in ats)


def test_without_the_logs_our_questions_are_skipped_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recall_own, "SHARED", tmp_path / "nowhere")
    assert recall_own.main() == 0
    assert "skipped" in capsys.readouterr().err


def test_the_baseline_finds_any_word() -> None:
    index = PlainFts5([("a", "a red kite"), ("b", "nothing")])
    assert index.search("kites of the sea", 5) == ["a"] and index.search("?", 5) == []
