"""Injection pages: whole sections, one page per directory, found by the hook."""

from __future__ import annotations

import json
from pathlib import Path

from session_memory.core.loop.injection import MAX_CHARS, Section, fit
from session_memory.worker.injection_pages import page_name, write_pages


def test_sections_that_do_not_fit_are_left_out_whole() -> None:
    sections = tuple(Section(f"s{n}", "x" * 3_000) for n in range(5))
    kept = fit(sections)
    assert [section.id for section in kept] == ["s0", "s1", "s2"]
    assert sum(len(section.text) + 1 for section in kept) <= MAX_CHARS


def test_pages_come_and_go_with_their_sections(tmp_path: Path) -> None:
    one = (Section("memory", "run the tests with make test"),)
    assert write_pages(tmp_path, {"/work/a": one, "/work/b": ()}, 5) == 1
    folder = tmp_path / "inject"
    assert [path.name for path in folder.iterdir()] == [page_name("/work/a")]
    page = json.loads((folder / page_name("/work/a")).read_text(encoding="utf-8"))
    assert page["v"] == 1
    assert page["sections"][0]["text"] == "run the tests with make test"
    assert write_pages(tmp_path, {}, 6) == 0
    assert list(folder.iterdir()) == []


def test_an_unchanged_page_is_not_written_again(tmp_path: Path) -> None:
    one = (Section("memory", "text"),)
    write_pages(tmp_path, {"/work/a": one}, 5)
    path = tmp_path / "inject" / page_name("/work/a")
    before = path.stat().st_mtime_ns
    write_pages(tmp_path, {"/work/a": one}, 9)
    assert path.stat().st_mtime_ns == before
