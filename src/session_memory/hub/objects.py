"""Storage of session texts: a directory or bucket, and a separate vault with their keys.

The vault is a second directory or bucket, kept out of every backup and without versions. It holds
one data key for each stored text, and a journal of what was forgotten and revoked. Deleting a key
makes every copy of the text unreadable, in old versions and in backups too.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import obstore
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from obstore.exceptions import BaseError
from obstore.store import LocalStore, S3Store

from session_memory.errors import ConfigError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_NONCE = 12
_KEY_BITS = 256
TROUBLE = (BaseError, OSError)
"""Errors of a store that is unreachable, full or refuses."""


class TextGoneError(Exception):
    """A text or its key does not exist (any more)."""


def open_objects(location: str) -> ObjectStore:
    """A store by its address: `s3://BUCKET[/PREFIX]`, or a directory."""
    if location.startswith("s3://"):
        bucket, _, prefix = location.removeprefix("s3://").partition("/")
        if not bucket:
            raise ConfigError(f"{location} names no bucket", hint="write it as s3://BUCKET/PREFIX")
        return S3Store(
            bucket,
            prefix=prefix or None,
            client_options={
                "timeout": timedelta(seconds=20),
                "connect_timeout": timedelta(seconds=3),
                # Options given here hide those of the environment.
                "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true",
            },
            retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=4)},
        )
    if "://" in location:
        raise ConfigError(f"{location} is neither a directory nor s3://BUCKET")
    directory = Path(location)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chmod(directory, 0o700)
    return LocalStore(directory)


class TextLocation(msgspec.Struct, frozen=True):
    """Where an encrypted text lies in an object, and the name of its key."""

    object: str
    start: int
    length: int
    vault_key: str


class Texts:
    """Encrypted texts: one object for each batch, one key in the vault for each text."""

    def __init__(self, objects: ObjectStore, vault: ObjectStore) -> None:
        self._objects = objects
        self._vault = vault

    def plan(self, team: int, count: int) -> tuple[str, list[str]]:
        """Names of a new object for so many texts, and of their keys."""
        return (
            f"texts/{team}/{secrets.token_hex(16)}",
            [f"keys/{name[:2]}/{name}" for name in (secrets.token_hex(16) for _ in range(count))],
        )

    def store(self, name: str, keys: list[str], texts: list[bytes]) -> list[TextLocation]:
        """Encrypt texts into one new object; their keys are written first."""
        locations: list[TextLocation] = []
        packed: list[bytes] = []
        at = 0
        for key_name, text in zip(keys, texts, strict=True):
            key = AESGCM.generate_key(_KEY_BITS)
            obstore.put(self._vault, key_name, key, mode="create")
            nonce = secrets.token_bytes(_NONCE)
            sealed = nonce + AESGCM(key).encrypt(nonce, text, key_name.encode())
            locations.append(TextLocation(name, at, len(sealed), key_name))
            packed.append(sealed)
            at += len(sealed)
        obstore.put(self._objects, name, b"".join(packed), mode="create")
        return locations

    def read(self, location: TextLocation) -> bytes:
        """The text at a place; raises TextGoneError where it or its key was deleted."""
        try:
            key = bytes(obstore.get(self._vault, location.vault_key).bytes())
            sealed = bytes(
                obstore.get_range(
                    self._objects, location.object, start=location.start, length=location.length
                )
            )
            return AESGCM(key).decrypt(
                sealed[:_NONCE], sealed[_NONCE:], location.vault_key.encode()
            )
        except (FileNotFoundError, InvalidTag):
            raise TextGoneError(location.vault_key) from None

    def delete_object(self, name: str) -> None:
        """Delete an object; one that is not there is no error."""
        _delete(self._objects, name)

    def delete_key(self, name: str) -> None:
        """Destroy a key for good; one that is not there is no error."""
        _delete(self._vault, name)

    def has_key(self, name: str) -> bool:
        """Whether a key still exists."""
        return _exists(self._vault, name)

    def write_journal(self, name: str, entry: bytes) -> None:
        """Record what was forgotten or revoked, for a database that is restored later."""
        obstore.put(self._vault, f"journal/{name}", entry)

    def journal(self) -> Iterator[str]:
        """Names of all entries, oldest first: they begin with their time."""
        names = [
            str(entry["path"]).removeprefix("journal/")
            for page in self._vault.list("journal")  # pyright: ignore[reportUnknownMemberType]
            for entry in page
        ]
        return iter(sorted(names))

    def journal_entry(self, name: str) -> bytes:
        """One entry as it was written."""
        return bytes(obstore.get(self._vault, f"journal/{name}").bytes())

    def check(self) -> None:
        """Raise one of TROUBLE where either store cannot be written, read or deleted from."""
        for store in (self._objects, self._vault):
            name = f"check/{secrets.token_hex(8)}"
            obstore.put(store, name, b"ok")
            assert bytes(obstore.get(store, name).bytes()) == b"ok"
            _delete(store, name)


def _delete(store: ObjectStore, name: str) -> None:
    try:
        obstore.delete(store, name)
    except FileNotFoundError:
        return


def _exists(store: ObjectStore, name: str) -> bool:
    try:
        obstore.head(store, name)
    except FileNotFoundError:
        return False
    return True
