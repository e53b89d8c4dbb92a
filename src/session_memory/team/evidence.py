"""What others shared as evidence: their errors and cures, and what recurs over people.

Each person counts once, however many sessions of theirs show a thing. What others wrote is never
stored with one's own evidence, so no gate counts it and no rule can come of it by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.loop.patterns import Candidate, Mined
from session_memory.core.schema import Cure, Digest
from session_memory.core.sharing.wire import SharedItem
from session_memory.detect.cluster import cluster
from session_memory.detect.digest_view import SessionProject
from session_memory.detect.fix import Fix, fix
from session_memory.detect.mine import mine
from session_memory.detect.rank import rank
from session_memory.detect.signals import signals
from session_memory.store.loop import Failures, Patterns
from session_memory.team.membership import Membership
from session_memory.team.pulled import all_pulled

YOU = "you"


class OthersSession(msgspec.Struct, frozen=True):
    """A session of another person, as far as it was shared."""

    key: str
    member: str
    author: str
    project: str
    at: int | None
    digest: Digest


def sessions_of_others(data: Path) -> list[OthersSession]:
    """Every session of others whose digest was pulled, the newest first.

    What does not read as a digest or a cure is left out: it may come from a newer program, or from
    somebody who means harm.
    """
    digests: dict[tuple[str, str], SharedItem] = {}
    cures: dict[tuple[str, str], list[Cure]] = {}
    for pulled in all_pulled(data):
        for shared in pulled.all:
            session_name = (shared.member, shared.item.session or "")
            if shared.item.kind == "digest":
                digests[session_name] = shared
            elif shared.item.kind == "cure":
                cure = read_cure(shared.item.body)
                cures.setdefault(session_name, []).extend([cure] if cure else [])
    sessions: list[OthersSession] = []
    for (member, key), shared in digests.items():
        digest = read_digest(shared.item.body, cures.get((member, key), []))
        if digest is not None:
            at = digest.last_at or shared.item.at
            sessions.append(OthersSession(key, member, shared.author, shared.project, at, digest))
    return sorted(sessions, key=lambda each: (-(each.at or 0), each.member, each.key))


def read_digest(body: msgspec.Raw, cures: list[Cure]) -> Digest | None:
    """A digest that was shared, with the cures that were shared with it."""
    try:
        plain: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
        bare = msgspec.convert({**plain, "source_fingerprint": "", "cures": []}, Digest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    ordered = sorted(cures, key=lambda cure: (cure.error_seq, cure.steps))
    return msgspec.structs.replace(bare, cures=tuple(ordered))


def read_cure(body: msgspec.Raw) -> Cure | None:
    """A cure that was shared."""
    try:
        return msgspec.json.decode(body, type=Cure)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _numbers(sessions: Iterable[OthersSession]) -> dict[str, int]:
    """Each person as a number below that of any session; -1 is oneself."""
    members = sorted({each.member for each in sessions})
    return {member: -2 - place for place, member in enumerate(members)}


class _OthersFailures(msgspec.Struct, frozen=True):
    """The failures of others, each person as one piece of evidence."""

    sessions: list[OthersSession]

    def failures(self, about: str = "") -> Iterator[Failures]:
        """As detection reads them; the session is named by who shared it."""
        del about  # all failures are returned
        people = _numbers(self.sessions)
        for each in self.sessions:
            yield Failures(
                people[each.member],
                each.digest.flavor,
                each.author,
                each.at,
                (),
                each.digest.errors,
                each.digest.cures,
            )


def team_fix(data: Path, text: str) -> Fix | None:
    """What worked for others after this error; its counts are people."""
    return fix(_OthersFailures(sessions_of_others(data)), text)


class TeamCandidate(msgspec.Struct, frozen=True):
    """Something that several people met."""

    candidate: Candidate
    """Its `sessions` are people."""
    people: tuple[str, ...]


def team_detect(
    patterns: Patterns, data: Path, joined: Membership, now_ms: int
) -> list[TeamCandidate]:
    """What recurs over people in the shared projects. Nothing is saved."""
    mine(patterns)
    others = sessions_of_others(data)
    numbers = _numbers(others)
    names = {number: _name_of(others, member) for member, number in numbers.items()}
    theirs = [_mined(place, each, numbers) for place, each in enumerate(others)]
    theirs.sort(key=lambda each: each.counts_as)
    own = [
        msgspec.structs.replace(each, counts_as=-1)
        for share in joined.shared
        for each in patterns.evidence(None, share.key)
    ]
    evidence = [*own, *theirs]
    candidates = cluster(lambda: evidence, patterns.statuses())
    shown = _people(evidence, {-1: YOU, **names})
    return [
        TeamCandidate(each, tuple(sorted(shown.get(each.id, set()), key=_you_first)))
        for each in rank(candidates, now_ms)
    ]


def _you_first(name: str) -> tuple[bool, str]:
    return name != YOU, name


def _name_of(sessions: Iterable[OthersSession], member: str) -> str:
    return next(each.author for each in sessions if each.member == member)


def _mined(index: int, session: OthersSession, numbers: Mapping[str, int]) -> Mined:
    mined_signals = signals(session.digest, SessionProject(session.project, ()))
    return Mined(
        -1 - index,
        numbers[session.member],
        session.digest.flavor,
        session.author,
        session.project,
        session.at,
        mined_signals,
    )


def _people(evidence: Iterable[Mined], names: Mapping[int, str]) -> dict[str, set[str]]:
    """Pattern to the people who show it."""
    shown: dict[str, set[str]] = {}
    for mined in evidence:
        for signal in mined.signals:
            if signal.count:
                shown.setdefault(signal.pattern, set()).add(names[mined.counts_as])
    return shown
