"""A model that gives scripted answers, and records its requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from session_memory.model.port import Answer, InputRoom, Request, Usage

Line = str | Answer | Exception | Callable[[Request], "str | Answer"]


class ScriptedModel:
    """Answers from a list, in order; safe to share by threads.

        model = ScriptedModel(["first", CallFailed("busy", "overloaded"), lambda r: r.user.upper()])

    A string is an answer, an exception is raised, a callable sees the request and may do either
    (or write into `request.folder`). Running out of lines is a fault of the test, not of a model.
    """

    def __init__(
        self,
        answers: Iterable[Line] = (),
        *,
        provider: str = "scripted",
        name: str = "scripted-model",
        works_in_folders: bool = True,
        limit: int = 10**9,
        total: int = 10**9,
    ) -> None:
        self._lines = list(answers)
        self._lock = threading.Lock()
        self._provider = provider
        self._name = name
        self._works_in_folders = works_in_folders
        self._limit = limit
        self._total = total
        self.requests: list[Request] = []

    @property
    def provider(self) -> str:
        """See model.port.Model."""
        return self._provider

    @property
    def name(self) -> str:
        """See model.port.Model."""
        return self._name

    @property
    def works_in_folders(self) -> bool:
        """See model.port.Model."""
        return self._works_in_folders

    def input_limit(self, bare: Request, sizes: Sequence[int]) -> int:
        """See model.port.Model; the same for all."""
        return self._limit

    def input_room(self, bare: Request, sizes: Sequence[int]) -> InputRoom:
        """See model.port.Model; a call has the limit, all calls together have `total`."""
        return InputRoom(self._limit, self._total)

    def ask(self, request: Request) -> Answer:
        """The next line of the script."""
        with self._lock:
            self.requests.append(request)
            if not self._lines:
                raise AssertionError(f"the script has no answer to {request.purpose}")
            line = self._lines.pop(0)
        answer = line if isinstance(line, str | Answer | Exception) else line(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Answer):
            return answer
        usage = Usage(input_tokens=len(request.user) // 3 + 1, output_tokens=len(answer) // 3 + 1)
        return Answer(answer, self._name, usage)
