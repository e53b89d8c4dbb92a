"""Each kind of setting takes its values and refuses the others."""

from __future__ import annotations

import pytest

from session_memory.settings.kinds import ALLOWED, InvalidValueError, Kind, check, from_text


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("flag", True, True),
        ("cap", "4 GiB", 4 << 30),
        ("cap", "unlimited", None),
        ("days", 30, 30),
        ("share", 1, 1.0),
        ("list", ["a", "b"], ("a", "b")),
        ("path", "~/store", "~/store"),
        ("interval", "30m", "30m"),
    ],
)
def test_a_value_of_its_kind_is_typed(kind: Kind, said: object, value: object) -> None:
    assert check(kind, said) == value


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("flag", "true"),
        ("size", 0),
        ("count", True),
        ("share", 1.5),
        ("path", "relative/place"),
        ("list", ["a", ""]),
        ("level", "everything"),
        ("interval", "7m"),
        ("name", "two\nlines"),
    ],
)
def test_anything_else_is_refused(kind: Kind, said: object) -> None:
    with pytest.raises(InvalidValueError):
        check(kind, said)


def test_a_variable_says_what_a_file_would() -> None:
    assert from_text("flag", " Yes ") is True
    assert from_text("days", "30") == 30
    assert from_text("money", "nan") == "nan"
    assert from_text("list", "a:b") == ["a", "b"]


def test_every_kind_says_what_it_takes() -> None:
    assert ALLOWED.keys() == set(Kind.__args__)
