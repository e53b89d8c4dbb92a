"""Redaction measured: what it finds of labelled secrets, and what it flags in ordinary text."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from tests.bench.bench_redact import own_lines, read, report
from tests.bench.redact_families import log_lines
from tests.bench.redact_figures import Labelled, score, spans_of
from tests.redact.labelled_lines import flag_talk, letter_lines

from session_memory.redact import Redactor

REDACTOR = Redactor(b"a key of the tests")


def figures(lines: list[Labelled]) -> dict[str, float]:
    return {
        name: value
        for name, value in score(lines, REDACTOR, timing=False).figures().items()
        if isinstance(value, int | float)
    }


def test_labelled_secrets_are_found_and_lines_that_only_look_like_them_stay() -> None:
    found = figures(own_lines())
    assert found["secrets"] == 4000
    assert 0.95 <= found["recall"] < 1
    assert found["flags_per_1000_lines_without_secrets"] <= 5


@pytest.mark.rows("EXT-35")
def test_secrets_of_letters_alone_are_found_and_talk_about_options_stays() -> None:
    secrets = [Labelled(line.text, line.spans) for line in letter_lines(3, 2000)]
    talk = [Labelled(line.text) for line in flag_talk(3, 1000)]
    found = figures([*secrets, *talk])
    assert found["recall"] >= 0.99
    assert found["flags_per_1000_lines_without_secrets"] == 0


def test_sources_of_the_standard_library_are_hardly_flagged() -> None:
    folder = Path(sysconfig.get_path("stdlib"))
    lines = [
        Labelled(line)
        for file in sorted(folder.glob("*.py"))[:60]
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    assert len(lines) > 10_000
    assert figures(lines)["flags_per_1000_lines_without_secrets"] <= 2


@pytest.mark.shared
def test_genuine_logs_are_hardly_flagged(shared: Path) -> None:
    lines = [Labelled(line) for line in islice(lines_of_logs(shared), 30_000)]
    assert len(lines) == 30_000
    assert figures(lines)["flags_per_1000_lines_without_secrets"] <= 2


def lines_of_logs(shared: Path) -> Iterator[str]:
    for file in sorted((shared / "logs").rglob("*.jsonl")):
        yield from log_lines(file)


def test_a_score_counts_whole_partial_and_wrong_flags() -> None:
    lines = [
        Labelled("password=hunter2hunter2", ((9, 23),)),
        Labelled("é password=hunter2hunter2", ((11, 25),)),
        Labelled("password=hunter2hunter2 and more", ((9, 32),)),
        Labelled("the word is hunter", ((12, 18),)),
        Labelled("password=hunter2hunter2"),
        Labelled("plain"),
    ]
    result = score(lines, REDACTOR)
    assert (result.lines, result.secrets, result.found, result.partial) == (6, 4, 2, 1)
    assert (result.flags, result.true_flags) == (4, 3)
    assert (result.clean_lines, result.clean_flags) == (2, 1)
    assert result.rules == {"assignment": 4}
    assert "recall" in report(result)
    assert REDACTOR.take_counts() == {}


def test_places_are_counted_in_characters() -> None:
    assert spans_of(REDACTOR, "é password=hunter2hunter2") == [(11, 25, "assignment")]


def test_labelled_lines_are_read_and_a_bad_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "labelled.jsonl"
    file.write_text('{"line": "a", "secret_spans": [[0, 1]]}\n\n{"line": "b"}\n', encoding="utf-8")
    assert read(str(file)) == [Labelled("a", ((0, 1),)), Labelled("b")]
    file.write_text('{"line": "a"}\n{"lime": 1}\n', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"labelled.jsonl:2"):
        read(str(file))
