"""A hub as a store: what may be seen there, as lines of an export, imported into a temporary store.

So every question that a local store answers is answered of a hub by the same code and with the same
ranking. The copy lives as long as one command and is deleted with it; a command that keeps
running, as the page does, makes another when the hub has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from session_memory.core.schema import Cure, Digest, Observation, Project, Session
from session_memory.core.sharing import wire
from session_memory.distil.sessions import analyze
from session_memory.export.importer import ImportContext, ImportReport, import_lines
from session_memory.export.records import KIND, EventLine, FactLine, Line, Manifest, SessionLine
from session_memory.redact import Redactor
from session_memory.store import open_store
from session_memory.store.remote_call import HubClient
from session_memory.team.evidence import read_cure, read_digest
from session_memory.team.hub_values import title_of
from session_memory.team.membership import Membership

PAGE = 200
MOST_EVENTS = 20_000
"""Events of the newest sessions that a copy holds; copying that many takes about ten seconds."""
Progress = Callable[[int, str], None]


def fill(
    directory: str, client: HubClient, projects: tuple[str, ...], now: int, progress: Progress
) -> ImportReport:
    """Copy all sessions of these projects into a new store in a directory."""
    with open_store(directory, now, create_missing=True) as store:
        manifest = Manifest(KIND, 1, "", now, "", "", (), {})
        context = ImportContext(
            store, Redactor(store.tag_key), lambda writer: analyze(store, writer)
        )
        return import_lines(context, manifest, lines(client, projects, progress))


def state_of(client: HubClient, joined: Membership) -> dict[str, str]:
    """The state of each project of this machine on the hub: it changes with the content."""
    return {
        share.project: client.post(
            "/v1/sync", wire.Sync(share.project, share.generation, ""), wire.SyncState
        ).cursor
        for share in joined.shared
    }


def lines(client: HubClient, projects: tuple[str, ...], progress: Progress) -> Iterator[Line]:
    """The newest sessions that the token may see in these projects, as many events of each."""
    count = 0
    for project in projects:
        after: str | None = None
        left = MOST_EVENTS // len(projects)
        while left > 0:
            page = client.get(
                "/v1/sessions", wire.SessionPage, project=project, after=after, limit=PAGE
            )
            for line in page.sessions:
                if left <= 0:
                    break
                left -= max(1, line.body.event_count)
                yield from session_lines(client.get(f"/v1/session/{line.key}", wire.SessionText))
                count += 1
                progress(count, project)
            after = page.next
            if after is None:
                break


def session_lines(text: wire.SessionText) -> Iterator[Line]:
    """One session with its events, or with its digest where no events are shared."""
    line, body = text.line, text.line.body
    stated = {
        "title.custom": title_of(line),
        "opened_at": body.started_at,
        "started_at": body.started_at,
        "ended_at": body.ended_at,
        "branch": body.branch,
        "source_kind": body.source_kind,
    }
    facts = [FactLine(0, name, value, 0) for name, value in stated.items() if value is not None]
    facts += [FactLine(0, "model", model, 0) for model in body.models]
    whole = bool(text.events)
    observations = () if whole else tuple(_observations(text))
    yield SessionLine(
        session=Session(
            id=0,
            flavor=body.flavor,
            external_id=line.key,
            parent_external_id=body.parent,
            event_count=body.event_count,
            state="captured" if whole else "raw_evicted",
            metadata={"project_resolution_source": "hub"},
        ),
        project=Project(0, line.project, None, remote=line.project, source="hub"),
        logs=(f"hub:{line.key}",),
        facts=tuple(facts),
        notes=(),
        usages=(),
        digest=None if whole else _digest(text),
        evicted_digest=None,
        observations=observations,
        lasting=tuple(each.hash for each in observations),
    )
    for event in text.events:
        # Fields of other people's events are checked as those of an export are.
        mark = f"{line.member} {line.key} {event.seq}"
        plain = {**msgspec.to_builtins(event), "log": 0, "pos": event.seq, "mark": mark}
        yield msgspec.convert({**plain, "record": "event"}, EventLine)


def _digest(text: wire.SessionText) -> Digest | None:
    items = [shared.item for shared in text.items]
    read = (read_cure(item.body) for item in items if item.kind == "cure")
    cures: list[Cure] = [cure for cure in read if cure is not None]
    bodies = [item.body for item in items if item.kind == "digest"]
    return read_digest(bodies[0], cures) if bodies else None


def _observations(text: wire.SessionText) -> Iterator[Observation]:
    for shared in text.items:
        if shared.item.kind != "observation":
            continue
        try:
            plain = msgspec.json.decode(shared.item.body, type=dict[str, object])
            fields = {**plain, "text": shared.item.text, "session": 0, "event": None}
            key_and_time = {"hash": shared.item.key[:16], "at": shared.item.at}
            yield msgspec.convert({**fields, **key_and_time}, Observation)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
