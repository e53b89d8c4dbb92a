"""Any name a file can have becomes text that any encoder takes, and is found again by it."""

from __future__ import annotations

import json
import os

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.text.safe_text import safe
from session_memory.file_names import name_to_text, storable, text_to_name

NAMES = st.one_of(
    st.binary(max_size=40),
    st.lists(st.sampled_from([b"\xff", b"\xf4\x8f\xbf\xbf", "ä".encode(), b"a", b"\xed\xa0"])).map(
        b"".join
    ),
).map(lambda data: data.decode("utf-8", "surrogateescape"))


@given(NAMES)
def test_every_name_becomes_text_and_the_same_name_again(name: str) -> None:
    text = name_to_text(name)
    assert text.encode("utf-8").decode("utf-8") == text
    assert json.loads(msgspec.json.encode(text)) == text
    assert text_to_name(text) == name
    assert os.fsencode(text_to_name(text)) == os.fsencode(name)


@given(NAMES, NAMES)
def test_two_names_never_become_one_text(one: str, other: str) -> None:
    assert (name_to_text(one) == name_to_text(other)) == (one == other)


@given(st.text())
def test_a_name_that_is_text_stays_as_it_is(name: str) -> None:
    if all(ord(character) < 0x10FF80 for character in name):
        assert name_to_text(name) == text_to_name(name) == name


@given(st.text(st.characters(exclude_categories=())))
def test_half_a_character_from_a_log_becomes_text_too(text: str) -> None:
    assert name_to_text(text).encode("utf-8") is not None


def test_a_byte_is_shown_as_what_it_is() -> None:
    name = os.fsdecode(b"log\xff\xfe.jsonl")
    assert safe(name) == safe(name_to_text(name)) == "log\\xff\\xfe.jsonl"


def test_texts_anywhere_in_a_value_can_be_encoded() -> None:
    name = os.fsdecode(b"\xff")
    value = {name: [name, (name, 1, None)], "a": {"b": name}}
    text = name_to_text(name)
    assert storable(value) == {text: [text, [text, 1, None]], "a": {"b": text}}
    assert msgspec.json.encode(storable(value))
