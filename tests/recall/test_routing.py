"""Points of a hint, and when they are enough."""

from __future__ import annotations

from typing import Any

import pytest
from tests.recall.store_builder import ROOT

from session_memory.core.schema import Project
from session_memory.recall.routing import Hint, confidence, score, words_of
from session_memory.store.scopes import SessionLine

PROJECT = Project(1, "shop", ROOT)


def line(**fields: Any) -> SessionLine:
    """A session as the store lists it."""
    given: dict[str, Any] = {
        "id": 1,
        "flavor": "claude",
        "external_id": "abc-1",
        "project_id": 1,
        "started_at": 0,
        "ended_at": 0,
        "cwd": ROOT,
        "title": None,
        "client_version": None,
        "source_kind": "interactive",
        "parent": None,
        "low_value": None,
        "label": None,
        "suppressed": False,
        "resolved_by": "cwd:.git",
        **fields,
    }
    return SessionLine(**given)


CART = {"cwd": f"{ROOT}/cart", "label": "Fix the rounding discount today quickly please"}


VECTORS: list[tuple[dict[str, Any], Hint, int, tuple[str, ...]]] = [
    ({}, Hint("abc-1", words_of("abc-1")), 220, ("external_session_id",)),
    (
        CART,
        Hint("cart", words_of("cart")),
        170,
        ("sub_scope_literal", "cwd_leaf_literal", "token_overlap"),
    ),
    (CART, Hint(directories=(f"{ROOT}/cart",)), 100, ("path_hint_exact",)),
    (CART, Hint(files=(f"{ROOT}/cart/total.py",)), 100, ("path_hint_exact",)),
    (CART, Hint("rounding", words_of("rounding")), 8, ("label_overlap",)),
    (
        CART,
        Hint("rounding discount today", words_of("fix rounding discount today quickly please")),
        40,
        ("label_overlap",),
    ),
    (
        {"cwd": f"{ROOT}/mail-queue-retry-jobs"},
        Hint("x", words_of("mail queue retry jobs")),
        90,
        ("token_overlap",),
    ),
    ({"cwd": ROOT}, Hint(files=(f"{ROOT}/a.py",)), 0, ()),
    (CART, Hint("nothing", words_of("nothing")), 0, ()),
]


@pytest.mark.rows("SCP-09")
@pytest.mark.parametrize(("fields", "hint", "points", "signals"), VECTORS)
def test_evidence_has_its_points(
    fields: dict[str, Any], hint: Hint, points: int, signals: tuple[str, ...]
) -> None:
    found = score(line(**fields), PROJECT, hint)
    assert (found.points, found.signals) == (points, signals)


@pytest.mark.rows("SCP-09")
def test_confidence_needs_points_and_a_lead() -> None:
    assert confidence(220, 0) == "high"
    assert confidence(150, 105) == "high"
    assert confidence(150, 106) == "medium"
    assert confidence(149, 0) == "medium"
    assert confidence(70, 70) == "medium"
    assert confidence(69, 0) == "low"
    assert confidence(0, 0) == "none"
