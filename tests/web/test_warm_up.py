"""What the other screens need is loaded after the first one was sent, once."""

from __future__ import annotations

import subprocess
import sys

import pytest

_CHECK = """
import sys
import threading
from session_memory.web.app import PAGES
from session_memory.web.html import environment
from session_memory.web.warm_up import WarmUp

screens = {f"session_memory.web.{name.partition('.')[0]}" for name in PAGES.values()}
assert not screens & set(sys.modules), screens & set(sys.modules)
templates = environment()
warm_up = WarmUp([name.partition(".")[0] for name in PAGES.values()], templates)
assert warm_up.is_due
loading = threading.Thread(target=warm_up.run)
with warm_up.held():
    loading.start()
    loading.join(0.3)
    assert loading.is_alive()
    assert not screens & set(sys.modules)
loading.join()
assert not warm_up.is_due
assert screens <= set(sys.modules)
assert len(templates.cache) == len(templates.list_templates(extensions=["html"]))
before = len(sys.modules)
warm_up.run()
assert len(sys.modules) == before
"""


@pytest.mark.rows("WEB-22")
def test_screens_are_loaded_after_the_start_and_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHECK], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
