"""Which hub this machine belongs to and what it shares there: one file that only its user can read.

It holds the token of this device and the team's key, so it is never exported, backed up or shown.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.sharing.wire import Level, Limits
from session_memory.errors import NotFound
from session_memory.paths import private_dir
from session_memory.store.json_files import read_json_file
from session_memory.store.lock import exclusive

FOLDER = "team"
JOINED = "joined.json"
LOCK = "team.lock"


class SharedProject(msgspec.Struct, frozen=True):
    """A project of this machine that its user shares."""

    key: str
    """Of the local store."""
    project: str
    """What the team calls it: the normalised remote, or a name that was given."""
    level: Level
    generation: int


class Membership(msgspec.Struct, frozen=True):
    """This device as a member of a team."""

    url: str
    token: str
    device: str
    member: str
    team: str
    team_key: str
    """As hex."""
    name: str
    """How others see this person."""
    shared: tuple[SharedProject, ...] = ()
    limits: Limits = Limits()

    @property
    def key(self) -> bytes:
        """The key of all hashes for this team."""
        return bytes.fromhex(self.team_key)

    def of(self, key: str) -> SharedProject | None:
        """What is shared of a project of the local store."""
        return next((each for each in self.shared if each.key == key), None)

    def sharing(self, share: SharedProject) -> Membership:
        """The same with one more decision."""
        others = tuple(each for each in self.shared if each.key != share.key)
        shared = sorted((*others, share), key=lambda each: each.key)
        return msgspec.structs.replace(self, shared=tuple(shared))

    def without(self, key: str) -> Membership:
        """The same without a project."""
        left = tuple(each for each in self.shared if each.key != key)
        return msgspec.structs.replace(self, shared=left)


def folder(data: Path) -> Path:
    """Where everything about the team is kept."""
    return data / FOLDER


def read_membership(data: Path) -> Membership | None:
    """The membership of this machine, or None where it belongs to no team."""
    hint = "delete that file and join again with a new invite"
    return read_json_file(folder(data) / JOINED, Membership, hint)


def membership(data: Path) -> Membership:
    """The membership of this machine; an error where it belongs to no team."""
    joined = read_membership(data)
    if joined is None:
        raise NotFound(
            "this machine belongs to no team",
            hint="`session-memory team join URL TOKEN` joins one, with an invite of its hub",
        )
    return joined


def write_membership(data: Path, joined: Membership) -> None:
    """Keep it, readable by its user alone."""
    replace_file(private_dir(folder(data)) / JOINED, msgspec.json.encode(joined))


@contextmanager
def alone(data: Path) -> Generator[None]:
    """One command of the team at a time: two pushes would count the same things as new."""
    with exclusive(str(private_dir(folder(data)) / LOCK), "a command of the team"):
        yield
