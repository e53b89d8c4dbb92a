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
CALLED = ("mem_project_brief", "mem_search", "mem_session_list")
WRONG_PROJECT = "no-such-project-zz"
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
        {"say": "Where does this project stand?", "calls": [_call("mem_project_brief")]},
        {"say": "What failed?", "calls": [_call("mem_search", query="add is wrong test_calc")]},
        {"say": "Which sessions?", "calls": [_call("mem_session_list")]},
        {
            "say": "A project that is not there.",
            "calls": [_call("mem_project_brief", project_key=WRONG_PROJECT)],
        },
        {"say": "The memory answered four times."},
    ],
}
"""Beside the scripted model's own: agent, sub and hello."""
