"""The recall benchmark itself: data as others write it, and figures of what is printed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.bench import peers_install, peers_process, recall, recall_own, recall_peers
from tests.bench.plain_fts5 import PlainFts5

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace

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


SERVER = """
import http.server, json, sys, urllib.parse

class Recorded(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(asked.query)
        page = asked.path == "/api/v1/search"
        word = (query["q"] if page else query["pattern"])[0]
        names = sys.argv[1:] if " OR " in word else []
        results = [{"session_id": name, "ordinal": 3} for name in names]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"results" if page else "matches": results}).encode())

server = http.server.HTTPServer(("127.0.0.1", 0), Recorded)
print(f"listening at http://127.0.0.1:{server.server_port} (started)", flush=True)
server.serve_forever()
"""


@pytest.mark.skipif(os.name == "nt", reason="process groups")
def test_answers_of_agentsview_are_scored_by_session(tmp_path: Path) -> None:
    """It puts the agent before an id, or names the file, and gives a session several times."""
    space = Workspace(tmp_path)
    kite, heron = ClaudeLog(seed=1), ClaudeLog(seed=2)
    _ = kite.prompt("buy a pelican kite"), heron.prompt("paint the heron")
    _, path = space.write(kite, heron)
    path.rename(path.with_stem("2026-01-22-renamed"))
    space.sweep()
    (event,) = [one for one in space.events(heron.session_id) if one.kind == "user_prompt"]
    asked = [recall_own.Asked("how", "paint a heron", False, frozenset({event.id}), 0)]
    with space.store() as store:
        here = recall_peers.sessions_of(store)
    names = [f"claude:{kite.session_id}", f"claude:{kite.session_id}", "2026-01-22-renamed"]
    command = [sys.executable, "-c", SERVER, *names]
    with peers_process.serving(command, tmp_path) as address:
        answers = recall_peers.theirs(address, asked, here)
    ranks = {name: found[0].rank for name, found in answers.items()}
    assert len(ranks) == 8
    assert all(rank == (1 if "any word" in name else None) for name, rank in ranks.items())


def test_without_agentsview_one_line_says_so_and_fts5_stands_beside_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers_install, "AGENTSVIEW", tmp_path / "nowhere")
    space = Workspace(tmp_path)
    log = ClaudeLog(seed=1)
    log.prompt("buy a pelican kite")
    space.write(log)
    space.sweep()
    gold = frozenset(event.id for event in space.events(log.session_id))
    asked = [recall_own.Asked("how", "which pelican", False, gold, 0)]
    with space.store() as store:
        lines = list(recall_peers.lines(store, asked))
    assert [(one["system"], one["hit@1"]) for one in lines if one["half"] == "all"] == [
        ("session-memory", 100.0),
        ("FTS5", 100.0),
    ]
    assert capsys.readouterr().err.count("agentsview is not installed") == 1


@pytest.mark.skipif(os.name == "nt", reason="process groups")
def test_a_server_that_ends_without_an_address_is_an_error(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no port')"]
    with pytest.raises(OSError, match="listens"), peers_process.serving(command, tmp_path):
        pass
