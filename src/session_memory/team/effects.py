"""What the same rules changed for others: verdicts by people, asked of the hub."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.core.loop.effects import Effect
from session_memory.core.sharing.hashes import likeness
from session_memory.core.sharing.wire import Numbers, SharedItem
from session_memory.curate.catalog import read_catalog
from session_memory.store.remote_call import HubClient
from session_memory.team.membership import Membership


class TeamEffect(msgspec.Struct, frozen=True):
    """One of the user's own rules, and what others measured of it."""

    pattern: str
    text: str
    people: int
    verdicts: dict[str, int]
    """Verdict to how many people came to it; each person's newest measurement counts."""


def team_effects(data: Path, joined: Membership, client: HubClient) -> list[TeamEffect]:
    """Rules of the user's catalog that others measured too."""
    newest: dict[tuple[str, str], Effect] = {}
    for share in joined.shared:
        numbers = client.get("/v1/numbers", Numbers, project=share.project)
        for shared in numbers.items:
            effect = _effect(shared)
            if effect is None or shared.member == joined.member:
                continue
            key = (effect.pattern_id, shared.member)
            if key not in newest or newest[key].measured_at < effect.measured_at:
                newest[key] = effect
    effects: list[TeamEffect] = []
    for pattern in read_catalog(data).patterns.values():
        name = likeness(joined.key, "pattern", pattern.id)
        verdicts = sorted(e.verdict for (rule, _), e in newest.items() if rule == name)
        if verdicts:
            counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
            text = pattern.current.text
            effects.append(TeamEffect(pattern.id, text, len(verdicts), counts))
    return sorted(effects, key=lambda each: (-each.people, each.pattern))


def _effect(shared: SharedItem) -> Effect | None:
    if shared.item.kind != "effect":
        return None
    try:
        return msgspec.json.decode(shared.item.body, type=Effect)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
