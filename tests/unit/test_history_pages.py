"""Runs in pages, and what the verdicts of each come to."""

from __future__ import annotations

import dataclasses

import pytest

from appliance.errors import OperatorError
from appliance.history import pages, queries
from appliance.history.store import History
from appliance.model.confirmations import CONFIRM_SUITE
from appliance.model.measurement import Finding, Severity
from appliance.model.runs import RunState
from tests.unit.histories import FINGERPRINT, RESULT, begin, report, select

pytestmark = pytest.mark.usefixtures("journalled")

_VALID = dataclasses.replace(RESULT, findings=(), member="", pass_index=1, provisioned=None)


def _with(*codes: str):
    severities = {"SHORT": Severity.BLOCK, "UNITS": Severity.BLOCK, "DEPTH": Severity.WARN}
    return dataclasses.replace(
        _VALID, findings=tuple(Finding(code, severities[code], "why") for code in codes)
    )


def _run(history, *results, suite="smoke", state=RunState.COMPLETE, epoch=None):
    run_id = begin(history, suite, 1.0)
    history.update_run(run_id, epoch_id=epoch)
    for result in results:
        history.add_result(run_id, result, raw_report="x")
    history.finish_run(run_id, state)
    return run_id


def _open(db):
    return queries.open_readonly(db)


def test_pages_follow_each_other_without_gap_or_repeat(db):
    with History.open_writable(db) as history:
        runs = [_run(history, _VALID) for _ in range(5)]
    with _open(db) as reader:
        every = pages.find(reader)
        first, second, last = (pages.page(reader, every, skip=skip, limit=2) for skip in (0, 2, 4))
        found = [one.run.id for page in (first, second, last) for one in page.runs]
    assert found == runs[::-1]
    assert (first.more, second.more, last.more) == (True, True, False)
    assert first.total == last.total == 5


def test_each_run_has_its_gravest_verdict(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        _run(history, _VALID, _VALID, epoch=epoch)
        _run(history, _VALID, _with("DEPTH"))
        # The graver counts, of two of a kind the more frequent.
        _run(history, _with("DEPTH"), _with("DEPTH"), _with("UNITS"), _with("SHORT", "UNITS"))
        _run(history, state=RunState.ABORTED)
    with _open(db) as reader:
        page = pages.page(reader, pages.find(reader))
    assert [(one.results, one.valid, one.code, one.severity) for one in page.runs] == [
        (0, 0, "", None),
        (4, 2, "UNITS", Severity.BLOCK),
        (2, 2, "DEPTH", Severity.WARN),
        (2, 2, "", None),
    ]
    assert page.stripes == {epoch: FINGERPRINT["stripe"]}


def test_the_last_run_of_each_suite_is_the_last_that_has_ended(db):
    with History.open_writable(db) as history:
        full = _run(history, _VALID, _with("DEPTH"), suite="full")
        _run(history, _VALID)
        smoke = _run(history, _with("SHORT"), state=RunState.ABORTED)
        begin(history, "smoke", 1.0)
        begin(history, "i3-stripe", 1.0)
    with _open(db) as reader:
        last = {one.run.suite: one for one in pages.last_of_each_suite(reader)}
    assert {name: one.run.id for name, one in last.items()} == {"full": full, "smoke": smoke}
    assert (last["full"].valid, last["full"].code) == (2, "DEPTH")
    assert (last["smoke"].results, last["smoke"].run.state) == (1, RunState.ABORTED)


def test_an_empty_history_has_an_empty_page(db):
    with History.open_writable(db) as history:
        history.add_import(file="a", sha256="0", machine_type="", judged=[report()])
    with _open(db) as reader:
        page = pages.page(reader, pages.find(reader))
    assert (page.runs, page.more, page.total) == ((), False, 0)


def test_the_run_before_is_complete_of_the_same_suite_and_has_results(db):
    with History.open_writable(db) as history:
        first = _run(history, _VALID)
        _run(history, _VALID, suite="full")
        _run(history)
        _run(history, _VALID, state=RunState.ABORTED)
        last = _run(history, _VALID)
    with _open(db) as reader:
        assert pages.run_before(reader, last) == first
        with pytest.raises(OperatorError, match=f"before run {first} there is no complete run"):
            pages.run_before(reader, first)


def test_complete_runs_are_counted_by_epoch(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        for suite in ("smoke", "full"):
            _run(history, _VALID, suite=suite, epoch=epoch)
        _run(history, epoch=epoch, state=RunState.FAILED)
        run_id = _run(history, epoch=epoch)
        _run(history, _VALID)
    select(db, "UPDATE run SET suite = ? WHERE id = ?", CONFIRM_SUITE, run_id)
    with _open(db) as reader:
        assert pages.runs_by_epoch(reader) == {epoch: 2}
