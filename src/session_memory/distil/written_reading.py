"""A reading of a session's events as bytes, and how it is made of them again."""

from __future__ import annotations

import io
import pickle
from collections import deque

from session_memory.core.schema import CommandRun, Cure, ErrorSeen, Observation, RuleStatement
from session_memory.distil.attempts import Attempt, AttemptLog
from session_memory.distil.checkpoint import Reading
from session_memory.distil.checks import Check
from session_memory.distil.cures import CureLog
from session_memory.distil.digest import DigestBuilder
from session_memory.distil.main_request import MainRequest
from session_memory.distil.observe import Observer
from session_memory.distil.outcome import Mark
from session_memory.distil.plan_items import PlanItems
from session_memory.distil.plans import PlanLog
from session_memory.distil.rules import RuleLog
from session_memory.distil.runs import Call, Run, RunLog
from session_memory.distil.session_logs import SessionLogs
from session_memory.distil.settled import ClosedTurn, TurnWork
from session_memory.distil.turns import Ref, Turn
from session_memory.distil.work import CheckResult, Tally, WorkLog

_PARTS = (
    *(Attempt, AttemptLog, Call, Check, CheckResult, ClosedTurn, CommandRun, Cure, CureLog),
    *(DigestBuilder, ErrorSeen, MainRequest, Mark, Observation, Observer, PlanItems, PlanLog),
    *(Reading, Ref, RuleLog, RuleStatement, Run, RunLog, SessionLogs, Tally, Turn, TurnWork),
    *(WorkLog, deque),
)
"""All that a reading is made of, besides plain values."""
_BY_NAME = {(part.__module__, part.__qualname__): part for part in _PARTS}


def written(reading: Reading) -> bytes:
    """The reading, whole."""
    return pickle.dumps(reading, protocol=5)


def read_again(body: bytes) -> object:
    """What was written; raises an error where it has other parts than a reading."""
    return _Loader(io.BytesIO(body)).load()


class _Loader(pickle.Unpickler):
    """Makes nothing but the parts of a reading, whatever the bytes ask for."""

    def find_class(self, module_name: str, global_name: str) -> type:
        try:
            return _BY_NAME[module_name, global_name]
        except KeyError:
            raise pickle.UnpicklingError(f"a checkpoint has no {global_name}") from None
