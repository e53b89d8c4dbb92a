"""Which prompts ask for something."""

from __future__ import annotations

import pytest

from session_memory.distil.inputs import asks_little


@pytest.mark.parametrize(
    "text",
    ["Yes, go ahead!", "commit and push to main", "❯ ./run.sh\nBuilding image...", "is it done?"],
)
def test_nods_and_pasted_terminals_ask_little(text: str) -> None:
    assert asks_little(text)
    assert not asks_little(f"{text} But first rename the reader module.\nThen tell me.") or (
        text.startswith("❯")
    )


@pytest.mark.parametrize(
    "text", ["Rename the line reader", "重命名读取器", "fix flaky tests in parser"]
)
def test_short_requests_still_ask(text: str) -> None:
    assert not asks_little(text)


@pytest.mark.parametrize(
    "text",
    [
        "that seems to be the old dim color",
        "think then say hello",
        "but I'm on main here, I added it normally.",
        "Review your changes to find potential issues",
        "also ensure we have a ticket",
        "ok, create a new theme for me",
        "once done clean up and checkout latest main",
        "ok, let me try the light theme, then we are good to go for a release",
        "i've enabled the hook. please push to the pr and merge this.",
        "yes, and fixup in the right commit + force push with lease",
        "vs code\n➜ app git:(main) ✗ npm start\nReady on port 3000, waiting for requests",
        "Sorry, wrong chat. Ignore the last message, the design can be simplified further",
    ],
)
def test_what_only_points_at_the_screen_asks_little(text: str) -> None:
    assert asks_little(text)
