"""What is normal has one definition: a report says of a series what screens and drift say."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from appliance.drift.series import series_state, trends
from appliance.history import queries, series_slots
from appliance.history.store import History
from appliance.model.findings import SeriesKey
from appliance.model.runs import RunState
from appliance.report import sources
from appliance.report.page import BesideNormal
from tests.unit.histories import FINGERPRINT, RESULT, begin, select

pytestmark = pytest.mark.usefixtures("journalled")

_VALID = dataclasses.replace(RESULT, findings=(), member="", pass_index=1, provisioned=None)
_TARGET = "/mnt/scratch/.stripewright-bench"
_KEY = SeriesKey("smoke", _TARGET, RESULT.job, "read")
# Steady, then a tenth less: no longer normal, and in the middle of all earlier values.
_LEVELS = [400.0 + n % 3 for n in range(20)] + [360.0 + n % 3 for n in range(20)]


def run(history: History, iops: float, factor: float = 1.0) -> int:
    run_id = begin(history, "smoke", factor)
    history.update_run(run_id, epoch_id=history.ensure_epoch(FINGERPRINT).id)
    history.add_result(run_id, dataclasses.replace(_VALID, iops=iops), raw_report="x")
    history.finish_run(run_id, RunState.COMPLETE)
    return run_id


@pytest.fixture
def runs(db: Path) -> list[int]:
    with History.open_writable(db) as history:
        return [run(history, level) for level in _LEVELS]


def of_report(db: Path, run_id: int) -> BesideNormal:
    with queries.open_readonly(db) as reader:
        (row,) = sources.of_run(reader, run_id).rows
    assert row.baseline is not None
    return row.baseline


def test_report_screen_and_drift_agree(db: Path, runs: list[int]) -> None:
    with queries.open_readonly(db) as reader:
        (span,) = series_slots.spans(reader)
        (survey,) = series_state.survey(span, reader.approvals(), reader.confirmations())
        (stretch,) = trends.whole(reader, _KEY).stretches
    assert survey.normal is not None
    assert survey.normal == stretch.normal
    assert survey.standing, "drift takes the last runs for a change"
    said = of_report(db, runs[-1])
    assert said.normal == survey.normal
    assert said.position == "below", "and the report agrees"
    assert of_report(db, runs[15]).position == "within"


def test_what_was_approved_is_normal_in_the_report_too(db: Path, runs: list[int]) -> None:
    select(
        db,
        "INSERT INTO drift_approval (at, finding_id, subject, target, from_run, who, note)"
        " VALUES (1.0, 1, ?, ?, ?, 'x', 'y')",
        str(_KEY),
        _TARGET,
        runs[20],
    )
    assert of_report(db, runs[-1]).position == "within"


def test_of_other_times_and_another_suite_nothing_is_normal(db: Path, runs: list[int]) -> None:
    with History.open_writable(db) as history:
        scaled = run(history, 400.0, factor=0.1)
    assert (of_report(db, scaled).runs, of_report(db, scaled).position) == (0, "")
    select(db, "INSERT INTO suite (content_hash, name, jobs) VALUES ('other', 'smoke', '[]')")
    select(db, "UPDATE run SET suite_hash = 'other' WHERE id = ?", runs[0])
    assert of_report(db, runs[0]).runs == 0
    assert of_report(db, runs[-1]).runs == 39
