"""Tokens of devices and invites: random, shown once, stored hashed, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Literal

import msgspec

TokenKind = Literal["device", "invite"]
PREFIX: dict[TokenKind, str] = {"device": "smd", "invite": "smi"}
_SHAPE = re.compile(r"(smd|smi)_([0-9a-f]{16})_([0-9A-Za-z_-]{43})")


class Token(msgspec.Struct, frozen=True):
    """A token taken apart: the name under which its hash is found, and the secret."""

    kind: TokenKind
    id: str
    secret: str

    def __str__(self) -> str:
        return f"{PREFIX[self.kind]}_{self.id}_{self.secret}"

    @property
    def hash(self) -> bytes:
        """What is stored of it. The secret has 256 random bits, so one round is enough."""
        return hashlib.sha256(f"{self.kind} {self.id} {self.secret}".encode()).digest()

    def matches(self, stored: bytes) -> bool:
        """Whether this is the token that was stored; takes as long whether or not it is."""
        return hmac.compare_digest(self.hash, stored)


def new_id() -> str:
    """A random name of a device, invite or member."""
    return secrets.token_hex(8)


def new_token(kind: TokenKind, id: str | None = None) -> Token:
    """A new token, for a new name or for one that exists."""
    return Token(kind, id or new_id(), secrets.token_urlsafe(32))


def parse(text: str) -> Token | None:
    """The token in a text; None for anything else."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        return None
    return Token("device" if match[1] == "smd" else "invite", match[2], match[3])
