"""Every feature that keeps data of sessions, and how each forgets and redacts it.

Commands call this list, never a feature by itself, so that none can be left out. The files are
described in `store/derived.py`; a test finds a file there that forgetting changes and no feature
here handles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from session_memory import audit
from session_memory.core.forget import FORGOTTEN, ForgottenSessions, Remains
from session_memory.core.loop.guards import Choice
from session_memory.curate.agent_notes import forget_notes, read_notes, rewrite_notes
from session_memory.curate.native_fixes import Applied, drop_applied, read_applied
from session_memory.curate.note_decisions import memory_line
from session_memory.curate.note_sessions import find_writers, without_session
from session_memory.forget import packs, patterns
from session_memory.forget.copies import agents_logs, other_copies, wiring_record
from session_memory.forget.hook_files import forget_hook_files
from session_memory.forget.plan import (
    ForgetPlan,
    ForgetRequest,
    apply_forget,
    forgotten_with,
)
from session_memory.forget.report import ForgetContext, ForgetReport, Rewrite, without_text
from session_memory.journal import forget as journals
from session_memory.memory import forget as memories
from session_memory.memory.user_lines import UserLines
from session_memory.store.given_files import forget_given
from session_memory.store.guard_files import drop_guards, read_guards
from session_memory.store.line_choices import LineChoice, drop_choices, read_choices
from session_memory.store.saved_searches import drop_searches, is_in_searches
from session_memory.team import forget as team
from session_memory.worker.guard_table import drop_table, table_text
from session_memory.worker.injection_pages import drop_pages, page_texts
from session_memory.worker.recovery_files import drop_recovery, recovery_texts


class Feature(msgspec.Struct, frozen=True):
    """What one feature keeps outside the database, and how to forget it."""

    files: tuple[str, ...]
    """Its entries in `FILES` of store/derived.py."""
    forget: Callable[[ForgetContext, ForgottenSessions], ForgetReport | None]
    """Remove what sessions left, and projects without sessions."""
    rewrite: Callable[[ForgetContext, Rewrite], ForgetReport | None] | None = None
    """Replace words in every text; None: it holds no text of sessions."""
    contains: Callable[[ForgetContext, Rewrite], bool] | None = None
    """Whether any text would be changed."""


def _forget_agent_notes(context: ForgetContext, forgotten: ForgottenSessions) -> ForgetReport:
    """Remove notes, and the lines that confirmed ones became; names those of an unknown session."""
    data = context.paths.data
    lines = UserLines(context.store, data, lambda: context.now)
    find_writers(context.store, data, lambda: context.now)
    for note in forget_notes(data, forgotten):
        if note.state == "confirmed" and note.kind not in ("rule", "wording"):
            lines.remove(note.root, memory_line(note))
    agents = {flavor for flavor, _ in forgotten.sessions}
    left = [note for note in without_session(read_notes(data)) if note.flavor in agents]
    why = (
        "its agent did not say in which session it wrote it; `project memory notes --all` shows it,"
        " `forget --text` forgets it"
    )
    return ForgetReport(remains=tuple(Remains(f"note {note.id}", why) for note in left))


def _forget_memories(context: ForgetContext, forgotten: ForgottenSessions) -> ForgetReport:
    data = context.paths.data
    memories.forget_sessions(data, context.paths.logs, forgotten.sessions)
    memories.forget_jobs(context.store, forgotten.sessions)
    return ForgetReport(remains=memories.forget_places(data, forgotten.roots))


def _rewrite_memories(context: ForgetContext, rewrite: Rewrite) -> None:
    memories.reword(context.store, context.paths.data, context.paths.logs, rewrite)


def _forget_journals(context: ForgetContext, forgotten: ForgottenSessions) -> ForgetReport:
    data = context.paths.data
    journals.forget_sessions(data, context.vault, forgotten.names, context.now)
    return ForgetReport(remains=journals.forget_places(data, forgotten.roots))


def _rewrite_journals(context: ForgetContext, rewrite: Rewrite) -> None:
    journals.rewrite(context.paths.data, context.vault, rewrite)


def _forget_jobs(context: ForgetContext, forgotten: ForgottenSessions) -> None:
    """Drop jobs of forgotten projects, and those whose error names one."""
    for job in context.store.jobs.all():
        error = job.last_error or ""
        if forgotten.owns(job.key) or any(root in error for root in forgotten.roots):
            context.store.jobs.drop(job.id)


def _forget_history(context: ForgetContext, forgotten: ForgottenSessions) -> None:
    remaining = {project.key for project in context.store.projects()} - forgotten.project_keys
    forget_given(context.paths.data, remaining)


def _forget_hook_files(context: ForgetContext, forgotten: ForgottenSessions) -> None:
    context.store.forget_notes(forgotten.owns)
    forget_hook_files(context.paths.state, forgotten, context.now)


def _drop_pages(context: ForgetContext, _what: object) -> None:
    drop_pages(context.paths.state)


def _is_in_pages(context: ForgetContext, rewrite: Rewrite) -> bool:
    return any(rewrite(text) != text for text in page_texts(context.paths.state))


def _drop_recovery(context: ForgetContext, _what: object) -> None:
    drop_recovery(context.paths.state)


def _is_in_recovery(context: ForgetContext, rewrite: Rewrite) -> bool:
    return any(rewrite(text) != text for text in recovery_texts(context.paths.state))


def _forget_fixes(context: ForgetContext, forgotten: ForgottenSessions) -> None:
    drop_applied(context.paths.data, lambda fix: fix.root in forgotten.roots)


def _rewrite_fixes(context: ForgetContext, rewrite: Rewrite) -> None:
    drop_applied(context.paths.data, lambda fix: _is_in_fix(fix, rewrite))


def _is_in_fixes(context: ForgetContext, rewrite: Rewrite) -> bool:
    return any(_is_in_fix(fix, rewrite) for fix in read_applied(context.paths.data))


def _is_in_fix(fix: Applied, rewrite: Rewrite) -> bool:
    return any(rewrite(text) != text for text in (fix.old, fix.new, fix.above))


def _forget_guards(context: ForgetContext, forgotten: ForgottenSessions) -> None:
    """Drop the history of projects without a session, and the table until it is made again."""
    remaining = {project.key for project in context.store.projects()} - forgotten.project_keys
    drop_guards(context.paths.data, lambda choice: False, remaining)
    drop_table(context.paths)


def _rewrite_guards(context: ForgetContext, rewrite: Rewrite) -> None:
    drop_guards(context.paths.data, lambda choice: _is_changed(rewrite, choice), None)
    drop_table(context.paths)


def _is_in_guards(context: ForgetContext, rewrite: Rewrite) -> bool:
    choices = read_guards(context.paths.data).choices
    table = table_text(context.paths)
    return rewrite(table) != table or any(_is_changed(rewrite, choice) for choice in choices)


def _is_changed(rewrite: Rewrite, choice: Choice) -> bool:
    text = msgspec.json.encode(choice).decode()
    return rewrite(text) != text


def _forget_searches(context: ForgetContext, forgotten: ForgottenSessions) -> None:
    drop_searches(context.paths.data, lambda word: word in forgotten.project_keys)


def _rewrite_searches(context: ForgetContext, rewrite: Rewrite) -> None:
    drop_searches(context.paths.data, lambda word: rewrite(word) != word)


def _is_in_searches(context: ForgetContext, rewrite: Rewrite) -> bool:
    return is_in_searches(context.paths.data, lambda word: rewrite(word) != word)


def _forget_line_choices(context: ForgetContext, forgotten: ForgottenSessions) -> None:
    drop_choices(context.paths.data, lambda choice: choice.project in forgotten.project_keys)


def _rewrite_line_choices(context: ForgetContext, rewrite: Rewrite) -> None:
    drop_choices(context.paths.data, lambda choice: _changes(rewrite, choice))


def _has_line_choices(context: ForgetContext, rewrite: Rewrite) -> bool:
    return any(_changes(rewrite, choice) for choice in read_choices(context.paths.data))


def _changes(rewrite: Rewrite, choice: LineChoice) -> bool:
    return any(rewrite(text) != text for text in (choice.line, choice.text))


def _forget_shared(context: ForgetContext, forgotten: ForgottenSessions) -> ForgetReport:
    if not team.forget_sessions(context.paths.data, context.store, forgotten):
        return ForgetReport()
    why = "it was shared; `session-memory team push` takes it back and shows the proof"
    return ForgetReport(remains=(Remains("the team's hub", why),))


def _rewrite_pulled(context: ForgetContext, rewrite: Rewrite) -> None:
    team.rewrite_pulled(context.paths.data, rewrite)


def _forget_audit(context: ForgetContext, forgotten: ForgottenSessions) -> None:
    audit.forget(context.paths.data, forgotten.owns, FORGOTTEN)


# In this order: packs before blocks, as a file that was made for both goes with the last of them;
# the audit last, as it names the copies that the others report.
FEATURES: dict[str, Feature] = {
    "packs": Feature((), packs.forget_sessions, packs.rewrite),
    "patterns": Feature(
        ("data/catalog", "data/proposals.json", "data/distribution.json"),
        patterns.forget_sessions,
        patterns.rewrite,
        patterns.contains,
    ),
    "agent notes": Feature(
        ("data/agent-notes.json",),
        _forget_agent_notes,
        lambda context, rewrite: rewrite_notes(context.paths.data, rewrite),
        lambda context, rewrite: any(
            rewrite(note.text) != note.text for note in read_notes(context.paths.data)
        ),
    ),
    "memories": Feature(
        ("data/memories",),
        _forget_memories,
        _rewrite_memories,
        lambda context, rewrite: memories.is_said(context.paths.data, rewrite),
    ),
    "journals": Feature(
        ("data/journal",),
        _forget_journals,
        _rewrite_journals,
        lambda context, rewrite: (
            journals.count_edits(context.paths.data, context.vault, rewrite) > 0
        ),
    ),
    "jobs": Feature((), _forget_jobs),
    "memory fixes": Feature(
        ("data/native-fixes.json",), _forget_fixes, _rewrite_fixes, _is_in_fixes
    ),
    "distribution history": Feature(("data/given.json",), _forget_history),
    "hooks": Feature(
        ("state/spool", "state/told", "state/guards", "state/served.json", "state/logs"),
        _forget_hook_files,
    ),
    "guards": Feature(
        ("data/guards.json", "data/hooks"), _forget_guards, _rewrite_guards, _is_in_guards
    ),
    "injection": Feature(("state/inject",), _drop_pages, _drop_pages, _is_in_pages),
    "recovery": Feature(("state/recovery",), _drop_recovery, _drop_recovery, _is_in_recovery),
    "told lines": Feature(
        ("data/told.json",), _forget_line_choices, _rewrite_line_choices, _has_line_choices
    ),
    "saved searches": Feature(
        ("data/saved-searches.json",), _forget_searches, _rewrite_searches, _is_in_searches
    ),
    "team": Feature(
        ("data/team",),
        _forget_shared,
        _rewrite_pulled,
        lambda context, rewrite: team.is_in_pulled(context.paths.data, rewrite),
    ),
    "wiring": Feature(("data/install.json",), wiring_record),
    "audit": Feature(("data/audit.jsonl",), _forget_audit),
}
HANDLED_BY_COMMAND = ("state/last_sweep.json",)
"""Removed whole by the command itself."""


def forget_sessions(context: ForgetContext, forgotten: ForgottenSessions) -> ForgetReport:
    """Remove sessions, and projects without any session left, from every feature.

    Call it before the rows of the sessions go, so that a run that was cut off can be repeated, and
    once more after: until then another process could still derive something from them.
    """
    report = ForgetReport()
    if forgotten.sessions:
        for feature in FEATURES.values():
            report |= feature.forget(context, forgotten) or ForgetReport()
        report |= ForgetReport(remains=agents_logs(forgotten.logs))
    return report


def rewrite_texts(context: ForgetContext, rewrite: Rewrite) -> ForgetReport:
    """Replace words in every feature; reports files of the user that still hold them."""
    report = ForgetReport()
    for feature in FEATURES.values():
        if feature.rewrite is not None:
            report |= feature.rewrite(context, rewrite) or ForgetReport()
    return report


def contains(context: ForgetContext, rewrite: Rewrite) -> bool:
    """Whether any feature holds words that `rewrite` would replace."""
    return next(holding(context, rewrite), None) is not None


def holding(context: ForgetContext, rewrite: Rewrite) -> Iterator[str]:
    """The features that hold words that `rewrite` would replace."""
    for name, feature in FEATURES.items():
        if feature.contains is not None and feature.contains(context, rewrite):
            yield name


def searched() -> tuple[str, ...]:
    """The features that `holding` looks into."""
    return tuple(name for name, feature in FEATURES.items() if feature.contains is not None)


def forget(context: ForgetContext, plan: ForgetPlan, request: ForgetRequest) -> ForgetReport:
    """Carry out a plan in the store and in every feature."""
    store = context.store
    forgotten = forgotten_with(store, set(plan.sessions))
    logs = agents_logs(store.log_paths({hit.session_id for hit in plan.hits}))
    # First, while the audit still names them.
    report = ForgetReport(remains=(*logs, *other_copies(context.paths)))
    report |= forget_sessions(context, forgotten)

    def forget_the_rest() -> None:
        nonlocal report
        report |= forget_sessions(context, forgotten)
        if request.text is not None:
            rewrite = without_text(request.text, ignore_case=request.ignore_case)
            report |= rewrite_texts(context, rewrite)

    apply_forget(store, plan, request, forget_the_rest)
    return report
