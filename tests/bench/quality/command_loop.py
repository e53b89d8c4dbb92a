"""Runs commands of the program one after the other in one process.

Reads a JSON array of arguments from each line of stdin and writes `[exit code, stdout, stderr]`
as one line of JSON. The answers are those of the command; what is saved is starting an interpreter
for each of some three hundred questions. Run as a file: it imports nothing but the program.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

from session_memory.__main__ import main


def serve() -> None:
    """Answer until stdin ends."""
    answers = sys.stdout
    for line in sys.stdin:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(json.loads(line))
        print(json.dumps([code, out.getvalue(), err.getvalue()]), file=answers, flush=True)


if __name__ == "__main__":
    serve()
