"""Does a hub find what a local store finds? The dialogues of tests/bench/recall.py, asked of both.

    python -m tests.bench.hub_recall [FILE] [--every N]

The events and observations of a swept store are pushed to a hub as a laptop pushes them, and the
same questions are asked of both, within a project and over all. Needs PostgreSQL.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psycopg
from tests.bench.corpora import SHARED
from tests.bench.recall import (
    DEPTH,
    Dialogue,
    Filled,
    Score,
    dialogues,
    fill,
    filled,
    score,
    table,
)

from session_memory.core.sharing import hashes, wire
from session_memory.hub import schema
from session_memory.hub.access import authenticate, join, project_or_new
from session_memory.hub.admin import Invitation, invite
from session_memory.hub.database import Caller, Pool, open_pool, transaction
from session_memory.hub.forget import share
from session_memory.hub.objects import Texts, open_objects
from session_memory.hub.push import push
from session_memory.hub.queries import search
from session_memory.store.port import ObservationQuery, SessionQuery, Store, TextFilter
from session_memory.testing.postgres_server import PostgresServer
from session_memory.testing.workspace import Workspace


class Member:
    """One device, without HTTP in between."""

    def __init__(self, pool: Pool, texts: Texts) -> None:
        self.pool, self.texts = pool, texts
        now = datetime.now(UTC)
        token = invite(pool, Invitation("bench", ("*",)), now).token
        with transaction(pool) as connection:
            joined = join(connection, f"Bearer {token}", wire.Join("Ann"), now)
        self.header = f"Bearer {joined.token}"
        self.key = bytes.fromhex(joined.team_key)

    @property
    def caller(self) -> Caller:
        with transaction(self.pool) as connection:
            return authenticate(connection, self.header, datetime.now(UTC))

    def share(self, project: str) -> int:
        with transaction(self.pool) as connection:
            caller = authenticate(connection, self.header, datetime.now(UTC))
            number = project_or_new(connection, caller, project)
        return share(self.pool, self.texts, self.caller, number, (project, "sessions")).generation

    def push(self, project: str, generation: int, items: Sequence[wire.Item]) -> None:
        caller = self.caller
        for at in range(0, len(items), 50):
            batch = wire.Push(project, generation, tuple(items[at : at + 50]))
            done = push(self.pool, self.texts, caller, caller.projects[project], batch)
            assert not done.refused, done.refused

    def item(self, kind: str, name: str, body: object, **fields: object) -> wire.Item:
        encoded = msgspec.json.encode(body)
        text = str(fields.pop("text", ""))
        return wire.Item(
            kind=kind, key=hashes.item_key(self.key, kind, name),
            hash=hashes.content_hash(self.key, kind, text, encoded),
            rank=1, body=msgspec.Raw(encoded), text=text, **fields,  # type: ignore[arg-type]
        )  # fmt: skip


def items_of(member: Member, store: Store, session_id: int) -> list[wire.Item]:
    """What a laptop would push of one session."""
    key = hashes.session_key(member.key, "claude", str(session_id))
    events = [
        wire.EventBody(
            event.seq, event.kind, event.origin, event.text or "", event.at, event.tool,
            event.tool_class, event.call_id, event.is_error, event.exit_code, event.files,
            event.command, event.label,
        )
        for event in store.events(session_id, texts=True)
    ]  # fmt: skip
    size = wire.EVENTS_PER_ITEM
    made: list[wire.Item] = []
    for at in range(0, len(events), size):
        body = wire.EventsBody(at, tuple(events[at : at + size]))
        name = f"{session_id}:{at}"
        made.append(member.item("events", name, body, session=key, at=events[at].at))
    for number, note in enumerate(store.observations(ObservationQuery(session=session_id))):
        seq = note.event & 0xFFFFFF if note.event is not None else None
        made.append(member.item("observation", f"{session_id}:{number}", {"type": note.type},
                                text=note.text, session=key, seq=seq))  # fmt: skip
    return made


def ask(member: Member, here: Filled, sessions: dict[str, int], number: int, talk: Dialogue,
        pooled: bool) -> tuple[list[Score], list[float]]:  # fmt: skip
    """Ask every question of one conversation; also how long each took."""
    caller = member.caller
    scores: list[Score] = []
    seconds: list[float] = []
    for question in talk.questions:
        projects = () if pooled else (f"talks/{number}",)
        start = time.perf_counter()
        request = wire.Search(question.text, projects, limit=DEPTH)
        hits = search(member.pool, member.texts, caller, request).hits
        seconds.append(time.perf_counter() - start)
        found = [
            (sessions[hit.session] << 24) | hit.seq
            for hit in hits
            if hit.session is not None and hit.seq is not None
        ]
        ranked = list(dict.fromkeys(here.turn_of[one] for one in found if one in here.turn_of))
        scores.append(score(ranked, {(number, turn) for turn in question.gold}, here.session_of))
    return scores, seconds


def ask_local(here: Filled, number: int, talk: Dialogue, pooled: bool) -> list[Score]:
    """The same questions to the store itself: what recall leaves out of its answer counts too."""
    project = next(one.id for one in here.store.projects() if one.root == f"/talks/{number}")
    where = TextFilter(project_id=None if pooled else project)
    scores: list[Score] = []
    for question in talk.questions:
        found = [hit.event for hit in here.store.scopes.find(question.text, where)[:DEPTH]]
        ranked = list(dict.fromkeys(here.turn_of[one] for one in found if one in here.turn_of))
        scores.append(score(ranked, {(number, turn) for turn in question.gold}, here.session_of))
    return scores


def compare(path: Path, every: int) -> None:
    """Print the figures of both, one line each."""
    talks = [talk._replace(questions=talk.questions[::every]) for talk in dialogues(path)]
    server = PostgresServer()
    try:
        with tempfile.TemporaryDirectory() as folder:
            space = Workspace(Path(folder) / "laptop")
            places = fill(space, talks)
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute("CREATE DATABASE hub")
            schema.make(server.url("hub"))
            texts = Texts(open_objects(f"{folder}/objects"), open_objects(f"{folder}/vault"))
            with (
                open_pool(server.url("hub", schema.DEFAULT_ROLE), size=4) as pool,
                space.store() as store,
            ):
                _compare(Member(pool, texts), filled(store, talks, places), talks, places)
    finally:
        server.close()


def _compare(
    member: Member, here: Filled, talks: Sequence[Dialogue], places: dict[str, tuple[int, int]]
) -> None:
    sessions: dict[str, int] = {}
    generations = {f"talks/{n}": member.share(f"talks/{n}") for n in range(len(talks))}
    # In the order of the store: what is equally good stands newest first, here and there.
    for session in sorted(here.store.sessions(SessionQuery(limit=100_000)), key=lambda one: one.id):
        project = f"talks/{places[session.external_id][0]}"
        sessions[hashes.session_key(member.key, "claude", str(session.id))] = session.id
        member.push(project, generations[project], items_of(member, here.store, session.id))
    for pooled in (True, False):
        local = [one for n, talk in enumerate(talks) for one in ask_local(here, n, talk, pooled)]
        asked = [ask(member, here, sessions, n, talk, pooled) for n, talk in enumerate(talks)]
        hub = [one for scores, _ in asked for one in scores]
        seconds = sorted(one for _, took in asked for one in took)
        middle, late = (round(1000 * seconds[int(len(seconds) * part)], 1) for part in (0.5, 0.95))
        print(json.dumps({"system": "local", "pooled": pooled, **table(local)}))
        figures = {**table(hub), "p50 ms": middle, "p95 ms": late}
        print(json.dumps({"system": "hub", "pooled": pooled, **figures}), flush=True)


def main(arguments: Sequence[str]) -> int:
    """Compare, where the dialogues are here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default=str(SHARED / "bench" / "locomo_dev.json"))
    parser.add_argument("--every", type=int, default=1, help="ask one of so many questions")
    given = parser.parse_args(arguments)
    path = Path(given.file)
    if not path.exists():
        print(f"no dialogues at {path}", file=sys.stderr)
        return 1
    compare(path, given.every)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
