"""What the store knows of a session, as a trace needs it: where it belongs, and what was said."""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Project, Session
from session_memory.errors import NotFound
from session_memory.memory.layout import normalised, root_of
from session_memory.memory.prompt import MAX_PROMPT_BYTES
from session_memory.memory.rollout import array_of, kept_items, lines_of
from session_memory.memory.selection import SCAN_LIMIT, candidates, scanned
from session_memory.memory.tasks import Source
from session_memory.redact import Redactor, render
from session_memory.store.port import ObservationQuery, SessionQuery, SessionReader, Store


class Candidate(msgspec.Struct, frozen=True):
    """A session to be read, with the place it feeds and the log it came from."""

    session: Session
    root: str
    """Empty where it is not known in which directory it ran."""
    path: str
    """Of its log: the newest, where there are several."""
    roots: tuple[str, ...] = ()
    damaged: int = 0
    """Lines of its logs that could not be read."""


class Wanted(msgspec.Struct, frozen=True):
    """Which sessions to read: those that are new, of one project, or one by name."""

    current: frozenset[str] = frozenset()
    """At work now, as `flavor:id`: their story is not over."""
    session: int | None = None
    root: str | None = None
    limit: int = 8
    everything: bool = False
    """Look at old sessions too, however many there are: somebody asked for it by hand."""


def choose(store: Store, wanted: Wanted) -> list[Candidate]:
    """The sessions to read next; one asked for by name is read whatever is known of it."""
    projects = {project.id: project for project in store.projects()}
    if wanted.session is not None:
        chosen = [store.session(wanted.session)]
    else:
        found = _of_root(store.sessions(SessionQuery()), wanted.root, projects)
        files = store.memories.files([one.id for one in found])
        fit = scanned(found, files, None if wanted.everything else SCAN_LIMIT)
        chosen = candidates(fit, store.memories.known(), wanted.current, wanted.limit)
    files = store.memories.files([one.id for one in chosen])
    damaged = [path for path, _, _ in store.quarantined()]
    return [_candidate(one, projects, files[one.id], damaged) for one in chosen]


def _of_root(
    sessions: list[Session], root: str | None, projects: dict[int, Project]
) -> list[Session]:
    if root is None:
        return sessions
    wanted = normalised(root)
    return [session for session in sessions if root_of(session, projects) == wanted]


def _candidate(
    session: Session, projects: dict[int, Project], files: list[str], damaged: Collection[str]
) -> Candidate:
    project = projects.get(session.project_id) if session.project_id is not None else None
    places = (session.cwd, project.root if project else None, *(project.aliases if project else ()))
    return Candidate(
        session,
        root_of(session, projects) or "",
        files[-1] if files else f"{session.flavor}:{session.external_id}",
        tuple(dict.fromkeys(place for place in places if place)),
        sum(path in files for path in damaged),
    )


def load_source(store: SessionReader, candidate: Candidate) -> Source:
    """What a trace without a model is made of; events come without their texts."""
    session = candidate.session
    digest = store.digest(session.id)
    if digest is None:
        raise NotFound("the session is not distilled yet", hint="run `session-memory sweep`")
    return Source(
        digest,
        tuple(store.observations(ObservationQuery(session=session.id))),
        tuple(store.events(session.id)),
        candidate.roots,
        session.title,
        session.id,
    )


class Conversation(msgspec.Struct, frozen=True):
    """What was said in a session, redacted and not cut yet."""

    text: str
    """Without its middle, where the whole is longer than any prompt may be."""
    size: int
    """Bytes of the whole."""


def load_conversation(
    store: SessionReader, candidate: Candidate, redactor: Redactor
) -> Conversation:
    """The conversation of a session, redacted before anything of it is cut."""
    items = kept_items(lines_of(store.events(candidate.session.id, texts=True)))
    whole = array_of(items, MAX_PROMPT_BYTES)
    text = render(redactor.redact_json(whole.data).decode("utf-8", "replace"))
    return Conversation(text, whole.size)


def where(session: Session, root: str) -> str:
    """One line on where and when a session ran."""
    parts = [f"{session.flavor} session {session.external_id} in {root}"]
    if session.branch:
        parts.append(f"on branch {session.branch}")
    when = iso(session.ended_at)
    if when is not None:
        parts.append(f"ended {when[:10]}")
    return ", ".join(" ".join(part.split()) for part in parts)


Redact = Callable[[str], str]


def redact_with(redactor: Redactor) -> Redact:
    """Redaction for texts that people and models read: marks without the store's tags."""
    return lambda text: render(redactor.redact_text(text))
