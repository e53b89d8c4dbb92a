"""What a person decides about the team: to join, to share a project, to take it back, to leave."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import msgspec

from session_memory.core.schema import Project
from session_memory.core.sharing import wire
from session_memory.core.sharing.wire import Level
from session_memory.errors import HubRefused, HubUnavailable, Refused, UsageError
from session_memory.store.remote_call import HubClient, check_url
from session_memory.team.ledger import read_ledger
from session_memory.team.membership import (
    Membership,
    SharedProject,
    folder,
    read_membership,
    write_membership,
)
from session_memory.team.outbox import change_outbox, read_outbox
from session_memory.team.pulled import drop_pulled
from session_memory.team.take_back import TakenBack, Way, take_back

NAME_CHARS = 80


def pseudonym() -> str:
    """A name that does not identify a person."""
    return f"member-{secrets.token_hex(3)}"


def join(data: Path, url: str, invite: str, name: str) -> Membership:
    """Trade an invite for a token of this device; the token is kept before anything else."""
    if read_membership(data) is not None:
        raise Refused(
            "this machine belongs to a team already",
            hint="`session-memory team leave` first; `team status` shows which it is",
        )
    if read_outbox(data):
        raise Refused(
            "something of an earlier team still has to be taken back",
            hint="join that hub again and run `session-memory team push`, or delete"
            f" {folder(data)} if that hub no longer exists",
        )
    if not (name.strip() and name.isprintable() and len(name) <= NAME_CHARS):
        raise UsageError(f"a name has 1 to {NAME_CHARS} printable characters")
    url = check_url(url)
    client = HubClient(url, invite)
    try:
        answer = client.post("/v1/join", wire.Join(name.strip()), wire.Joined)
    finally:
        client.close()
    if len(answer.team_key) != 64:
        raise HubUnavailable("the hub gave no usable key of the team")
    joined = Membership(
        url=url,
        token=answer.token,
        device=answer.device,
        member=answer.member,
        team=answer.team,
        team_key=answer.team_key,
        name=name.strip(),
        limits=answer.limits,
    )
    write_membership(data, joined)
    return joined


def team_name(project: Project, chosen_name: str | None) -> str:
    """What the team calls a project: its normalised remote, or the name that was given."""
    name = (chosen_name or project.remote or "").strip()
    if not name:
        raise UsageError(
            f"{project.key} has no remote, so others cannot know which project it is",
            hint="give it the name your team uses: --as NAME",
        )
    return name


def share(data: Path, client: HubClient, key: str, project: str, level: Level) -> Membership:
    """Decide that a project is shared; nothing leaves before the next push."""
    joined = read_membership(data)
    assert joined is not None
    taken = next((each for each in joined.shared if each.project == project), None)
    if taken is not None and taken.key != key:
        raise Refused(
            f"{taken.key} is shared as {project} already",
            hint="two folders of one project are one after `session-memory project merge`",
        )
    before = joined.of(key)
    if before is not None and before.project != project:
        raise Refused(
            f"{key} is shared as {before.project}", hint="unshare it first to give it another name"
        )
    answer = client.post("/v1/share", wire.Share(project, level), wire.Sharing)
    after = joined.sharing(SharedProject(key, project, level, answer.generation))
    write_membership(data, after)
    return after


def unshare(data: Path, keys: tuple[str, ...]) -> Membership:
    """Decide that projects are not shared any more; `flush` reports it to the hub.

    The outbox first: killed in between, the project is taken back and the push that would share it
    again is refused by the hub.
    """
    joined = read_membership(data)
    assert joined is not None
    for key in keys:
        shared = joined.of(key)
        if shared is None:
            raise UsageError(f"{key} is not shared", hint="`session-memory team status` lists them")
        project = shared.project
        change_outbox(data, lambda box, name=project: box.with_unshared(name))
        joined = joined.without(key)
        write_membership(data, joined)
        drop_pulled(data, lambda each, name=project: each.project == name)
    return joined


def flush(data: Path, joined: Membership, client: HubClient, now: int) -> TakenBack:
    """Report to the hub what was forgotten and unshared."""
    return take_back(Way(data, client, joined.url, now), read_ledger(data))


def leave(data: Path, client: HubClient, *, force: bool) -> None:
    """End the token of this device, and delete everything about the team."""
    if read_outbox(data) and not force:
        raise Refused(
            "something still has to be taken back from the hub",
            hint="`session-memory team push` does it; --force leaves it there for good",
        )
    try:
        client.post("/v1/leave", None, wire.Done)
    except HubRefused as error:
        if not (force or error.reason.startswith("token")):  # the token has ended already
            raise
    except HubUnavailable:
        if not force:
            raise
    shutil.rmtree(folder(data))


class Pending(msgspec.Struct, frozen=True):
    """What waits for the next push, without making any item."""

    unconfirmed: int
    forgotten: int
    unshared: tuple[str, ...]


def pending(data: Path) -> Pending:
    """What the hub does not know yet."""
    outbox, ledger = read_outbox(data), read_ledger(data)
    waiting = sum(len(p.unconfirmed) + len(p.withdrawn) for p in ledger.projects.values())
    forgotten = sum(len(keys) for keys in outbox.forgotten.values())
    return Pending(waiting, forgotten, outbox.unshared)
