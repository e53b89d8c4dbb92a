"""The labels: what a careful reader of the logs says the outputs should be, and the two halves.

Labels, logs and the reference matcher (`match.py`) lie outside the repository. The matcher is
loaded from its file, so that a change of the rules of scoring needs no change here.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, cast

Label = Mapping[str, Any]
Half = Literal["development", "report"]

HALVES: tuple[Half, ...] = ("development", "report")
DEVELOPMENT = frozenset({"planetfall-seed-signalkit", "agentv"})
"""Repositories whose misses may be read while rules are written; all others are held out."""


class Matcher(Protocol):
    """The functions of `match.py` that are used here."""

    def found(self, line: str, item: Label) -> bool:
        """Whether a line says what a label says."""
        ...

    def weight(self, line: str, item: Label) -> int:
        """How specific the match is; 0 is none."""
        ...

    def same_quote(self, line: str, item: Label) -> bool:
        """Whether a line quotes what a label quotes."""
        ...

    def score_outcomes(
        self, predicted: Mapping[str, str], labels: Sequence[Label]
    ) -> dict[str, Any]:
        """Share of right outcomes, strict and lenient, and recall by class."""
        ...

    def score_cures(
        self, predicted: Sequence[Mapping[str, Any]], labels: Sequence[Label]
    ) -> dict[str, Any]:
        """Counts of right, false and missed cures."""
        ...


class Labels(NamedTuple):
    """Every label file."""

    folder: Path
    outcomes: tuple[Label, ...]
    rules: tuple[Label, ...]
    cures: tuple[Label, ...]
    open_work: tuple[Label, ...]
    tell: tuple[Label, ...]
    recurring: tuple[Label, ...]


def read_labels(folder: Path) -> Labels:
    """The label files of a folder; a file that is not there has no labels."""
    return Labels(folder, *(_read(folder / f"{name}.jsonl") for name in Labels._fields[1:]))


def _read(path: Path) -> tuple[Label, ...]:
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines if line.strip())


def load_matcher(path: Path) -> Matcher:
    """The reference matcher, from its file."""
    spec = importlib.util.spec_from_file_location("quality_match", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Matcher", module)


def projects_of(label: Label) -> tuple[str, ...]:
    """The projects a label is about: one, or several for what recurs."""
    return tuple(label["projects"]) if "projects" in label else (label["project"],)


def half_of(projects: Iterable[str]) -> Half:
    """Development if any of the projects is developed on: the report half must stay unseen."""
    names = (project.rpartition("/")[2] for project in projects)
    return "development" if any(name in DEVELOPMENT for name in names) else "report"


def of_half(labels: Iterable[Label], half: Half) -> list[Label]:
    """The labels of one half."""
    return [label for label in labels if half_of(projects_of(label)) == half]


def of_project(labels: Iterable[Label], project: str) -> list[Label]:
    """The labels of one project."""
    return [label for label in labels if label["project"] == project]
