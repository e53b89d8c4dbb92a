"""The texts made from grammars: labels that are right, parts that share nothing."""

from __future__ import annotations

import pytest
from tests.bench.redact_families import PARTS, Part, measure, report
from tests.redact import format_families, look_alikes
from tests.redact.secret_values import DEVELOP_WORDS, HELD_WORDS

from session_memory.redact import Redactor

REDACTOR = Redactor(b"a key of the tests")
EACH = 150


@pytest.fixture(scope="module", params=PARTS)
def part(request: pytest.FixtureRequest) -> tuple[str, Part]:
    return request.param, measure(request.param, REDACTOR, each=EACH)


def test_parts_share_no_family_and_no_word() -> None:
    for both in (format_families, look_alikes):
        assert not set(both.DEVELOP) & set(both.HELD_BACK)
    assert not set(DEVELOP_WORDS) & set(HELD_WORDS)


@pytest.mark.parametrize("families", [format_families.DEVELOP, format_families.HELD_BACK])
def test_every_text_has_a_secret_of_some_length_where_the_label_says(
    families: dict[str, format_families.Family],
) -> None:
    once = list(format_families.samples(families, 3, 100))
    assert once == list(format_families.samples(families, 3, 100))
    for _, sample in once:
        ((start, end),) = sample.spans
        assert end - start >= 5
        assert "@v@" not in sample.text and "\ue000" not in sample.text
        assert sample.text[start] not in " \"'"


def test_look_alikes_are_whole() -> None:
    for families in (look_alikes.DEVELOP, look_alikes.HELD_BACK):
        for _, sample in look_alikes.look_alikes(families, 3, 100):
            assert not sample.spans
            assert not any(mark in sample.text for mark in ("@n@", "@w@", "@N@", "@h@", "@b@"))


def test_a_part_is_reported_by_family_and_class(part: tuple[str, Part]) -> None:
    name, measured = part
    shown = report(name, measured)
    assert "by family" in shown and "by class" in shown
    assert measured.ordinary.clean_lines > 10_000


@pytest.mark.rows("RED-04")
def test_secrets_are_found_and_look_alikes_stay_in_both_parts(part: tuple[str, Part]) -> None:
    figures = part[1].figures()
    assert figures["recall"] >= 0.85
    assert figures["precision_with_look_alikes"] >= 0.8
    assert figures["flags_per_1000_ordinary_lines"] <= 5
