"""Word vectors: a second opinion on the order of hits, off unless a folder is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recall.store_builder import SHOP, Memory

from session_memory.errors import ConfigError
from session_memory.recall.context import recall_context
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import search
from session_memory.recall.vectors import open_vectors, reordered
from session_memory.settings import Recall as Settings
from session_memory.testing.store_drafts import Said, capture, turn

REPOSITORY = Path(__file__).resolve().parents[2]
LINES = """car 1.0 0.1 0.0
automobile 0.9 0.2 0.0
banana 0.0 0.1 1.0
repair 0.5 0.8 0.1

broken
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "vectors.txt"
    source.write_text(LINES, encoding="utf-8")
    made = tmp_path / "vectors"
    script = REPOSITORY / "scripts" / "word_vectors.py"
    done = subprocess.run(
        [sys.executable, str(script), str(source), str(made)], check=True, capture_output=True
    )
    assert done.stdout.startswith(b"4 words")
    return made


def test_the_script_without_arguments_shows_its_usage() -> None:
    script = REPOSITORY / "scripts" / "word_vectors.py"
    done = subprocess.run([sys.executable, str(script)], check=False, capture_output=True)
    assert done.returncode == 2 and done.stderr.startswith(b"usage:")


def test_texts_of_like_words_are_near(folder: Path) -> None:
    near, far, unknown = open_vectors(str(folder))("car", ["automobile repair", "banana", "zzz"])
    assert near > 0.6 > far and unknown == 0.0


def test_unknown_words_of_a_question_change_nothing(folder: Path) -> None:
    assert open_vectors(str(folder))("zzz", ["car", "banana"]) == [0.0, 0.0]


@given(st.lists(st.floats(0.01, 100), max_size=20))
def test_without_likeness_the_order_stays(scores: list[float]) -> None:
    falling = sorted(scores, reverse=True)
    assert reordered(falling, [0.0] * len(falling), 0.3) == list(range(len(falling)))


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        open_vectors(str(tmp_path / "nothing"))


def test_hits_are_put_into_another_order_but_none_comes_or_goes(
    memory: Memory, folder: Path
) -> None:
    said = ("the shop sells a banana and one banana more", "the shop sells an automobile for car")
    for number, text in enumerate(said):
        (session,) = capture(
            memory.store, Said(f"v{number}", f"/logs/v{number}", (turn(number, text),))
        )
        with memory.store.writing() as writer:
            writer.assign_project(session, "/work/shop", SHOP, "general")
    request = SearchRequest("car shop sells", "shop")
    plain = search(memory.context, request).items
    settings = Settings(str(folder), 1.0)
    other = search(
        recall_context(memory.store, lambda: memory.now, settings=settings), request
    ).items
    assert {hit.turn_id for hit in plain} == {hit.turn_id for hit in other}
    assert "automobile" in other[0].summary
