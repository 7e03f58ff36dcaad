"""What is thinned out, when, and never by a wrong clock."""

from __future__ import annotations

import random
import time

import pytest

from appliance.errors import OperatorError
from appliance.history import queries, retention
from appliance.history.retention import NEIGHBOURS, due
from appliance.history.store import History
from appliance.history.writing import Writer
from appliance.model.runs import RunState, Sample
from tests.unit.histories import RESULT, begin, select

pytestmark = pytest.mark.usefixtures("journalled")

_DAY = 86_400.0
_SLOT = _DAY / 4
_YEARS = 10 * 365 * _DAY
_NOW = 1.8e9
_KEEP = 14 * _DAY


def _starts(count: int, until: float = _NOW) -> list[tuple[int, float]]:
    """Runs every six hours, the last one at ``until``."""
    return [(n + 1, until - (count - 1 - n) * _SLOT) for n in range(count)]


def test_what_is_older_than_its_time_is_due_oldest_first():
    starts = _starts(100)
    found = due(starts, now=_NOW, keep_seconds=_KEEP)
    # The latest eight do not count as a present: two days later than by the clock alone.
    old = [run for run, at in starts if at < _NOW - NEIGHBOURS * _SLOT - _KEEP]
    assert found == old
    assert 30 < len(old) < 40


def test_a_few_runs_are_never_due_however_old_they_look():
    starts = _starts(2 * NEIGHBOURS)
    assert due(starts, now=_NOW + _YEARS, keep_seconds=_KEEP) == []
    assert due([], now=_NOW, keep_seconds=_KEEP) == []


@pytest.mark.parametrize("wrong", range(1, NEIGHBOURS + 1))
@pytest.mark.parametrize("jump", [_YEARS, -_YEARS, -3600.0])
def test_a_wrong_clock_makes_nothing_due(wrong, jump):
    """The clock jumps for some runs, is put right, and goes on: after every run of it."""
    right = _starts(40)
    for then in range(wrong + 1):
        starts = right + [(41 + n, _NOW + jump + n * _SLOT) for n in range(then)]
        assert due(starts, now=starts[-1][1], keep_seconds=_KEEP) == []
    for later in range(1, 30):
        after = starts + [(60 + n, _NOW + n * _SLOT) for n in range(1, later + 1)]
        found = due(after, now=after[-1][1], keep_seconds=_KEEP)
        # What is really old by then may go; what was measured under the wrong clock stays.
        assert all(run <= later + 1 for run in found), (later, found)


def test_a_clock_that_stays_wrong_is_believed_in_the_end():
    starts = _starts(40) + [(41 + n, _NOW + _YEARS + n * _SLOT) for n in range(60)]
    assert len(due(starts, now=starts[-1][1], keep_seconds=_KEEP)) >= 30


def test_what_is_due_stays_due_under_any_few_outliers():
    chance = random.Random(4)  # noqa: S311
    for _ in range(200):
        starts = _starts(120)
        wrong = {chance.randrange(20, 120) for _ in range(NEIGHBOURS)}
        bent = [
            (run, at + chance.choice((-_YEARS, _YEARS)) if run in wrong else at)
            for run, at in starts
        ]
        found = due(bent, now=_NOW, keep_seconds=_KEEP)
        newest = max(found, default=0)
        assert newest <= 120 - 14 * 4 + NEIGHBOURS, found


def _past_runs(history: History, count: int, *, now: float) -> list[int]:
    """Runs every six hours until ``now``, each with samples and a raw report of its time."""
    made = []
    for run_id, at in _starts(count, until=now):
        assert begin(history) == run_id
        history.add_samples(
            run_id,
            [
                Sample(int((at + n) * 1e9), device, n, 2 * n, 10.0, 20.0, 0.5, 0.25)
                for n in range(25)
                for device in ("md0", "nvme0n1")
            ],
        )
        history.add_result(run_id, RESULT, raw_report=f"report {run_id}")
        made.append(run_id)
    for run_id, at in _starts(count, until=now):
        select(history.path, "UPDATE run SET started_at = ? WHERE id = ?", at, run_id)
    return made


def test_old_samples_become_means_old_reports_go_and_nothing_else_does(db):
    now = time.time() // 10 * 10
    with History.open_writable(db) as history:
        ids = _past_runs(history, 75, now=now)
        with queries.open_readonly(db) as reader:
            before = reader.series(1), reader.series(ids[-1])
            results = reader.results(1)
        writer = history._writer
        retention.thin_out(writer, now=now)
        old = due(_starts(75, until=now), now=now, keep_seconds=_KEEP)
        assert len(old) == 75 - 14 * 4 - NEIGHBOURS - 1
        kept = [row[0] for row in select(db, "SELECT DISTINCT run_id FROM sample ORDER BY 1")]
        assert kept == ids[len(old) :]
        assert select(db, "SELECT count(*) FROM raw_report") == [(75,)], "90 days are not over"
        retention.thin_out(writer, now=now)
        assert select(db, "SELECT count(*) FROM sample_mean") == [(len(old),)]
    with queries.open_readonly(db) as reader:
        means = reader.series(1)
        assert reader.series(ids[-1]) == before[1]
        assert reader.results(1) == results
    assert {mean.seconds for mean in means} <= {10, 5, 9, 1, 4, 6}
    for device in ("md0", "nvme0n1"):
        mine = [mean for mean in means if mean.device == device]
        assert sum(mean.seconds for mean in mine) == 25
        total = sum(mean.read_iops * mean.seconds for mean in mine)
        assert total == pytest.approx(sum(p.read_iops for p in before[0] if p.device == device))
        assert all(mean.at % 10 == 0 for mean in mine)
        assert {mean.await_ms for mean in mine} == {0.5}


def test_reports_go_after_90_days_some_runs_at_a_time(db, monkeypatch):
    monkeypatch.setattr(retention, "KEEP_REPORTS_SECONDS", 2 * _DAY)
    monkeypatch.setattr(retention, "_RUNS_AT_ONCE", 3)
    now = time.time()
    with History.open_writable(db) as history:
        _past_runs(history, 25, now=now)
        counts = []
        for _ in range(5):
            retention.thin_out(history._writer, now=now)
            counts += select(db, "SELECT count(*), min(run_id) FROM raw_report")
    assert counts == [(22, 4), (19, 7), (17, 9), (17, 9), (17, 9)]
    assert select(db, "SELECT count(*) FROM result") == [(25,)]


def test_it_is_done_when_a_run_ends_in_a_transaction_a_run(db, monkeypatch):
    transactions = []
    real = Writer.transaction

    def counted(self: Writer) -> object:
        transactions.append(self)
        return real(self)

    with History.open_writable(db) as history:
        ids = _past_runs(history, 75, now=time.time())
        monkeypatch.setattr(Writer, "transaction", counted)
        history.finish_run(ids[-1], RunState.COMPLETE)
        assert len(transactions) == 1 + (75 - 14 * 4 - NEIGHBOURS - 1)
    assert select(db, "SELECT count(DISTINCT run_id) FROM sample") == [(65,)]


def test_a_sample_that_is_no_number_is_in_no_mean(db):
    now = time.time()
    with History.open_writable(db) as history:
        _past_runs(history, 75, now=now)
        select(db, "UPDATE sample SET await_ms = NULL WHERE run_id = 1 AND id % 2")
        retention.thin_out(history._writer, now=now)
    with queries.open_readonly(db) as reader:
        assert sum(mean.seconds for mean in reader.series(1)) == 25
        assert sum(mean.seconds for mean in reader.series(2)) == 50


def test_a_failure_of_it_does_not_undo_the_end_of_the_run(db, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OperatorError("database or disk is full", "make room")

    monkeypatch.setattr(retention, "thin_out", full)
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.finish_run(run_id, RunState.COMPLETE)
    assert select(db, "SELECT state FROM run") == [("complete",)]


def test_a_clock_ten_years_ahead_at_the_end_of_a_run_deletes_nothing(db, monkeypatch):
    with History.open_writable(db) as history:
        ids = _past_runs(history, 50, now=time.time())
        before = select(db, "SELECT count(*) FROM sample")
        ahead = time.time() + _YEARS
        monkeypatch.setattr(time, "time", lambda: ahead)
        run_id = begin(history)
        history.finish_run(run_id, RunState.COMPLETE)
        monkeypatch.undo()
        back = begin(history)
        history.finish_run(back, RunState.COMPLETE)
    assert select(db, "SELECT count(*) FROM sample") == before
    assert select(db, "SELECT count(*) FROM raw_report") == [(50,)]
    with queries.open_readonly(db) as reader:
        assert [run.id for run in reader.runs(3)] == [back, run_id, ids[-1]], "by number, not time"
