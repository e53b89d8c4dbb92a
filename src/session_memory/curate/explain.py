"""From any id of ours to the sessions, quotes and decisions behind it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.event_ids import split
from session_memory.core.loop.catalog import Catalog, Evidence, match_id
from session_memory.core.schema import Observation, Session
from session_memory.curate.agent_notes import Note, read_notes
from session_memory.curate.catalog import read_catalog
from session_memory.curate.review import under_gate
from session_memory.distribute.ledger import read_ledger
from session_memory.errors import Ambiguous, NotFound
from session_memory.redact import render
from session_memory.settings import Curate
from session_memory.store.port import MemoryStore, ObservationQuery, SessionReader, Store
from session_memory.store.trial_files import read_trials

SHORTEST = 4
"""Fewer letters of an id would match by chance."""


class Witness(msgspec.Struct, frozen=True):
    """One session that shows a pattern, with a quote."""

    session_id: int | None
    """Its number, while the store knows it."""
    flavor: str
    session: str
    event: int | None
    quote: str
    at: int | None
    count: int = 1
    raw: bool = False
    """Whether its raw text is still stored."""


def explain(store: Store, data: Path, policy: Curate, name: str) -> dict[str, Any]:
    """Everything known about an id of a pattern, an observation or a session."""
    catalog = under_gate(read_catalog(data), policy)
    witnesses = _witnesses(store)
    if name.isascii() and name.isdigit():  # a session's number, whatever else begins so
        return _of_session(store, store.find_session(name), witnesses)
    explanations: list[dict[str, Any]] = []
    if note := said_note(data, name, by_words=False):
        return of_note(store, note)
    patterns = {*catalog.patterns, *catalog.proposals, *witnesses}
    if pattern := match_id(name, patterns, shortest=SHORTEST):
        explanations.append(_of_pattern(store, catalog, data, pattern, witnesses.get(pattern, [])))
    notes = {note.hash: note for note in store.observations(ObservationQuery(excluded=True))}
    if note_id := match_id(name, notes, shortest=SHORTEST, what="observations"):
        explanations.append(_of_observation(store, notes[note_id]))
    with suppress(NotFound):
        explanations.append(_of_session(store, store.find_session(name), witnesses))
    if not explanations:
        hint = "it may be the id of a line (sm-...), a rule, a note, an observation or a session"
        raise NotFound(f"nothing is known as {name}", hint=hint)
    matches = [match for match in explanations if match["id"] == name] or explanations
    if len(matches) > 1:
        fits = ", ".join(f"{match['what']} {match['id']}" for match in matches)
        raise Ambiguous(f"{name} fits several things: {fits}", hint="give more of the id")
    return matches[0]


def said_note(data: Path, what: str, *, by_words: bool = True) -> Note | None:
    """The note of an agent's that an id names or, of what the user confirmed, some words do."""
    notes = read_notes(data)
    if what.startswith("n-"):
        return next((note for note in notes if note.id == what), None)
    confirmed = [note for note in notes if note.state == "confirmed" and what in note.text]
    return confirmed[-1] if by_words and confirmed else None


def of_note(store: SessionReader, note: Note) -> dict[str, Any]:
    """Who wrote a note, what became of it, and the events it rests on."""
    return {
        "what": "note",
        "id": note.id,
        "status": note.state,
        "type": note.kind,
        "text": note.text,
        "written": {"flavor": note.flavor, "session": note.session, "at": note.at},
        "decided_at": note.decided_at,
        "pattern": note.pattern or None,
        "evidence": [_cited(store, event) for event in note.evidence],
    }


def _cited(store: SessionReader, number: int) -> Witness:
    """An event that a note rests on; forgetting its session takes the note along."""
    session = store.session(split(number)[0])
    event = next((e for e in store.events(session.id, texts=True) if e.id == number), None)
    return Witness(
        session_id=session.id,
        flavor=session.flavor,
        session=session.external_id,
        event=number,
        quote=render((event.text if event else None) or ""),
        at=event.at if event else None,
        raw=bool(event and event.text),
    )


def _witnesses(store: Store) -> dict[str, list[Witness]]:
    """Pattern to the sessions that show it; signals are kept after raw text is evicted."""
    witnesses: dict[str, list[Witness]] = {}
    for mined in store.patterns.evidence():
        raw = store.session(mined.session).state != "raw_evicted"
        for signal in mined.signals:
            witness = Witness(
                session_id=mined.session,
                flavor=mined.flavor,
                session=mined.external_id,
                event=signal.seq,
                quote=render(signal.quote),
                at=signal.at or mined.at,
                count=signal.count,
                raw=raw,
            )
            witnesses.setdefault(signal.pattern, []).append(witness)
    return witnesses


def _of_pattern(
    store: SessionReader, catalog: Catalog, data: Path, name: str, witnesses: list[Witness]
) -> dict[str, Any]:
    pattern, proposal = catalog.patterns.get(name), catalog.proposals.get(name)
    entry = pattern or proposal
    shown = {(witness.flavor, witness.session) for witness in witnesses}
    evidence = pattern.current.evidence if pattern else proposal.evidence if proposal else ()
    recorded = [
        _recorded(store, item) for item in evidence if (item.flavor, item.session) not in shown
    ]
    return {
        "what": "pattern",
        "id": name,
        "line": f"sm-{name}",
        "status": catalog.status(name),
        "text": entry.text if entry else None,
        "type": entry.type if entry else None,
        "locus": entry.locus if entry else None,
        "decisions": [
            {
                "version": version.number,
                "action": version.action,
                "status": version.status,
                "who": version.who,
                "at": version.at,
                "why": version.why,
                "frequency": version.snapshot.frequency,
                "sessions": version.snapshot.sessions,
            }
            for version in (pattern.versions if pattern else ())
        ],
        "evidence": [*witnesses, *recorded],
        "files": [
            entry.place.full_path for entry in read_ledger(data).entries if name in entry.patterns
        ],
        "trials": [trial for trial in read_trials(data) if trial.pattern_id == name],
    }


def _recorded(store: SessionReader, item: Evidence) -> Witness:
    """A session that the catalog names."""
    session = store.own_session(item.session, item.flavor)
    return Witness(
        session_id=session.id if session else None,
        flavor=item.flavor,
        session=item.session,
        event=None,
        quote=item.quote,
        at=item.at,
        raw=session is not None and session.state != "raw_evicted",
    )


def _of_observation(store: SessionReader, note: Observation) -> dict[str, Any]:
    session = store.session(note.session)
    event = next(
        (event for event in store.events(session.id, texts=True) if event.id == note.event), None
    )
    return {
        "what": "observation",
        "id": note.hash,
        "type": note.type,
        "status": note.status,
        "text": render(note.text),
        "evidence": [
            Witness(
                session_id=session.id,
                flavor=session.flavor,
                session=session.external_id,
                event=note.event,
                quote=render((event.text if event else None) or note.text),
                at=note.at,
                raw=bool(event and event.text),
            )
        ],
    }


def _of_session(
    store: MemoryStore, session: Session, witnesses: dict[str, list[Witness]]
) -> dict[str, Any]:
    digest = store.digest(session.id)
    own = (session.flavor, session.external_id)
    speaks = sorted(
        name for name, ones in witnesses.items() if own in {(w.flavor, w.session) for w in ones}
    )
    notes = store.observations(ObservationQuery(session=session.id, excluded=True))
    return {
        "what": "session",
        "id": session.external_id,
        "session_id": session.id,
        "flavor": session.flavor,
        "project": session.project_key,
        "state": session.state,
        "text": render((digest.objective if digest else None) or session.title or ""),
        "outcome": digest.outcome if digest else None,
        "grounds": digest.grounds if digest else (),
        "patterns": speaks,
        "observations": [
            {"id": note.hash, "type": note.type, "text": render(note.text)} for note in notes
        ],
        "given": store.live.injections(*own),
    }
