"""Distilling: every session that changed gets a digest and observations, read in one pass.

The digest is what makes its raw text evictable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.digest import is_poorer, low_value_reason, merge_digests
from session_memory.core.schema import Digest, Observation, Session, SessionEvent
from session_memory.core.text.reason import reason_of
from session_memory.distil.checkpoint import Reading, checkpoint, resume
from session_memory.store.port import DistilStore, Writer
from session_memory.store.values import Checkpoint


def analyze(store: DistilStore, writer: Writer) -> list[int]:
    """Digest what is captured but not analyzed; returns those sessions."""
    waiting = store.unanalyzed()
    for session_id in waiting:
        analyze_session(store, writer, session_id)
    return waiting


def distil_waiting(store: DistilStore) -> dict[str, str]:
    """Make the digests that are missing, so that nothing needs to go without one.

    Returns the sessions for which that failed, with the reason; each is tried on its own.
    """
    failed: dict[str, str] = {}
    for session_id in store.unanalyzed():
        try:
            with store.writing() as writer:
                analyze_session(store, writer, session_id)
        except Exception as error:
            if store.is_unusable_after(error):
                raise
            failed[store.session(session_id).external_id] = reason_of(error)
    return failed


def analyze_session(store: DistilStore, writer: Writer, session_id: int) -> bool:
    """Digest one session; if that fails, what was written of it is rolled back."""
    with writer.attempt():
        save(writer, [(session_id, distil(store, session_id))])
    return True


class Distilled(msgspec.Struct, frozen=True, array_like=True):
    """What is to be kept of a session."""

    digest: Digest | None
    """None where nothing is left to distil."""
    low_value: str | None = None
    observations: list[Observation] | None = None
    """None: those that are stored stay."""
    checkpoint: Checkpoint | None = None
    """None: the one that is stored stays, as long as it holds."""


def distil(store: DistilStore, session_id: int) -> Distilled:
    """Read a session and distil it, without writing."""
    session = store.session(session_id)
    evicted = store.evicted_digest(session_id)
    reading, reached = _read(store, session, continued=evicted is not None)
    lost = bool(store.lost_events(session_id))
    fuller = store.digest(session_id) if lost else None
    return conclude(reading, session, Before(evicted, fuller, lost), reached)


class Before(msgspec.Struct, frozen=True):
    """What is known of a session besides the events that are left of it."""

    evicted: Digest | None = None
    """The digest of the part whose raw text was evicted."""
    fuller: Digest | None = None
    """The stored digest, where events were lost: it may know more."""
    lost: bool = False


def distil_events(session: Session, events: Iterable[SessionEvent], before: Before) -> Distilled:
    """Distil a session from its events, without a store."""
    reading = Reading(session, continued=before.evicted is not None)
    for event in events:
        reading.add(event)
    return conclude(reading, session, before)


def conclude(
    reading: Reading, session: Session, before: Before, reached: Checkpoint | None = None
) -> Distilled:
    """What is to be kept of a session once its events are read."""
    digest = reading.builder.digest(session)
    evicted, fuller = before.evicted, before.fuller
    if evicted is not None:  # what raw holds is only what came after (DIG-03), or nothing (DIG-05)
        digest = merge_digests(evicted, digest) if digest.events else evicted
    if before.lost:
        # Its log may be gone: a digest of what is left must not replace one that knows more.
        if fuller is not None and is_poorer(digest, fuller):
            return Distilled(fuller, low_value_reason(session, fuller))
        if not digest.events:
            return Distilled(None)
    observations = reading.observer.finish()
    return Distilled(digest, low_value_reason(session, digest), observations, reached)


def _read(
    store: DistilStore, session: Session, *, continued: bool
) -> tuple[Reading, Checkpoint | None]:
    """Read a session, from its last checkpoint on if it has one; returns the next one, if any."""
    reading = resume(store, session, continued=continued) or Reading(session, continued=continued)
    for event in store.events_to_distil(session.id, reading.next_seq):
        reading.add(event)
    return reading, checkpoint(reading, session, continued=continued)


def save(writer: Writer, made: Sequence[tuple[int, Distilled]]) -> None:
    """Write what was distilled of sessions."""
    writer.save_observations(
        {
            session_id: distilled.observations
            for session_id, distilled in made
            if distilled.digest is not None and distilled.observations is not None
        }
    )
    for session_id, distilled in made:
        if distilled.digest is None:
            writer.leave_undistilled(session_id)
            continue
        writer.save_digest(session_id, distilled.digest, distilled.low_value)
        if distilled.checkpoint is not None:
            writer.save_checkpoint(session_id, distilled.checkpoint)
