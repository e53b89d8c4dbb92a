"""Markdown becomes a few harmless elements."""

from __future__ import annotations

import pytest

from session_memory.web.markdown import rendered


@pytest.mark.rows("WEB-19")
def test_markdown_becomes_a_few_harmless_elements() -> None:
    text = (
        "# Head\n1. one **bold**\n   - two `x < y`\n[here](javascript:alert(1)) <b>\n"
        "```js\n<script>\n"
    )
    made = str(rendered(text))
    assert '<p class="heading">Head</p>' in made
    assert "<strong>bold</strong>" in made and "<code>x &lt; y</code>" in made
    assert "here (javascript:alert(1))" in made and "href" not in made
    assert "&lt;script&gt;" in made and "<script>" not in made and "<b>" not in made
