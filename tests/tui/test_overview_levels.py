"""What the overview asks of a real history: the level that drift takes for normal, and runs."""

from dataclasses import replace

import pytest

from appliance.errors import OperatorError
from appliance.history.store import History
from appliance.model.runs import RunState
from tests.unit.histories import FINGERPRINT, RESULT, begin
from tui.sources.overview import Overview

VALID = replace(RESULT, findings=(), member="", pass_index=1)


def fill(db, values, *, state=RunState.COMPLETE, fingerprint=FINGERPRINT):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(fingerprint)
        for iops in values:
            run = begin(history, time_factor=1.0)
            history.update_run(run, epoch_id=epoch.id)
            history.add_result(run, replace(VALID, iops=iops), raw_report="{}")
            history.finish_run(run, state)


def test_the_level_is_the_median_of_what_drift_takes_for_normal(tmp_path):
    db = tmp_path / "history.db"
    fill(db, [1000.0 + number % 5 for number in range(14)] + [900.0])
    found = Overview(db).lookback()
    level = found.levels["rand-read-4k", "read"]
    assert level.iops == pytest.approx(1002, abs=2)
    assert level.provisional
    assert [one.run.id for one in found.runs][:2] == [15, 14]


def test_with_few_results_there_is_no_level(tmp_path):
    db = tmp_path / "history.db"
    fill(db, [1000.0] * 5)
    assert Overview(db).lookback().levels == {}


def test_another_epoch_has_no_level_yet(tmp_path):
    db = tmp_path / "history.db"
    fill(db, [1000.0 + number % 5 for number in range(14)])
    fill(db, [2000.0], fingerprint={**FINGERPRINT, "serials": "AWS8,AWS9"})
    assert Overview(db).lookback().levels == {}


def test_what_is_not_valid_and_what_was_scaled_is_no_level(tmp_path):
    db = tmp_path / "history.db"
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT)
        for number in range(20):
            run = begin(history, time_factor=0.1 if number % 2 else 1.0)
            history.update_run(run, epoch_id=epoch.id)
            findings = () if number % 2 else RESULT.findings
            history.add_result(run, replace(VALID, findings=findings), raw_report="{}")
            history.finish_run(run, RunState.COMPLETE)
    assert Overview(db).lookback().levels == {}


def test_a_history_that_is_not_there_is_told(tmp_path):
    with pytest.raises(OperatorError):
        Overview(tmp_path / "none.db").lookback()
