"""How often guards spoke and what agents did next, from what hooks recorded."""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.core.loop.guards import SPOKE, GuardUse

Recorded = tuple[str, str, tuple[str, ...]]
"""Flavour, session, and the names that its hook recorded as given."""


def guard_uses(records: Iterable[Recorded]) -> dict[str, GuardUse]:
    """The use of every guard that ever spoke, by rule."""
    spoke: dict[str, int] = {}
    sessions_by_use: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for flavor, session, names in records:
        for name in names:
            if not name.startswith(SPOKE):
                continue
            rule, _, what = name.removeprefix(SPOKE).partition(":")
            spoke[rule] = spoke.get(rule, 0) + (not what)
            sessions_by_use.setdefault((rule, what), set()).add((flavor, session))
    return {
        rule: GuardUse(
            rule,
            spoke=times,
            sessions=len(sessions_by_use.get((rule, ""), ())),
            followed=len(sessions_by_use.get((rule, "followed"), ())),
            overridden=len(sessions_by_use.get((rule, "overridden"), ())),
        )
        for rule, times in sorted(spoke.items())
    }


def use_sentence(use: GuardUse) -> str:
    """The use of one guard in words."""
    rest = use.sessions - use.followed - use.overridden
    return (
        f"guard: spoke {use.spoke} times in {use.sessions} sessions; followed in {use.followed},"
        f" overridden in {use.overridden}, no sign either way in {max(0, rest)}"
    )


def retirement_sentence(use: GuardUse) -> str:
    """The proposal to make for a guard that is often overridden."""
    return (
        f"the guard of {use.rule} was overridden in {use.overridden} sessions and followed in"
        f" {use.followed}: `session-memory rules guard off {use.rule}` silences it"
    )
