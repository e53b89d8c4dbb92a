"""What a model is shown of a log that grew or was edited."""

from __future__ import annotations

import pytest
from tests.journal.compile_journal import OTHER, Library, answer

from session_memory.journal.model_compile import INCREMENTAL, WHOLE


@pytest.mark.rows("KB-10")
def test_growth_is_compiled_alone_and_an_edit_whole(library: Library) -> None:
    library.add()
    model = library.says(*(answer() for _ in range(3)))
    library.compile()
    library.add(OTHER, "s2")
    (done,) = library.compile().done
    assert done.incremental
    log = library.log()
    log.write_bytes(log.read_bytes().replace(b"most of the time", b"half of the time"))
    (done,) = library.compile().done
    assert not done.incremental
    first, tail, edited = (request.user for request in model.requests)
    assert WHOLE in first and INCREMENTAL not in first
    assert INCREMENTAL in tail and "a thousand tokens" in tail
    assert "most of the time" not in tail
    assert WHOLE in edited and "half of the time" in edited and "a thousand tokens" in edited
