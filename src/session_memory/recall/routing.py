"""Which lane of a project a hint means, by points for each kind of evidence.

Points (SCP-09): the session's native id 220; a path that is its directory 100; its lane by name 80;
the name of its directory 60; each further word of lane or path 30, up to 90; each word of its label
8, up to 40. High confidence needs 150 and a lead of 45, medium 70.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from session_memory.core.project.path_shape import absolute, fold, leaf, within
from session_memory.core.schema import Project
from session_memory.core.text.similarity import phrase
from session_memory.recall.lanes import Lane, is_lane_name, lane_of
from session_memory.recall.requests import HINT_CHARS, MAX_FILES, ScopeResolveRequest
from session_memory.recall.scope import Scope
from session_memory.store.scopes import SessionLine

Confidence = Literal["none", "low", "medium", "high"]
RoutingDecision = Literal["needs_hint", "no_match", "lane_resolved", "ambiguous"]
PLACEHOLDER = "<thread or sub-scope>"
LEAD = 45
_WORDS = re.compile(r"[^\W_]+")
_MIN_WORD = 3


class Hint(msgspec.Struct, frozen=True):
    """What a caller says about the thread it is in."""

    text: str = ""
    words: frozenset[str] = frozenset()
    directories: tuple[str, ...] = ()
    """Directories the caller works in."""
    files: tuple[str, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether it says anything that could separate lanes."""
        return bool(self.text or self.directories or self.files)


class SessionScore(msgspec.Struct, frozen=True):
    """How well one session fits a hint, and by what evidence."""

    line: SessionLine
    lane: Lane
    points: int = 0
    signals: tuple[str, ...] = ()
    matched: tuple[str, ...] = ()


class LaneScore(msgspec.Struct, frozen=True):
    """How well a lane fits a hint: as well as the best of its sessions."""

    name: str | None
    scores: tuple[SessionScore, ...]

    @property
    def best(self) -> SessionScore:
        """The session that fits best."""
        return max(self.scores, key=lambda score: score.points)


class Routing(msgspec.Struct, frozen=True):
    """How the sessions and lanes of a scope fit a hint, best first, and the decision."""

    hint: Hint
    scores: tuple[SessionScore, ...]
    lanes: tuple[LaneScore, ...]
    decision: RoutingDecision
    confidence: Confidence

    @property
    def top(self) -> LaneScore | None:
        """The lane the hint means; None where it means none or several."""
        return self.lanes[0] if self.decision == "lane_resolved" else None


def hint_of(request: ScopeResolveRequest, project: Project) -> Hint:
    """The hint in a request. To work in the project's root says nothing about a lane."""
    text = " ".join((request.hint or "")[:HINT_CHARS].split())
    paths = [absolute(path) for path in (request.current_cwd, request.repo_path) if path]
    root = project.root
    directories = [path for path in paths if path and not (root and fold(path) == fold(root))]
    files = [absolute(path) or path for path in request.mentioned_files[:MAX_FILES] if path]
    return Hint(text, words_of(text), tuple(directories), tuple(files))


def words_of(text: str) -> frozenset[str]:
    """Words that carry meaning, of at least three letters."""
    terms = {part for term in phrase(text).terms for part in _WORDS.findall(term)}
    return frozenset(term for term in terms if len(term) >= _MIN_WORD)


def score(line: SessionLine, project: Project, hint: Hint) -> SessionScore:
    """The points of one session."""
    lane = lane_of(line, project)
    text = f" {hint.text.casefold()} "
    evidence: list[tuple[str, int, Iterable[str]]] = []
    if hint.text and line.external_id.casefold() in text.split():
        evidence.append(("external_session_id", 220, [line.external_id]))
    if _hints_at_directory(line, project, hint):
        evidence.append(("path_hint_exact", 100, [leaf(line.cwd or "")]))
    if lane.name and _is_mentioned(lane.name, text):
        evidence.append(("sub_scope_literal", 80, [lane.name]))
    own = leaf(line.cwd) if line.cwd else ""
    if own and is_lane_name(own) and _is_mentioned(own, text):
        evidence.append(("cwd_leaf_literal", 60, [own]))
    path_words = words_of(" ".join((*lane.candidates, _folders_below(line.cwd, project.root))))
    shared = sorted(hint.words & path_words)
    if shared:
        evidence.append(("token_overlap", min(30 * len(shared), 90), shared))
    label_words = sorted(hint.words & words_of(f"{line.label or ''} {line.title or ''}"))
    if label_words:
        evidence.append(("label_overlap", min(8 * len(label_words), 40), label_words))
    return SessionScore(
        line,
        lane,
        sum(points for _, points, _ in evidence),
        tuple(signal for signal, _, _ in evidence),
        tuple(dict.fromkeys(word for _, _, words in evidence for word in words)),
    )


def confidence(points: int, second: int) -> Confidence:
    """How certain a score is, given the next best."""
    if points >= 150 and points - second >= LEAD:
        return "high"
    if points >= 70:
        return "medium"
    return "low" if points > 0 else "none"


def route(scope: Scope, hint: Hint) -> Routing:
    """Score every session and lane of a scope, and decide; without a hint no lane wins."""
    scores = [score(line, scope.project, hint) for line in scope.lines]
    # Stable: among equal scores the latest session stays first.
    ranked = sorted(scores, key=lambda session: -session.points)
    groups: dict[str | None, list[SessionScore]] = {}
    for session in ranked:
        groups.setdefault(session.lane.name, []).append(session)
    lanes = tuple(LaneScore(name, tuple(members)) for name, members in groups.items())
    best = lanes[0].best.points if lanes else 0
    second = lanes[1].best.points if len(lanes) > 1 else 0
    return Routing(
        hint, tuple(ranked), lanes, _decide(hint, best, second), confidence(best, second)
    )


def _decide(hint: Hint, best: int, second: int) -> RoutingDecision:
    if not hint.is_given:
        return "needs_hint"
    if best == 0:
        return "no_match"
    return "lane_resolved" if second == 0 or best - second >= LEAD else "ambiguous"


def suggested_call(tool: str, **arguments: object) -> str:
    """A call that the caller may make next, written out."""
    written = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
    return f"{tool}({written})"


def _hints_at_directory(line: SessionLine, project: Project, hint: Hint) -> bool:
    if line.cwd is None:
        return False
    own = fold(line.cwd)
    if any(fold(directory) == own for directory in hint.directories):
        return True
    # A file counts for the directory it lies in, unless every file of the project lies there.
    is_root = project.root is not None and own == fold(project.root)
    return not is_root and any(within(path, line.cwd) for path in hint.files)


def _is_mentioned(name: str, text: str) -> bool:
    pattern = rf"(?<![\w]){re.escape(name.casefold())}(?![\w])"
    return re.search(pattern, text) is not None


def _folders_below(cwd: str | None, root: str | None) -> str:
    if cwd is None or root is None or not within(cwd, root):
        return ""
    parts: Sequence[str] = re.split(r"[\\/]", cwd[len(root) :])
    return " ".join(part for part in parts if is_lane_name(part))
