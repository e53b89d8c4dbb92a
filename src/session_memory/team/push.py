"""Sending what is shared and taking back what must go; cut off anywhere, the next push goes on.

In this order: take back what was forgotten or unshared, then for each project decide and note what
to send, send what the hub lacks, and then the hash of the whole. Everything may be repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from session_memory.clock import Clock
from session_memory.core.sharing import wire
from session_memory.core.sharing.wire import Item
from session_memory.errors import HubRefused, SessionMemoryError
from session_memory.store.remote_call import HubClient
from session_memory.team.gather import Machine, Outgoing, gather
from session_memory.team.ledger import ProjectLedger, read_ledger, write_ledger
from session_memory.team.membership import Membership, SharedProject, write_membership
from session_memory.team.outbox import read_outbox
from session_memory.team.receipts import Receipt, add_receipt
from session_memory.team.take_back import TakenBack, Way, take_back

BATCH_BYTES = 2 * 1024 * 1024
"""Of a request before packing: what is lost and sent again when the network breaks."""

Progress = Callable[[str, int], None]
"""Project and items sent so far."""


class ProjectPush(msgspec.Struct):
    """What a push did for one project."""

    project: str
    level: str
    sent: int = 0
    taken_back: int = 0
    unchanged: bool = False
    refused: dict[str, int] = {}
    """Items the hub did not take, by its reason."""
    lost: int = 0
    """Items the hub lost and this machine cannot make any more."""
    warnings: tuple[str, ...] = ()
    failed: str = ""
    hint: str = ""


class PushReport(msgspec.Struct):
    """What a push did."""

    projects: list[ProjectPush] = []
    taken_back: TakenBack = TakenBack()
    bytes_sent: int = 0
    bytes_received: int = 0

    @property
    def failed(self) -> bool:
        """Whether anything was left undone."""
        return any(each.failed for each in self.projects)


class Push:
    """One push of everything this machine shares."""

    def __init__(
        self, machine: Machine, joined: Membership, client: HubClient, clock: Clock
    ) -> None:
        self.machine = machine
        self.joined = joined
        self.client = client
        self.clock = clock
        self.ledger = read_ledger(machine.data)

    def run(self, progress: Progress = lambda _project, _count: None) -> PushReport:
        """Push all projects; one that fails does not stop the others."""
        report = PushReport()
        report.taken_back = self._take_back()
        for share in self.joined.shared:
            result = ProjectPush(share.project, share.level)
            report.projects.append(result)
            try:
                self._push_again_if_stale(share, result, progress)
            except HubRefused as error:  # of this project; a hub that is down ends the push
                if error.reason.startswith(("token", "invite")):
                    raise
                result.failed, result.hint = error.message, error.hint or ""
        if read_outbox(self.machine.data):  # something was forgotten while this ran
            report.taken_back |= self._take_back()
        report.bytes_sent = self.client.sent_bytes
        report.bytes_received = self.client.received_bytes
        return report

    def _take_back(self) -> TakenBack:
        way = Way(self.machine.data, self.client, self.joined.url, self.clock())
        return take_back(way, self.ledger)

    def _push_again_if_stale(
        self, share: SharedProject, result: ProjectPush, progress: Progress
    ) -> None:
        """Another device of this person may have changed what is shared."""
        try:
            self._push(share, result, progress)
        except HubRefused as error:
            if error.reason != "not_shared":
                raise
            sharing = self.client.get("/v1/whoami", wire.WhoAmI).sharing
            now = next((each for each in sharing if each.project == share.project), None)
            if now is None or now.level is None:
                raise HubRefused(
                    f"{share.project} is not shared any more: another device took it back",
                    hint=f"`session-memory team share {share.key}` shares it again,"
                    f" `session-memory team unshare {share.key}` agrees",
                ) from None
            lower = min(share.level, now.level, key=wire.LEVELS.index)
            share = msgspec.structs.replace(share, level=lower, generation=now.generation)
            self.joined = self.joined.sharing(share)
            write_membership(self.machine.data, self.joined)
            result.level = lower
            self._push(share, result, progress)

    def _push(self, share: SharedProject, result: ProjectPush, progress: Progress) -> None:
        outgoing = gather(self.machine, share, self.joined.key)
        result.warnings = outgoing.warnings
        if outgoing.waits:
            raise SessionMemoryError(outgoing.waits)
        ledger = self.ledger.of(share.project)
        work = _ProjectWork(self, share, result, ledger, progress)
        if ledger.generation != share.generation:
            # The level was another one in between, and the hub deleted what was above it.
            ledger.generation = share.generation
            ledger.doubt()
            work.send(outgoing)
            result.lost = _drop_lost(ledger)
            work.finish()
            write_ledger(self.machine.data, self.ledger)
            return
        before = msgspec.json.encode(ledger)
        work.send(outgoing)
        if before == msgspec.json.encode(ledger):
            if work.is_same():
                result.unchanged = True
                return
            ledger.doubt()  # the hub or this file was restored: ask about every item
            work.send(gather(self.machine, share, self.joined.key))
            result.lost = _drop_lost(ledger)
        work.finish()
        write_ledger(self.machine.data, self.ledger)


def _drop_lost(ledger: ProjectLedger) -> int:
    """Forget about items that the hub does not have and that cannot be made here any more."""
    lost = sorted(ledger.unconfirmed)
    for key in lost:
        ledger.gone[key] = ledger.entries.pop(key).rank
    return len(lost)


class _ProjectWork(msgspec.Struct, frozen=True):
    """The requests of one project."""

    push: Push
    share: SharedProject
    result: ProjectPush
    ledger: ProjectLedger
    progress: Progress

    def send(self, outgoing: Outgoing) -> None:
        """Send what the hub may lack, in batches; the ledger is on disk before each."""
        ledger, most = self.ledger, self.push.joined.limits.items
        batch = _Batch()
        stamps: dict[str, str] = {}
        for items in self._decided(outgoing, stamps):
            for item in items:
                if batch.is_full(item, most):
                    self._send_batch(batch.items)
                    batch = _Batch()
                batch.add(item)
        if batch.items or ledger.withdrawn:
            self._send_batch(batch.items)
        unsure = {ledger.entries[key].session for key in ledger.unconfirmed}
        ledger.stamps.update({s: stamp for s, stamp in stamps.items() if s not in unsure})

    def _decided(self, outgoing: Outgoing, stamps: dict[str, str]) -> Iterator[list[Item]]:
        forgotten = self._forgotten()
        for group in outgoing.groups:
            name = group.session
            if name is not None and name in forgotten:
                continue
            if name is not None and group.stamp and self.ledger.stamps.get(name) == group.stamp:
                continue
            yield self.ledger.decide(name, group.make(), group.keeps)
            if name is not None and group.stamp:
                stamps[name] = group.stamp

    def _forgotten(self) -> frozenset[str]:
        return read_outbox(self.push.machine.data).sessions(self.share.project)

    def _send_batch(self, batch: list[Item]) -> None:
        write_ledger(self.push.machine.data, self.push.ledger)
        # Read from disk each time: what was forgotten a moment ago must not leave now.
        forgotten = self._forgotten()
        items = [each for each in batch if each.session not in forgotten]
        lacking = self._lacking(items)
        sent = sorted((each for each in items if each.key in lacking), key=lambda each: each.key)
        withdrawn = tuple(
            wire.Tombstone("item", key, rank) for key, rank in sorted(self.ledger.withdrawn.items())
        )
        if sent or withdrawn:
            self._send(sent, withdrawn)
        self.ledger.confirm(each.key for each in items)
        self.progress(self.share.project, self.result.sent)

    def _lacking(self, items: list[Item]) -> set[str]:
        if not items:
            return set()
        pairs = tuple(sorted((each.key, each.hash) for each in items))
        request = wire.Missing(self.share.project, pairs)
        return set(self.push.client.post("/v1/missing", request, wire.Lacking).keys)

    def _send(self, items: list[Item], withdrawn: tuple[wire.Tombstone, ...]) -> None:
        body = wire.Push(self.share.project, self.share.generation, tuple(items), withdrawn)
        answer = self.push.client.post("/v1/push", body, wire.Pushed)
        refused = Counter(each.reason for each in answer.refused)
        self.result.refused = dict(refused + Counter(self.result.refused))
        for each in answer.refused:
            self.ledger.entries.pop(each.key, None)
        for tombstone in withdrawn:
            self.ledger.withdrawn.pop(tombstone.key, None)
        taken = [each for each in items if each.key in self.ledger.entries]
        self.result.sent += len(taken)
        self.result.taken_back += len(withdrawn)
        self._note(taken, withdrawn)

    def _note(self, taken: list[Item], withdrawn: tuple[wire.Tombstone, ...]) -> None:
        data, hub, now = self.push.machine.data, self.push.joined.url, self.push.clock()
        if taken:
            kinds = dict(sorted(Counter(item.kind for item in taken).items()))
            size = sum(_size(item) for item in taken)
            keys = tuple(item.key for item in taken)
            add_receipt(data, Receipt(now, "sent", self.share.project, hub, kinds, size, keys))
        if withdrawn:
            keys = tuple(each.key for each in withdrawn)
            add_receipt(data, Receipt(now, "taken back", self.share.project, hub, keys=keys))

    def finish(self) -> None:
        """Send the hub the hash of the whole, so that the next push can be a single request."""
        manifest = self.ledger.manifest(self.push.joined.key)
        body = wire.Push(self.share.project, self.share.generation, manifest=manifest)
        self.push.client.post("/v1/push", body, wire.Pushed)

    def is_same(self) -> bool:
        """Whether the hub has exactly what the ledger says."""
        manifest = self.ledger.manifest(self.push.joined.key)
        body = wire.Sync(self.share.project, self.share.generation, manifest)
        return self.push.client.post("/v1/sync", body, wire.SyncState).same


class _Batch(msgspec.Struct):
    """Items of one request."""

    items: list[Item] = []
    bytes: int = 0

    def is_full(self, item: Item, most: int) -> bool:
        """Whether one more would be too much."""
        too_long = self.bytes + _size(item) > BATCH_BYTES
        return bool(self.items) and (too_long or len(self.items) >= most)

    def add(self, item: Item) -> None:
        """Take one more."""
        self.items.append(item)
        self.bytes += _size(item)


def _size(item: Item) -> int:
    return len(bytes(item.body)) + len(item.text) + 400


class Preview(msgspec.Struct, frozen=True):
    """What the next push would send and take back."""

    project: str
    level: str | None
    items: tuple[Item, ...]
    withdrawn: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def preview(machine: Machine, joined: Membership) -> Iterator[Preview]:
    """The same decisions as a push makes, without a request and without a change."""
    ledgers = read_ledger(machine.data)
    for share in joined.shared:
        outgoing = gather(machine, share, joined.key)
        ledger = ledgers.of(share.project)
        forgotten = read_outbox(machine.data).sessions(share.project)
        items = [
            item
            for group in outgoing.groups
            if group.session not in forgotten
            and not (group.stamp and ledger.stamps.get(group.session or "") == group.stamp)
            for item in ledger.decide(group.session, group.make(), group.keeps)
        ]
        waits = (outgoing.waits,) if outgoing.waits else ()
        yield Preview(
            share.project,
            outgoing.level,
            tuple(sorted(items, key=lambda item: item.key)),
            tuple(sorted(ledger.withdrawn)),
            (*outgoing.warnings, *waits),
        )
