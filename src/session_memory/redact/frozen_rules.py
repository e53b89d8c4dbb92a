"""Four rules whose results must never change (EXT-30 to 33).

The last one takes any value. Exceptions are what is no value: a reference or an expression in code
(`token = get_token()`, `password: ${PASSWORD}`), a placeholder that has to be filled in, a default
that everybody knows, the name of a secret that is elsewhere, and a rule that values are checked by.
"""

from __future__ import annotations

from session_memory.redact.rule import Rule, fake
from session_memory.redact.surroundings import is_literal_here
from session_memory.redact.value_checks import is_literal_text

# One character in UTF-8: a first byte and its continuation bytes, so that lengths count characters.
_CHAR = rb"(?:[^\s'\"\x80-\xbf][\x80-\xbf]*)"

FROZEN = (
    Rule(
        id="sk-key",
        pattern=rb"sk-[A-Za-z0-9]{20,}",
        keywords=("sk-",),
        must_match=(fake("sk-", 20), fake("task-", 25)),
        must_not_match=(fake("sk-", 19), "risk-assessment-of-the-project"),
    ),
    Rule(
        id="aws-access-key-id",
        pattern=rb"\bAKIA[A-Z0-9]{16}\b",
        keywords=("AKIA",),
        exact=True,
        must_match=("AKIA" + "A1B2C3D4" * 2,),
        must_not_match=("xAKIA" + "A1B2C3D4" * 2, "AKIA" + "A1B2C3D4" * 2 + "E", "AKIA1234"),
    ),
    Rule(
        id="bearer",
        pattern=rb"(?i)\bbearer\s+([A-Za-z0-9._-]{16,})\b",
        group=1,
        lead=b"Bearer ",
        keywords=("bearer",),
        must_match=(fake("bearer   ", 16), fake("Authorization: Bearer ", 40)),
        must_not_match=(fake("Bearer ", 15), "bearer authentication is used"),
    ),
    Rule(
        id="assignment",
        pattern=rb"(?i)\b(?:api[_-]?key|token|secret|password)\b\s*[:=][^\S\r\n]*['\"]?("
        + _CHAR
        + rb"{8,})",
        group=1,
        everyday="names",
        keywords=("api_key", "api-key", "apikey", "token", "secret", "password"),
        check=is_literal_text,
        fits=is_literal_here,
        must_match=(
            "api_key='abcdefgh12'",
            "Api-Key : abcdefgh",
            'TOKEN="abcdefgh"',
            "password = пароль12",
            "password = correcthorse",
            "token=(get_token),",
        ),
        must_not_match=(
            "token=abcdefg",
            "password: пароль1",
            "tokens=abcdefghij",
            "secret abcdefghi",
            "token=get_token(),",
            "password = self.settings.password",
            "password: ${DB_PASSWORD}",
            "secret = request.form[key]",
            "x-api-key: cgk_live_...",
            "login(name=name, password=password)",
            "user=%s&password=%s&scope=%s",
        ),
    ),
)
