"""From values of the store to what leaves: pure functions, each text through the border.

Every item says which thing it is (its key), what it says (its hash) and how much of the thing was
seen (its natural rank). Which rank it gets in the end is decided where what was sent is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from session_memory.core.loop.catalog import LIVE, Pattern
from session_memory.core.loop.effects import Effect
from session_memory.core.pauses import Pauses, is_paused
from session_memory.core.schema import (
    EXCLUDED_STATUSES,
    Cure,
    Digest,
    Observation,
    Session,
    SessionEvent,
)
from session_memory.core.sharing.hashes import content_hash, item_key, likeness, session_key
from session_memory.core.sharing.wire import EVENTS_PER_ITEM, MAX_ITEM_BYTES, Item, SessionBody
from session_memory.store.values import UsageRow
from session_memory.team.border import Border

STEPS = 1_024
"""Room between two natural ranks, for versions that say the same thing in other words."""
EVENT_CHARS = 200_000
"""Of one event's text: longer texts are dumps of data that are not read on a hub."""
_LOCAL_DIGEST = ("source_fingerprint", "cures")
"""The fingerprint is made of unredacted text and would let others test guesses; cures are items
of their own."""


class Draft(msgspec.Struct, frozen=True):
    """An item before its rank is decided."""

    kind: str
    key: str
    hash: str
    body: bytes
    text: str = ""
    session: str | None = None
    at: int | None = None
    likeness: str | None = None
    natural_rank: int = STEPS

    def ranked(self, rank: int) -> Item:
        """The item as it is sent."""
        return Item(
            kind=self.kind,
            key=self.key,
            hash=self.hash,
            rank=rank,
            body=msgspec.Raw(self.body),
            text=self.text,
            session=self.session,
            at=self.at,
            likeness=self.likeness,
        )


class Drafts:
    """Makes the items of one project for one team."""

    def __init__(self, team_key: bytes, border: Border) -> None:
        self._key = team_key
        self._border = border

    def usage(self, session: Session, row: UsageRow) -> Draft:
        """What a session cost: numbers and names of models, no text."""
        name = self.session_key(session)
        body = {
            "flavor": session.flavor,
            "responses": row.responses,
            "models": sorted(row.models),
            "cost": msgspec.to_builtins(row.cost),
            "unpriced_tokens": row.unpriced_tokens,
        }
        draft = self._draft("usage", (name,), body, session=name, at=session.started_at)
        return _ranked(draft, row.responses)

    def effect(self, effect: Effect) -> Draft:
        """What a rule changed; the rule is named by a hash, as its id is made of its words."""
        body = msgspec.to_builtins(effect)
        body["pattern_id"] = self.rule_key(effect.pattern_id)
        names = (body["pattern_id"], str(effect.version), effect.method)
        draft = self._draft("effect", names, self._border.value(body), at=effect.measured_at)
        return _ranked(draft, effect.measured_at // 1000)

    def session(self, session: Session, title: str) -> Draft:
        """The header of a session."""
        name = self.session_key(session)
        parent = session.parent_external_id
        body = SessionBody(
            flavor=session.flavor,
            title=self._border.text(title) or None,
            started_at=session.started_at,
            ended_at=session.ended_at,
            branch=self._border.text(session.branch) if session.branch else None,
            models=session.models,
            source_kind=session.source_kind,
            event_count=session.event_count,
            parent=session_key(self._key, session.flavor, parent) if parent else None,
        )
        plain = msgspec.to_builtins(body)
        draft = self._draft(
            "session", (name,), plain, text=body.title or "", session=name, at=session.started_at
        )
        return _ranked(draft, session.event_count)

    def digest(self, session: Session, digest: Digest) -> Draft:
        """What is kept of a session, without its cures and local hashes."""
        name = self.session_key(session)
        bare = msgspec.structs.replace(digest, source_fingerprint="", cures=())
        body = self._border.struct(bare)
        for field in _LOCAL_DIGEST:
            body.pop(field, None)
        body["flavor"] = session.flavor
        texts = [body.get("objective") or "", *body["decisions"], *body["open_items"]]
        text = "\n".join(line for line in texts if line)
        draft = self._draft("digest", (name,), body, text=text, session=name, at=session.started_at)
        return _ranked(draft, digest.events)

    def observation(self, session: Session, observation: Observation) -> Draft:
        """One statement of a session."""
        name = self.session_key(session)
        text = self._border.text(observation.text)
        body = {
            "type": observation.type,
            "status": observation.status,
            "importance": observation.importance,
            "origin": observation.origin,
        }
        names = (name, observation.type, text)
        return self._draft("observation", names, body, text=text, session=name, at=observation.at)

    def cure(self, session: Session, cure: Cure) -> Draft:
        """What made something that had failed work."""
        name = self.session_key(session)
        body = self._border.struct(cure)
        text = "\n".join((body["sample"], *body["lines"], *body["steps"]))
        return self._draft(
            "cure",
            (name, body["error"], *body["steps"], str(cure.error_seq)),
            body,
            text=text,
            session=name,
            at=session.ended_at,
            likeness=likeness(self._key, "cure", body["error"], *body["steps"]),
        )

    def rule(self, pattern: Pattern) -> Draft:
        """A rule that a person approved, in the words agents are given."""
        text = self._border.text(pattern.current.text)
        name = self.rule_key(pattern.id)
        body = {
            "pattern": name,
            "kind": pattern.kind,
            "type": pattern.type,
            "locus": self._border.text(pattern.locus),
            "status": pattern.current.status,
            "sessions": pattern.current.snapshot.sessions,
        }
        draft = self._draft(
            "rule",
            (name,),
            body,
            text=text,
            at=pattern.current.at,
            likeness=likeness(self._key, "rule", name),
        )
        return _ranked(draft, pattern.current.number)

    def memory(self, line: str) -> Draft:
        """One line of a project's memory."""
        text = self._border.text(line)
        same = likeness(self._key, "memory", text)
        return self._draft("memory", (text,), {}, text=text, likeness=same)

    def events(self, session: Session, events: Iterable[SessionEvent]) -> Iterator[Draft]:
        """The events of a session in runs of a fixed number, shorter where their texts are long."""
        name = self.session_key(session)
        run: list[dict[str, Any]] = []
        size = first = 0
        for number, event in enumerate(events):
            plain = self._event(event)
            length = len(msgspec.json.encode(plain))
            if run and (number % EVENTS_PER_ITEM == 0 or size + length > MAX_ITEM_BYTES // 2):
                yield self._run(session, name, first, run)
                run, size, first = [], 0, number
            run.append(plain)
            size += length
        if run:
            yield self._run(session, name, first, run)

    def session_key(self, session: Session) -> str:
        """What stands for a session."""
        return session_key(self._key, session.flavor, session.external_id)

    def rule_key(self, pattern: str) -> str:
        """What stands for a rule."""
        return likeness(self._key, "pattern", pattern)

    def _run(self, session: Session, name: str, first: int, run: Sequence[dict[str, Any]]) -> Draft:
        at = next((event["at"] for event in run if event.get("at")), session.started_at)
        body = {"first": first, "events": run}
        draft = self._draft("events", (name, str(first)), body, session=name, at=at)
        return _ranked(draft, len(run))

    def _event(self, event: SessionEvent) -> dict[str, Any]:
        clean = self._border.text
        text = clean(event.text or "")
        fields = {
            "seq": event.seq,
            "kind": event.kind,
            "origin": event.origin,
            "text": text if len(text) <= EVENT_CHARS else f"{text[:EVENT_CHARS]}\n[cut]",
            "at": event.at,
            "tool": clean(event.tool) if event.tool else None,
            "tool_class": event.tool_class,
            "call_id": event.call_id,
            "is_error": event.is_error,
            "exit_code": event.exit_code,
            "files": [clean(file) for file in event.files],
            "command": clean(event.command) if event.command else None,
            "label": clean(event.label) if event.label else None,
        }
        filled = {
            name: value for name, value in fields.items() if value not in (None, "", [], False)
        }
        return {"seq": event.seq, **filled}

    def _draft(
        self,
        kind: str,
        names: Sequence[str],
        body: dict[str, Any],
        *,
        text: str = "",
        session: str | None = None,
        at: int | None = None,
        likeness: str | None = None,
    ) -> Draft:
        encoded = msgspec.json.encode(body, order="sorted")
        return Draft(
            kind=kind,
            key=item_key(self._key, kind, *names),
            hash=content_hash(self._key, kind, text, encoded),
            body=encoded,
            text=text,
            session=session,
            at=at,
            likeness=likeness,
        )


def _ranked(draft: Draft, seen: int) -> Draft:
    return msgspec.structs.replace(draft, natural_rank=(max(seen, 0) + 1) * STEPS)


def lasting(observations: Iterable[Observation], pauses: Pauses) -> Iterator[Observation]:
    """Observations that still hold, said outside of pauses."""
    for each in observations:
        if each.status not in EXCLUDED_STATUSES and not is_paused(pauses, each.at):
            yield each


def said_outside(events: Iterable[SessionEvent], pauses: Pauses) -> Iterator[SessionEvent]:
    """Events that did not happen during a pause."""
    return (event for event in events if not is_paused(pauses, event.at))


def rules_of(patterns: Iterable[Pattern], project_key: str) -> list[Pattern]:
    """Rules in use that were seen in, or written for, a project."""
    return [
        pattern
        for pattern in patterns
        if pattern.current.status in LIVE and project_key in pattern.current.snapshot.repos
    ]
