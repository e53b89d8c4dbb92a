"""Keys that came once are not kept."""

from __future__ import annotations

import pytest
from tests.detect.digests import mined, signal

from session_memory.core.loop.patterns import Mined
from session_memory.detect.cluster import cluster, count_again, survey
from session_memory.detect.fold import Fold
from session_memory.detect.names import find_loci, find_names
from session_memory.detect.survey import KeyCounts


@pytest.mark.rows("DET-13")
def test_what_never_recurs_is_not_kept() -> None:
    def unlike(at: int) -> Mined:
        words = [f"{'abcdefghij'[int(digit)]}{place}" for place, digit in enumerate(f"{at:05}")]
        text = " ".join(f"{word}{''.join(words)}" for word in "pqrstuv").translate(
            {ord(digit): letter for digit, letter in zip("0123456789", "klmnopqrst", strict=True)}
        )
        return mined(
            at,
            signal("failing_command", text, quote=text),
            signal("recurring_error", text, quote=text),
            signal("cure", f"run {text}", about=text, tried=1),
            signal("edit_churn", text),
        )

    evidence = [unlike(at) for at in range(2000)]
    both = signal("failing_command", "git push <args>")
    evidence += [mined(at, both) for at in (3000, 3001)]
    counts, second = survey(evidence, lambda: evidence)[0], KeyCounts(second=True)
    names = find_names(find_loci(count_again(evidence, counts, second), counts), {})
    for table in (counts, second):
        fold = Fold(names, table)
        fold.add_all(evidence)
        assert len(fold.tallies) < 20  # two keys in one place of the table keep a few
    assert [one.locus for one in cluster(lambda: evidence)] == ["git push <args>"]
