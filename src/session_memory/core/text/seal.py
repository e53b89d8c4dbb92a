"""A seal on text that we write into other people's files: it tells whether we wrote it.

A plain hash proves nothing, since anybody can compute it. The seal is a keyed one: it fits only
text that the holder of the key wrote, and only as long as nobody has changed it.
"""

from __future__ import annotations

import hashlib
import hmac

import msgspec

CHARS = 16


class Seal(msgspec.Struct, frozen=True):
    """Who writes: a name that anybody may read, made from a key that nobody else has."""

    key: bytes

    @property
    def name(self) -> str:
        """Tells our blocks from those of a teammate in the same file."""
        return hashlib.sha256(b"name\0" + self.key).hexdigest()[:8]

    def of(self, content: bytes) -> str:
        """The seal of a content; git may change line ends, which is no edit."""
        plain = content.replace(b"\r\n", b"\n")
        return hmac.new(self.key, plain, hashlib.sha256).hexdigest()[:CHARS]

    def fits(self, content: bytes, seal: str) -> bool:
        """Whether we wrote exactly this content."""
        return hmac.compare_digest(self.of(content), seal)
