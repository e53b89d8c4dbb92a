"""Events of an export on their way into this store: redacted again, indexed, fingerprinted."""

from __future__ import annotations

from collections import Counter

from session_memory.core.fingerprint import event_fingerprint, repeated
from session_memory.core.hashing import blake2b
from session_memory.core.index_text import BEFORE, index_text, is_turn, window_text
from session_memory.core.schema import SessionEvent
from session_memory.export.records import EventLine, from_hex
from session_memory.redact.engine import Redactor
from session_memory.redact.placeholder import MARK, PLAIN
from session_memory.store.exchange import imported_key
from session_memory.store.values import EventDraft

_PLAIN = PLAIN.encode()
ContentKey = tuple[str, int | None, str | None, bytes]
"""Equal for the same event, whichever store redacted it."""


def content_key(kind: str, at: int | None, call_id: str | None, text: str) -> ContentKey:
    """The tags of redacted secrets are left out: they differ from store to store."""
    body = MARK.sub(_PLAIN, text.encode("utf-8", "replace"))
    return kind, at, call_id, blake2b(body, digest_size=16).digest()


def stored_content_key(event: SessionEvent) -> ContentKey:
    """The content key of a stored event."""
    return content_key(event.kind, event.at, event.call_id, event.text or "")


class EventDrafter:
    """Makes the drafts of the events of one session."""

    def __init__(
        self, external_id: str, redactor: Redactor, key: bytes, *, same_keys: bool
    ) -> None:
        self._redactor = redactor
        self._key = key
        self._same_keys = same_keys
        self._fingerprints = EventFingerprints(key, external_id)
        self._turns: list[str] = []

    def draft(self, line: EventLine) -> EventDraft:
        """The event with every text redacted."""
        clean = self._redactor.redact_text
        body = line.text.encode("utf-8", "replace")
        tool = clean(line.tool) if line.tool else None
        label = clean(line.label) if line.label else None
        command = clean(line.command) if line.command else None
        files = tuple(clean(file) for file in line.files)
        redacted = (
            self._redactor.redact_json(body)
            if line.kind == "tool_call"
            else self._redactor.redact(body)
        )
        return EventDraft(
            pos=line.pos,
            kind=line.kind,
            origin=line.origin,
            fingerprint=self._fingerprint(line, body),
            body=redacted,
            at=line.at,
            tool=tool,
            tool_class=line.tool_class,
            call_id=clean(line.call_id) if line.call_id else None,
            is_error=line.is_error,
            exit_code=line.exit_code,
            files=files,
            command=command,
            usage_key=None if line.response is None else self.response_key(line.response),
            label=label,
            index_text=index_text(
                line.kind,
                redacted.decode("utf-8", "replace"),
                is_error=line.is_error,
                tool=tool,
                tool_class=line.tool_class,
                command=command,
                files=files,
                label=label,
            ),
        )

    def add_window(self, draft: EventDraft) -> None:
        """Index a turn together with the turns before it."""
        if is_turn(draft.kind) and draft.index_text:
            draft.turn_text = window_text(draft.index_text, self._turns)
            self._turns.append(draft.index_text)
            del self._turns[:-BEFORE]

    def response_key(self, exported: str) -> int:
        """The key of a response here; the same as in the logs where both stores share a key."""
        if self._same_keys:
            return from_hex(exported)
        return imported_key(self._key, f"response {exported}")

    def _fingerprint(self, line: EventLine, body: bytes) -> int:
        """The fingerprint that reading the log gives; made up where that is no longer known."""
        if not line.exact:
            return imported_key(self._key, f"event {line.mark}")
        return self._fingerprints.next(line, body)


class EventFingerprints:
    """The fingerprints that reading the log of a session gives, computed from its events."""

    def __init__(self, key: bytes, external_id: str) -> None:
        self._key = key
        self._external_id = external_id
        self._counts: Counter[int] = Counter()

    def next(self, event: SessionEvent | EventLine, body: bytes) -> int:
        """The fingerprint of the next event; equal events are told apart by their order."""
        base = event_fingerprint(
            self._key,
            kind=event.kind,
            at=event.at,
            body=body,
            call_id=event.call_id,
            place=self._external_id,
        )
        number = self._counts[base]
        self._counts[base] += 1
        return repeated(self._key, base, number)
