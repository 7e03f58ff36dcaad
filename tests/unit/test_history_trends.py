"""One series over the whole history: by epoch, with what is normal, and the findings about it."""

from __future__ import annotations

import dataclasses

import pytest

from appliance.drift.series import trends
from appliance.history import queries
from appliance.history.store import History
from appliance.model.confirmations import CONFIRM_SUITE
from appliance.model.findings import DriftSeverity, DriftState, Fact, Kind, SeriesKey, Transition
from appliance.model.measurement import Finding, Severity
from appliance.model.runs import RunState
from tests.unit.histories import FINGERPRINT, RESULT, begin, select

pytestmark = pytest.mark.usefixtures("journalled")

_VALID = dataclasses.replace(RESULT, findings=(), member="", pass_index=1, provisioned=None)
_BLOCK = (Finding("SHORT", Severity.BLOCK, "too short"),)
_TARGET = "/mnt/scratch/.stripewright-bench"
_KEY = SeriesKey("smoke", _TARGET, RESULT.job, "read")


def _run(history, *results, epoch, suite="smoke", state=RunState.COMPLETE, factor=1.0):
    run_id = begin(history, suite, factor)
    history.update_run(run_id, epoch_id=epoch)
    for result in results:
        history.add_result(run_id, result, raw_report="x")
    history.finish_run(run_id, state)
    return run_id


def _at(iops: float, **other: object):
    return dataclasses.replace(_VALID, iops=iops, **other)


def _whole(db, key=_KEY):
    with queries.open_readonly(db) as reader:
        return trends.whole(reader, key)


def test_slots_of_each_epoch_are_those_that_drift_takes(db):
    with History.open_writable(db) as history:
        first = history.ensure_epoch(FINGERPRINT).id
        a = _run(history, _at(1.0), _at(50.0, job="other"), epoch=first)
        _run(history, _at(2.0), epoch=first, factor=0.1)
        _run(history, _at(3.0), epoch=first, state=RunState.ABORTED)
        # Of three passes the median of those that are valid; of one that is not, itself.
        b = _run(history, *(_at(v) for v in (4.0, 5.0, 9.0)), epoch=first)
        c = _run(history, _at(7.0, findings=_BLOCK), epoch=first)
        second = history.ensure_epoch({**FINGERPRINT, "kernel": "7"}).id
        d = _run(history, _at(8.0), _at(60.0, member="nvme0n1"), epoch=second)
    found = _whole(db)
    assert [one.epoch.id for one in found.stretches] == [first, second]
    assert [[slot[0::2] + slot[3:] for slot in one.slots] for one in found.stretches] == [
        [(a, 1.0, True), (b, 5.0, True), (c, 7.0, False)],
        [(d, 8.0, True)],
    ]
    of_member = _whole(db, dataclasses.replace(_KEY, member="nvme0n1"))
    assert [slot.value for one in of_member.stretches for slot in one.slots] == [60.0]


def test_runs_of_a_suite_before_it_was_edited_are_left_out_and_counted(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        before = _run(history, _at(1.0), epoch=epoch)
        _run(history, _at(2.0), epoch=epoch)
    select(db, "INSERT INTO suite (content_hash, name, jobs) VALUES ('other', 'smoke', '[]')")
    select(db, "UPDATE run SET suite_hash = 'other' WHERE id = ?", before)
    found = _whole(db)
    assert [slot.value for slot in found.stretches[0].slots] == [2.0]
    assert found.left_out == 1


def test_every_epoch_has_its_own_normal(db):
    with History.open_writable(db) as history:
        for kernel, level in (("6", 400.0), ("7", 800.0), ("8", 100.0)):
            epoch = history.ensure_epoch({**FINGERPRINT, "kernel": kernel}).id
            for number in range(3 if kernel == "8" else 20):
                _run(history, _at(level + number % 3), epoch=epoch)
    first, second, third = _whole(db).stretches
    assert first.normal.low < 400 < first.normal.high < 500
    assert second.normal.low < 800 < second.normal.high
    assert first.normal_from == first.slots[0].started_at
    assert third.normal is None


def test_an_approved_change_begins_a_new_normal(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        runs = [
            _run(history, _at((400.0 if n < 20 else 300.0) + n % 3), epoch=epoch) for n in range(40)
        ]
    assert _whole(db).stretches[0].normal.median == pytest.approx(401, abs=1)
    select(
        db,
        "INSERT INTO drift_approval (at, finding_id, subject, target, from_run, who, note)"
        " VALUES (1.0, 1, ?, ?, ?, 'x', 'y')",
        str(_KEY),
        _TARGET,
        runs[20],
    )
    (stretch,) = _whole(db).stretches
    assert stretch.normal.median == pytest.approx(301, abs=1)
    assert stretch.normal_from == stretch.slots[20].started_at


def test_series_are_listed_without_repeats_of_suspects(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        _run(history, _at(1.0), _at(2.0, member="nvme0n1"), epoch=epoch)
        _run(history, _at(1.0), epoch=epoch, suite="full")
        _run(history, _at(1.0, job="scaled"), epoch=epoch, factor=0.5)
        repeat = _run(history, _at(1.0, job="control"), epoch=epoch)
    select(db, "UPDATE run SET suite = ? WHERE id = ?", CONFIRM_SUITE, repeat)
    with queries.open_readonly(db) as reader:
        found = trends.keys(reader)
    assert found == (
        dataclasses.replace(_KEY, suite="full"),
        _KEY,
        dataclasses.replace(_KEY, member="nvme0n1"),
    )


def test_a_finding_belongs_to_the_series_of_its_evidence(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        _run(history, _at(1.0), epoch=epoch)
        of_series = {"suite": "smoke", "target": _TARGET, "job": RESULT.job, "direction": "read"}
        for code, evidence in (
            ("PERF-SLOWER", of_series),
            ("PERF-MEMBER", of_series),
            ("OTHER-JOB", {**of_series, "job": "other"}),
            ("OF-MEMBER", {**of_series, "member_name": "nvme0n1"}),
            ("NO-SERIES", {}),
        ):
            _finding(history, code, evidence)
    assert [one.fact.code for one in _whole(db).findings] == ["PERF-SLOWER", "PERF-MEMBER"]
    of_member = _whole(db, dataclasses.replace(_KEY, member="nvme0n1"))
    assert [one.fact.code for one in of_member.findings] == ["OF-MEMBER"]


def _finding(history, code, evidence):
    fact = Fact(code, "x", "x", code, DriftSeverity.WARNING, evidence=evidence)
    history.drift.step(
        lambda _: [Transition(Kind.OPENED, None, fact, DriftState.OPEN)],
        now=1.0,
        boot_id="b",
    )
