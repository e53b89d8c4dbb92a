"""What was written into which file of which agent, so that it can be removed byte for byte."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import msgspec

from session_memory.adapters.shared_wiring.containers import OriginalLayout
from session_memory.atomic_files import replace_file
from session_memory.errors import Refused
from session_memory.paths import private_dir
from session_memory.store.lock import exclusive

FILE = "install.json"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file that holds something of ours."""

    path: str
    """As the client names it; it may be a link."""
    agent: str
    at: int
    created: bool = False
    """Whether it was not there before."""
    folders: tuple[str, ...] = ()
    """Directories made for it, outermost first, absolute."""
    backup: str | None = None
    layout: OriginalLayout = msgspec.field(default=OriginalLayout(), name="traces")
    """How the file looked before us; ledgers have always called it `traces`."""
    project: str | None = None


class Ledger(msgspec.Struct, frozen=True):
    """Every file that holds something of ours."""

    entries: tuple[Entry, ...] = ()
    schedule: str | None = None
    """The kind of scheduler that runs our sweeps."""
    skipped: tuple[str, ...] = ()
    """Agents that `init --skip` left out; the doctor does not report them."""
    version: int = 1

    def of(self, path: str) -> Entry | None:
        """What is known of a file."""
        return next((entry for entry in self.entries if entry.path == path), None)

    def with_entries(self, changed: Iterable[Entry], removed: Iterable[str] = ()) -> Ledger:
        """The ledger with some entries added or replaced, and others removed."""
        by_path = {entry.path: entry for entry in self.entries}
        by_path |= {entry.path: entry for entry in changed}
        for path in removed:
            by_path.pop(path, None)
        order = sorted(by_path.values(), key=lambda entry: entry.path)
        return msgspec.structs.replace(self, entries=tuple(order))

    def with_choice(self, skipped: Iterable[str], wired: Iterable[str]) -> Ledger:
        """The ledger after some agents were left out and others wired."""
        names = sorted({*self.skipped, *skipped} - set(wired))
        return msgspec.structs.replace(self, skipped=tuple(names))


def read_ledger(data: Path) -> Ledger:
    """The ledger; an empty one before the first init."""
    try:
        return msgspec.json.decode((data / FILE).read_bytes(), type=Ledger)
    except FileNotFoundError:
        return Ledger()
    except msgspec.DecodeError as error:
        raise Refused(
            f"{data / FILE} is damaged: {error}",
            hint="move it away; what is wired is found again by its name",
        ) from None


def write_ledger(data: Path, ledger: Ledger) -> None:
    """Replace the ledger in one step; an empty one leaves no file."""
    if not ledger.entries and not ledger.schedule and not ledger.skipped:
        (data / FILE).unlink(missing_ok=True)
        return
    private_dir(data)
    replace_file(data / FILE, msgspec.json.format(msgspec.json.encode(ledger), indent=2))


@contextmanager
def installing(data: Path) -> Generator[Ledger]:
    """The ledger under a lock."""
    private_dir(data)
    with exclusive(str(data / "install.lock"), "another init or uninstall", wait=True):
        yield read_ledger(data)


def note_schedule(data: Path, kind: str | None) -> None:
    """Record which scheduler runs our sweeps."""
    with installing(data) as ledger:
        if ledger.schedule != kind:
            write_ledger(data, msgspec.structs.replace(ledger, schedule=kind))
