"""An appliance for tests of drift commands: what its looks find is put into it."""

from __future__ import annotations

import dataclasses
import os
import pwd
from pathlib import Path

import pytest

from appliance import paths
from appliance.drift import collect
from appliance.drift.looks import observe
from appliance.drift.rules import environment_rules, layout_rules
from appliance.drift.series import evaluate
from appliance.history.store import History
from appliance.model.findings import DriftSeverity, Fact
from appliance.model.runs import RunState
from appliance.system import journal
from tests.unit.histories import FINGERPRINT, begin

ME = pwd.getpwuid(os.getuid()).pw_name
KERNEL = Fact("ENV-KERNEL", "kernel", "another kernel", "a -> b", DriftSeverity.NOTICE)


class Machine:
    """An appliance of which only is known what a test puts into it."""

    def __init__(self, root: Path) -> None:
        self.db = root / "history.db"
        self.folder = root / "run"
        self.folder.mkdir()
        self.state = self.folder / "state.json"
        self.state.touch()
        self.spool = root / "spool"
        self.spool.mkdir()
        self.wanted = root / "confirm-wanted"
        self.layout: list[Fact] = []
        self.performance: list[Fact] = []
        self.blind: tuple[tuple[str, str], ...] = ()
        self.notes: tuple[str, ...] = ()
        self.judged = 0
        self.told: list[dict[str, object]] = []

    def look(self) -> object:
        return Observation(self.blind, self.notes)

    def performance_facts(self, *_: object, **__: object) -> tuple[Fact, ...]:
        self.judged += 1
        return tuple(self.performance)

    def tell(self, name, message_id, line, *, priority, **fields):
        self.told.append({"line": line, "priority": priority, "id": message_id, **fields})

    def has_run(self) -> None:
        with History.open_writable(self.db) as history:
            epoch = history.ensure_epoch(FINGERPRINT).id
            run_id = begin(history)
            history.update_run(run_id, epoch_id=epoch)
            history.finish_run(run_id, RunState.COMPLETE)


@dataclasses.dataclass(frozen=True)
class Observation:
    blind: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    boot_id: str = "boot"
    surroundings: dict[str, str] = dataclasses.field(default_factory=lambda: {"kernel": "6"})


def set_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine in ``root``, in place of the one that the tests run on."""
    made = Machine(root)
    monkeypatch.setattr(paths, "STATE_FILE", made.state)
    monkeypatch.setattr(paths, "HISTORY_DB", made.db)
    monkeypatch.setattr(paths, "DRIFT_RUN_DIR", made.folder)
    monkeypatch.setattr(paths, "DRIFT_SPOOL_DIR", made.spool)
    monkeypatch.setattr(paths, "CONFIRM_WANTED", made.wanted)
    monkeypatch.setattr(collect.liveness, "boot_id", lambda *_: "boot")
    monkeypatch.setattr(observe, "look", made.look)
    monkeypatch.setattr(layout_rules, "judge", lambda _: tuple(made.layout))
    monkeypatch.setattr(environment_rules, "judge", lambda _, **__: ())
    monkeypatch.setattr(evaluate, "performance_facts", made.performance_facts)
    monkeypatch.setattr(journal, "message", made.tell)
    return made
