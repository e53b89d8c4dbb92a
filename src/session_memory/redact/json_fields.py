"""Which fields of a JSON object hold a secret, by their name."""

from __future__ import annotations

from collections.abc import Mapping

from session_memory.redact.placeholder import MARK
from session_memory.redact.secret_names import is_secret_name
from session_memory.redact.value_checks import is_value

MIN_QUOTED = 6
"""Shortest value that the name of a field makes a secret."""

_NAME_FIELDS = ("name", "key", "Name", "Key")
_VALUE_FIELDS = ("value", "Value")


def pair_value(fields: Mapping[str, object]) -> str | None:
    """The field that holds the secret of `{"name": "DB_PASSWORD", "value": ...}`, if it is one."""
    for name in _NAME_FIELDS:
        value_name = fields.get(name)
        if isinstance(value_name, str) and len(value_name) < 200 and is_secret_name(value_name):
            return next((value for value in _VALUE_FIELDS if value in fields), None)
    return None


def named_value(name: str, value: object, *, named: bool) -> bytes | None:
    """The secret in a field, if its name or the name paired with it says it is one."""
    if not isinstance(value, str) or not (named or is_secret_name(name)):
        return None
    data = value.encode("utf-8", "surrogatepass")
    # White space means prose: a text about a password, not the password.
    if len(value) < MIN_QUOTED or data.split() != [data] or MARK.search(data):
        return None
    return data if is_value(data) else None
