"""The vendors' own SDKs against a server on loopback that behaves well, badly, and not at all."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.model.meters import metered

from session_memory import settings
from session_memory.errors import ModelUnavailable
from session_memory.model.anthropic import open_anthropic
from session_memory.model.failures import CallFailed
from session_memory.model.openai import OpenAiModel, open_openai
from session_memory.model.port import Provider, Request, Usage
from session_memory.model.retry import ask
from session_memory.model.sdk import errors_of
from session_memory.store.port import Store
from session_memory.testing.model_server import ModelServer, Part, Play

KEY = "fake-key-of-a-test-0123456789"
PLAIN = Request("test", "be terse", "what is it?", max_output_tokens=77, timeout_s=20)
Opened = Callable[[str], Provider]


def by_messages(url: str) -> Provider:
    config = settings.Model(provider="anthropic", base_url=url, name="claude-haiku-4-5")
    return open_anthropic(config, {"ANTHROPIC_API_KEY": KEY})


def by_responses(url: str) -> Provider:
    import openai  # slow to load, and every process collects this file

    def connect() -> openai.OpenAI:
        return openai.OpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)

    return OpenAiModel(connect, "gpt-5-mini", errors_of(openai, "OpenAIError"), chat=False)


def by_chat(url: str) -> Provider:
    config = settings.Model(provider="openai", base_url=f"{url}/v1", name="llama")
    return open_openai(config, {"OPENAI_API_KEY": KEY})


ALL = pytest.mark.parametrize("opened", [by_messages, by_responses, by_chat])


@ALL
def test_deltas_become_an_answer_with_its_usage(opened: Opened) -> None:
    with ModelServer([Play("deltas", "hello, world")]) as server:
        model = opened(server.url)
        answer = model.ask(PLAIN)

    assert (answer.text, answer.model, answer.stop) == ("hello, world", model.name, "end")
    assert answer.usage == Usage(100, 9, 20)


@pytest.mark.rows("EXT-24")
@pytest.mark.parametrize("part", ["item", "two_items"])
def test_a_server_that_sends_whole_messages_only_is_understood(part: Part) -> None:
    with ModelServer([Play(part, "whole")]) as server:
        assert by_responses(server.url).ask(PLAIN).text == "whole"


@ALL
@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ("overloaded", "overloaded"),
        ("rate_limited", "rate_limited"),
        ("broken", "server"),
        ("cut", "cut_stream"),
        ("garbage", "garbage"),
    ],
)
def test_what_a_server_does_wrong_is_reported_by_its_kind(
    opened: Opened, part: Part, kind: str
) -> None:
    with ModelServer([Play(part)]) as server:
        with pytest.raises(CallFailed) as caught:
            opened(server.url).ask(PLAIN)
        assert len(server.requests) == 1  # the SDK tries nothing again by itself

    assert caught.value.kind == kind


@ALL
@pytest.mark.rows("EXT-24")
def test_an_error_event_fails_the_call(opened: Opened) -> None:
    with ModelServer([Play("error_event")]) as server, pytest.raises(CallFailed):
        opened(server.url).ask(PLAIN)


@ALL
@pytest.mark.parametrize(("part", "words"), [("refusal", "refused"), ("empty", "empty")])
def test_a_refusal_or_nothing_is_no_answer(
    opened: Opened, part: Part, words: str, store: Store
) -> None:
    with ModelServer([Play(part)]) as server, pytest.raises(CallFailed, match=words):
        metered(opened(server.url), store).ask(PLAIN)

    (row,) = store.spend.totals("day", "2000-01-01")
    assert (row.failed, row.input_tokens, row.output_tokens) == (1, 120, 9)


@ALL
def test_an_answer_cut_at_its_longest_says_so(opened: Opened) -> None:
    with ModelServer([Play("length", "half an ans")]) as server:
        assert opened(server.url).ask(PLAIN).stop == "length"


@ALL
def test_a_busy_server_is_asked_again_as_it_wishes(opened: Opened) -> None:
    slept: list[float] = []
    plays = [Play("rate_limited", retry_after="7"), Play("overloaded"), Play("deltas", "at last")]
    with ModelServer(plays) as server:
        answer = ask(opened(server.url), PLAIN, slept.append)

    assert (answer.text, slept) == ("at last", [7.0, 4.0])


@ALL
def test_a_wrong_key_is_no_failure_of_the_model_and_is_not_repeated(opened: Opened) -> None:
    with ModelServer([Play("unauthorized")]) as server, pytest.raises(ModelUnavailable) as caught:
        opened(server.url).ask(PLAIN)

    assert not isinstance(caught.value, CallFailed)
    assert KEY not in f"{caught.value.message}{caught.value.hint}"


@ALL
def test_the_key_does_not_stand_in_an_error_that_repeats_it(opened: Opened) -> None:
    with ModelServer([Play("broken")]) as server, pytest.raises(CallFailed) as caught:
        opened(server.url).ask(PLAIN)

    assert "says the server" in caught.value.message
    assert KEY not in caught.value.message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@ALL
def test_an_answer_that_does_not_come_ends_at_the_time_out(opened: Opened) -> None:
    with ModelServer([Play("slow")]) as server:
        with pytest.raises(CallFailed) as caught:
            opened(server.url).ask(msgspec.structs.replace(PLAIN, timeout_s=0.2))
        server.gate.set()

    assert caught.value.kind == "timeout"


@ALL
def test_no_server_at_all_is_a_failed_connection(opened: Opened) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(CallFailed) as caught:
        opened(f"http://127.0.0.1:{port}").ask(PLAIN)
    assert caught.value.kind == "connection"


@pytest.mark.rows("EXT-57")
def test_each_call_has_a_client_of_its_own_and_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import anthropic
    import openai

    made: list[Any] = []
    for sdk, name in ((anthropic, "Anthropic"), (openai, "OpenAI")):
        real = getattr(sdk, name)

        def opened(_real: Any = real, **options: Any) -> Any:
            made.append(_real(**options))
            return made[-1]

        monkeypatch.setattr(sdk, name, opened)
    with ModelServer([Play()]) as server:
        for model in (by_messages(server.url), by_chat(server.url)):
            model.ask(PLAIN)
            model.ask(PLAIN)
    assert len({id(client) for client in made}) == 4
    assert all(client.is_closed() for client in made)
