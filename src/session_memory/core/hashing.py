"""The hashes of fingerprints, tags, checksums and places, without the rest of `hashlib`.

`hashlib` loads OpenSSL, which takes 3 ms and is not needed for a few short texts.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b

        if sys.version_info >= (3, 12):
            from _sha2 import sha256
        else:
            from _sha256 import sha256
    except ImportError:  # another Python than the usual one
        from hashlib import blake2b, sha256

__all__ = ["blake2b", "sha256", "text_key"]


_KEY = blake2b(digest_size=8)  # copied for each text: making a new one takes twice as long


def text_key(text: str) -> int:
    """A number that stands for a text, in every process the same."""
    key = _KEY.copy()
    key.update(text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(key.digest(), "little")
