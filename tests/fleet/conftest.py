"""A history of one machine, whose stripe has four members."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from appliance.history.store import History
from appliance.model.measurement import DeviceIo, JobResult
from appliance.model.runs import Counters, RunState
from appliance.system import journal
from tests.unit.histories import FINGERPRINT, RESULT, begin, select

DAY_SECONDS = 86_400.0
# 2026-06-01 06:00 UTC.
BEGAN = 1_780_293_600.0
SERIALS = tuple(f"AWS{number}" for number in range(1, 5))
MEMBERS = tuple(f"nvme{number}n1" for number in range(1, 5))
NewHistory = Callable[..., Path]


def result(awaits_ms: Sequence[float] = (1.0, 1.0, 1.0, 1.0), **changes: object) -> JobResult:
    """A valid result of the stripe; 1,000 I/Os a member, of so many ms each."""
    io = tuple(
        DeviceIo.of(Counters(name, 1000, 4_096_000, int(1000 * ms), 0, 0, 0, 0, 1000))
        for name, ms in zip(MEMBERS, awaits_ms, strict=True)
    )
    valid: dict[str, object] = {
        "findings": (), "member": "", "pass_index": 1, "device_io": io, "job": "rand-read-4k",
    }  # fmt: skip
    return dataclasses.replace(RESULT, **(valid | changes))  # type: ignore[arg-type]


@pytest.fixture
def new_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NewHistory:
    """Makes a history of the machine ``host``: of each list of results a run, a day apart."""
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)

    def make(host: str, runs: Sequence[Sequence[JobResult]], *, began: float = BEGAN) -> Path:
        path = tmp_path / host / "history.db"
        path.parent.mkdir(exist_ok=True)
        with History.open_writable(path) as history:
            known = {**FINGERPRINT, "serials": ",".join(SERIALS)}
            epoch = history.ensure_epoch(known).id
            for results in runs:
                run = begin(history, time_factor=1.0)
                history.update_run(run, epoch_id=epoch)
                for one in results:
                    history.add_result(run, one, raw_report="{}")
                history.finish_run(run, RunState.COMPLETE)
        select(path, "UPDATE host SET name = ?, first_seen_at = ?", host, began)
        select(path, "UPDATE epoch SET opened_at = ?", began)
        select(path, "UPDATE run SET members = ?", str(list(MEMBERS)).replace("'", '"'))
        select(path, "UPDATE run SET started_at = ? + (id - 1) * ?", began, DAY_SECONDS)
        select(path, "UPDATE run SET ended_at = started_at + 160")
        return path

    return make
