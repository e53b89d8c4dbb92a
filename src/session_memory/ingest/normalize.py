"""From a raw event to a draft for the store: fingerprint, redact, choose what to index."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from session_memory.adapters.common import RawEvent, SessionPart
from session_memory.core.facts import Fact
from session_memory.core.fingerprint import event_fingerprint, usage_fingerprint, was_forgotten
from session_memory.core.index_text import BEFORE, index_text, is_turn, window_text
from session_memory.core.pricing import PriceTable, price
from session_memory.core.schema import Usage
from session_memory.core.text.searchable import searchable
from session_memory.file_names import name_to_text
from session_memory.plain_files import read_plain
from session_memory.redact.engine import Redactor
from session_memory.redact.private_tags import drop_private
from session_memory.store.port import Elsewhere, EventDraft, UsageDraft

OVERFLOW_CAP = 16 * 1024 * 1024


Overflow = Callable[[str, str], str | None]
"""Reads a side file by its session and name."""


_DOLLARS = 1_000_000
"""No response costs as much: what a log states beyond it, or below nothing, is no price."""


class Drafter:
    """Turns what adapters give into what the store takes; holds keys and rules, no session."""

    def __init__(
        self, key: bytes, redactor: Redactor, prices: PriceTable, elsewhere: Elsewhere = ()
    ) -> None:
        self.key = key
        self._elsewhere = elsewhere
        self.redactor = redactor
        self._prices = prices
        self._words: dict[str, tuple[str, dict[str, int]]] = {}

    def events(
        self, flavor: str, part: SessionPart, turns: list[str], overflow: Overflow
    ) -> list[EventDraft]:
        """Drafts of a part's events, in order; `turns` carries the latest turns on."""
        drafts: list[EventDraft] = []
        for raw in part.events:
            drafts.append(self._draft(flavor, part.external_id, raw, overflow))
        self._redact_across(part.events, drafts)
        self._redact_call_ids(drafts)
        for draft in drafts:
            if is_turn(draft.kind) and draft.index_text:
                draft.turn_text = window_text(draft.index_text, turns)
                turns.append(draft.index_text)
                del turns[:-BEFORE]
        return drafts

    def _redact_call_ids(self, drafts: list[EventDraft]) -> None:
        """Call ids are many and almost never secrets, so redact them in one batch per part."""
        changed = self.redactor.redact_words({d.call_id for d in drafts if d.call_id})
        for draft in drafts if changed else ():
            if draft.call_id:
                draft.call_id = changed.get(draft.call_id, draft.call_id)

    def _redact_across(self, events: list[RawEvent], drafts: list[EventDraft]) -> None:
        """A message that came in pieces may hold a secret that spans two of them."""
        for start, end in _answers(events):
            whole = drafts[start:end]
            pieces = self.redactor.redact_joined([draft.body for draft in whole])
            for draft, piece in zip(whole, pieces, strict=True):
                if piece != draft.body:
                    draft.body, draft.text = piece, piece.decode("utf-8", "replace")
                    draft.index_text = searchable(draft.text)

    def _draft(
        self, flavor: str, external_id: str, raw: RawEvent, overflow: Overflow
    ) -> EventDraft:
        try:
            body, is_whole = raw.text.encode(), True
        except UnicodeEncodeError:  # half of a pair of surrogates
            body, is_whole = raw.text.encode("utf-8", "replace"), False
        shown, private = drop_private(raw.text) if "<" in raw.text else (raw.text, 0)
        place = raw.identity or external_id
        fingerprint = event_fingerprint(
            self.key, kind=raw.kind, at=raw.at, body=body, call_id=raw.call_id, place=place
        )
        forgotten = bool(self._elsewhere) and was_forgotten(self._elsewhere, raw, body, place)
        if private:
            body = shown.encode("utf-8", "replace")
        if raw.overflow is not None and (rest := overflow(external_id, raw.overflow)) is not None:
            body += b"\n" + rest.encode("utf-8", "replace")
        redact = self.redactor
        clean = redact.redact_json(body) if raw.kind == "tool_call" else redact.redact(body)
        untouched = clean is body
        is_shown = untouched and raw.overflow is None
        text = shown if is_shown else clean.decode("utf-8", "replace")
        command, files = raw.command, raw.files
        if private and command:
            command = drop_private(command)[0]
        if command and not untouched:
            command = redact.redact_text(command)
        if files and not (untouched and raw.kind == "tool_call"):
            files = tuple(self._word(file) for file in files)
        tool = self._word(raw.tool) if raw.tool else None
        return EventDraft(
            pos=raw.pos,
            kind=raw.kind,
            origin=raw.origin,
            fingerprint=fingerprint,
            forgotten=forgotten,
            body=clean,
            text=text if is_whole or not is_shown else None,
            at=raw.at,
            tool=tool,
            tool_class=raw.tool_class,
            call_id=raw.call_id or None,
            is_error=raw.is_error,
            exit_code=None if raw.exit_code is None else _exit_code(raw.exit_code),
            files=files,
            command=command,
            usage_key=usage_fingerprint(self.key, flavor, raw.usage_key) if raw.usage_key else None,
            label=self._word(raw.label) if raw.label else None,
            index_text=index_text(
                raw.kind,
                text,
                is_error=raw.is_error,
                tool=tool,
                tool_class=raw.tool_class,
                command=command,
                files=files,
                label=raw.label,
            ),
        )

    def _word(self, word: str) -> str:
        """Tool names, labels, paths and branches are few, so each is redacted only once.

        It counts each time: how often must not depend on which process saw it first.
        """
        redacted = self._words.get(word)
        if redacted is None:
            before = self.redactor.take_counts()
            clean = self.redactor.redact_text(word)
            redacted = (clean, self.redactor.take_counts())
            self.redactor.counts.update(before)
            if len(self._words) < 10_000:
                self._words[word] = redacted
        clean, counts = redacted
        if counts:
            self.redactor.counts.update(counts)
        return clean

    def facts(self, part: SessionPart) -> list[Fact]:
        """A part's facts, titles and paths redacted."""
        return [
            Fact(fact.name, self._word(name_to_text(fact.value)), fact.pos)
            if isinstance(fact.value, str)
            else fact
            for fact in part.facts
        ]

    def state(self, state: dict[str, Any]) -> dict[str, Any]:
        """An adapter's state of a file, redacted, since it is stored with the cursor."""
        encoded = msgspec.json.encode(state)
        clean = self.redactor.redact_json(encoded)
        return state if clean is encoded else msgspec.json.decode(clean)

    def usage(self, flavor: str, usage: Usage) -> UsageDraft:
        """Tokens with their price and the version of the table it came from."""
        if usage.usd is not None and not 0 <= usage.usd < _DOLLARS:
            usage = msgspec.structs.replace(usage, usd=None)
        return UsageDraft(
            key=usage_fingerprint(self.key, flavor, usage.key),
            model=self._word(usage.model),
            at=usage.at,
            input=usage.input,
            output=usage.output,
            cache_read=usage.cache_read,
            cache_write_5m=usage.cache_write_5m,
            cache_write_1h=usage.cache_write_1h,
            reasoning=usage.reasoning,
            stated_usd=usage.usd,
            usd=price(usage, self._prices),
            price_table=self._prices.version,
            sidechain=usage.sidechain,
            mode=self._word(usage.mode),
        )


def _exit_code(code: int) -> int | None:
    """A number that a system can end a command with; a log may hold any, and a store may not."""
    return code if -(1 << 31) <= code < 1 << 32 else None


def _answers(events: list[RawEvent]) -> list[tuple[int, int]]:
    """Where events begin and end that are pieces of one answer."""
    spans: list[tuple[int, int]] = []
    before = None
    for at, event in enumerate(events):
        key = event.usage_key if event.kind == "assistant_text" else None
        if key is not None and key == before:
            start = spans.pop()[0] if spans and spans[-1][1] == at else at - 1
            spans.append((start, at + 1))
        before = key
    return spans


def side_files_of(path: str) -> Overflow:
    """Side files of a log: `tool-results/` of its session, found from the log's own place.

    The path in the record may be another machine's, so only its name is used, and only a plain
    file of bounded size inside that one directory is read.
    """
    here = os.path.dirname(path)

    def read(session: str, name: str) -> str | None:
        if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
            return None
        for folder in (os.path.join(here, session.partition(":")[0]), os.path.dirname(here)):
            text = _read_plain(os.path.join(folder, "tool-results", name))
            if text is not None:
                return text
        return None

    return read


def _read_plain(path: str) -> str | None:
    try:
        return read_plain(path, OVERFLOW_CAP, follow=False).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
