"""Where a journal lies: what people read in one folder, what only the program needs beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

FOLDER = "journal"
WORK = "work"
VAULT = "vault"


class Place(msgspec.Struct, frozen=True):
    """The journal of one project, or the vault of all.

    `root` holds daily/, knowledge/, reports/ and state.json and nothing else, so that it can be
    opened as it is in an editor for notes; contexts, locks and logs lie in `work`.
    """

    root: Path
    work: Path
    is_vault: bool = False

    @property
    def daily(self) -> Path:
        """One file for each day."""
        return self.root / "daily"

    @property
    def knowledge(self) -> Path:
        """What was compiled from the days."""
        return self.root / "knowledge"

    @property
    def reports(self) -> Path:
        """What lint found."""
        return self.root / "reports"

    @property
    def state(self) -> Path:
        """What was compiled, when and at what cost."""
        return self.root / "state.json"

    @property
    def contexts(self) -> Path:
        """Extracts of sessions on their way into a daily log."""
        return self.work / "contexts"

    @property
    def flushed(self) -> Path:
        """Which content was flushed last."""
        return self.work / "last-flush.json"

    @property
    def pending(self) -> Path:
        """Contexts that could not be flushed yet."""
        return self.work / "pending.json"

    @property
    def flush_log(self) -> Path:
        """What flushes did."""
        return self.work / "flush.log"

    @property
    def compile_log(self) -> Path:
        """What a spawned compile printed."""
        return self.work / "compile.log"

    def day(self, date: str) -> Path:
        """The log of a local date such as 2026-03-02."""
        return self.daily / f"{date}.md"

    def lock(self, name: str) -> Path:
        """A lock file; never the file it protects, as a rename would swap that away."""
        return self.work / f"{name}.lock"


def root_name(project_root: str) -> str:
    """The folder name of a project's journal."""
    return hashlib.sha256(project_root.encode("utf-8", "surrogateescape")).hexdigest()


def place_of(data: Path, project_root: str, vault: str = "") -> Place:
    """The journal of a project root; with a vault, the vault for every project."""
    base = data / FOLDER
    if vault:
        return Place(Path(vault), base / WORK / VAULT, is_vault=True)
    name = root_name(project_root)
    return Place(base / name, base / WORK / name)


def all_places(data: Path, vault: str = "") -> Iterator[Place]:
    """Every journal there is, for what has to go through all of them."""
    base = data / FOLDER
    names = {
        path.name for folder in (base, base / WORK) if folder.is_dir() for path in folder.iterdir()
    }
    for name in sorted(names - {WORK, VAULT}):
        if (base / name).is_dir() or (base / WORK / name).is_dir():
            yield Place(base / name, base / WORK / name)
    if vault:
        yield place_of(data, "", vault)
    elif VAULT in names:  # it was one once: its contexts are here still
        yield Place(base / WORK / VAULT / "gone", base / WORK / VAULT, is_vault=True)


def model_lock(data: Path) -> Path:
    """Held during every model call of the journal: one at a time, over flush, compile and lint."""
    return data / FOLDER / WORK / "model.lock"
