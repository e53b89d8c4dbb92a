"""The user's yes or no to what an agent wrote, and taking either back."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from session_memory.core.loop.catalog import Pattern
from session_memory.curate.agent_notes import Note, find_note, read_notes, set_state
from session_memory.curate.catalog import read_catalog
from session_memory.curate.decisions import CurateContext, add_rule, decide, full_id
from session_memory.curate.review import Decision, DecisionRequest, OwnRule, find
from session_memory.errors import NotFound, UsageError
from session_memory.memory.user_lines import UserLines


def confirm_note(context: CurateContext, reference: str, who: str) -> Note:
    """Carry out what a note says: a rule enters the catalog, a line the user part of MEMORY.md.

    A rule is then as if the user had written it; files get it by `rules distribute` alone.
    """
    note = find_waiting(context, reference)
    pattern = ""
    if note.kind == "rule":
        rule = OwnRule(note.text, (note.root,), who, context.clock(), _origin(note))
        pattern = _only(add_rule(context, rule)).id
    elif note.kind == "wording":
        note = replace(note, before=words_now(context, note.pattern))
        pattern = _word(context, note, who, note.text).id
    else:
        with context.open_store() as store:
            UserLines(store, context.paths.data, context.clock).add(note.root, memory_line(note))
    return set_state(context.paths.data, note, "confirmed", context.clock(), pattern)


def reject_note(context: CurateContext, reference: str) -> Note:
    """Keep a note from ever being given."""
    note = find_waiting(context, reference)
    return set_state(context.paths.data, note, "rejected", context.clock())


def undo_note(context: CurateContext, reference: str | None, who: str) -> Note:
    """Take back the decision on a note, or the last one that was confirmed: it waits again."""
    notes = read_notes(context.paths.data)
    if reference is None:
        confirmed = [note for note in notes if note.state == "confirmed"]
        if not confirmed:
            raise NotFound("no note was confirmed", hint="`project memory notes --all` lists them")
        note = max(confirmed, key=lambda note: note.decided_at or 0)
    else:
        note = find_note(notes, reference)
    if note.state == "confirmed":
        _take_out(context, note, who)
    return set_state(context.paths.data, note, "waiting", context.clock())


def memory_line(note: Note) -> str:
    """A note as a line of MEMORY.md."""
    return f"- {note.text} ({_origin(note)})"


def _take_out(context: CurateContext, note: Note, who: str) -> None:
    if note.kind == "rule":
        request = DecisionRequest("retire", note.pattern, who, context.clock(), "taken back")
        decide(context, [request])
    elif note.kind == "wording":
        if not note.before or words_now(context, note.pattern) != note.text:
            raise UsageError(
                f"rule {note.pattern} was reworded since",
                hint=f"`session-memory rules edit {note.pattern}` rewords it",
            )
        _word(context, note, who, note.before)
    else:
        with context.open_store() as store:
            UserLines(store, context.paths.data, context.clock).remove(note.root, memory_line(note))


def words_now(context: CurateContext, pattern: str) -> str:
    """How a rule is worded."""
    catalog = read_catalog(context.paths.data)
    return find(catalog, full_id(catalog, pattern)).text


def find_waiting(context: CurateContext, reference: str) -> Note:
    """The note of that id, which must not be decided on yet."""
    note = find_note(read_notes(context.paths.data), reference)
    if note.state != "waiting":
        raise UsageError(f"{note.id} is {note.state} already")
    return note


def _word(context: CurateContext, note: Note, who: str, text: str) -> Pattern:
    request = DecisionRequest("edit", note.pattern, who, context.clock(), _origin(note), text)
    return _only(decide(context, [request]))


def _origin(note: Note) -> str:
    return f"noted by {note.flavor} in session {note.session}"


def _only(decisions: Sequence[Decision]) -> Pattern:
    (decision,) = decisions
    return decision.pattern
