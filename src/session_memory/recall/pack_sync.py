"""`project pack --sync`: write the pack into a file agents read, unless that would save nothing."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from session_memory import audit
from session_memory.core.text.inserted import said_lines
from session_memory.core.text.seal import Seal
from session_memory.errors import Refused
from session_memory.plain_files import open_plain
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import ContextPack, scope_pack
from session_memory.recall.pack_block import find_packs, put_pack, take_pack
from session_memory.recall.requests import PackRequest
from session_memory.recall.scope import open_scope
from session_memory.store.scopes import ContextSync

OVERRIDE = "AGENTS.override.md"
NOT_SMALLER = "context_pack_not_smaller_than_source"
UNCHANGED = "unchanged"
_LIMIT = 4 * 1024 * 1024


class SyncPlan(msgspec.Struct, frozen=True):
    """What would be written where; `after` is None where the file is left as it is.

    A file that already holds this very pack counts as synced, not as skipped.
    """

    path: str
    before: bytes
    after: bytes | None
    pack_hash: str
    reason: str | None = None
    left_alone: tuple[str, ...] = ()
    """Packs in the file that this store did not write."""

    def record(self, now: int) -> ContextSync:
        """The record of this sync that the store keeps."""
        return ContextSync(now, self.path, self.pack_hash, self.reason == NOT_SMALLER, self.reason)


def sync_pack(
    context: RecallContext,
    request: PackRequest,
    path: str,
    *,
    dry_run: bool = False,
    before_write: Callable[[SyncPlan], None] | None = None,
) -> ContextSync:
    """Write the pack between its markers in a file, or leave the file and say why (DIS-04).

    Either way the store keeps a record. `before_write` is called with what will be written.
    """
    store = context.store
    scope = open_scope(store, request.project_key, request.session_id)
    plan = plan_sync(scope_pack(context, scope, request), path, seal_of(store.tag_key))
    record = plan.record(context.clock())
    if before_write is not None:
        before_write(plan)
    if not dry_run:
        write(plan)
        store.syncs.record(scope.project.id, record)
    return record


def target(path: str) -> str:
    """The file to write: Codex reads an AGENTS.override.md instead of the AGENTS.md next to it."""
    real = os.path.realpath(path)
    override = os.path.join(os.path.dirname(real), OVERRIDE)
    if os.path.basename(real) == "AGENTS.md" and os.path.isfile(override):
        return os.path.realpath(override)
    return real


def seal_of(tag_key: bytes) -> Seal:
    """The seal of the packs that a store writes."""
    return Seal(b"pack\0" + tag_key)


def plan_sync(pack: ContextPack, path: str, seal: Seal) -> SyncPlan:
    """Decide without writing (DIS-04)."""
    path = target(path)
    before = _read(path)
    if pack.stats.approx_pack_tokens >= pack.stats.approx_source_tokens:
        return SyncPlan(path, before, None, pack.pack_hash, NOT_SMALLER)
    packs = find_packs(before, seal)
    if packs.ours is not None and packs.is_edited:
        raise Refused(
            f"{path}: the pack in {said_lines(packs.ours.lines)} was edited",
            hint="delete those lines to have it written again, or only the first and the last of"
            " them to keep your words",
        )
    others = tuple(
        f"the pack in {said_lines(other.lines)} is left alone: this store did not write it; if"
        " nobody needs it, delete those lines"
        for other in packs.others
    )
    after = put_pack(before, packs.ours, pack.text, seal)
    if after == before:
        return SyncPlan(path, before, None, pack.pack_hash, UNCHANGED, others)
    return SyncPlan(path, before, after, pack.pack_hash, left_alone=others)


def plan_removal(path: str, seal: Seal) -> SyncPlan:
    """How a file changes when our pack is taken out; refuses a pack that was edited by hand."""
    before = _read(path)
    packs = find_packs(before, seal)
    if packs.ours is None:
        return SyncPlan(path, before, None, "", UNCHANGED)
    if packs.is_edited:
        raise Refused("the pack in it was edited", hint="delete what must go")
    return SyncPlan(path, before, take_pack(before, packs.ours), "")


def note(data: Path, plan: SyncPlan, why: str, now: int) -> None:
    """Add what will be written to the audit log."""
    hashes = audit.sha256(plan.before), audit.sha256(plan.after)
    audit.append(data, audit.Written(now, "pack", plan.path, why, *hashes))


def write(plan: SyncPlan) -> None:
    """Replace the file atomically, keeping its mode; refuses if it was changed meanwhile."""
    if plan.after is None:
        return
    folder = os.path.dirname(plan.path)
    mode = stat.S_IMODE(os.stat(plan.path).st_mode) if os.path.exists(plan.path) else 0o644
    descriptor, temporary = tempfile.mkstemp(prefix=".session-memory-", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(plan.after)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        if _read(plan.path) != plan.before:
            raise Refused(f"{plan.path} changed meanwhile", hint="run the command again")
        os.replace(temporary, plan.path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _read(path: str) -> bytes:
    try:
        with open_plain(path) as file:
            data = file.read(_LIMIT + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > _LIMIT:
        raise Refused(f"{path} is larger than 4 MiB", hint="name the file agents read")
    return data
