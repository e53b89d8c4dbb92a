"""The hash of fingerprints, tags and checksums, without the rest of `hashlib`.

`hashlib` loads OpenSSL, which takes 3 ms of every start and has no part in BLAKE2.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # another Python than the usual one
    from hashlib import blake2b

__all__ = ["blake2b", "text_key"]


def text_key(text: str) -> int:
    """A number that stands for a text, in every process the same."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
