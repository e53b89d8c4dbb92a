"""A store with sessions that said certain things, without logs: for questions about scopes."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import apsw
import msgspec

from session_memory.core.project.identity import Resolution
from session_memory.core.schema import Observation, ObservationStatus, ObservationType
from session_memory.recall.context import RecallContext
from session_memory.store.port import Store
from session_memory.testing.new_stores import open_or_create
from session_memory.testing.store_drafts import START, Said, capture, distilled, lived, turn

HOUR = 3_600_000
DAY = 24 * HOUR
ROOT = "/work/shop"
SHOP = Resolution(key="shop", root=ROOT, source="cwd:.git", confidence="high")
Word = tuple[ObservationType, str] | tuple[ObservationType, str, ObservationStatus]

_STATUS: dict[ObservationType, ObservationStatus] = {
    "session_summary": "snapshot",
    "completed_item": "done",
    "completion_claim": "snapshot",
}


def observed(
    session: int,
    kind: ObservationType,
    text: str,
    at: int = START,
    status: ObservationStatus | None = None,
) -> Observation:
    """An observation as a sweep would store it."""
    name = f"{session} {kind} {text}".encode()
    return Observation(
        type=kind,
        status=status or _STATUS.get(kind, "active"),
        text=text,
        importance=3,
        session=session,
        event=None,
        origin="user",
        hash=blake2b(name, digest_size=12).hexdigest(),
        at=at,
    )


class Memory:
    """A store under construction, and questions to it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store: Store = open_or_create(str(directory), START)
        self.now = START + 30 * DAY
        self.context = RecallContext(self.store, lambda: self.now)
        self._count = 0

    def session(
        self,
        name: str,
        *words: Word,
        cwd: str = ROOT,
        at: int = 0,
        project: Resolution = SHOP,
        **digest: Any,
    ) -> int:
        """A session that said these words at `START + at`, one millisecond apart."""
        self._count += 1
        facts = lived(at, at + len(words) + 1)
        said = Said(name, f"/logs/{name}", (turn(at, f"{name} {self._count}"),), facts)
        (session,) = capture(self.store, said)
        low_value = digest.pop("low_value", None)
        with self.store.writing() as writer:
            writer.assign_project(session, cwd, project, "general")
            label = next((word[1] for word in words if word[0] == "user_request"), None)
            given = {"turns": 1, "requests": 1, **digest}
            writer.save_digest(session, distilled(label or "", **given), low_value)
        self._db("UPDATE session SET cwd = ? WHERE id = ?", cwd, session)
        self.say(session, *words, at=at)
        return session

    def say(self, session: int, *words: Word, at: int = 0) -> None:
        """Replace what a session said."""
        found = [
            observed(session, word[0], word[1], START + at + place, *word[2:])
            for place, word in enumerate(words)
        ]
        self.keep(session, found)

    def keep(self, session: int, found: Sequence[Observation]) -> None:
        """Replace what a session said by these observations."""
        with self.store.writing() as writer:
            writer.save_observations({session: list(found)})

    def version(self, session: int, version: str) -> None:
        """Let a session's log name the program that wrote it."""
        self._db("UPDATE session SET client_version = ? WHERE id = ?", version, session)

    def subagent(self, session: int) -> None:
        """Make a session the sub-agent of another one."""
        self._db("UPDATE session SET parent_external_id = 'parent' WHERE id = ?", session)

    def ended(self, session: int, at: int) -> None:
        """Move a session's last record."""
        self._db("UPDATE session SET ended_at = ? WHERE id = ?", START + at, session)

    def select(self, sql: str, *bindings: object) -> list[tuple[Any, ...]]:
        """What a query gives, on a connection of its own."""
        connection = apsw.Connection(str(self.directory / "store.db"))
        found = connection.execute(sql, bindings).fetchall()
        connection.close()
        return found

    def _db(self, sql: str, *bindings: object) -> None:
        connection = apsw.Connection(str(self.directory / "store.db"))
        connection.execute(sql, bindings)
        connection.close()

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()


def plain(answer: msgspec.Struct) -> dict[str, Any]:
    """An answer as a client gets it."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(answer))
    return fields
