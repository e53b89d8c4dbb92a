"""The names people give to secrets, in code, configuration, headers and prose."""

from __future__ import annotations

from functools import lru_cache

from session_memory.regex_cache import compiled

_PASSWORDS = rb"pass(?:word|wd|phrase|code)|passwort|kennwort"
_KEYED = (
    rb"(?:app|access|auth|private|secret|encryption|encrypt|signing|sign|master|account|session|"
    rb"shared|client|consumer|service|server|admin|deploy|subscription|storage|crypto|cipher|aes|"
    rb"hmac|jwt|license|function|host|bot|webhook|security)[_-]?key"
)
_SECRETS = (
    rb"secret(?:[_-]?(?:access[_-]?)?key(?:[_-]?base)?|[_-]?(?:text|string|phrase)|"
    rb"or(?:private)?key)?"
)

STRONG = _PASSWORDS + rb"|[_-]pwd|[_-]pass|" + _SECRETS + rb"|token|api[_-]?key|" + _KEYED
"""Ends of names whose value is a secret unless it clearly is something else."""
STRONG_ALONE = (
    rb"pass(?:wd|phrase|code)|passwort|kennwort|secret(?:[_-]?(?:access[_-]?)?key|or(?:private)?key)|"
    + _KEYED
)
"""Those of them that the original rule (EXT-33) does not cover."""
STRONG_ENDS = (
    rb"(?:pass(?:word|wd|phrase|code|wort)|kennwort|[_-]pwd|[_-]pass|"
    rb"secret(?:[_-]?(?:text|string|phrase))?|token|key(?:[_-]?base)?)"
)
"""How every name of `STRONG` ends, without the many words that may precede `key`."""
SUFFIX = (
    rb"(?:[_-]?(?:[0-9]{1,2}|prod(?:uction)?|dev|staging|live|value|val|str|b64|base64|hex|plain|"
    rb"default|old|new|root|admin|primary|secondary|local|confirm(?:ation)?|again|repeat))?"
)
"""What may follow a name without changing its meaning; `_type` or `_url` would."""
SHORT = rb"pwd|pw|p/w|passw|pswd|psw|psk"
"""Whole names with other meanings too: the value has to look like a password."""
WEAK = (
    rb"key|auth|salt|nonce|hmac|authorization|credentials?|creds?|connection[_-]?string|signing|"
    rb"jwt|bearer|oauth|license|licence|webhook|subscription"
)
"""Names whose value has to look random."""

STRONG_KEYWORDS = (
    *("password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "_pwd", "-pwd"),
    *("secret", "token", "_key", "-key", "_pass", "-pass"),
    *(
        f"{word}key"
        for word in (
            *("api", "app", "access", "auth", "private", "encryption", "encrypt", "signing"),
            *("sign", "master", "account", "session", "shared", "client", "consumer", "service"),
            *("server", "admin", "deploy", "subscription", "storage", "crypto", "cipher", "aes"),
            *("hmac", "jwt", "license", "function", "host", "bot", "webhook", "security"),
        )
    ),
)
SHORT_KEYWORDS = ("pwd", "passw", "pw", "p/w", "psw", "pswd", "psk")
WEAK_KEYWORDS = (
    *("key", "auth", "salt", "nonce", "hmac", "cred", "connectionstring", "connection_string"),
    *("connection-string", "signing", "jwt", "bearer", "license", "licence", "webhook"),
    "subscription",
)

SECRET_NAME = compiled(
    rf"(?i)(?:{STRONG.decode()}|^pwd|^pass|[_-]pass|[a-z]Pass){SUFFIX.decode()}$"
)
"""Names of fields whose value is a secret."""
_PARTS = ("pass", "pwd", "secret", "token", "key", "kennwort")
"""Each of these names contains one of them; most other names contain none."""


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a field of this name may hold a secret; cached, as the same few names recur."""
    folded = name.casefold()
    return any(part in folded for part in _PARTS) and SECRET_NAME.search(name) is not None
