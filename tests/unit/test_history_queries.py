"""What screens, reports and exports ask of many runs at once."""

from __future__ import annotations

import dataclasses
import time

import pytest

from appliance.client import machine_status
from appliance.errors import OperatorError
from appliance.history import queries
from appliance.history.store import History
from appliance.model.measurement import Finding, Severity
from appliance.model.runs import RunState
from tests.unit.histories import FINGERPRINT, RESULT, begin, select

pytestmark = pytest.mark.usefixtures("journalled")

_VALID = dataclasses.replace(RESULT, findings=(), member="", pass_index=1, provisioned=None)
_BLOCKED = dataclasses.replace(
    _VALID, findings=(Finding("SHORT", Severity.BLOCK, "too short"),), iops=1.0
)


def _run(history, *results, suite="smoke", state=RunState.COMPLETE, factor=1.0, epoch=None):
    run_id = begin(history, suite, factor)
    if epoch is not None:
        history.update_run(run_id, epoch_id=epoch)
    for result in results:
        history.add_result(run_id, result, raw_report="x")
    history.finish_run(run_id, state)
    return run_id


def _at(iops: float, **other: object):
    return dataclasses.replace(_VALID, iops=iops, **other)


def test_the_last_complete_runs_of_each_suite_of_an_epoch(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        smoke = [_run(history, epoch=epoch) for _ in range(4)]
        full = _run(history, epoch=epoch, suite="full")
        _run(history, epoch=epoch, state=RunState.FAILED)
        _run(history)
    with queries.open_readonly(db) as reader:
        found = {run.id for run in reader.runs_of_epoch(epoch, per_suite=2)}
        assert found == {*smoke[-2:], full}
        assert reader.epoch(epoch).fingerprint == FINGERPRINT
        for number in (9, 1 << 70):
            assert reader.runs_of_epoch(number, per_suite=2) == ()
            with pytest.raises(OperatorError, match="no epoch"):
                reader.epoch(number)


def test_runs_of_one_suite(db):
    with History.open_writable(db) as history:
        full = _run(history, suite="full")
        _run(history)
    with queries.open_readonly(db) as reader:
        assert [run.id for run in reader.runs(5, suite="full")] == [full]
        assert reader.runs(5, suite="no such") == ()


def test_summaries_are_the_results_without_counters_and_histograms(db):
    with History.open_writable(db) as history:
        ids = [_run(history, RESULT, _BLOCKED), _run(history, _VALID), _run(history)]
    with queries.open_readonly(db) as reader:
        found = reader.summaries(ids)
        full = reader.summaries(ids, histograms=True)
        for run_id in ids:
            results = reader.results(run_id)
            assert full[run_id] == tuple(dataclasses.replace(one, device_io=()) for one in results)
            assert found[run_id] == tuple(
                dataclasses.replace(one, device_io=(), bins={}) for one in results
            )


def test_a_result_knows_when_its_job_ended(db, monkeypatch):
    with History.open_writable(db) as history:
        run_id = begin(history)
        for moment in (1000.5, 2000.5):
            with monkeypatch.context() as clock:
                clock.setattr(time, "time", lambda moment=moment: moment)
                history.add_result(run_id, _VALID, raw_report="x")
    with queries.open_readonly(db) as reader:
        assert reader.ends(run_id) == (1000.5, 2000.5)


def test_runs_are_counted_by_suite_and_state_and_dead_ones_are_aborted(db):
    with History.open_writable(db) as history:
        for state in (RunState.COMPLETE, RunState.COMPLETE, RunState.ABORTED):
            last = _run(history, state=state)
        dead, living = begin(history), begin(history, "full")
    select(db, "UPDATE run SET pid_start_ticks = 1, seen_at = 9e9 WHERE id = ?", dead)
    with queries.open_readonly(db) as reader:
        found = {(one.suite, one.state): one for one in reader.run_counts()}
        ended_at = reader.run(last).ended_at
        began_at = reader.run(living).started_at
    assert {key: one.count for key, one in found.items()} == {
        ("smoke", RunState.COMPLETE): 2,
        ("smoke", RunState.ABORTED): 2,
        ("full", RunState.RUNNING): 1,
    }
    assert found["smoke", RunState.ABORTED].last_at == 9e9
    assert found["full", RunState.RUNNING].last_at == began_at
    assert found["smoke", RunState.COMPLETE].last_at <= (ended_at or 0)


def test_repeats_of_suspects_can_be_left_out_and_are_no_last_suite(db):
    with History.open_writable(db) as history:
        suite = _run(history, _VALID)
        for _ in range(6):
            repeat = _run(history, _VALID)
            select(db, "UPDATE run SET suite = 'confirm' WHERE id = ?", repeat)
        at_work = begin(history)
        select(db, "UPDATE run SET suite = 'confirm' WHERE id = ?", at_work)
        with queries.open_readonly(db) as reader:
            assert len(reader.runs(9)) == 8
            assert [run.id for run in reader.runs(9, repeats=False)] == [suite]
            assert [run.id for run in reader.runs(1, suite="confirm")] == [at_work]
        now = machine_status.read_status(db=db)
    assert now.last_run is not None
    assert (now.last_run.id, len(now.last_results)) == (suite, 1)
    # What is at work is told, whatever it is.
    assert now.running is not None
    assert now.running.id == at_work


def test_the_last_run_is_the_last_by_number_when_the_clock_was_wrong_once(db):
    with History.open_writable(db) as history:
        for _ in range(3):
            _run(history)
    for number, ended_at in ((1, 100.0), (2, 9e9), (3, 200.0)):
        select(db, "UPDATE run SET ended_at = ? WHERE id = ?", ended_at, number)
    with queries.open_readonly(db) as reader:
        assert [one.last_at for one in reader.run_counts()] == [200.0]


def test_the_latest_valid_result_of_each_series(db):
    with History.open_writable(db) as history:
        _run(history, _at(1.0), _at(2.0, member="nvme0n1"), _at(3.0, direction="write"))
        valid = _run(history, _at(4.0))
        _run(history, _BLOCKED)
        _run(history, _at(9.0), factor=0.5)
        _run(history, _at(8.0), state=RunState.ABORTED)
    with queries.open_readonly(db) as reader:
        found = reader.latest_results()
    assert [(run.id, result.direction, result.member, result.iops) for run, result in found] == [
        (valid, "read", "", 4.0),
        (1, "read", "nvme0n1", 2.0),
        (1, "write", "", 3.0),
    ]


def test_a_raw_report_of_two_directions_is_kept_once(db):
    with History.open_writable(db) as history:
        run_id = begin(history)
        for direction in ("read", "write"):
            history.add_result(run_id, _at(1.0, direction=direction), raw_report="both")
        history.add_result(run_id, _at(1.0), raw_report="another pass")
        history.add_result(run_id, _at(1.0, job="other"), raw_report="another pass")
    assert select(db, "SELECT count(*) FROM raw_report") == [(3,)]


def test_a_run_keeps_what_it_was_measured_on_and_under(db):
    from appliance.bench.suite import load_suite

    with History.open_writable(db) as history:
        run_id = history.begin_run(
            load_suite("smoke"),
            target="/dev/nvme9n1",
            device="nvme9n1",
            members=(),
            machine_type="",
            fio_version="",
            time_factor=1.0,
            target_kind="raw-read",
        )
        history.update_run(run_id, conditions={"write cache": "write through"})
        history.update_run(run_id, engine="psync")
    with queries.open_readonly(db) as reader:
        run = reader.run(run_id)
    assert run.target_kind == "raw-read"
    assert run.conditions == {"write cache": "write through"}


def test_runs_around_one_are_of_its_suite_target_and_epoch(db):
    with History.open_writable(db) as history:
        first = history.ensure_epoch(FINGERPRINT).id
        runs = [_run(history, epoch=first) for _ in range(4)]
        skipped = _run(history, state=RunState.SKIPPED)
        _run(history, suite="full", epoch=first)
        second = history.ensure_epoch(FINGERPRINT | {"kernel": "7"}).id
        later = _run(history, epoch=second)
        moved = _run(history, epoch=first)
        select(db, "UPDATE run SET target = '/elsewhere' WHERE id = ?", moved)
    with queries.open_readonly(db) as reader:

        def around(number: int, before: int = 9, after: int = 9) -> list[int]:
            run = reader.run(number)
            return [one.id for one in reader.runs_around(run, before=before, after=after)]

        assert around(runs[2]) == [runs[0], runs[1], runs[3], skipped]
        # of those before the nearest, of those after the latest
        assert around(runs[2], before=1, after=1) == [runs[1], skipped]
        assert around(later) == [skipped]
        # of a run that was skipped no epoch is known
        assert around(skipped) == []
