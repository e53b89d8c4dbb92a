"""The managed block: only what stands between our markers is ever changed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.text.own_text import BEGIN, END
from session_memory.core.text.seal import Seal
from session_memory.distribute import block
from session_memory.distribute.block import Block, find_blocks
from session_memory.distribute.files import LARGEST
from session_memory.distribute.ownership import sort_blocks
from session_memory.errors import Refused

SEAL = Seal(b"ours")


def find_block(data: bytes) -> Block | None:
    """Our block in a file."""
    return sort_blocks(data, SEAL, None).ours


def is_edited(data: bytes) -> bool:
    return sort_blocks(data, SEAL, None).is_edited


def put_block(data: bytes, lines: list[str] | tuple[()]) -> bytes:
    """The file with these lines in our block."""
    return block.put_block(data, find_block(data), lines, SEAL)


def take_block(data: bytes) -> bytes:
    """The file without our block."""
    return block.take_block(data, find_block(data))


LINES = ["Learned:", "- Run make test. [sm-1a2b]"]
BLOCK = put_block(b"a\n", LINES).decode().removeprefix("a\n\n")

# Text as users write it, with everything that could confuse the search for the block.
PIECES = st.sampled_from(
    [
        *("# Title", "- point", "", "", "    code", "> quote", "text\x0cwith\x0bodd\x85breaks"),
        *("```", "```python", "````", "~~~", "~~~ sh", "``` not ` a fence", "  ```", "\t```"),
        *("see <!-- session-memory:begin", "<!-- other:begin -->", "<!-- session-memory -->"),
        *("ümläut", "\u2028", "\r", "[sm-1a2b]"),
    ]
)
ENDS = st.sampled_from(["\n", "\n", "\r\n"])


@st.composite
def user_files(draw: st.DrawFn) -> bytes:
    """Lines with mixed ends, with or without a byte order mark and a last line end."""
    parts = draw(st.lists(st.tuples(PIECES, ENDS), max_size=12))
    text = "".join(piece + end for piece, end in parts)
    if draw(st.booleans()):
        text = text.rstrip("\n")
    if draw(st.booleans()):
        text = "\ufeff" + text
    return text.encode()


CONTENT = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n")), min_size=1
).map(lambda lines: [f"- {line}".replace("<", "(") for line in lines])


@pytest.mark.rows("DIS-03")
def test_every_byte_outside_the_markers_stays() -> None:
    user = b"# Rules\r\nBe kind.\r\n"
    first = put_block(user, LINES)
    assert first.startswith(user) and first.endswith(f"{END}\r\n".encode())
    assert b"- Run make test. [sm-1a2b]\r\n" in first
    second = put_block(first + b"More.\r\n", ["- Other. [sm-2]"])
    assert second.startswith(user) and second.endswith(f"{END}\r\nMore.\r\n".encode())
    assert b"make test" not in second


@pytest.mark.rows("DIS-03", "DIS-06")
@settings(max_examples=60)
@given(user=user_files(), first=CONTENT, second=CONTENT)
def test_in_again_over_and_out(user: bytes, first: list[str], second: list[str]) -> None:
    once = put_block(user, first)
    assert put_block(once, first) == once  # the same content once more changes nothing
    known = find_block(once)
    assert known is not None and not is_edited(once)
    gap = len(known.end) * known.marker.gap
    assert once[: known.start].startswith(user[: known.start - gap])
    over = put_block(once, second)
    assert find_block(over) is not None
    assert take_block(once) == take_block(over) == put_block(over, ()) == user


ADDED = st.text(st.sampled_from("aé #-*\t|>"), max_size=8).map(lambda text: f"{text}\n".encode())


@pytest.mark.rows("DIS-03", "DIS-06")
@settings(max_examples=60)
@given(user=user_files(), content=CONTENT, above=ADDED, below=ADDED)
def test_what_is_written_outside_meanwhile_stays(
    user: bytes, content: list[str], above: bytes, below: bytes
) -> None:
    once = put_block(user, content)
    known = find_block(once)
    assert known is not None
    top = 3 if user.startswith(b"\xef\xbb\xbf") else 0
    here = known.start - len(known.end) * known.marker.gap  # where the block came in
    edited = once[:top] + above + once[top : known.stop] + below + once[known.stop :]
    assert take_block(edited) == user[:top] + above + user[top:here] + below + user[here:]


BAD = {
    "no end": BLOCK.replace(END, ""),
    "no begin": BLOCK.replace(BEGIN, "<!--"),
    "end first": f"{END}\n{BLOCK.replace(END, '')}",
    "twice": BLOCK + BLOCK,
    "two ends": BLOCK + END,
    "marker changed": BLOCK.replace(" v2", ""),
    "of a newer version": BLOCK.replace(" v2", " v3"),
}


@pytest.mark.rows("DIS-03")
@pytest.mark.parametrize("name", BAD)
def test_markers_that_do_not_pair_up_are_refused_and_nothing_is_eaten(name: str) -> None:
    data = f"before\n{BAD[name]}\nprecious words of the user\n".encode()
    for change in (lambda: put_block(data, LINES), lambda: take_block(data)):
        with pytest.raises(Refused):
            change()


def test_markers_in_a_code_fence_are_an_example() -> None:
    user = f"How it looks:\n```\n{BLOCK}```\nend\n".encode()
    assert find_block(user) is None
    once = put_block(user, LINES)
    assert once.startswith(user) and once.count(BEGIN.encode()) == 2
    assert take_block(once) == user


def test_a_fence_that_never_ends_does_not_swallow_the_block() -> None:
    user = b"text\n```sh\nmake\n"
    once = put_block(user, LINES)
    assert once.index(BEGIN.encode()) < once.index(b"```sh")
    closed = once + b"```\n"  # the user mends it
    assert take_block(closed) == user + b"```\n"


def test_an_edit_inside_is_noticed_and_other_line_ends_are_none() -> None:
    once = put_block(b"a\n", LINES)
    edited, checked_out = once.replace(b"make test", b"make check"), once.replace(b"\n", b"\r\n")
    assert [is_edited(data) for data in (once, edited, checked_out)] == [False, True, False]
    assert take_block(checked_out) == b"a\r\n"


@pytest.mark.parametrize("line", [f"x {END}", f"{BEGIN} x", "two\nlines", "```", " ~~~~"])
def test_a_line_that_could_not_be_recognised_again_is_never_written(line: str) -> None:
    with pytest.raises(ValueError, match="cannot be distinguished"):
        put_block(b"a\n", [line])


def test_a_file_that_is_no_text_is_refused() -> None:
    with pytest.raises(Refused, match="not a text file"):
        put_block("text".encode("utf-16"), LINES)


def test_words_written_right_before_the_block_keep_their_line_end() -> None:
    once = put_block(b"a\n", LINES)
    assert take_block(once.replace(b"a\n\n<!--", b"a\nb\n<!--")) == b"a\nb\n"


OTHER = put_block(b"", LINES).replace(f"by={SEAL.name}".encode(), b"by=0a0b0c0d")


@pytest.mark.rows("DIS-08")
@settings(max_examples=60)
@given(user=user_files(), content=CONTENT)
def test_a_block_of_another_store_stays_to_the_byte(user: bytes, content: list[str]) -> None:
    shared = block.put_block(user, None, LINES, Seal(b"theirs"))
    once = put_block(shared, content)
    assert len(find_blocks(once)) == 2
    assert put_block(once, content) == once
    assert take_block(once) == shared


@pytest.mark.rows("DIS-08")
@pytest.mark.parametrize("data", [OTHER, OTHER + OTHER, OTHER.replace(b" v2", b" v3")])
def test_what_others_wrote_is_never_taken_for_ours(data: bytes) -> None:
    assert find_block(data) is None and take_block(data) == data
    assert put_block(data, LINES).startswith(data)


@pytest.mark.rows("DIS-08")
def test_a_forged_seal_is_an_edit() -> None:
    """Whoever knows our name still lacks the key."""
    forged = block.put_block(b"", None, ["- Run rm. [sm-1a2b]"], Seal(b"guess"))
    assert is_edited(forged.replace(Seal(b"guess").name.encode(), SEAL.name.encode()))


@pytest.mark.rows("DIS-08")
def test_a_file_full_of_blocks_is_read_in_one_pass() -> None:
    """Counting lines anew for each block, this would take minutes."""
    size = len(OTHER.splitlines())
    last = find_blocks(OTHER * (LARGEST // len(OTHER)))[-1]
    assert last.lines == (last.start // len(OTHER) * size + 1, (last.stop // len(OTHER)) * size)
