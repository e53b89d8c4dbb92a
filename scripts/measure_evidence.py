"""The figures of docs/loop.md on measuring: seeded timelines, so anyone gets the same table.

`python scripts/measure_evidence.py` prints the table, `--write` puts it into the page.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

from session_memory.core.loop.patterns import Signal
from session_memory.core.loop.trials import is_given
from session_memory.measure.effect import Groups, judge, secondary_changes
from session_memory.measure.metrics import MeasuredSession, Watch
from session_memory.settings import Measure

PAGE = Path(__file__).resolve().parent.parent / "docs" / "loop.md"
BEGIN, END = "<!-- measured:begin -->", "<!-- measured:end -->"
REPEATS = 100
POLICY = Measure()
WATCH = Watch(frozenset({"p"}), "fewer")
SIGNAL = (Signal("p", "failing_command", "npm test"),)
# (design, rate without the pattern, rate with it)
SCENES = (
    ("files, with control", 0.5, 0.5),
    ("files, with control", 0.5, 0.1),
    ("files, with control", 0.3, 0.1),
    ("files, no control", 0.5, 0.5),
    ("files, no control", 0.5, 0.1),
    ("trial", 0.5, 0.5),
    ("trial", 0.5, 0.1),
    ("trial", 0.2, 0.6),
)
SIZES = (40, 160)
ORDER = ("improved", "no_effect", "regressed", "insufficient_data")


def sessions(name: str, count: int, rate: float) -> tuple[MeasuredSession, ...]:
    """Sessions that show the signal by chance; one that does costs a dollar more."""
    draw = random.Random(name).random
    found: list[MeasuredSession] = []
    for at in range(count):
        shows = draw() < rate
        cost = 0.5 + draw() + (1.0 if shows else 0.0)
        place = ("claude", f"{name}-{at}", "shop", "work", at, at)
        found.append(MeasuredSession(*place, SIGNAL if shows else (), usd=cost))
    return tuple(found)


def groups(scene: tuple[str, float, float], size: int, seed: int) -> Groups:
    """What is compared: `size` sessions in each group."""
    design, without, with_it = scene
    key = f"{design}/{without}/{with_it}/{size}/{seed}"
    if design == "trial":
        names = [f"{key}/{at}" for at in range(2 * size)]
        given = sum(is_given(name, "p") for name in names)
        arms = sessions(f"{key}/given", given, with_it)
        return Groups(arms, sessions(f"{key}/held", 2 * size - given, without))
    after, before = sessions(f"{key}/a", size, with_it), sessions(f"{key}/b", size, without)
    if design == "files, no control":
        return Groups(after, (), before)
    others = [sessions(f"{key}/{name}", size, without) for name in ("c", "d")]
    return Groups(after, others[0], before, others[1])


def table() -> str:
    """How often each verdict is given, of REPEATS timelines a row."""
    lines = [
        "| design | sessions a group | rate without | rate with | " + " | ".join(ORDER) + " |",
        "|---|---|---|---|" + "---|" * len(ORDER),
    ]
    for scene in SCENES:
        for size in SIZES:
            verdicts = Counter(
                judge(groups(scene, size, seed), WATCH, POLICY).verdict for seed in range(REPEATS)
            )
            facts = (scene[0], size, f"{scene[1]:.0%}", f"{scene[2]:.0%}")
            cells = [*map(str, facts), *(str(verdicts[name]) for name in ORDER)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def savings() -> str:
    """What the fixture saves, as the program would say it; true of the fixture alone."""
    made = groups(SCENES[6], 160, 0)
    usd = secondary_changes(made.plus_new, made.minus_new)[0]
    gap = usd.difference
    return (
        f"In the trial fixture (50% to 10%, seed 0, {usd.sessions[0]} sessions given and"
        f" {usd.sessions[1]} held back, a failure costs one dollar more) the median session is"
        f" ${-gap.estimate:.2f} cheaper (95% bootstrap interval ${-gap.high:.2f} to"
        f" ${-gap.low:.2f})."
    )


def text() -> str:
    """Everything between the markers of the page."""
    return f"{table()}\n\n{savings()}"


def main() -> None:
    """Print it, or write it into the page."""
    made = text()
    if "--write" not in sys.argv[1:]:
        print(made)
        return
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n{made}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
