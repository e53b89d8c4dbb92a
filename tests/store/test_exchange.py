"""Numbers that an import made up are known as such, and no others."""

from __future__ import annotations

from session_memory.core.fingerprint import usage_fingerprint
from session_memory.store.exchange import imported_key, is_imported

KEY = b"k" * 32


def test_imported_numbers_are_distinguished_from_those_of_logs() -> None:
    made = {imported_key(KEY, f"response {number}") for number in range(3000)}
    assert len(made) == 3000
    assert all(is_imported(KEY, number) for number in made)
    assert all(-(1 << 63) <= number < 1 << 63 for number in made)
    logs = [usage_fingerprint(KEY, "claude", str(number)) for number in range(3000)]
    assert not any(is_imported(KEY, number) for number in logs)
    assert not any(is_imported(b"other" * 6, number) for number in made)
