"""How results look, and that stored text cannot drive the terminal."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from click import unstyle
from hypothesis import given
from hypothesis import strategies as st

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.cli.output import (
    Column,
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
from session_memory.cli.progress import Step, progress_line
from session_memory.core.schema import Cost
from session_memory.testing.workspace import Workspace

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
    text = unstyle(table([("ab", 7, None), ("日本", 1234, "x\ny")], ("name", "count", "note")))
    assert text.splitlines() == [
        "name  count  note",
        "ab        7  -",
        "日本  1,234  x y",
    ]


def test_a_table_without_rows_is_its_headers() -> None:
    assert unstyle(table([], ("a", "b"))) == "a  b"


@pytest.mark.rows("CLI-30")
@pytest.mark.parametrize("wide", [40, 80, 120])
def test_a_table_fits_the_terminal_and_its_title_is_whole(
    monkeypatch: pytest.MonkeyPatch, wide: int
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(wide))
    title = "a title of many words that does not fit on a line of a narrow terminal at all, ever"
    columns = (Column("session"), Column("id", drop=1), Column("title", folds=True))
    text = unstyle(table([(7, "x" * 20, title)], columns))
    assert max(map(len, text.splitlines())) <= wide
    assert " ".join(text.split()).replace("x" * 20, "").endswith(title)
    assert ("x" * 20 in text) is (wide > 40)


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
        (1_000_000, "just now"),
        (0, "16 min ago"),
        (1_000_000 + 2 * 86_400_000, "in 2 days"),
        (1_000_000 + 3 * 3_600_000, "in 3 h"),
        (1_000_000 + 60 * 86_400_000, "1970-03-02"),
        (None, "-"),
    ],
)
def test_times_are_relative_and_far_ones_are_dates(at: int | None, text: str) -> None:
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


@pytest.mark.rows("CLI-31")
def test_progress_tells_share_rate_and_remaining_time() -> None:
    line = progress_line(Step(512 * 1024, 1024 * 1024, "a.jsonl"), 2, human_bytes)
    assert line == " 50%  512.0 KiB of 1.0 MiB  256.0 KiB/s  2 s left  a.jsonl"
    assert progress_line(Step(), 3, str) == "working  3 s"


def run_at_terminal(space: Workspace, args: str, environ: dict[str, str], *, wide: int = 80) -> str:
    """What one command prints on a terminal of so many columns and ten lines."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 10, wide, 0, 0))
    child = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "session_memory",
            "--config",
            str(space.write_config()),
            *args.split(),
        ],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={"PATH": os.environ["PATH"], "HOME": str(space.home), "TERM": "xterm", **environ},
    )
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal whose other side is closed so
        while part := os.read(leader, 65_536):
            shown += part
    os.close(leader)
    assert child.wait() == 0, shown
    return shown.decode().replace("\r\n", "\n")


@pytest.fixture
def swept(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    for seed in range(12):
        log = ClaudeLog(seed)
        log.prompt(f"question number {seed} about the terminal and all the words that it shows")
        log.say("answer")
        space.write(log)
    space.sweep()
    return space


@pytest.mark.rows("CLI-32")
def test_colour_is_on_terminals_only_and_can_be_forced_or_switched_off(swept: Workspace) -> None:
    pager = {"PAGER": "cat"}
    assert "\x1b[" in run_at_terminal(swept, "sessions", pager)
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in run_at_terminal(swept, "sessions", pager | plain)
    piped = swept.run("--config", str(swept.write_config()), "sessions")
    assert "\x1b" not in piped.stdout
    forced = swept.run("--config", str(swept.write_config()), "--color", "always", "sessions")
    assert "\x1b[" in forced.stdout


@pytest.mark.rows("CLI-33")
def test_lists_say_how_many_more_there_are(swept: Workspace) -> None:
    config = str(swept.write_config())
    assert "2 more: --all" in swept.run("--config", config, "sessions", "--limit", "10").stdout
    assert "more:" not in swept.run("--config", config, "sessions", "--all").stdout
