"""What the scripted model does in each session, in words that fit every client's tools."""

from __future__ import annotations

from typing import Any

SECRETS = (
    "ghp_" + "Zq8Lr2Xw5Tn9Vb3Kd7Yc4Hs6Jf1Gm0Pa2RtE",
    "sk-ant-api03-" + "Wm4Tz7Qe1Yx8Rb5Nv2Kc9Hd6Lf3Js0Pg" * 2,
)
"""Look like keys; in pieces, so that no scanner finds one in this file. Copilot masks the first."""
SECRET_FILE = "deploy.env"
SERVER = "session-memory"
CALLED = ("mem_bootstrap_context", "mem_search", "mem_fix")
WRONG_EVENT = 999_999_999_999
NOT_FOUND = "Event not found"
CURED = '"known":true'
"""How `mem_fix` answers where it knows the error."""
FAILING = "python3 -B test_calc.py"
"""Without byte code: a repair within the same second and of the same size would not be seen."""
FACT = "calc.add works"
"""Said in the first session and asked for in no question."""
DONE = "Done: calc.add works and the test passes."
ADDED = "Done: minus is there."
RECOVERY = "<<<recovery "
"""Stands before what a session is told after a compaction. A model that sees it goes on at once
("told"); one that does not looks around first ("after")."""
RESUMED = "Everything still passes after the resume."
BAD = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\nassert add(2, 3) == 5, 'add is wrong'\nprint('1 passed')\n"


ANCHORS = {
    "catch-up": "Tell the user in a few lines where this project stands",
    "remember": "Look back on this session and decide with the user",
    "review-rules": "Go through these candidates for rules with the user",
    "consolidate": "Rewrite what memory says about this project",
}
"""How our prompts begin: the scripted model follows the one it is shown."""
KNOWN: dict[str, str] = {}
"""What the model has to name and nobody knows before the run: filled in for {{name}}."""
NOTED = "calc.add is covered by test_calc.py"
WORDED = "Run the test of calc before you say that it works."
MEMORY_LINE = f"`{FAILING}` is the test that was run here"


def _call(tool: str, **arguments: Any) -> list[Any]:
    return ["mcp", {"server": SERVER, "tool": tool, "args": arguments}]


def _run(command: str) -> list[Any]:
    return ["bash", {"command": f"cd {{cwd}} && {command}"}]


_WRITE: list[Any] = ["write", {"path": "{cwd}/minus.py", "content": BAD}]

SCENARIOS: dict[str, list[dict[str, Any]]] = {
    "work": [
        {
            "say": "I will create the module and its test first.",
            "calls": [
                ["write", {"path": "{cwd}/calc.py", "content": BAD}],
                ["write", {"path": "{cwd}/test_calc.py", "content": TEST}],
            ],
        },
        {"say": "Now run the test.", "calls": [_run(FAILING)]},
        {
            "say": "The test fails because add() subtracts. Fixing it.",
            "calls": [_run(f"sed -i 's/a - b/a + b/' calc.py && {FAILING}")],
        },
        {"say": "Looking at the deployment settings.", "calls": [_run(f"cat {SECRET_FILE}")]},
        {"say": DONE},
    ],
    "resume": [
        {"say": "Checking the state again.", "calls": [_run(f"ls -1 && {FAILING}")]},
        {"say": RESUMED},
    ],
    "after": [
        {"say": "Let me see what is here.", "calls": [_run("ls -1")]},
        {"say": "And what it does.", "calls": [_run("cat calc.py test_calc.py")]},
        {"say": "Now the new module.", "calls": [_WRITE]},
        {"say": ADDED},
    ],
    "told": [
        {"say": "Now the new module.", "calls": [_WRITE]},
        {"say": ADDED},
    ],
    "recall": [
        {"say": "Where does this project stand?", "calls": [_call("mem_bootstrap_context")]},
        {"say": "What failed?", "calls": [_call("mem_search", query="add is wrong test_calc")]},
        {
            "say": "What cured it?",
            "calls": [_call("mem_fix", error="AssertionError: add is wrong")],
        },
        {
            "say": "An event that is not there.",
            "calls": [_call("mem_event", event_id=WRONG_EVENT)],
        },
        {"say": "The memory answered four times."},
    ],
    "catch-up": [
        {"say": "Looking.", "calls": [_call("mem_search", query="calc")]},
        {"say": "This project has a calculator that works."},
    ],
    "remember": [
        {"say": "One thing should last.", "calls": [_call("mem_note", text=NOTED)]},
        {"say": "It waits for your yes."},
    ],
    "review-rules": [
        {
            "say": "Better words for the first one.",
            "calls": [_call("mem_draft", pattern_id="calc-test", text=WORDED)],
        },
        {"say": "That is for you to approve."},
    ],
    "consolidate": [
        {
            "say": "Two lines.",
            "calls": [
                _call(
                    "mem_memory_write",
                    lines=[
                        f"- {MEMORY_LINE} [e:{{{{event}}}}]",
                        "- deploy with `make ship` [e:{{event}}]",
                    ],
                )
            ],
        },
        {"say": "One of them waits for you."},
    ],
}
"""Beside the scripted model's own: agent, sub and hello."""
for _name in ANCHORS:
    # Where a client's command runs no program, the agent is told to run it.
    SCENARIOS[f"run-{_name}"] = [
        {
            "say": "Asking memory.",
            "calls": [["bash", {"command": f"session-memory prompt {_name}"}]],
        },
        *SCENARIOS[_name],
    ]
