"""Secrets that stand among the arguments of a call: logins, and keys given to ciphers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from session_memory.redact.rule import Rule, fake
from session_memory.redact.value_checks import (
    is_flag_token,
    is_mixed,
    is_name_of_secret,
    is_opaque,
    is_password_text,
    is_spoken,
)
from session_memory.regex_cache import compiled

Places = Iterator[tuple[int, int]]
ARGUMENTS = 400
"""Bytes of a call that are looked at behind its name."""

_ARGUMENT = compiled(
    rb"\s*(?:\w{1,20}\s*[=:]\s*)?(?:[brufl@]{0,2}(?:\"([^\"\r\n]{0,160})\"|'([^'\r\n]{0,160})'|`([^`\r\n]{0,160})`)|"
    rb"[^()'\"`,\r\n]{1,80}(?:\([^()]{0,60}\))?)\s*(,|\))"
)
_DATABASE = compiled(rb"(?i)(?:mysqli?_(?:p?connect|real_connect)|new\s+mysqli|mysqli)\s*\($")
_DRIVER = compiled(rb"(?i)(?:getConnection|new\s+\\?PDO)\s*\($")
_TAKES_WORDS = compiled(rb"(?i)auth|wifi\w*\.")
"""Calls whose last text is a password that a person chose."""
_ALGORITHM = compiled(
    rb"(?i)(?:aes|des|rc4|rsa|hmac|sha|md5|pbkdf2|utf-?8|ascii|base64|hex|raw|latin1|binary|cbc|gcm|ecb|[hr]s256)[\w/.:-]*$"
)
_HELD = compiled(rb"\"([^\"\r\n]{8,160})\"|'([^'\r\n]{8,160})'|`([^`\r\n]{8,160})`")
_WRAPPED = compiled(rb"[\w.:\s\[\]&]*(?:\(\s*\)[\w.\s]*)*\(\s*b?$|\s*b?$")


def _arguments(text: bytes, start: int) -> list[tuple[int, int] | None]:
    """The places of a call's arguments that are texts; None for one that is an expression."""
    places: list[tuple[int, int] | None] = []
    end = min(len(text), start + ARGUMENTS)
    while len(places) < 6 and (argument := _ARGUMENT.match(text, start, end)):
        quoted = next((n for n in (1, 2, 3) if argument[n] is not None), 0)
        places.append(argument.span(quoted) if quoted else None)
        start = argument.end()
        if argument[4] == b")":
            break
    return places


def _logged_in(text: bytes, start: int, end: int) -> Places:
    """The password of a call: third for a database, otherwise the last text."""
    call = text[max(0, start - 8) : end]
    places = _arguments(text, end)
    texts = [place for place in places if place]
    if _DATABASE.search(call) or _DRIVER.search(call):
        place = places[2] if len(places) > 2 else None
        if place and is_password_text(text[slice(*place)]):
            yield place
        return
    if len(texts) < 2:
        return
    *first, last = texts
    checked = is_password_text if _TAKES_WORDS.search(call) else is_opaque
    password = text[slice(*last)]
    if len(password) >= 6 and checked(password) and not is_name_of_secret(password):
        yield last
    for place in first:
        value = text[slice(*place)]
        if len(value) >= 16 and b"@" not in value and is_flag_token(value) and not is_spoken(value):
            yield place


def _key_given(text: bytes, _start: int, end: int) -> Places:
    """The text that a cipher, a signature or a hash is keyed with, also through a decoding call."""
    held = _HELD.search(text, end, end + ARGUMENTS // 2)
    if not held or not held.lastindex or not _WRAPPED.match(text[end : held.start()]):
        second = re.compile(rb"[^()'\"`,\r\n]{0,40},\s*b?").match(text, end)
        held = _HELD.match(text, second.end()) if second else None
        if not held or not held.lastindex or not is_mixed(held[held.lastindex]):
            return
    value = held[held.lastindex]
    if b" " not in value and not _ALGORITHM.match(value) and is_password_text(value):
        yield held.span(held.lastindex)


CALLS = (
    Rule(
        id="call-login",
        pattern=rb"(?i)(?:connect(?:ion)?|login|basic_?auth|credentials?|begin|authenticate|auth|new\s+(?:mysqli|\\?pdo))"
        rb"\w*\s*=?\s*\(",
        everyday="others",
        keywords=("connect", "login", "auth", "credential", "begin", "mysqli", "pdo"),
        find=_logged_in,
        must_match=(
            'mysql_connect("localhost", "root", "hunter2");',
            'mysqli_connect("db.test", "root", "swordfish", "shop");',
            "requests.get(url, auth=('admin', 'hunter2'))",
            'DriverManager.getConnection(url, "root", "hunter2");',
            'WiFi.begin("Harbor", "swordFishing");',
        ),
        must_not_match=(
            'connect("localhost", "root", "database")',
            'login("user", "password")',
            'mysqli_connect("localhost", "root", "", "shop")',
        ),
    ),
    Rule(
        id="call-key",
        # AES.new("..."), jwt.sign(payload, "..."), new SecretKeySpec("...".getBytes())
        pattern=rb"(?i)\b(?:(?:aes|des3?|fernet|hmac)(?:\.\w+|_?(?:en|de)crypt\w*|_?sha[0-9]+|_?md5)?|"
        rb"secretkeyspec|symmetricsecuritykey|create(?:hmac|cipher|decipher)(?:iv)?|"
        rb"jwt\.(?:sign|encode|decode|verify))\(\s*",
        keywords=(
            # "des" alone stands in every "description", and so in most tool calls.
            *("des(", "des.", "des_", "des3", "desencrypt", "desdecrypt", "dessha", "desmd5"),
            *("aes(", "aes.", "aes_", "aesencrypt", "aesdecrypt", "aessha", "aesmd5"),
            "hmac",
            "fernet",
            "secretkeyspec",
            "symmetricsecuritykey",
            *("createcipher", "createdecipher"),
            "jwt.",
        ),
        find=_key_given,
        must_match=(
            fake('AES.new("', 16) + '", AES.MODE_CBC)',
            'jwt.sign(payload, "mySuperSecret2024")',
            'new SymmetricSecurityKey(Encoding.UTF8.GetBytes("harborLantern7"))',
        ),
        must_not_match=(
            'hmac.new(key, "application/json")',
            'new SecretKeySpec(bytes, "HmacSHA256")',
            'createHmac("sha256-rsa", key)',
            'describe("harborLantern7", () => {',
        ),
    ),
)
