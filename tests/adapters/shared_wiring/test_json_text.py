"""A JSON text is read with its comments; what is none is refused by line."""

from __future__ import annotations

import pytest

from session_memory.adapters.shared_wiring.json_text import scan
from session_memory.errors import Refused


@pytest.mark.parametrize(
    "text",
    [
        *("{", "}", '{"a": }', '{"a": 1 "b": 2}', "{'a': 1}", '{"a": 1} x', "{a: 1}", "[1,,2]"),
        *("nul", "[" * 300 + "]" * 300, '{"a": "\n"}', '{"a": 01x}', "/* open"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(Refused) as caught:
        scan(text)
    assert "line" in caught.value.message or "nested" in caught.value.message
