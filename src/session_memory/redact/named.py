"""Secrets that tell by what stands before them: a name, a header, a flag, the user of a URL."""

from __future__ import annotations

import re

from session_memory.redact.plausible import is_literal, is_random, is_setting, is_value
from session_memory.redact.rule import Rule, fake

MIN_QUOTED = 6
"""Shortest value that a quoted name makes a secret; founding rule 4 wants 8 of a bare one."""

# One character of a value in UTF-8: a byte that starts one and the bytes that continue it, so that
# lengths count characters as the founding rules do.
_CHAR = rb"(?:[^\s'\"\x80-\xbf][\x80-\xbf]*)"

_WORDS = (
    rb"pass(?:word|wd|phrase|code)|[_-]pwd|secret(?:[_-]?(?:access[_-]?)?key(?:[_-]?base)?)?|token|"
    rb"(?:api|access|private|auth|encryption|signing|master|account|session)[_-]?key"
)
_WORD_KEYWORDS = (
    *("password", "passwd", "passphrase", "passcode", "_pwd", "-pwd", "secret", "token"),
    *("apikey", "accesskey", "privatekey", "authkey", "encryptionkey", "signingkey", "masterkey"),
    *("accountkey", "sessionkey", "_key", "-key"),
)
SECRET_NAME = re.compile(rf"(?i)(?:{_WORDS.decode()}|^pwd)$")
"""Names of fields whose value is a secret."""

# A value without quotes ends where a shell or a URL ends it, and not with punctuation of the text.
_BARE_ENDS = rb"\s'\"`\\;&|<>()\x80-\xbf"
_BARE_VALUE = (
    rb"((?:[^" + _BARE_ENDS + rb"][\x80-\xbf]*){7,}[^" + _BARE_ENDS + rb",.:}\]][\x80-\xbf]*)"
)

FOUNDING = (
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
        keywords=("akia",),
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
        pattern=rb"(?i)\b(?:api[_-]?key|token|secret|password)\b\s*[:=]\s*['\"]?("
        + _CHAR
        + rb"{8,})",
        group=1,
        keywords=("api_key", "api-key", "apikey", "token", "secret", "password"),
        must_match=(
            "api_key='abcdefgh12'",
            "Api-Key : abcdefgh",
            'TOKEN="abcdefgh"',
            "password = пароль12",
            "token=get_token()",
        ),
        must_not_match=(
            "token=abcdefg",
            "password: пароль1",
            "tokens=abcdefghij",
            "secret abcdefghi",
        ),
    ),
)

CONTEXT = (
    Rule(
        id="authorization",
        pattern=rb"(?i)authorization['\"\\]*\s*[:=]\s*['\"\\]*(?:bearer|basic|token|apikey|digest)\s+"
        rb"['\"\\]*([a-z0-9+/=._~-]{8,})",
        group=1,
        keywords=("authorization",),
        check=is_value,
        must_match=(
            fake("Authorization: Basic ", 24),
            fake('"Authorization": "Token ', 20) + '"',
            fake("authorization: bearer ab+/", 12),
        ),
        must_not_match=("Authorization: Bearer $TOKEN", "Authorization: Bearer <your-api-key>"),
    ),
    Rule(
        id="url-password",
        pattern=rb"://[^\s/?#:@'\"<>\\]*:([^\s/?#@'\"<>\\]+)@[A-Za-z0-9\[_$%{-]",
        group=1,
        keywords=("://",),
        check=is_value,
        must_match=("postgres://app:hunter2@db/main", "https://user:p:ss@host.test/"),
        must_not_match=(
            "http://localhost:3000/@vite/client",
            "ssh://git@host.test:org/repo",
            "https://${USER}:${PASS}@host.test",
            "https://user:****@host.test",
        ),
    ),
    Rule(
        id="url-token",
        pattern=rb"://([A-Za-z0-9_-]{20,})@",
        group=1,
        keywords=("://",),
        check=is_random,
        must_match=(fake("https://", 40) + "@host.test/repo.git",),
        must_not_match=("https://some-long-user-name-in-a-url@host.test/",),
    ),
    Rule(
        id="quoted-name",
        # Also escaped, as JSON inside JSON; a value in quotes may hold escapes, but no quote.
        pattern=rb"(?i)(?:" + _WORDS + rb")\\*['\"]\s*(?::|=>?)\s*\\*['\"]"
        rb"((?:[^\s'\"\\\x80-\xbf][\x80-\xbf]*|\\[^'\"\\\s\x80-\xbf][\x80-\xbf]*){6,})\\*['\"]",
        group=1,
        keywords=_WORD_KEYWORDS,
        check=is_value,
        must_match=(
            '{"password": "hunter2hunter2"}',
            "'client_secret' => 'abcdefgh'",
            '{\\"dbPassword\\": \\"hunter2hunter2\\"}',
        ),
        must_not_match=(
            '{"password": "<your-password>"}',
            '{"password": "must have eight characters"}',
            '{"tokens": "hunter2hunter2"}',
            '{"apiKey": "xxxxxxxxxxxx"}',
            '{"token": "string"}',
        ),
    ),
    Rule(
        id="environment",
        pattern=rb"(?:PASSWORD|PASSWD|PASSPHRASE|_PWD|SECRET(?:_ACCESS)?(?:_KEY)?(?:_BASE)?|TOKEN|"
        rb"(?:API|ACCESS|PRIVATE|AUTH|ENCRYPTION|SIGNING|MASTER|ACCOUNT|SESSION)_?KEY)"
        rb"=['\"]?" + _BARE_VALUE,
        group=1,
        keywords=_WORD_KEYWORDS,
        check=is_setting,
        must_match=(
            "DB_PASSWORD=correcthorse",
            "DB_PASSWORD=пароль-базы",
            "export APP_SECRET='abcdefgh12'",
            "SECRET_KEY_BASE=0123456789abcdef",
            "docker run -e MYSQL_ROOT_PASSWORD=hunter2hunter2 mysql",
        ),
        must_not_match=(
            "DB_PASSWORD=$OTHER_PASSWORD",
            "DB_PASSWORD=changeme",
            "API_KEY=process.env.API_KEY",
            "API_KEY_FILE=/run/secrets/api",
            "PRIVATE_KEY=/etc/ssl/private/key.pem",
        ),
    ),
    Rule(
        id="name",
        pattern=rb"(?i)[_a-z-](?:" + _WORDS + rb")\s*(?:=|:=?)\s*['\"]?" + _BARE_VALUE,
        group=1,
        keywords=_WORD_KEYWORDS,
        check=is_literal,
        must_match=(
            "access_token: abcdefghijklmnop",
            "refreshToken = 'a1b2c3d4e5'",
            "?access_token=a1b2c3d4e5f6&page=2",
            "//host.test/:_authToken=0123-4567-89ab",
        ),
        must_not_match=(
            "access_token = get_token()",
            "cancellationToken: CancellationToken",
            "accessToken: request.headers.authorization",
            "max_tokens: 1234567890",
            "access_token: undefined",
            "access_token: Optional[str] = None",
        ),
    ),
    Rule(
        id="flag",
        pattern=rb"(?i)--(?:[a-z]+-)*(?:password|passwd|token|secret|api-?key)\s+['\"]?"
        + _BARE_VALUE,
        group=1,
        keywords=("password", "passwd", "token", "secret", "apikey", "api-key"),
        check=is_random,
        must_match=("login --password hunter2hunter2", "deploy --auth-token 'a1b2c3d4e5'"),
        must_not_match=(
            "--token argument",
            "--password <your-password>",
            "--token $TOKEN_12345678",
        ),
    ),
)
