"""The log of a day: its layout, its date, and many writers at once."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.journal.flush_journal import Bench

from session_memory.journal import daily

WRITERS, SIZE = 20, 50_000
WRITE = """
import sys
from pathlib import Path
from session_memory.journal import daily
from session_memory.journal.paths import journal_paths
data, number, size, now = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
content = (chr(97 + number) * 79 + "\\n") * (size // 80)
sys.stdin.read()  # until everybody is here
entry = daily.Entry(f"s{number}", f"{number:024x}", content)
daily.append_entry(journal_paths(Path(data), "/work/shop"), entry, now)
"""


def kathmandu(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=ZoneInfo("Asia/Kathmandu")).timestamp() * 1000)  # type: ignore[arg-type]


@pytest.mark.rows("FLU-20")
def test_the_day_is_the_users_own(bench: Bench) -> None:
    late, early = kathmandu(2026, 3, 2, 23, 59), kathmandu(2026, 3, 3, 0, 1)
    daily.append_entry(bench.journal, daily.Entry("a", "0a", "late"), late)
    daily.append_entry(bench.journal, daily.Entry("b", "0b", "early"), early)
    mark = "<!-- session-memory:begin flush session="
    end = "<!-- session-memory:end -->"
    assert bench.journal.day("2026-03-02").read_text() == (
        "# Daily Log: 2026-03-02\n\n## Sessions\n\n## Memory Maintenance\n\n"
        f"### Session (23:59)\n\n{mark}a entry=0a -->\nlate\n{end}\n\n"
    )
    assert bench.journal.day("2026-03-03").read_text() == (
        "# Daily Log: 2026-03-03\n\n## Sessions\n\n## Memory Maintenance\n\n"
        f"### Session (00:01)\n\n{mark}b entry=0b -->\nearly\n{end}\n\n"
    )
    assert len(daily.days(bench.journal)) == 2


@pytest.mark.rows("FLU-21", "FLU-22")
def test_twenty_writers_of_a_new_day_lose_and_mix_nothing(bench: Bench) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(bench.data), str(n), str(SIZE), str(bench.now)],
            stdin=subprocess.PIPE,
        )
        for n in range(WRITERS)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    assert [writer.wait(120) for writer in writers] == [0] * WRITERS
    text = bench.today()
    assert text.count("# Daily Log: 2026-03-02") == 1
    assert text.startswith(
        "# Daily Log: 2026-03-02\n\n## Sessions\n\n## Memory Maintenance\n\n### "
    )
    found = daily.entries(text)
    assert sorted(entry.session for entry in found) == sorted(f"s{n}" for n in range(WRITERS))
    for entry in found:
        letter = chr(97 + int(entry.session[1:]))
        assert entry.content == "\n".join([letter * 79] * (SIZE // 80))
    assert {path.suffix for path in bench.journal.daily.iterdir()} == {".md"}, "no temporary files"


def test_an_entry_is_appended_once(bench: Bench) -> None:
    entry = daily.Entry("s1", "ab12", "text")
    assert daily.append_entry(bench.journal, entry, bench.now)
    assert not daily.append_entry(bench.journal, entry, bench.now)
    assert len(bench.entries()) == 1
    assert daily.find_entry(bench.journal, "ab12") == entry
    assert daily.find_entry(bench.journal, "ab") is None


def test_what_the_user_wrote_by_hand_stays(bench: Bench) -> None:
    daily.append_entry(bench.journal, daily.Entry("s1", "a1", "one"), bench.now)
    day = bench.journal.day("2026-03-02")
    day.write_text(day.read_text() + "my own note")
    daily.append_entry(bench.journal, daily.Entry("s2", "a2", "two"), bench.now)
    assert "my own note\n\n### Session" in bench.today()
    left = daily.without_sessions(bench.today(), {"s1", "s2"})
    assert left.rstrip().endswith("my own note") and "one" not in left and "two" not in left


def test_the_journals_root_holds_nothing_but_what_people_read(bench: Bench) -> None:
    bench.says("text")
    bench.flush(bench.excerpt())
    assert {path.name for path in bench.journal.root.iterdir()} == {"daily"}
    modes = {path.stat().st_mode & 0o777 for path in bench.data.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert {p.stat().st_mode & 0o777 for p in bench.data.rglob("*") if p.is_dir()} == {0o700}


@settings(max_examples=60)
@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_any_session_and_any_text_come_back_as_one_entry_each(said: list[tuple[str, str]]) -> None:
    text = daily.header("2026-03-02")
    for number, (session, content) in enumerate(said):
        session = session.encode("utf-8", "replace").decode()
        text += daily.render_entry(daily.Entry(session, f"{number:x}", content), 0)
    found = daily.entries(text)
    assert [entry.key for entry in found] == [f"{number:x}" for number in range(len(said))]
    sessions = {session.encode("utf-8", "replace").decode() for session, _ in said}
    assert daily.sessions_in(text) == sessions
    assert daily.without_sessions(text, sessions) == daily.header("2026-03-02")
