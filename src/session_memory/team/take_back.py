"""Reports to the hub what was forgotten or unshared, and has it prove that nothing is left."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.core.sharing import wire
from session_memory.store.remote_call import HubClient
from session_memory.team.ledger import Ledger, write_ledger
from session_memory.team.outbox import Outbox, change_outbox, read_outbox
from session_memory.team.receipts import Receipt, add_receipt

MOST = 500
"""Tombstones in one request."""


class TakenBack(msgspec.Struct, frozen=True):
    """What the hub deleted, and what it says is left of it."""

    sessions: int = 0
    projects: tuple[str, ...] = ()
    proofs: tuple[wire.Proof, ...] = ()
    unfinished: bool = False
    """The hub still has to delete texts from its object storage; they cannot be read any more."""

    def __or__(self, other: TakenBack) -> TakenBack:
        return TakenBack(
            self.sessions + other.sessions,
            (*self.projects, *other.projects),
            (*self.proofs, *other.proofs),
            self.unfinished or other.unfinished,
        )


def proof_words(proof: wire.Proof) -> str:
    """A proof as a person reads it."""
    again = "it would be refused" if proof.refused else "it could come again"
    return (
        f"{proof.rows} rows, {proof.index_entries} index entries, {proof.stored_texts} stored"
        f" texts and {proof.data_keys} data keys left; {again}"
    )


class Way(msgspec.Struct, frozen=True):
    """Where things are taken back from, and where that is noted."""

    data: Path
    client: HubClient
    url: str
    now: int

    def note(self, what: str, project: str, proof: str, keys: tuple[str, ...] = ()) -> None:
        """Add a receipt."""
        add_receipt(self.data, Receipt(self.now, what, project, self.url, keys=keys, proof=proof))


def take_back(way: Way, ledger: Ledger) -> TakenBack:
    """Send what waits in the outbox. It leaves the outbox when the hub has said that it is done."""
    done = TakenBack()
    data, outbox = way.data, read_outbox(way.data)
    for project in outbox.unshared:
        erased = way.client.post("/v1/unshare", wire.Unshare(project), wire.Erased)
        ledger.projects.pop(project, None)
        write_ledger(data, ledger)
        way.note("unshared", project, f"{erased.items} items deleted")
        change_outbox(data, lambda box, key=project: box.without(Outbox({}, (key,))))
        done |= TakenBack(projects=(project,), unfinished=not erased.complete)
    for project, sessions in outbox.forgotten.items():
        for start in range(0, len(sessions), MOST):
            part = sessions[start : start + MOST]
            done |= _forget(way, project, part)
            for session in part:
                ledger.of(project).forget_session(session)
            write_ledger(data, ledger)
            change_outbox(data, lambda box, p=project, s=part: box.without(Outbox({p: s})))
    return done


def _forget(way: Way, project: str, sessions: tuple[str, ...]) -> TakenBack:
    targets = tuple(wire.Tombstone("session", session) for session in sorted(sessions))
    erased = way.client.post("/v1/forget", wire.Forget(project, targets), wire.Erased)
    proof = way.client.post("/v1/prove", wire.Prove(project, targets), wire.Proof)
    way.note("forgotten", project, proof_words(proof), sessions)
    return TakenBack(len(sessions), (), (proof,), not erased.complete)
