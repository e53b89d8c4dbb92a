"""`project memory show` and `why` as a person reads them."""

from __future__ import annotations

from tests.cli.test_memory import Shell, shell

from session_memory.memory.layout import memory_root

__all__ = ["shell"]


def test_show_path_and_why(shell: Shell) -> None:
    shell.run("extract", "--now")
    shown = shell.run("show", "--project", "/work/shop")
    assert len(shown.splitlines()) == 10 and "`pytest -q`" in shown
    name = shell.json("show", "--project", "/work/shop")["traces"][0]["thread_id"]
    assert shell.run("show", name).startswith("# fix the parser")
    folder = memory_root(shell.bench.data, "/work/shop")
    assert shell.run("path", "--project", "/work/shop").strip() == str(folder)


def test_why_names_the_session_and_quotes_the_event(shell: Shell) -> None:
    shell.run("extract", "--now")
    found = shell.json("why", "src/parse3_0.py changed here")["evidence"]
    (line,) = [one for one in found if one["line"].startswith("`src/parse3_0.py`")]
    (quote,) = line["quotes"]
    assert quote["kind"] == "tool_call" and "parse3_0.py" in quote["text"]
    assert line["session"] in shell.bench.space.sessions()
    by_event = shell.json("why", f"[e:{quote['event']}]")["evidence"]
    assert line in by_event
    assert shell.json("why", line["trace"])["evidence"]
    assert (
        "nothing in memory says"
        in shell.bench.space.run(
            "--config", shell.config, "project", "memory", "why", "no such words"
        ).stderr
    )
