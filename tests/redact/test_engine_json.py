"""JSON documents stay JSON, and a secret's name is enough to redact its value."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.redact import RULES, Redactor, Rule, render
from session_memory.redact.engine import VENDOR_ID
from session_memory.redact.rule import fake
from session_memory.redact.secret_names import SECRET_NAME, is_secret_name

REDACTOR = Redactor(b"a key of the tests")
PLAIN = "[REDACTED_SECRET]"


def shown(document: object) -> object:
    encoded = json.dumps(document, ensure_ascii=False).encode()
    return json.loads(render(REDACTOR.redact_json(encoded).decode()))


@pytest.mark.rows("EXT-35")
def test_values_under_secret_names_and_secrets_in_strings_go() -> None:
    assert shown({"password": "hunter2hunter2", "user": "me"}) == {"password": PLAIN, "user": "me"}
    assert shown({"a": [{"clientSecret": "abcdefgh"}]}) == {"a": [{"clientSecret": PLAIN}]}
    command = fake("curl -H 'X: 1' https://me:hunter2@h.test/ ghp_", 36)
    assert shown({"command": command}) == {
        "command": f"curl -H 'X: 1' https://me:{PLAIN}@h.test/ {PLAIN}"
    }
    assert shown({fake("ghp_", 36): 1}) == {PLAIN: 1}
    assert shown({"text": 'say "password": "hunter2hunter2"'}) == {
        "text": f'say "password": "{PLAIN}"'
    }


def test_names_alone_prose_and_placeholders_stay() -> None:
    for value in (
        "short",
        "must have eight characters",
        "<your-password>",
        "${PASSWORD}",
        "xxxxxxxx",
    ):
        document = {"password": value, "max_tokens": "12345678", "token": 123456789}
        encoded = json.dumps(document).encode()
        assert REDACTOR.redact_json(encoded) is encoded


def test_an_untouched_document_is_the_same_object() -> None:
    for encoded in (b"{}", b'{"a": 1.50}', b'{"url": "https://host.test/", "n": 1.50}'):
        assert REDACTOR.redact_json(encoded) is encoded


def test_escapes_do_not_hide_a_secret() -> None:
    token = fake("", 36)
    for prefix in ("gh\\u0070_", "\\u0067hp_", "\\nghp_"):
        encoded = f'{{"text": "{prefix}{token}"}}'.encode()
        assert token.encode() not in REDACTOR.redact_json(encoded)
    assert b"hunter2" not in REDACTOR.redact_json(rb'{"url": "https:\/\/me:hunter2@host.test"}')


def test_a_secret_keeps_its_tag_in_and_out_of_a_document() -> None:
    token = fake("ghp_", 36)
    bare = REDACTOR.redact_text(token)
    encoded = json.dumps({"token": token, "text": f"use {token}"}).encode()
    assert json.loads(REDACTOR.redact_json(encoded)) == {"token": bare, "text": f"use {bare}"}


@pytest.mark.parametrize(
    "broken",
    [
        b'{"password": "hunter2hunter2"',
        b"password=hunter2hunter2 \xff\xfe",
        b'{"password": "hunter2hunter2", "x": "\\ud800"}',
        b'{"password": "hunter2hunter2", "x": 1e999}',
        b'{"x": %s, "password": "hunter2hunter2"}' % (b"1" * 60),
        b'{"password": "hunter2hunter2", "x": %s}' % (b"[" * 50_000 + b"]" * 50_000),
        b'{"x": "\xff", "password": "hunter2hunter2"}',
    ],
    ids=["cut", "no-json", "surrogate", "huge-float", "huge-int", "deep", "no-utf-8"],
)
def test_what_cannot_be_decoded_still_comes_out_redacted_and_as_json(broken: bytes) -> None:
    result = REDACTOR.redact_json(broken)
    assert b"hunter2hunter2" not in result
    json.loads(result)
    assert REDACTOR.redact_json(result) == result


SECRETS = ["hunter2hunter2", fake("ghp_", 36), "token=abcdefgh12", fake("Bearer ", 20)]
NAMES = st.sampled_from(["password", "a", "api_key", "token", "b c"])
LEAVES = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=12)
VALUES = st.recursive(
    LEAVES | st.sampled_from(SECRETS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.rows("EXT-34")
@settings(max_examples=150)
@given(VALUES, st.booleans())
def test_documents_stay_json_keep_their_shape_and_settle_at_once(
    value: object, ascii_: bool
) -> None:
    encoded = json.dumps(value, ensure_ascii=ascii_).encode("utf-8")
    once = REDACTOR.redact_json(encoded)
    assert shape(json.loads(once)) == shape(value)
    assert REDACTOR.redact_json(once) == once
    assert fake("ghp_", 36).encode() not in once


def shape(value: object) -> object:
    match value:
        case dict():
            return {name: shape(item) for name, item in value.items()}
        case list():
            return [shape(item) for item in value]
        case str():
            return "text"
        case _:
            return value


@settings(max_examples=150)
@given(
    st.binary(max_size=80),
    st.sampled_from([b'"password":"hunter2hunter2"', b"token=abcdefgh", b"{"]),
)
def test_no_bytes_make_it_raise(noise: bytes, part: bytes) -> None:
    REDACTOR.redact_json(noise + part + noise)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_rule_that_looks_for_the_end_of_a_text_finds_it_in_every_string(place: int) -> None:
    texts = ["x", "y", "z"]
    texts[place] = "Server=db;Pwd=aB1!"
    expected = [*texts[:place], f"Server=db;Pwd={PLAIN}", *texts[place + 1 :]]
    assert shown({"lines": texts}) == {"lines": expected}


def test_words_are_looked_at_together_and_redacted_one_by_one() -> None:
    secret = fake("sk-", 24)
    changed = REDACTOR.redact_words(["toolu_01", secret, "call_2"])
    assert changed == {secret: REDACTOR.redact_text(secret)}
    assert secret not in changed[secret]
    assert REDACTOR.redact_words(["toolu_01", "call_2"]) == {}


@settings(max_examples=200, database=None)
@given(st.from_regex(re.compile(SECRET_NAME.pattern, re.IGNORECASE)))
def test_no_name_of_a_secret_slips_past_the_quick_look(name: str) -> None:
    assert is_secret_name(name) == bool(SECRET_NAME.search(name))


@settings(max_examples=300, database=None)
@given(st.from_regex(re.compile(VENDOR_ID.pattern, re.ASCII), fullmatch=True))
def test_no_rule_of_ours_finds_a_secret_in_an_id_of_a_vendor(word: str) -> None:
    assert REDACTOR.redact_text(word) is word
    assert REDACTOR.redact_words([word]) == {}


def test_no_sample_of_a_secret_looks_like_an_id_of_a_vendor() -> None:
    assert not [s for rule in RULES for s in rule.must_match if VENDOR_ID.fullmatch(s)]


def test_a_rule_of_the_user_is_tried_on_ids_too() -> None:
    rule = Rule(id="mine", pattern=rb"toolu_[a-z0-9]+", keywords=("toolu_",))
    assert Redactor(b"key", extra=(rule,)).redact_words(["toolu_01abc"])
