"""Folds the records of a Gemini CLI chat into its messages, each as its last record left it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from session_memory.adapters.common import (
    Json,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
    recover_records,
)
from session_memory.adapters.gemini.text import ACKNOWLEDGED, text_of, user_pieces
from session_memory.adapters.gemini.usage import Tokens, tokens_of

Record = dict[str, Json]

_TOKENS = ("input", "output", "cached", "thoughts", "tool", "total")
_KNOWN_FIELDS = frozenset(
    {
        "activeExtensionName",
        "directories",
        "kind",
        "lastUpdated",
        "memoryScratchpad",
        "messages",
        "projectHash",
        "sessionId",
        "startTime",
        "summary",
    }
)
_HEADER = frozenset({"projectHash", "startTime"})
"""Fields of a header besides its session's id that no line of another agent's log has."""
_MESSAGES = re.compile(r'"messages"\s*:\s*\[')
_SESSION = re.compile(r'"(sessionId|projectHash|startTime|kind)"\s*:\s*"([^"\\]{1,200})"')


class Message(msgspec.Struct):
    """One message: what its records said together."""

    id: str
    kind: str
    at: int | None
    """When it was first written: a resumed session gives copies new times."""
    content: Json = None
    display: Json = None
    thoughts: list[Json] = []
    tokens: Tokens | None = None
    model: str = ""
    calls: dict[str, Record] = {}
    number: int = 0
    """How many messages of the same id came before it."""
    rank: int = -1
    """Its place in the current file; -1 where only an older file of the session holds it."""
    rewound: bool = False
    is_summary: bool = False
    """It stands for what a compression took out of the context."""

    def take(self, record: Record) -> None:
        """What a later record of the same message says replaces what an earlier one said."""
        self.kind = as_text(record.get("type")) or self.kind
        for field, name in (("content", "content"), ("display", "displayContent")):
            if record.get(name) is not None:
                setattr(self, field, record[name])
        self.thoughts = as_list(record.get("thoughts")) or self.thoughts
        self.model = as_text(record.get("model")) or self.model
        tokens = tokens_of(as_object(record.get("tokens")), _TOKENS)
        if tokens.spent():
            self.tokens = tokens
        for number, row in enumerate(map(as_object, as_list(record.get("toolCalls")))):
            key = as_text(row.get("id")) or str(number)
            self.calls[key] = self.calls.get(key, {}) | row


class Rewind(msgspec.Struct, frozen=True):
    """The user went back to before a message."""

    target: str
    rank: int
    at: int | None


class Fold:
    """Takes records in the order of the file; older files of the session come before it."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.rewinds: list[Rewind] = []
        self.meta: Record = {}
        self.ignored: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.odd: list[tuple[int, Record]] = []
        """Records of no known shape, with their rank."""
        self._own = True
        self._rank = 0
        self._context: set[str] = set()
        self._last_at: int | None = None

    def older(self, records: Iterator[Record]) -> None:
        """Take in what an earlier file of the session holds, without emitting it again."""
        self._own = False
        for record in records:
            self.take(record)
        self._own, self.meta = True, {}
        self.rewinds.clear()
        self.odd.clear()
        self.ignored.clear()
        self.unknown.clear()

    def take(self, record: Record) -> None:
        """One record of any kind."""
        if isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif isinstance(record.get("$set"), dict):
            self._patch(as_object(record["$set"]))
        elif isinstance(record.get("id"), str):
            self._message(record)
        elif isinstance(record.get("sessionId"), str) and not record.keys().isdisjoint(_HEADER):
            self._patch(record)
        else:
            self._odd("record/" + next(iter(record), "empty"), record)

    def _odd(self, what: str, record: Record) -> None:
        self.unknown[what] += 1
        self._rank += 1
        self.odd.append((self._rank, record))

    def _patch(self, fields: Record) -> None:
        """The header, a later change of it, or a whole document."""
        for name in fields.keys() - _KNOWN_FIELDS:
            self.unknown[f"$set/{name}"] += 1
        if "messages" in fields:
            self._replace_context(list(map(as_object, as_list(fields["messages"]))))
        opened = self.meta.get("startTime")
        self.meta |= {name: value for name, value in fields.items() if name != "messages"}
        if opened is not None:  # a resumed session writes a second header
            self.meta["startTime"] = opened

    def _replace_context(self, rows: list[Record]) -> None:
        """What the model sees from now on; messages known already are as they were written.

        A resumed session lists its history here with new times and without its calls, and tool
        outputs that were masked to save room: none of that is new.
        """
        listed = {as_text(row.get("id")) for row in rows}
        dropped = bool(self._context - listed)
        new_names: set[str] = set()
        for row in rows:
            name = as_text(row.get("id"))
            earlier = self.messages.get(name)
            if earlier is not None and not earlier.rewound and name not in new_names:
                self._mention(earlier)
                continue
            new_names.add(name)
            self._message(row)
            if dropped and name in self.messages:
                self.messages[name].is_summary = _reads_like_a_summary(row)
        self._context = listed

    def _message(self, record: Record) -> None:
        name = as_text(record.get("id"))
        kind = as_text(record.get("type"))
        if not name or not kind:
            self._odd("message/no_type" if name else "message/no_id", record)
            return
        if kind == "gemini" and not record.get("tokens") and _acknowledges(record):
            self.ignored["acknowledgement"] += 1
            return
        message = self.messages.get(name)
        if message is None or message.rewound or _is_another(message, record):
            fresh = Message(name, kind, parse_time(record.get("timestamp")))
            if message is not None:  # emitted after the one it does not replace
                fresh.number = message.number + 1
                self.messages[f"{name}#{message.number}"] = self.messages.pop(name)
            self.messages[name] = message = fresh
        self._mention(message)
        self._context.add(name)
        self._last_at = message.at if message.at is not None else self._last_at
        message.take(record)

    def _mention(self, message: Message) -> None:
        if self._own and message.rank < 0:
            self._rank += 1
            message.rank = self._rank

    def _rewind(self, target: str) -> None:
        live = [message for message in self.messages.values() if not message.rewound]
        at = next((n for n, message in enumerate(live) if message.id == target), 0)
        for message in live[at:]:
            message.rewound = True
            self._context.discard(message.id)
        self._rank += 1
        self.rewinds.append(Rewind(target, self._rank, self._last_at))


def _is_another(message: Message, record: Record) -> bool:
    """An id that stands for several messages: tools that clean logs of secrets leave such."""
    if record.get("type") != message.kind:
        return True
    at = parse_time(record.get("timestamp"))
    return at != message.at and text_of(record.get("content")) != text_of(message.content)


def _acknowledges(row: Record) -> bool:
    return text_of(row.get("content")) == ACKNOWLEDGED


def _reads_like_a_summary(row: Record) -> bool:
    """A new user text in a context that lost messages is the client's summary of them."""
    pieces = list(user_pieces(text_of(row.get("content"))))
    return row.get("type") == "user" and any(
        piece.kind == "user_prompt" or piece.label == "compact_summary" for piece in pieces
    )


def is_record(value: Record) -> bool:
    """Whether this is a record, not a part of one: calls have no type, activities no time."""
    if "$set" in value or "$rewindTo" in value:
        return True
    if "sessionId" in value and "projectHash" in value:
        return True
    return all(name in value for name in ("id", "timestamp", "type"))


def records_of(data: bytes, *, document: bool) -> Iterator[Record]:
    """The whole records of a file that is only looked at, damaged or not."""
    for line in [data] if document else data.split(b"\n"):
        record = decode_record(line) if line.strip() else None
        if record is not None:
            yield record
        elif line.strip():
            records = torn_document(line) if document else recover_records(line, is_record)
            yield from (inner for _, inner in records)


def torn_document(data: bytes) -> list[tuple[int, Record]]:
    """The header and the whole messages of a document whose end is missing."""
    text = data.decode("utf-8", "replace")
    start = _MESSAGES.search(text)
    head = text if start is None else text[: start.start()]
    header: Record = dict(_SESSION.findall(head[:4096]))
    if not is_record(header):
        return []
    records: list[tuple[int, Record]] = [(0, header)]
    decoder = json.JSONDecoder()
    here = len(text) if start is None else start.end()
    while (here := text.find("{", here)) >= 0:
        try:
            _, end = decoder.raw_decode(text, here)
        except (ValueError, RecursionError):
            break
        message = decode_record(text[here:end].encode())
        if message is not None:
            records.append((here, message))
        here = end
    return records
