"""What left this machine, push by push: counts, kinds, sizes and hashes; never a text."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.paths import open_private, private_dir
from session_memory.team.membership import folder

RECEIPTS = "receipts.jsonl"


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request that the hub confirmed."""

    at: int
    what: str
    """`sent`, `taken back`, `forgotten` or `unshared`."""
    project: str
    hub: str
    kinds: dict[str, int] = {}
    """How many items of each kind."""
    bytes: int = 0
    """As they were sent, before compression."""
    keys: tuple[str, ...] = ()
    """Of the items or sessions."""
    proof: str = ""
    """What the hub counted of them afterwards."""


def add_receipt(data: Path, receipt: Receipt) -> None:
    """Append a line."""
    with open_private(private_dir(folder(data)) / RECEIPTS, "ab") as file:
        # Begins with a newline: a line that a kill cut off must not spoil this one.
        file.write(b"\n" + msgspec.json.encode(receipt) + b"\n")


def read_receipts(data: Path) -> list[Receipt]:
    """All receipts, oldest first; a line that was cut off by a kill is left out."""
    try:
        lines = (folder(data) / RECEIPTS).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    receipts: list[Receipt] = []
    for line in lines:
        try:
            receipts.append(msgspec.json.decode(line, type=Receipt))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return receipts
