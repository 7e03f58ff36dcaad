"""What the Results screen asks of a real history file."""

from __future__ import annotations

import dataclasses

import pytest

from appliance.errors import OperatorError
from appliance.figures.metric import Metric
from appliance.history.pages import Order
from appliance.history.store import History
from appliance.model.findings import SeriesKey
from appliance.model.runs import RunState
from appliance.system import journal
from tests.tui import fake_results
from tests.unit.histories import FINGERPRINT, RESULT, begin, report
from tui import marks
from tui.sources.results import Asked, Results
from tui.widgets.results_trend import drawing

TARGET = "/mnt/scratch/.stripewright-bench"


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two epochs of a run each, and an import."""
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    with History.open_writable(tmp_path / "history.db") as history:
        for members in (2, 4):
            stripe = f"md-raid0 chunk=262144 members={members}"
            epoch = history.ensure_epoch({**FINGERPRINT, "stripe": stripe}).id
            run_id = begin(history, "smoke", 1.0)
            history.update_run(run_id, epoch_id=epoch)
            found = dataclasses.replace(RESULT, findings=(), member="", iops=1e5 * members)
            history.add_result(run_id, found, raw_report="x")
            history.finish_run(run_id, RunState.COMPLETE)
        history.add_import(file="d.txt", sha256="0", machine_type="i3", judged=[report()])
    return Results(tmp_path / "history.db")


def test_every_question_has_its_answer(results, tmp_path):
    assert [one.run.id for one in results.page(Asked(), 0, 9).runs] == [2, 1]
    assert [one.run.id for one in results.page(Asked(), 1, 9).runs] == [1]
    by_figure = Asked((), Order.FIGURE, descending=False)
    assert [one.run.id for one in results.page(by_figure, 0, 9).runs] == [1, 2]
    assert results.figures([1, 2])[2].iops == 4e5
    assert [one.file for one in results.imports()] == ["d.txt"]
    detail = results.run(2)
    assert detail.layout == "md-raid0 of 4, chunk 256 KiB"
    assert detail.results[0].bins
    assert results.imported(1)[0].iops == 824_600.0
    assert detail.figures.iops == 4e5
    ((key, (workload, stretch)),) = results.series(Metric.IOPS).items()
    assert key == SeriesKey("smoke", TARGET, RESULT.job, "read")
    assert (workload, stretch.epoch.id) == ("randread 4 KiB QD 32 × 16", 2)
    assert [len(one.slots) for one in results.trend(key, Metric.P99).stretches] == [1, 1]
    assert [(one.epoch.id, one.runs) for one in results.epochs()] == [(2, 1), (1, 1)]
    output = tmp_path / "run.md"
    assert results.export("2", output).startswith(str(output))
    assert output.exists()


@pytest.mark.parametrize(
    ("a", "b", "keys"),
    [("", "2", ("1", "2")), ("epoch:1", "epoch:2", None), ("import:1", "2", None)],
)
def test_two_sides_are_compared(results, a, b, keys):
    found = results.compare(a, b, Metric.IOPS)
    assert (found.a_key, found.b_key) == (keys or (a, b))
    if a != "import:1":
        assert found.worded.rows[0].ratio == "2.00"
    assert found.a.what.startswith((a or "run 1").replace(":", " "))


def test_what_is_not_there_is_an_error_in_words(results, tmp_path):
    for ask in (
        lambda: results.run(9),
        lambda: results.imported(9),
        lambda: results.compare("", "1", Metric.IOPS),
        lambda: Results(tmp_path / "none.db").page(Asked(), 0, 9),
    ):
        with pytest.raises(OperatorError):
            ask()


def test_a_run_that_a_wrong_clock_dated_far_ahead_does_not_empty_the_trend():
    whole = fake_results.trend()
    last = whole.stretches[-1]
    now = last.slots[-1].started_at
    odd = last.slots[-1]._replace(run_id=999, started_at=1e18)
    stretches = (*whole.stretches[:-1], dataclasses.replace(last, slots=(*last.slots, odd)))
    as_it_is = drawing(whole, Metric.IOPS, 30, marks.UNICODE, now=now)
    with_odd = drawing(
        dataclasses.replace(whole, stretches=stretches), Metric.IOPS, 30, marks.UNICODE, now=now
    )
    assert as_it_is.shown > 10
    assert with_odd.shown == as_it_is.shown
    assert with_odd.chart.series == as_it_is.chart.series
