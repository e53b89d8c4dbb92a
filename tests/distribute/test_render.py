"""However hostile its text, a lesson stays one line, one skill, one section."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.distribute.scenes import approved, lesson

from session_memory.core.text.own_text import BEGIN, END, PACK_BEGIN, PACK_END, without_own_text
from session_memory.core.text.seal import Seal
from session_memory.distribute.block import put_block, take_block
from session_memory.distribute.ownership import skill_state, sort_blocks
from session_memory.distribute.render import (
    bullet,
    lessons,
    section,
    skill_file,
    skill_name,
)

SEAL = Seal(b"ours")
HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *(
                    BEGIN,
                    END,
                    PACK_BEGIN,
                    PACK_END,
                    "<",
                    "!--",
                    "<\u200b!-- session-memory:end -->",
                ),
                *("\n", "\r", "\x1b[31m", "```", "~~~", "---\n", "\u202e", "[sm-p2]", '"', "\\"),
            ]
        ),
        st.text(max_size=10),
    ),
    min_size=1,
).map("".join)


@settings(max_examples=100)
@given(text=HOSTILE)
def test_no_text_can_end_what_it_stands_in(text: str) -> None:
    for one in lessons([approved("p1", text)], str):
        line = bullet(one)
        assert "\n" not in line and "<!--" not in line and line.endswith(" [sm-p1]")
        once = put_block(b"user\n", None, [line], SEAL)
        known = sort_blocks(once, SEAL, None).ours
        assert known is not None and known.content == line.encode() + b"\n"
        assert take_block(once, known) == b"user\n"
        skill = skill_file(one, SEAL)
        forms = (skill, skill.replace(b"\n", b"\r\n"), skill + b"x")
        assert [skill_state(form, SEAL, None) for form in forms] == ["ours", "ours", "edited"]
        assert skill.decode().split("\n---\n")[0].count("\n") == 2  # name and description, no more
        outside = without_own_text(skill.decode()).splitlines()
        assert len([row for row in outside if row.strip()]) == 4  # the front matter
        page = section(one, on_trial=True)
        assert without_own_text(page.text) == "" and page.trial == "p1"


def test_the_line_reads_as_a_person_wrote_it() -> None:
    assert bullet(lesson("1a2b", "Run the tests with `make test`,\nnot pytest.")) == (
        "- Run the tests with `make test`, not pytest. [sm-1a2b]"
    )


@pytest.mark.parametrize("ids", [("a_b", "a-b"), ("x" * 80, "x" * 79 + "y")])
def test_names_of_skills_fit_and_differ(ids: tuple[str, str]) -> None:
    names = {skill_name(one) for one in ids}
    assert len(names) == 2 and all(len(name) <= 64 and "_" not in name for name in names)
