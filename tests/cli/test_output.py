"""How results look, and that stored text cannot drive the terminal."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.cli.output import (
    byte_progress,
    emit_json,
    human_bytes,
    human_time,
    one_line,
    safe,
    table,
    to_json,
    wants_color,
)
from session_memory.core.schema import Cost

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


@given(ANY_TEXT)
def test_safe_text_holds_nothing_a_terminal_would_obey(text: str) -> None:
    shown = safe(text)
    assert all(ch in "\n\t" or not (ord(ch) < 32 or 127 <= ord(ch) < 160) for ch in shown)
    assert not set(shown) & set("\u200b\u200e\u202a\u202e\u2066\u2069\ufeff\u2028")
    shown.encode("utf-8")
    assert safe(shown) == shown


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), max_size=60))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert safe(text) == text


def test_escapes_are_spelled_out() -> None:
    assert safe("a\x1b[2Jb\x9b\r\u202e") == "a\\x1b[2Jb\\x9b\\r\\u202e"
    assert one_line("a\n b\tc\x07") == "a b c\\x07"


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_json_keeps_text_exactly_and_holds_no_raw_control_character(text: str) -> None:
    encoded = to_json({"text": text})
    assert json.loads(encoded) == {"schema_version": 1, "text": text}
    assert all(31 < ord(ch) < 127 or ord(ch) > 159 for ch in encoded)
    assert "\u202e" not in encoded


def test_json_takes_our_values_too(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json(Cost(input=3))
    answer = json.loads(capsys.readouterr().out)
    assert (answer["schema_version"], answer["input"]) == (1, 3)


def test_tables_are_aligned_also_with_wide_characters() -> None:
    text = table([("ab", 7, None), ("日本", 1234, "x\ny")], ("name", "count", "note"))
    assert text.splitlines() == [
        "name  count  note",
        "ab        7  -",
        "日本   1234  x y",
    ]


def test_a_table_without_rows_is_its_headers() -> None:
    assert table([], ("a", "b")) == "a  b"


def test_a_table_is_cut_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    lines = table([("x" * 50, 1)], ("long", "n")).splitlines()
    assert [len(line) for line in lines] == [20, 20]
    assert lines[1].endswith("…")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (4 * 1024**3, "4.0 GiB"),
        (1024**5, "1.0 PiB"),
        (None, "unlimited"),
    ],
)
def test_sizes_are_in_binary_units(size: int | None, text: str) -> None:
    assert human_bytes(size) == text


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (1_000_000, "1970-01-01T00:16:40.000Z (now)"),
        (999_000, "1970-01-01T00:16:39.000Z (1 second ago)"),
        (0, "1970-01-01T00:00:00.000Z (16 minutes ago)"),
        (1_000_000 + 2 * 86_400_000, "1970-01-03T00:16:40.000Z (in 2 days)"),
        (None, "-"),
    ],
)
def test_times_are_iso_followed_by_how_long_ago(at: int | None, text: str) -> None:
    assert human_time(at, 1_000_000) == text


@pytest.mark.parametrize(
    ("choice", "environ", "terminal", "wanted"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour_follows_flag_then_environment_then_terminal(
    choice: str, environ: dict[str, str], terminal: bool, wanted: bool
) -> None:
    assert wants_color(choice, environ, terminal) is wanted


def test_progress_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with byte_progress(shown=True) as advance:
        advance(1, 3, "a.jsonl")
    assert capsys.readouterr() == ("", "")


def test_progress_shows_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with byte_progress(shown=True) as advance:
        advance(3, 3, "a.jsonl")
    assert "a.jsonl" in capsys.readouterr().err
