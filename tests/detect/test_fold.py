"""Evidence counted in parts is evidence counted at once, and what never recurs is not kept."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.detect.digests import mined, signal

from session_memory.core.loop.patterns import Candidate, Mined, Signal
from session_memory.core.schema import RuleStatement
from session_memory.detect import cluster as cluster_of_many
from session_memory.detect.cluster import candidates_of, cluster, survey
from session_memory.detect.fold import Fold
from session_memory.detect.names import Loci, find_loci, find_names
from session_memory.detect.survey import KeyCounts

WORDS = st.sampled_from(
    ["cannot", "open", "read", "<path>", "for", "anna", "bert", "--force", "x1"]
)
ERRORS = st.lists(WORDS, min_size=1, max_size=7).map(" ".join)


def cure(about: str, count: int, rule: str) -> Signal:
    return signal("cure", "make keys", count, about=about, tried=1, rule=rule, usd=0.1)


def stated(text: str, intent: str | None) -> Signal:
    said = RuleStatement(text, 1, 1, "says so", True, "against", intent)
    return signal("stated_rule", text, said=said)


SIGNALS = st.one_of(
    st.builds(
        lambda text, usd: signal("recurring_error", text, usd=usd, minutes=usd / 3, quote=text),
        ERRORS,
        st.floats(0, 1),
    ),
    st.builds(cure, ERRORS, st.integers(0, 2), st.sampled_from(["", "Run make keys first."])),
    st.builds(
        lambda words: signal("user_correction", " ".join(sorted(words))),
        st.sets(st.sampled_from("abcdefgh"), min_size=2, max_size=6),
    ),
    st.builds(lambda name: signal("failing_command", name, quote=name), st.sampled_from("abcdefg")),
    st.builds(
        stated,
        st.sampled_from(["always use uv, never pip", "never push to main"]),
        st.sampled_from([None, "discuss first"]),
    ),
)
FAMILIES = st.lists(
    st.lists(st.lists(SIGNALS, max_size=5), min_size=1, max_size=3), min_size=1, max_size=8
)


def sessions_of(families: Sequence[Sequence[Sequence[Signal]]]) -> list[list[Mined]]:
    """Each family is a session, followed by sub-agents of it; the newest comes first."""
    made: list[list[Mined]] = []
    number = 1
    for family in families:
        flavor = "codex" if number % 2 else "claude"
        owner, numbers = number, range(number, number + len(family))
        number += len(family)
        made.append(
            [
                mined(at, *shown, flavor=flavor, counts_as=owner, repo=f"r{owner % 2}")
                for at, shown in reversed(list(zip(numbers, family, strict=True)))
            ]
        )
    return made[::-1]


def in_parts(parts: Sequence[Sequence[Mined]], counts: KeyCounts | None) -> list[Candidate]:
    """As several machines would count."""
    loci = Loci()
    for part in parts:
        loci.join(find_loci(part, counts))
    names = find_names(loci, {})
    whole = Fold(names, counts)
    for part in parts:
        fold = Fold(names, counts)
        fold.add_all(part)
        whole.join(fold)
    return candidates_of(whole, {}, single_sessions=False)


@pytest.mark.rows("DET-13")
@settings(max_examples=60)
@given(FAMILIES, st.randoms(use_true_random=False))
def test_counting_in_parts_and_leaving_out_what_is_single_changes_nothing(
    families: list[list[list[Signal]]], chance: object
) -> None:
    made = sessions_of(families)
    evidence = [one for family in made for one in family]
    whole = cluster(lambda: evidence, single_sessions=True)
    recurring = [one for one in whole if one.sessions > 1]
    checked = cluster(lambda: evidence)
    assert checked == recurring
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_of_many, "FEW", 1)  # as where there are more than fit in memory
        assert cluster(lambda: evidence) == checked
        patch.setattr(cluster_of_many, "MANY_ERRORS", 1)
        assert cluster(lambda: evidence) == checked
        patch.undo()
        patch.setattr(cluster_of_many, "FEW", 1)
        patch.setattr(KeyCounts, "is_crowded", True)
        assert cluster(lambda: evidence) == checked
    counts, _ = survey(evidence, lambda: evidence)
    chance.shuffle(made)  # pyright: ignore
    parts = [[one for family in made[at::3] for one in family] for at in range(3)]
    assert in_parts(parts, counts) == checked
    assert in_parts(parts, None) == checked
