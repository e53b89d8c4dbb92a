"""Packs that were synced into files agents read, removed when what they describe is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from session_memory.core.forget import ForgottenSessions, Remains
from session_memory.core.text.own_text import PACK_BEGIN
from session_memory.errors import Refused
from session_memory.forget.report import ForgetContext, ForgetReport, Rewrite, would_change
from session_memory.recall.pack_sync import note, plan_removal, seal_of, write

_FOREIGN = "it holds a pack that this store cannot tell to be its own; delete it if it must go"


def forget_sessions(context: ForgetContext, forgotten: ForgottenSessions) -> ForgetReport:
    """Remove the packs of projects that lose a session."""
    return _remove_packs(context, forgotten.pack_files, lambda _content: True)


def rewrite(context: ForgetContext, rewrite: Rewrite) -> ForgetReport:
    """Remove the packs of files that hold words which must go."""
    store = context.store
    syncs = (sync.path for project in store.projects() for sync in store.syncs.all(project.id))
    files = dict.fromkeys(syncs)
    return _remove_packs(context, files, lambda content: would_change(content, rewrite))


def _remove_packs(
    context: ForgetContext, files: Iterable[str], is_affected: Callable[[bytes], bool]
) -> ForgetReport:
    removed: list[str] = []
    remains: list[Remains] = []
    for path in files:
        try:
            plan = plan_removal(path, seal_of(context.store.tag_key))
            if not is_affected(plan.before):
                continue
            if plan.after is not None:
                why = "removes the pack: what it said was forgotten"
                note(context.paths.data, plan, why, context.now)
                write(plan)
                removed.append(path)
            elif PACK_BEGIN.encode() in plan.before:
                remains.append(Remains(path, _FOREIGN))
        except Refused as error:
            remains.append(Remains(path, f"{error.message}; {error.hint}"))
        except OSError as error:
            remains.append(Remains(path, f"the pack in it cannot be taken out: {error.strerror}"))
    return ForgetReport(tuple(removed), tuple(remains))
