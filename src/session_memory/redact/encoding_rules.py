"""Encodings that hide a name or a quote: the text is decoded and searched again.

Each rule looks for a sign that a name and a value are encoded, so that most text is never decoded.
"""

from __future__ import annotations

import base64
import re

from session_memory.redact.decoded import Decoded
from session_memory.redact.rule import Rule, fake
from session_memory.regex_cache import compiled

_NAMES = rb"(?i:pass|pwd|secret|token|key|auth|salt|seed|mnemonic|phrase|kty)"
_KEYWORDS = (
    *("pass", "pwd", "secret", "token", "key", "auth", "salt", "seed", "mnemonic", "phrase", "kty"),
)
_REST = rb"[\w.-]{0,12}"

_IN_JSON = compiled(rb'\\(?:["\'\\/nrt]|u00[2-7][0-9a-fA-F])')
_PERCENT = compiled(rb"%[2-7][0-9a-fA-F]")
_ENTITY = compiled(rb"&(?:quot|apos|lt|gt|amp|#[0-9]{2,3}|#x[0-9a-fA-F]{2});")
_COLOUR = compiled(rb"\x1b\[[0-9;?]*[A-Za-z]")
_HEX = {form % code: bytes([code]) for code in range(0x20, 0x80) for form in (b"%02x", b"%02X")}
_JSON_MEANINGS = {
    b"\\n": b"\n",
    b"\\r": b"\r",
    b"\\t": b"\t",
    **{b"\\" + itself: itself for itself in (b'"', b"'", b"\\", b"/")},
    **{b"\\u00" + digits: meaning for digits, meaning in _HEX.items()},
}
_PERCENT_MEANINGS = {b"%" + digits: meaning for digits, meaning in _HEX.items()}
_NAMED_ENTITIES = {b"quot": b'"', b"apos": b"'", b"lt": b"<", b"gt": b">", b"amp": b"&"}


def _json(text: bytes) -> Decoded:
    return Decoded(text, _IN_JSON, lambda escape: _JSON_MEANINGS[escape[0]])


def _percent(text: bytes) -> Decoded:
    return Decoded(text, _PERCENT, lambda escape: _PERCENT_MEANINGS[escape[0]])


def _entities(text: bytes) -> Decoded:
    def meaning(escape: re.Match[bytes]) -> bytes:
        body = escape[0][1:-1]
        if plain := _NAMED_ENTITIES.get(body):
            return plain
        number = int(body[2:], 16) if body[1:2] == b"x" else int(body[1:])
        return bytes([number]) if number < 128 else escape[0]

    return Decoded(text, _ENTITY, meaning)


def _core(word: bytes, offset: int) -> str:
    """What every base64 text holds that encodes a word at this offset of three bytes."""
    coded = base64.b64encode(bytes(offset) + word + bytes(3)).decode()
    return coded[-(-offset * 8 // 6) : (offset + len(word)) * 8 // 6]


_WORDS = (
    *(b"password", b"passwd", b"secret", b"token", b"api_key", b"apikey", b"PASSWORD", b"SECRET"),
    *(b"TOKEN", b"API_KEY"),
)
_CORES = tuple(_core(word, offset) for word in _WORDS for offset in range(3))
_IN_BASE64 = compiled(
    rb"(?<![\w+/-])[A-Za-z0-9+/_-]*(?:" + "|".join(_CORES).encode() + rb")[A-Za-z0-9+/_-]*={0,2}"
)


def _base64(text: bytes) -> Decoded:
    def meaning(coded: re.Match[bytes]) -> bytes:
        body = coded[0].rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        try:
            plain = base64.b64decode(body + b"=" * (-len(body) % 4), validate=True)
            shown = plain.decode().replace("\n", "").replace("\t", "").isprintable()
        except ValueError:  # no base64, or no text in it
            return coded[0]
        return plain if shown else coded[0]

    return Decoded(text, _IN_BASE64, meaning)


def _colours(text: bytes) -> Decoded:
    return Decoded(text, _COLOUR, b"")


ENCODINGS = (
    Rule(
        id="in-base64",
        pattern="|".join(_CORES).encode(),
        keywords=_CORES,
        exact=True,
        decode=_base64,
        must_match=("c: " + "eyJwYXNzd29yZCI6ImhhcmJv" + "cmxhbmUifQ==",),
        must_not_match=("c: " + "eyJwYXNzd29yZCI6" + "bnVsbH0=",),
    ),
    Rule(
        id="in-json-string",
        pattern=_NAMES + _REST + rb"\\+(?:[\"\']|u00(?:22|27|3[adAD]))",
        everyday="others",
        keywords=_KEYWORDS,
        decode=_json,
        must_match=('"x": "{\\"db_password\\": \\"correct horse battery\\"}"',),
        must_not_match=('"x": "{\\"password\\": null}"',),
    ),
    Rule(
        id="in-percent-encoding",
        pattern=rb"(?i)%(?:25)*2[27](?:%(?:25)*20|\+|\s)*(?::|%(?:25)*3a)|\w%(?:25)*3d",
        keywords=("%22", "%27", "%3d", "%25"),
        decode=_percent,
        must_match=(fake("q=%7B%22api_token%22%3A%22", 24) + "%22%7D",),
        must_not_match=("q=%7B%22token%22%3Anull%7D",),
    ),
    Rule(
        id="in-entities",
        pattern=_NAMES + _REST + rb"\s?=?\s?&(?:amp;)*(?:quot|apos|gt|#34|#39|#x22|#x27);",
        everyday="entities",
        keywords=("quot;", "apos;", "gt;", "#34;", "#39;", "#x22;", "#x27;"),
        decode=_entities,
        must_match=("{&quot;db_password&quot;:&quot;swordfish&quot;}",),
        must_not_match=("{&quot;password&quot;: null}",),
    ),
    Rule(
        id="in-colours",
        # Inside a word, or between a name and its value.
        pattern=rb"\w\x1b\[[0-9;?]*[A-Za-z][\w-]|"
        + _NAMES
        + _REST
        + rb"[\"']?[ \t]?[=:]?[ \t]?\x1b\[",
        everyday="colours",
        keywords=("\x1b[",),
        decode=_colours,
        must_match=("\x1b[1mDB_PASS\x1b[0mWORD=swordfish",),
        must_not_match=("\x1b[1mpass\x1b[0med",),
    ),
)
