"""Where a journal is kept: what people read in one folder, the program's own files in another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from session_memory.memory.layout import folder_name

FOLDER = "journal"
WORK = "work"
VAULT = "vault"


class JournalPaths(msgspec.Struct, frozen=True):
    """The files of one project's journal, or of the vault shared by all projects.

    `root` contains daily/, knowledge/, reports/ and state.json and nothing else, so that it can be
    opened as it is in a note-taking editor. Excerpts, locks and logs are in `work`.
    """

    root: Path
    work: Path
    is_vault: bool = False

    @property
    def daily(self) -> Path:
        """One log file per day."""
        return self.root / "daily"

    @property
    def knowledge(self) -> Path:
        """Articles compiled from the daily logs."""
        return self.root / "knowledge"

    @property
    def reports(self) -> Path:
        """Reports of lint."""
        return self.root / "reports"

    @property
    def state(self) -> Path:
        """What was compiled, when and at what cost."""
        return self.root / "state.json"

    @property
    def excerpts(self) -> Path:
        """Excerpts of sessions that are on their way into a daily log."""
        return self.work / "contexts"

    @property
    def flushed(self) -> Path:
        """Records of the latest flushes."""
        return self.work / "last-flush.json"

    @property
    def pending(self) -> Path:
        """Excerpts that could not be flushed yet."""
        return self.work / "pending.json"

    @property
    def flush_log(self) -> Path:
        """Messages of flushes."""
        return self.work / "flush.log"

    @property
    def compile_log(self) -> Path:
        """Messages of compiles in the background."""
        return self.work / "compile.log"

    def day(self, date: str) -> Path:
        """The log of a local date such as 2026-03-02."""
        return self.daily / f"{date}.md"

    def lock(self, name: str) -> Path:
        """A lock file; separate from the file it protects, which a rename would replace."""
        return self.work / f"{name}.lock"


def journal_paths(data: Path, project_root: str, vault: str = "") -> JournalPaths:
    """The journal of a project root; with a vault, the vault for every project."""
    base = data / FOLDER
    if vault:
        return JournalPaths(Path(vault), base / WORK / VAULT, is_vault=True)
    name = folder_name(project_root)
    return JournalPaths(base / name, base / WORK / name)


def all_journals(data: Path, vault: str = "") -> Iterator[JournalPaths]:
    """Every journal there is."""
    base = data / FOLDER
    names = {
        path.name for folder in (base, base / WORK) if folder.is_dir() for path in folder.iterdir()
    }
    for name in sorted(names - {WORK, VAULT}):
        if (base / name).is_dir() or (base / WORK / name).is_dir():
            yield JournalPaths(base / name, base / WORK / name)
    if vault:
        yield journal_paths(data, "", vault)
    elif VAULT in names:  # a vault was used once: its excerpts are still here
        yield JournalPaths(base / WORK / VAULT / "gone", base / WORK / VAULT, is_vault=True)


def model_lock(data: Path) -> Path:
    """Held during every model call of any journal, so that only one runs at a time."""
    return data / FOLDER / WORK / "model.lock"
