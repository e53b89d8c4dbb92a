"""`session-memory explain`: from any id of ours to the sessions, words and decisions behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, human_time, one_line
from session_memory.cli.store import reading
from session_memory.clock import iso
from session_memory.core.loop.catalog import Catalog, match_id
from session_memory.core.schema import Observation, Session
from session_memory.curate.catalog import read_catalog
from session_memory.curate.review import under_gate
from session_memory.distribute.ledger import read_ledger
from session_memory.errors import Ambiguous, NotFound
from session_memory.redact import render
from session_memory.store.port import MemoryStore, ObservationQuery, SessionReader, Store
from session_memory.store.trial_files import read_trials

SHOWN = 10
SHORTEST = 4
"""Fewer letters of an id fit by chance."""


class Witness(msgspec.Struct, frozen=True):
    """One session that speaks for a pattern, in its own words."""

    session_id: int | None
    """Its number, as long as the store knows it."""
    flavor: str
    session: str
    event: int | None
    quote: str
    at: int | None
    count: int = 1
    raw: bool = False
    """Whether its raw text is still here."""


@click.command(name="explain")
@click.argument("name", metavar="ID")
@json_option
@pass_app
def command(app: App, name: str) -> None:
    """Show where something comes from: a distributed line, a pattern, an observation, a session.

    For sessions whose raw text was evicted, their signals and digests are shown.

    \b
    Examples:
      session-memory explain sm-1a2b3c4d5e6f
      session-memory explain 1a2b
    """
    with reading(app) as store:
        told = explain(store, app, name)
    if app.json:
        emit_json(told)
        return
    click.echo("\n".join(_lines(told, app.clock())))


def explain(store: Store, app: App, name: str) -> dict[str, Any]:
    """What is known behind an id: of a pattern, an observation or a session."""
    data = app.paths.data
    catalog = under_gate(read_catalog(data), app.config.curate)
    witnesses = _witnesses(store)
    if name.isascii() and name.isdigit():  # a session's number, whatever else begins so
        return _of_session(store, store.find_session(name), witnesses)
    found: list[dict[str, Any]] = []
    patterns = {*catalog.patterns, *catalog.proposals, *witnesses}
    if pattern := match_id(name, patterns, shortest=SHORTEST):
        found.append(_of_pattern(store, catalog, data, pattern, witnesses.get(pattern, [])))
    notes = {one.hash: one for one in store.observations(ObservationQuery(excluded=True))}
    if note := match_id(name, notes, shortest=SHORTEST, what="observations"):
        found.append(_of_observation(store, notes[note]))
    with suppress(NotFound):
        found.append(_of_session(store, store.find_session(name), witnesses))
    if not found:
        hint = "it may be the id of a line (sm-...), a pattern, an observation or a session"
        raise NotFound(f"nothing is known as {name}", hint=hint)
    whole = [one for one in found if one["id"] == name] or found
    if len(whole) > 1:
        fits = ", ".join(f"{one['what']} {one['id']}" for one in whole)
        raise Ambiguous(f"{name} fits several things: {fits}", hint="give more of the id")
    return whole[0]


def _witnesses(store: Store) -> dict[str, list[Witness]]:
    """Pattern to the sessions whose signals speak for it; signals outlive raw text."""
    found: dict[str, list[Witness]] = {}
    for mined in store.patterns.evidence():
        raw = store.session(mined.session).state != "raw_evicted"
        for signal in mined.signals:
            one = Witness(
                *(mined.session, mined.flavor, mined.external_id, signal.seq, render(signal.quote)),
                *(signal.at or mined.at, signal.count, raw),
            )
            found.setdefault(signal.pattern, []).append(one)
    return found


def _of_pattern(
    store: SessionReader, catalog: Catalog, data: Path, name: str, witnesses: list[Witness]
) -> dict[str, Any]:
    pattern, proposal = catalog.patterns.get(name), catalog.proposals.get(name)
    entry = pattern or proposal
    told = {(one.flavor, one.session) for one in witnesses}
    evidence = pattern.current.evidence if pattern else proposal.evidence if proposal else ()
    kept = [
        Witness(
            *(_number(store, item.flavor, item.session), item.flavor, item.session),
            *(None, item.quote, item.at),
        )
        for item in evidence
        if (item.flavor, item.session) not in told
    ]
    files = [
        f"{one.place.root}/{one.place.path}"
        for one in read_ledger(data).entries
        if name in one.patterns
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
        "evidence": [*witnesses, *kept],
        "files": files,
        "trials": [trial for trial in read_trials(data) if trial.pattern_id == name],
    }


def _number(store: SessionReader, flavor: str, native_id: str) -> int | None:
    found = store.own_session(native_id, flavor)
    return found.id if found else None


def _of_observation(store: SessionReader, note: Observation) -> dict[str, Any]:
    session = store.session(note.session)
    event = next(
        (one for one in store.events(session.id, texts=True) if one.id == note.event), None
    )
    return {
        "what": "observation",
        "id": note.hash,
        "type": note.type,
        "status": note.status,
        "text": render(note.text),
        "evidence": [
            Witness(
                *(session.id, session.flavor, session.external_id, note.event),
                *(render((event.text if event else None) or note.text), note.at, 1),
                bool(event and event.text),
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
    notes = store.observations(ObservationQuery(session=session.id))
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
            {"id": one.hash, "type": one.type, "text": render(one.text)} for one in notes
        ],
        "given": store.live.injections(*own),
    }


def _lines(told: dict[str, Any], now: int) -> Iterator[str]:
    """The same for people, each piece on a line of its own."""
    head = " ".join(
        str(told[key]) for key in ("what", "session_id", "id", "status", "state") if told.get(key)
    )
    yield one_line(head)
    for key in ("text", "type", "locus", "project", "outcome"):
        if told.get(key):
            yield f"  {key}: {one_line(str(told[key]))}"
    for one in told.get("decisions", ()):
        because = f", because {one_line(one['why'])}" if one["why"] else ""
        yield (
            f"  version {one['version']}: {one['action']} by {one_line(one['who'])},"
            f" {human_time(one['at'], now)}: {one['status']}, on {one['frequency']} occurrences"
            f" in {one['sessions']} sessions{because}"
        )
    for file in told.get("files", ()):
        yield f"  given in {one_line(file)}"
    for trial in told.get("trials", ()):
        yield f"  under trial since {iso(trial.started_at)}" if trial.runs else "  was under trial"
    yield from _evidence_lines(told.get("evidence", ()))
    for name in told.get("patterns", ()):
        yield f"  speaks for pattern {one_line(name)}"
    for note in told.get("observations", ()):
        yield f"  {note['type']} {one_line(note['id'])}: {one_line(note['text'])}"


def _evidence_lines(evidence: list[Witness]) -> Iterator[str]:
    for one in evidence[:SHOWN]:
        event = "" if one.event is None else f"#{one.event}"
        gone = "" if one.raw else " (raw text gone)"
        number = "" if one.session_id is None else f"{one.session_id}  "
        where = f"{number}{one_line(one.flavor)}:{one_line(one.session)}{event}{gone}"
        yield f'  {where}  {iso(one.at) or "-"}  "{one_line(one.quote)}"'
    if len(evidence) > SHOWN:
        yield f"  and {len(evidence) - SHOWN} more; --json has them all"
