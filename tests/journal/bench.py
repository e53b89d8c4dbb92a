"""One journal with a clock that is set by hand, a scripted writer, and notes of every wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from session_memory.journal import daily
from session_memory.journal.flush import Around, Outcome, flush
from session_memory.journal.model_entry import Write, model_writer
from session_memory.journal.paths import Place, model_lock, place_of
from session_memory.journal.redaction import cleaner
from session_memory.redact import Redactor
from session_memory.testing.scripted_model import ScriptedModel

NOON = 1_772_452_800_000  # 2026-03-02T12:00:00Z
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
CLEAN = cleaner(Redactor(b"k" * 32))


class Bench:
    """A journal of the project /work/shop below one directory."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.place: Place = place_of(data, "/work/shop")
        self.now = NOON
        self.sleeps: list[float] = []
        self.compiled: list[tuple[str, ...]] = []
        self.model = ScriptedModel()
        self._names = 0

    def says(self, *answers: Any) -> ScriptedModel:
        """What the model answers from now on."""
        self.model = ScriptedModel(answers)
        return self.model

    def around(self, write: Write | None = None, **more: Any) -> Around:
        """What a flush needs."""
        return Around(
            place=self.place,
            clock=lambda: self.now,
            write=write or model_writer(self.model, model_lock(self.data), 60.0, self.place.root),
            clean=CLEAN,
            compile=self.compiled.append,
            sleep=self.sleeps.append,
            **more,
        )

    def context(self, text: str = "**User:** fix the parser\n", name: str = "") -> Path:
        """A context as another program would leave it, at a place of its own."""
        self._names += 1
        path = self.data.parent / (name or f"context-{self._names}.md")
        path.write_text(text, encoding="utf-8")
        return path

    def flush(self, path: Path, session: str = "s1", write: Write | None = None) -> Outcome:
        """One flush."""
        return flush(path, session, self.around(write))

    def log(self) -> list[str]:
        """The lines of flush.log."""
        path = self.place.flush_log
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def today(self) -> str:
        """Today's daily log."""
        path = self.place.day(daily.local_date(self.now))
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def entries(self) -> list[daily.Entry]:
        """Today's entries."""
        return daily.entries(self.today())


def never(*_arguments: Any) -> str:
    """A writer that nobody may ask."""
    raise AssertionError("asked")
