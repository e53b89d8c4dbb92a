"""Every file that forgetting has to change belongs to a feature that does it."""

from __future__ import annotations

from session_memory.forget.features import FEATURES, HANDLED_BY_COMMAND
from session_memory.forget.report import without_secrets
from session_memory.redact.engine import Redactor
from session_memory.store.derived import FILES


def test_every_file_that_forgetting_changes_is_handled_by_one_feature() -> None:
    handled = [file for feature in FEATURES.values() for file in feature.files]
    changed = {
        name
        for name, file in FILES.items()
        if file.writer != "store" and not file.on_forget.startswith("nothing")
    }
    assert len(handled) == len(set(handled))
    assert set(handled) == changed - set(HANDLED_BY_COMMAND)


def test_what_is_searched_for_words_can_also_be_rewritten() -> None:
    assert all(feature.rewrite for feature in FEATURES.values() if feature.contains)


def test_redacting_keeps_the_line_breaks_at_both_ends() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert without_secrets(Redactor(b"key"))(f"\n use {token}.\n\n") == (
        "\n use [REDACTED_SECRET].\n\n"
    )
