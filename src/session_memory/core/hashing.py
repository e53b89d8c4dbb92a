"""The hash of fingerprints, tags and checksums, without the rest of `hashlib`.

`hashlib` loads OpenSSL, which takes 3 ms of every start and has no part in BLAKE2.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # another Python than the usual one
    from hashlib import blake2b

__all__ = ["blake2b"]
