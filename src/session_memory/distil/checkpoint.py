"""Where distilling a long session stood: it goes on with what is new, and not from the start.

What has read the events so far is written down whole. Reading the rest into it gives what reading
all of them would, so a checkpoint saves time and changes nothing; one that is missing, or that
cannot be read, costs that time once.
"""

from __future__ import annotations

from session_memory import __version__
from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.hashing import blake2b
from session_memory.core.schema import Session, SessionEvent
from session_memory.distil.digest import DigestBuilder
from session_memory.distil.observe import Observer
from session_memory.distil.session_logs import SessionLogs
from session_memory.store.checkpoints import CheckpointReader
from session_memory.store.values import Checkpoint

WORTHWHILE = 1000
"""Events of a session from which on reading them all again takes longer than a blink."""
APART = 250
"""New events from which on another checkpoint is made: until then they are read again."""


class Reading:
    """Everything that reads the events of one session, in one pass."""

    def __init__(self, session: Session, *, continued: bool) -> None:
        self.logs = SessionLogs()
        self.observer = Observer(session, self.logs)
        self.builder = DigestBuilder(self.logs, continued=continued)
        self.cwd = session.cwd or ""
        self.last_event = 0
        self.next_seq = 0
        self.fresh = 0
        """Events read since the last checkpoint."""

    def add(self, event: SessionEvent) -> None:
        """Take in the next event."""
        self.logs.add(event)
        self.observer.add(event)
        self.builder.add(event)
        self.last_event = event.id
        if event.seq >= self.next_seq:
            self.next_seq = event.seq + 1
        self.fresh += 1

    def look_back(self) -> None:
        """Find out what is settled, so that nobody has to look there again."""
        self.builder.cures.find(self.logs.calls)
        self.logs.settle(self.cwd)


def made_for(session: Session, *, continued: bool) -> str:
    """What a checkpoint depends on besides the events: of anything else it is of no use."""
    parts = (session.id, session.flavor, session.external_id, session.cwd, session.source_kind)
    text = repr((__version__, DIGEST_VERSION, *parts, continued)).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=16).hexdigest()


def checkpoint(reading: Reading, session: Session, *, continued: bool) -> Checkpoint | None:
    """Where the reading stands; None where making a checkpoint is not worth it."""
    if reading.builder.events < WORTHWHILE or reading.fresh < APART:
        return None
    from session_memory.distil.written_reading import written  # few sessions are that long

    reading.fresh = 0
    reading.look_back()
    name = made_for(session, continued=continued)
    return Checkpoint(name, reading.next_seq, reading.last_event, written(reading))


def resume(store: CheckpointReader, session: Session, *, continued: bool) -> Reading | None:
    """The reading that the session's checkpoint stands for; None where there is none of use."""
    stored = store.checkpoint(session.id) if session.event_count >= WORTHWHILE else None
    if stored is None or stored.made_for != made_for(session, continued=continued):
        return None
    from session_memory.distil.written_reading import read_again

    try:
        reading = read_again(stored.body)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, the events are here
        return None
    return reading if isinstance(reading, Reading) else None
