"""Redaction by family of formats, those that rules were tried on apart from those held back."""

from __future__ import annotations

import json
import sysconfig
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
from tests.bench.redact_figures import Labelled, Score, score, share
from tests.redact import format_families, look_alikes

from session_memory.redact import Redactor

SEED = 11
EACH = 400
ORDINARY = 30_000
PER_FILE = 1_000
PARTS = ("develop", "held back")


class Part(msgspec.Struct, kw_only=True):
    """The scores of one part: by family, by class of values, of all, and of ordinary lines."""

    families: dict[str, Score] = {}
    kinds: dict[str, Score] = {}
    together: Score = msgspec.field(default_factory=Score)
    ordinary: Score = msgspec.field(default_factory=Score)

    def figures(self) -> dict[str, float]:
        """Recall and precision where half the texts only look like secrets; flags elsewhere."""
        whole = self.together
        return {
            "recall": share(whole.found, whole.secrets),
            "precision_with_look_alikes": share(whole.true_flags, whole.flags),
            "flagged_look_alikes": share(whole.clean_flags, whole.clean_lines),
            "flags_per_1000_ordinary_lines": 1000
            * share(self.ordinary.clean_flags, self.ordinary.clean_lines),
        }


def labelled(part: str, each: int = EACH) -> Iterator[tuple[str, str, Labelled]]:
    """The texts of a part with family and class; as many look-alikes as secrets."""
    secret = format_families.DEVELOP if part == PARTS[0] else format_families.HELD_BACK
    others = look_alikes.DEVELOP if part == PARTS[0] else look_alikes.HELD_BACK
    for family, sample in format_families.samples(secret, SEED, each):
        yield family, sample.kind, Labelled(sample.text, sample.spans)
    count = each * len(secret) // len(others)
    for family, sample in look_alikes.look_alikes(others, SEED, count):
        yield family, "", Labelled(sample.text)


def measure(part: str, redactor: Redactor, logs: Path | None = None, each: int = EACH) -> Part:
    """All scores of a part."""
    rows = list(labelled(part, each))

    def scored(keep: Callable[[tuple[str, str, Labelled]], bool]) -> Score:
        return score((row[2] for row in rows if keep(row)), redactor, timing=False)

    return Part(
        families={name: scored(lambda row, n=name: row[0] == n) for name in unique(rows, 0)},
        kinds={name: scored(lambda row, n=name: row[1] == n) for name in unique(rows, 1)},
        together=scored(lambda _: True),
        ordinary=score(map(Labelled, ordinary(part, logs)), redactor, timing=False),
    )


def unique(rows: Iterable[tuple[str, str, Labelled]], column: int) -> list[str]:
    """The names in a column, in order."""
    return list(dict.fromkeys(name for row in rows if (name := str(row[column]))))


def ordinary(part: str, logs: Path | None) -> Iterator[str]:
    """Different lines of Python's sources and of genuine logs; each part has half of the files."""
    sources = Path(sysconfig.get_path("stdlib")).glob("*.py")
    yield from different(part, sources, source_lines)
    if logs:
        yield from different(part, logs.rglob("*.jsonl"), log_lines)


def different(
    part: str, files: Iterable[Path], read: Callable[[Path], Iterator[str]]
) -> Iterator[str]:
    """Lines of the files of a part, no line twice, and not too many of one file."""
    chosen = (f for f in sorted(files) if zlib.crc32(f.name.encode()) % 2 == PARTS.index(part))
    lines = (line for file in chosen for line in islice(read(file), PER_FILE))
    return iter(dict.fromkeys(islice(lines, ORDINARY)))


def source_lines(file: Path) -> Iterator[str]:
    """The lines of a source that hold anything."""
    return filter(str.strip, file.read_text(encoding="utf-8", errors="replace").splitlines())


def log_lines(file: Path) -> Iterator[str]:
    """The lines of all texts in a log."""
    for record in file.read_bytes().splitlines():
        try:
            document: object = json.loads(record)
        except ValueError:
            continue
        for text in texts(document):
            yield from filter(str.strip, text.splitlines())


def texts(value: object) -> Iterator[str]:
    """Every string in a document."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from texts(item)
        case dict():
            for item in value.values():
                yield from texts(item)
        case _:
            pass


def report(name: str, part: Part) -> str:
    """The figures of a part for people."""

    def rows(title: str, scores: dict[str, Score]) -> Iterator[str]:
        yield f"  {title:24} recall  flagged look-alikes"
        for each, one in scores.items():
            recall = f"{one.found / one.secrets:6.1%}" if one.secrets else " " * 6
            alike = f"{one.clean_flags / one.clean_lines:6.1%}" if one.clean_lines else ""
            yield f"  {each:24} {recall}  {alike}"

    figures = (f"  {key.replace('_', ' '):32} {value:.3f}" for key, value in part.figures().items())
    return "\n".join(
        [name, *figures, *rows("by family", part.families), *rows("by class", part.kinds)]
    )
