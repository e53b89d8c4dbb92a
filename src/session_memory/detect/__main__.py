"""`python -m session_memory.detect [--json] [--min-frequency N]`: the same as `detect`."""

from __future__ import annotations

import sys

from session_memory.__main__ import main


def _arguments(given: list[str]) -> list[str]:
    """`--config` and `--set` belong to the group, everything else to the verb."""
    group: list[str] = []
    verb: list[str] = []
    rest = iter(given)
    for argument in rest:
        if argument in ("--config", "--set"):
            group += [argument, *([value] if (value := next(rest, None)) is not None else [])]
        elif argument.startswith(("--config=", "--set=")):
            group.append(argument)
        else:
            verb.append(argument)
    return [*group, "detect", *verb]


if __name__ == "__main__":
    sys.exit(main(_arguments(sys.argv[1:])))
