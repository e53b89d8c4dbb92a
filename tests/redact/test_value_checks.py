"""Values that are secrets are told from placeholders, names and code."""

from __future__ import annotations

import pytest

from session_memory.redact.value_checks import is_identifier, is_setting, is_unmasked, is_value


@pytest.mark.parametrize("value", [b"hunter2-Xq9", b"Zk4vP0qLm8"])
def test_what_looks_random_is_a_value(value: bytes) -> None:
    assert is_value(value)
    assert is_setting(value)


@pytest.mark.parametrize("value", [b"$TOKEN", b"********", b"<your-password>", b"xxxxxxxx"])
def test_a_placeholder_is_none(value: bytes) -> None:
    assert not is_value(value)


def test_a_path_is_no_setting_that_is_secret() -> None:
    assert not is_setting(b"/etc/ssl/certs")


def test_names_of_code_are_identifiers() -> None:
    assert is_identifier(b"password_field")
    assert not is_identifier(b"q8Zt4")


def test_a_token_that_is_crossed_out_is_masked() -> None:
    assert not is_unmasked(b"sk-****")
    assert is_unmasked(b"sk-a8Zk4vP0")
