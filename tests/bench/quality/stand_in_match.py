"""A small matcher for tests, with the functions that the reference matcher has.

It is copied beside made-up labels as their `match.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Label = Mapping[str, Any]


def weight(line: str, item: Label) -> int:
    """The length of the best alternative whose words are all in the line."""
    if "match" not in item:
        return len(item["quote"]) * same_quote(line, item)
    said = line.lower()
    alternatives = (words for words in item["match"] if all(word in said for word in words))
    return max((len("".join(words)) for words in alternatives), default=0)


def found(line: str, item: Label) -> bool:
    """Whether any alternative is in the line."""
    return weight(line, item) > 0


def same_quote(line: str, item: Label) -> bool:
    """Whether the whole quote is in the line."""
    return item["quote"].lower() in line.lower()


def score_outcomes(predicted: Mapping[str, str], labels: Sequence[Label]) -> dict[str, Any]:
    """Shares of right outcomes, and recall by class."""
    right = [label for label in labels if predicted[label["session"]] == label["outcome"]]
    near = [label for label in labels if predicted[label["session"]] in label.get("also_ok", ())]
    count = max(1, len(labels))
    classes = {label["outcome"] for label in labels}
    return {
        "strict": len(right) / count,
        "lenient": (len(right) + len(near)) / count,
        "recall": {name: [_count(right, name), _count(labels, name)] for name in classes},
    }


def _count(labels: Sequence[Label], name: str) -> int:
    return sum(label["outcome"] == name for label in labels)


def score_cures(predicted: Sequence[Mapping[str, Any]], labels: Sequence[Label]) -> dict[str, Any]:
    """Right, false and missed cures of one label, by the lines of the calls."""
    (label,) = labels
    wanted = {*label.get("cure_call_lines", ()), *label.get("edit_call_lines", ())}
    hit = bool(wanted) and any(wanted & set(cure["cure_lines"]) for cure in predicted)
    curable = label["cure_kind"] != "none"
    return {"hit": int(hit), "false": int(bool(predicted) and not hit), "missed": curable - hit}
