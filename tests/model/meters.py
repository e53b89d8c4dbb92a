"""A store's ledger, generous caps and a meter around a model, as the tests of this folder need."""

from __future__ import annotations

from typing import Any

import msgspec

from session_memory.model.budget import Caps
from session_memory.model.metered import Meter, Metered
from session_memory.model.port import Provider, Request
from session_memory.store.port import Store

NOW = 1_790_000_000_000
RICH = Caps(
    run_calls=1_000,
    run_tokens=10_000_000,
    day_tokens=10_000_000,
    run_usd=100.0,
    day_usd=100.0,
    run_ms=3_600_000,
)
REQUEST = Request("memory.extract", "system", "user", max_output_tokens=90)


def metered(model: Provider, store: Store, **caps: Any) -> Metered:
    """The model inside a meter whose clock stands still; `window` and `turn_tokens` are its own."""
    names = ("window", "turn_tokens", "timeout_s")
    own = {name: caps.pop(name) for name in names if name in caps}
    limits = msgspec.structs.replace(RICH, **caps)
    return Metered(model, Meter(limits, store.spend, lambda: NOW, "run", **own))
