"""What a fresh session of any agent needs to go on with the work of one that runs or ran."""

from __future__ import annotations

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Session
from session_memory.memory.known_session import project_roots
from session_memory.memory.orders import is_order
from session_memory.memory.recovery import (
    RecoveryLine,
    facts_of,
    recovery_lines,
    recovery_text,
)
from session_memory.memory.wording import gist
from session_memory.store.port import SessionQuery, SessionReader

CHARS_PER_TOKEN = 3
"""Of text with much code; so a limit in tokens is kept by whatever counts them."""
DEFAULT_TOKENS = 1_200
_ANSWER_CHARS = 300
_NEWEST = 20  # sessions among which one that did something is looked for


class Handoff(msgspec.Struct, frozen=True):
    """The text, and what it is made of."""

    session: Session
    lines: tuple[RecoveryLine, ...]
    text: str
    """Fenced; "" where the session's log shows nothing worth passing on."""

    @property
    def tokens(self) -> int:
        """At most so many."""
        return -(-len(self.text) // CHARS_PER_TOKEN)


def newest_session(store: SessionReader, project: str) -> Session | None:
    """The session of a project with the latest activity."""
    query = SessionQuery(project=project, include_subagents=False, limit=_NEWEST)
    sessions = [session for session in store.sessions(query) if session.source_kind != "internal"]
    sessions.sort(
        key=lambda session: (session.low_value is None, session.ended_at or session.started_at or 0)
    )
    return sessions[-1] if sessions else None


def handoff_of(
    store: SessionReader, session: Session, title: str, max_tokens: int = DEFAULT_TOKENS
) -> Handoff:
    """What is known of a session's work; `title` is the name of its agent."""
    digest = store.digest(session.id)
    if digest is None:
        return Handoff(session, (), "")
    events = list(store.events(session.id))
    roots = project_roots(session, {project.id: project for project in store.projects()})
    # A successor has never seen the summary that this session's agent kept for itself.
    facts = msgspec.structs.replace(facts_of(digest, events, store.text, roots), summary="")
    lines = recovery_lines(facts)
    answers = [event for event in events if event.kind == "assistant_text" and not event.inherited]
    if lines and answers:
        answer_gist = gist(store.text(answers[-1]), _ANSWER_CHARS, questions=False)
        if answer_gist and not is_order(answer_gist):
            lines.append(
                RecoveryLine("answer", f"Its agent's last words: {answer_gist}", answers[-1].seq)
            )
    when = (iso(session.ended_at or session.started_at or 0) or "")[:16].replace("T", " ")
    head = (
        f"Go on with the work of another session ({title}, last active {when} UTC)."
        " Its log shows this; check it before you rely on it, and ask the user what is next"
        f" where it does not say. More: session-memory show {session.id}"
    )
    text = recovery_text(lines, head, max_tokens * CHARS_PER_TOKEN, "handoff")
    return Handoff(session, tuple(lines), text)
