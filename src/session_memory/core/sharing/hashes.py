"""Keyed hashes of what a team shares: 128 bits over redacted text, useless without the key.

The local fingerprints are made before redaction and are shorter: a hub that knew them could test
guesses of a secret. These are made after it, with a key that only members' devices hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.core.hashing import blake2b

HASH_BYTES = 16


def _keyed(team_key: bytes, purpose: bytes, parts: Iterable[str | bytes]) -> str:
    # Each part is preceded by its length, so that no two lists of parts look the same.
    hashed = blake2b(digest_size=HASH_BYTES, key=team_key, person=purpose)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        hashed.update(len(data).to_bytes(8, "big"))
        hashed.update(data)
    return hashed.hexdigest()


def session_key(team_key: bytes, flavor: str, external_id: str) -> str:
    """What stands for a session on the hub; it never changes, whatever is redacted later."""
    return _keyed(team_key, b"session", (flavor, external_id))


def item_key(team_key: bytes, kind: str, *names: str) -> str:
    """The place of an item among those of its member and project.

    A later version of the same thing has the same key. `names` say which thing it is: the session
    key of a digest, the id of a rule, the session key and first number of a run of events.
    """
    return _keyed(team_key, b"item", (kind, *names))


def content_hash(team_key: bytes, kind: str, text: str, body: bytes) -> str:
    """What an item says, as one hash over its redacted text and its body as it is sent."""
    return _keyed(team_key, b"content", (kind, text, body))


def likeness(team_key: bytes, kind: str, *words: str) -> str:
    """What is equal where two people learned the same: of a cure, its error and its steps."""
    return _keyed(team_key, b"likeness", (kind, *words))


def manifest_digest(team_key: bytes, entries: Iterable[tuple[str, str, int]]) -> str:
    """All of a device's items of one project as one hash: of (key, hash, rank), in any order."""
    lines = sorted(f"{key} {content} {rank}" for key, content, rank in entries)
    return _keyed(team_key, b"manifest", lines)
