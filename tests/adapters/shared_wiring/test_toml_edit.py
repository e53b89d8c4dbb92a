"""What is put into a TOML text can be taken out again without a trace."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters.shared_wiring import toml_edit
from session_memory.errors import Refused

NAME = ("mcp_servers", "session-memory")
ENTRY = {"command": "/py", "args": ["-m", "x"], "env": {"A": "b c"}, "required": True}
PIECES = (
    'model = "gpt"\n',
    "# a comment\n",
    "\n",
    'text = """\n[not.a.table]\n"""\n',
    "list = [\n  '[x]', # ]\n  \"#\",\n]\n",
    "lit = '''\n[neither]\n'''\n",
)
TABLES = (
    '[projects."/a b"]\ntrust_level = "trusted"\n',
    "# about servers\n[mcp_servers.other]\ncommand = 'x'\n",
    "[[rules]]\nname = 'r'\n\n[[rules]]\nname = 's'\n",
    "[model_providers.fake]\n  base = 'http://127.0.0.1'   # here\n\n\n",
)


@st.composite
def written(draw: st.DrawFn) -> str:
    top = draw(st.lists(st.sampled_from(PIECES), unique=True))
    tables = draw(st.lists(st.sampled_from(TABLES), unique=True))
    text = "".join([*top, *tables])
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@settings(max_examples=60)
@given(text=written())
def test_a_table_put_in_and_taken_out_leaves_the_text_as_it_was(text: str) -> None:
    changed, joint = toml_edit.add_table(text, NAME, ENTRY)
    assert toml_edit.get(changed, NAME) == ENTRY
    assert changed.startswith(text)
    assert toml_edit.remove_tables(changed, NAME, joint) == text


@settings(max_examples=60)
@given(text=written(), more=st.sampled_from(TABLES))
def test_what_a_client_appends_behind_ours_stays(text: str, more: str) -> None:
    newline = "\r\n" if "\r\n" in text else "\n"
    more = more.replace("\n", newline).replace("rules", "later").replace("projects", "later")
    more = more.replace("mcp_servers", "later").replace("model_providers", "later")
    changed, joint = toml_edit.add_table(text, NAME, ENTRY)
    left = toml_edit.remove_tables(changed + newline + more, NAME, joint)
    assert left.endswith(newline + more)
    whole = text if not text or text.endswith("\n") else text + newline
    assert left == whole + newline + more


@settings(max_examples=40)
@given(text=written())
def test_a_line_put_on_top_and_taken_away_leaves_the_text_as_it_was(text: str) -> None:
    changed = toml_edit.add_line(text, "notify", ["a", 'b "c"'])
    assert toml_edit.get(changed, ("notify",)) == ["a", 'b "c"']
    assert toml_edit.remove_line(changed, "notify") == text


def test_other_values_keep_the_users_keys_and_comments() -> None:
    text = (
        "a = 1\n\n[mcp_servers.session-memory]\ncommand = '/old' # mine\n"
        "tool_timeout_sec = 9\n\n# next\n[b]\n"
    )
    changed = toml_edit.change_table(text, NAME, {"command": "/new", "args": ["x"]})
    assert toml_edit.get(changed, NAME) == {
        "command": "/new",
        "tool_timeout_sec": 9,
        "args": ["x"],
    }
    assert "# mine" in changed
    assert changed.endswith("\n# next\n[b]\n")


def test_sub_tables_that_a_client_added_to_ours_go_along() -> None:
    text, joint = toml_edit.add_table("a = 1\n", NAME, ENTRY)
    text += "\n[mcp_servers.session-memory.tools.mem_search]\napproval_mode = 'auto'\n"
    assert toml_edit.remove_tables(text, NAME, joint) == "a = 1\n"


@pytest.mark.parametrize(
    "text", ["mcp_servers = { other = { command = 'x' } }\n", "mcp_servers = 3\n"]
)
def test_servers_that_are_written_inline_are_refused(text: str) -> None:
    with pytest.raises(Refused):
        toml_edit.add_table(text, NAME, ENTRY)


def test_a_notify_over_several_lines_is_not_cut_in_half() -> None:
    with pytest.raises(Refused, match="line of its own"):
        toml_edit.remove_line('notify = [\n  "a",\n]\n', "notify")


@pytest.mark.parametrize(
    "text",
    [
        *("a = ", "[x\n", "a = 1\na = 2\n"),
        pytest.param("a = " + "[" * 5000 + "]" * 5000, id="nested too deeply"),
        pytest.param("a = " + "9" * 5000, id="a number without end"),
    ],
)
def test_what_is_not_toml_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="not valid TOML"):
        toml_edit.values(text)
