"""Forgetting in the team's files: an outbox of hashes, and words removed from what was pulled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import msgspec

from session_memory.core.forget import ForgottenSessions
from session_memory.core.sharing.hashes import session_key
from session_memory.core.sharing.wire import SharedItem
from session_memory.store.port import SessionReader
from session_memory.team.ledger import read_ledger
from session_memory.team.membership import read_membership
from session_memory.team.outbox import Outbox, change_outbox, read_outbox
from session_memory.team.pulled import all_pulled, drop_pulled, write_pulled

Rewrite = Callable[[str], str]


def forget_sessions(data: Path, store: SessionReader, forgotten: ForgottenSessions) -> int:
    """Note which sessions the hub must forget; returns how many it was sent or may be sent now.

    Called while the rows are still there, and once more when they are not: the outbox is a set.
    """
    joined = read_membership(data)
    if joined is None:
        return 0
    ledger = read_ledger(data)
    sent = {
        (project, entry.session)
        for project, pushed in ledger.projects.items()
        for entry in pushed.entries.values()
    }
    shared = {each.key: each.project for each in joined.shared}
    waiting: dict[str, set[str]] = {}
    for flavor, external_id in forgotten.sessions:
        name = session_key(joined.key, flavor, external_id)
        for project in ledger.projects:
            if (project, name) in sent:
                waiting.setdefault(project, set()).add(name)
        # A push that runs right now may be about to send it.
        stored = store.own_session(external_id, flavor)
        if stored is not None and stored.project_key in shared:
            waiting.setdefault(shared[stored.project_key], set()).add(name)
    before = read_outbox(data)
    new = {
        project: names - before.sessions(project)
        for project, names in waiting.items()
        if names - before.sessions(project)
    }
    if new:
        change_outbox(data, lambda outbox: _with(outbox, new))
    empty = {shared[key] for key in forgotten.project_keys if key in shared}
    drop_pulled(data, lambda pulled: pulled.project in empty)
    return sum(len(names) for names in waiting.values())


def _with(outbox: Outbox, waiting: dict[str, set[str]]) -> Outbox:
    for project, names in waiting.items():
        outbox = outbox.with_forgotten(project, names)
    return outbox


def rewrite_pulled(data: Path, rewrite: Rewrite) -> None:
    """Drop every item of others that contains the words to forget: its owner still has it."""
    for pulled in all_pulled(data):
        items = {name: each for name, each in pulled.items.items() if not _says(each, rewrite)}
        before = {name: each for name, each in pulled.before.items() if not _says(each, rewrite)}
        if len(items) + len(before) < len(pulled.items) + len(pulled.before):
            pulled.items, pulled.before = items, before
            write_pulled(data, pulled)


def is_in_pulled(data: Path, rewrite: Rewrite) -> bool:
    """Whether an item of others holds such words."""
    return any(_says(each, rewrite) for pulled in all_pulled(data) for each in pulled.all)


def _says(shared: SharedItem, rewrite: Rewrite) -> bool:
    return any(rewrite(text) != text for text in _texts(shared))


def _texts(shared: SharedItem) -> Iterator[str]:
    yield shared.item.text
    yield shared.author
    try:
        body = msgspec.json.decode(shared.item.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    yield from _strings(body)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in cast("dict[str, object]", value).items():
            yield name
            yield from _strings(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _strings(item)
