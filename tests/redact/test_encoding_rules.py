"""Secrets behind an encoding: found in the decoded text, replaced in the text as it is."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.redact import Redactor, render
from session_memory.redact.encoding_rules import ENCODINGS

REDACTOR = Redactor(b"a key of the tests")
PLAIN = '{"db_password":"swordfish","user":"me"}'
HIDDEN = '{"db_password":"[REDACTED_SECRET]","user":"me"}'


def shown(text: str) -> str:
    return render(REDACTOR.redact_text(text))


@pytest.mark.rows("RED-02")
def test_an_encoded_secret_goes_and_what_is_around_it_stays() -> None:
    mark = "[REDACTED_SECRET]"
    assert shown(json.dumps(PLAIN)) == json.dumps(HIDDEN)
    assert shown(json.dumps(json.dumps(PLAIN))) == json.dumps(json.dumps(HIDDEN))
    assert shown("?q=" + quote(PLAIN)) == "?q=" + quote(HIDDEN).replace(quote(mark), mark)
    assert shown(html.escape(PLAIN)) == html.escape(HIDDEN)
    assert shown("\x1b[1mDB_PASS\x1b[0mWORD=\x1b[32mswordfish\x1b[0m") == (
        f"\x1b[1mDB_PASS\x1b[0mWORD=\x1b[32m{mark}\x1b[0m"
    )


@pytest.mark.rows("RED-02")
def test_a_secret_has_the_same_tag_in_every_encoding() -> None:
    secret = "sword/fish & 2 more"
    plain = json.dumps({"db_password": secret.replace(" ", "")})
    encoded = (plain, json.dumps(plain), quote(plain), html.escape(plain))
    tags = {REDACTOR.redact_text(text).split("REDACTED_SECRET:")[1][:8] for text in encoded}
    assert len(tags) == 1


ESCAPES = st.sampled_from(
    [
        *("\\", '\\"', "\\\\", "\\u0022", "%22", "%2522", "%3A", "%", "&quot;", "&amp;quot;"),
        *("&#39;", "&", "\x1b[0m", "\x1b[", "password", "token", "a", '"', ":", "=", "é", "\n"),
        *("swordfish99", " "),
    ]
)


@settings(max_examples=300)
@given(st.lists(ESCAPES, max_size=25).map("".join))
def test_any_mixture_of_escapes_settles(text: str) -> None:
    once = REDACTOR.redact_text(text)
    assert REDACTOR.redact_text(once) == once


@settings(max_examples=200)
@given(st.lists(ESCAPES, max_size=20).map("".join).map(str.encode))
def test_places_in_a_decoded_text_lead_back_to_the_same_characters(text: bytes) -> None:
    for rule in ENCODINGS:
        assert rule.decode
        decoded = rule.decode(text)
        size = len(decoded.data)
        places = [(decoded.first(n), decoded.last(n + 1)) for n in range(size)]
        assert all(first < last for first, last in places)
        assert places == sorted(places)
        assert rule.decode(text[: places[-1][1]] if places else b"").data == decoded.data


@pytest.mark.rows("RED-02")
def test_a_login_in_base64_goes_whole() -> None:
    for plain in (
        '{"password":"harborlane"}',
        "x DB_PASSWORD=harborlane\n",
        'a: 1\ntoken: "a1b2c3d4e5f6"',
    ):
        coded = base64.b64encode(plain.encode()).decode()
        assert coded not in REDACTOR.redact_text(f"config: {coded} # end")
    harmless = base64.b64encode(b'{"password": null}').decode()
    assert REDACTOR.redact_text(harmless) is harmless
