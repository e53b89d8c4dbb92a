"""How hard the tests of this folder try: a little in `make test`, a lot in `make torture`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec


class Sizes(msgspec.Struct, frozen=True):
    """How many of everything; the seeds follow from `seed` alone."""

    seed: int = 1
    ways: int = 4
    kills: int = 2
    """In each flow."""
    cut_copies: int = 6
    """Places at which a backup, a backup over an older one and a restore are killed, each."""
    faults: int = 3
    """In each flow; the kinds take turns."""
    full_disks: int = 1
    cuts: int = 6
    """Places of a session at which its log is cut and swept."""
    parsed_cuts: int = 300
    """Places at which it is cut and parsed only."""
    mutants: int = 480
    """In each flavour, of built lines and as many of genuine ones."""
    tails: int = 1
    """Files of each flavour that grow while they are swept."""
    processes: int = 4
    operations: int = 12
    """Of each process."""
    clocks: int = 3
    flips: int = 16
    """In each kind of file."""
    pages: int = 6
    """Places of the database that are overwritten, one at a time."""
    power_ways: int = 4
    """Legal losses of a power cut, in each kind of work."""
    power_prefixes: int = 4
    """Moments of the work at which the power is cut and nothing is lost; large: all of them."""
    attacks: int = 42
    """Instructions of an adversary, each in three sessions."""


LARGE = Sizes(
    ways=24,
    kills=125,
    cut_copies=50,
    faults=14,
    full_disks=10,
    cuts=60,
    parsed_cuts=1_000_000,  # every byte there is
    mutants=8_400,
    tails=10,
    processes=16,
    operations=1000,
    clocks=60,
    flips=300,
    pages=200,
    power_ways=1000,
    power_prefixes=100,
    attacks=504,
)

# Read when this file is imported: the tests themselves see none of these variables.
IS_LARGE = os.environ.get("SESSION_MEMORY_TORTURE") == "large"
SIZES = LARGE if IS_LARGE else Sizes()
if "SESSION_MEMORY_SEED" in os.environ:
    SIZES = msgspec.structs.replace(SIZES, seed=int(os.environ["SESSION_MEMORY_SEED"]))
_REPORT = os.environ.get("SESSION_MEMORY_TORTURE_REPORT")


def record(name: str, **figures: object) -> None:
    """Leave what a test did where the report is made of it, if somebody makes one."""
    if _REPORT:
        path = Path(_REPORT) / f"{name.replace(' ', '_').replace('/', '_')}.json"
        path.write_text(json.dumps({"name": name, **figures}))
