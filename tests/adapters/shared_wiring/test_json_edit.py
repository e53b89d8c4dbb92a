"""What is put into a JSON text can be taken out again without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters.shared_wiring.json_edit import delete, insert, inside, replace
from session_memory.adapters.shared_wiring.json_text import value_at
from session_memory.errors import Refused

KEYS = st.sampled_from(["a", "b", "hooks", "x y", 'q"', "ü", "//no", "}"])
VALUES = st.recursive(
    st.sampled_from([None, True, 0, -1.5e3, "", "a//b", "/* c */", '"}', "\\", "\u2028"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
SPACES = st.sampled_from(["", " ", "\n", "\n  ", "\r\n\t", " // note\n ", " /* why, {} */ "])


@st.composite
def written(draw: st.DrawFn, value: Any = None) -> str:
    """A value as somebody may have written it: any blanks, comments, trailing commas."""

    def render(item: Any) -> str:
        if isinstance(item, dict):
            parts = [
                f"{json.dumps(k)}{draw(SPACES)}:{draw(SPACES)}{render(v)}" for k, v in item.items()
            ]
            return wrap("{", parts, "}")
        if isinstance(item, list):
            return wrap("[", [render(one) for one in item], "]")
        return json.dumps(item, ensure_ascii=draw(st.booleans()))

    def wrap(opening: str, parts: list[str], closing: str) -> str:
        text = opening + draw(SPACES)
        for place, part in enumerate(parts):
            text += part + draw(SPACES)
            if place < len(parts) - 1:
                text += "," + draw(SPACES)
        if parts and draw(st.booleans()):
            text += "," + draw(SPACES)
        return text + closing

    start = draw(st.sampled_from(["", "\ufeff", "// head\n", "\n"]))
    return (
        start
        + render(value if value is not None else draw(st.dictionaries(KEYS, VALUES)))
        + draw(SPACES)
    )


@settings(max_examples=80)
@given(text=written(), value=VALUES, key=st.sampled_from(["ours", "mcpServers"]))
def test_a_member_put_in_and_taken_out_leaves_the_text_as_it_was(
    text: str, value: Any, key: str
) -> None:
    before = value_at(text, ())
    empty = inside(text, ())
    changed = insert(text, (), key, value)
    assert value_at(changed, ()) == {**before, key: value}
    assert list(value_at(changed, ())) == [*before, key]
    assert delete(changed, (key,), empty) == text


@settings(max_examples=60)
@given(data=st.data(), value=VALUES)
def test_an_element_put_in_and_taken_out_leaves_the_text_as_it_was(
    data: st.DataObject, value: Any
) -> None:
    items = data.draw(st.lists(VALUES, max_size=3))
    text = data.draw(written({"a": 1, "list": items}))
    empty = inside(text, ("list",))
    changed = insert(text, ("list",), None, value)
    assert value_at(changed, ("list",)) == [*items, value]
    assert delete(changed, ("list", len(items)), empty) == text


@settings(max_examples=60)
@given(data=st.data())
def test_any_member_can_go_and_the_others_stay(data: st.DataObject) -> None:
    value = data.draw(st.dictionaries(KEYS, VALUES, min_size=1))
    text = data.draw(written(value))
    key = data.draw(st.sampled_from(sorted(value)))
    left = delete(text, (key,))
    assert value_at(left, ()) == {name: v for name, v in value.items() if name != key}


@settings(max_examples=40)
@given(data=st.data(), fresh=VALUES)
def test_a_value_is_replaced_in_its_place(data: st.DataObject, fresh: Any) -> None:
    value = data.draw(st.dictionaries(KEYS, VALUES, min_size=1))
    text = data.draw(written(value))
    key = data.draw(st.sampled_from(sorted(value)))
    changed = value_at(replace(text, (key,), fresh), ())
    assert changed == {**value, key: fresh}
    assert list(changed) == list(value)


def test_the_user_adds_behind_ours_and_ours_goes() -> None:
    text = '{\n  "a": 1 // mine\n}\n'
    both = insert(insert(text, (), "ours", {"x": [1]}), (), "theirs", 2)
    assert delete(both, ("ours",)) == insert(text, (), "theirs", 2)


def test_indents_and_line_ends_of_the_file_are_followed() -> None:
    assert insert('{\r\n\t"a": 1\r\n}\r\n', (), "b", {"c": []}) == (
        '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": []\r\n\t}\r\n}\r\n'
    )
    assert insert('{"a":1}', (), "b", [1, 2]) == '{"a":1,"b":[1,2]}'
    assert insert('{"a": 1}', (), "b", [1, 2]) == '{"a": 1, "b": [1, 2]}'


def test_what_follows_a_comment_does_not_end_up_inside_it() -> None:
    text = '{"a": 1, // c\n  "ours": 2, "b": 3}'
    assert value_at(delete(text, ("ours",)), ()) == {"a": 1, "b": 3}


def test_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(Refused, match="twice"):
        insert('{"hooks": {}, "hooks": {}}', ("hooks",), "a", 1)


@pytest.mark.parametrize("text", ['{"hooks": 3}', '{"hooks": null}', '{"hooks": "x"}', "{}"])
def test_a_place_that_is_no_container_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="not what this program expects"):
        insert(text, ("hooks",), "a", 1)
