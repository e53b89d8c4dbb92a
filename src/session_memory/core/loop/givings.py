"""When a version of a pattern came into the files of a repository, and when it left them again.

The ledger knows what a file holds now; measuring needs to know since when.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec


class Given(msgspec.Struct, frozen=True, omit_defaults=True):
    """A version of a pattern that stands in the files of one repository, and since when."""

    pattern_id: str
    version: int
    repo: str
    """The key of its project."""
    since: int
    until: int | None = None
    """When it was taken out again."""


Standing = Collection[tuple[str, int, str]]
"""(pattern, version, repository) of all that stands in files now."""


Pair = tuple[str, str]
"""(pattern, repository)."""


def standing(
    history: Iterable[Given], held: Iterable[Pair], written: Mapping[Pair, int]
) -> frozenset[tuple[str, int, str]]:
    """What files hold, with its version: as just written, else as the history says."""
    continuing = {
        (given.pattern_id, given.repo): given.version for given in history if given.until is None
    }
    versions = {**continuing, **written}
    return frozenset((pair[0], versions[pair], pair[1]) for pair in held if pair in versions)


def renewed(history: Iterable[Given], standing: Standing, now_ms: int) -> tuple[Given, ...]:
    """The history after a run: what is new begins now, what is gone ends now, the rest goes on."""
    continuing: set[tuple[str, int, str]] = set()
    after: list[Given] = []
    for given in history:
        name = (given.pattern_id, given.version, given.repo)
        if given.until is None and name not in standing:
            given = msgspec.structs.replace(given, until=now_ms)
        elif given.until is None:
            continuing.add(name)
        after.append(given)
    after += [Given(*name, now_ms) for name in sorted(standing) if name not in continuing]
    return tuple(after)
