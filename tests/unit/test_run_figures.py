"""The list of runs: what matters first of each, words that find it, and its order."""

import dataclasses

import pytest

from appliance import text
from appliance.drift.series import run_figures, trends
from appliance.figures.metric import Metric
from appliance.history import pages, queries
from appliance.history.pages import Order
from appliance.history.store import History
from appliance.model.measurement import Finding, Severity
from appliance.model.runs import RunState
from appliance.system import journal
from tests.unit.histories import FINGERPRINT, RESULT, begin

READ = dataclasses.replace(
    RESULT, findings=(), member="", job="rand-read-4k", rw="randread", block_size_bytes=4096
)
WRITE = dataclasses.replace(
    READ, job="seq-write-1m", rw="write", direction="write", block_size_bytes=1 << 20
)
RUNS = 20


@pytest.fixture
def history(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    with History.open_writable(tmp_path / "history.db") as history:
        history.epoch = history.ensure_epoch(FINGERPRINT).id
        for number in range(RUNS):
            add(history, read=1000.0 + number % 3, write=500.0 + number % 3)
        yield history


def add(history, *, read, write, findings=(), state=RunState.COMPLETE, reason=""):
    run_id = begin(history, "smoke", 1.0)
    history.update_run(run_id, epoch_id=history.epoch)
    percentiles = {"99.000000": int(1e9 / read), "99.900000": int(2e9 / read)}
    made = dataclasses.replace(
        READ, iops=read, bandwidth_bytes=read * 4096, percentiles_ns=percentiles, findings=findings
    )
    history.add_result(run_id, made, raw_report="x")
    history.add_result(run_id, dataclasses.replace(WRITE, iops=write), raw_report="x")
    history.finish_run(run_id, state, reason)
    return run_id


@pytest.fixture
def reader(tmp_path, history):
    with queries.open_readonly(tmp_path / "history.db") as reader:
        yield reader


def test_the_headline_is_the_random_read_and_the_change_that_of_the_worst(history, reader):
    usual, slow = add(history, read=1001.0, write=501.0), add(history, read=1001.0, write=300.0)
    found = run_figures.of_runs(reader, [usual, slow])
    assert found[usual].workload == text.workload(
        "randread", block_size_bytes=4096, iodepth=READ.iodepth, jobs=READ.jobs
    )
    assert (found[usual].iops, found[usual].p99_ns) == (1001.0, int(1e9 / 1001))
    assert not found[usual].is_large
    assert found[usual].recent[-2:] == (1000.0 + (RUNS - 1) % 3, 1001.0)
    assert found[usual].change.side == 0
    assert found[slow].iops == 1001.0
    assert found[slow].change.key.job == "seq-write-1m"
    assert found[slow].change.side == -1
    assert found[slow].change.share == pytest.approx(300 / 501 - 1, abs=0.01)


def test_what_is_below_normal_comes_before_what_is_far_above_it(history, reader):
    run = add(history, read=5000.0, write=450.0)
    first, second = run_figures.of_runs(reader, [run])[run].changes
    assert (first.key.job, first.side) == ("seq-write-1m", -1)
    assert (second.key.job, second.side) == ("rand-read-4k", 1)


def test_without_a_baseline_there_is_no_change(history, reader):
    history.epoch = history.ensure_epoch({**FINGERPRINT, "serials": "other"}).id
    run = add(history, read=1.0, write=1.0)
    assert run_figures.of_runs(reader, [run])[run].change is None


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (("smoke",), list(range(RUNS + 2, 0, -1))),
        (("SKIPPED", "busy"), [RUNS + 1]),
        (("coverage",), [RUNS + 2]),
        ((FINGERPRINT["stripe"].split()[0], "skipped"), [RUNS + 1]),
        (("1970-01-01", "no such word"), []),
        (("%",), []),
    ],
)
def test_words_are_found_in_all_of_a_run_and_in_its_verdicts(history, reader, words, runs):
    add(history, read=1.0, write=1.0, state=RunState.SKIPPED, reason="the disks were busy")
    add(history, read=1.0, write=1.0, findings=(Finding("COVERAGE", Severity.BLOCK, "why"),))
    assert pages.find(reader, words) == runs


@pytest.mark.parametrize(
    ("order", "descending", "first"),
    [
        (Order.RUN, False, 1),
        (Order.FIGURE, True, RUNS + 1),
        (Order.FIGURE, False, RUNS + 2),
        (Order.P99, True, RUNS + 2),
        (Order.CHANGE, False, RUNS + 2),
        (Order.CHANGE, True, RUNS + 1),
        (Order.VERDICT, True, RUNS + 3),
        (Order.TARGET, True, RUNS + 3),
    ],
)
def test_every_order_is_one_of_the_whole_history(history, reader, order, descending, first):
    add(history, read=2000.0, write=501.0)
    add(history, read=600.0, write=501.0)
    history.finish_run(begin(history, "smoke", 1.0), RunState.FAILED)
    page = run_figures.page(reader, (), order, descending=descending, limit=1)
    assert [one.run.id for one in page.runs] == [first]
    assert (page.found, page.more) == (RUNS + 3, True)
    rest = run_figures.page(reader, (), order, descending=descending, skip=1, limit=100)
    assert len(rest.runs) == RUNS + 2
    assert first not in {one.run.id for one in rest.runs}


def test_what_is_known_of_an_epoch_that_is_over_is_not_judged_again(history, reader):
    first = history.epoch
    history.epoch = history.ensure_epoch({**FINGERPRINT, "serials": "other"}).id
    add(history, read=1.0, write=1.0)
    known = {}
    before = run_figures.of_runs(reader, range(1, RUNS + 2), known)
    assert [place[0] for place in known] == [first]
    known[next(iter(known))] = {}, {}
    after = run_figures.of_runs(reader, [RUNS], known)
    assert before[RUNS].change is not None
    assert after[RUNS].change is None


def test_another_history_in_the_place_of_the_first_is_judged_by_itself(history, reader, tmp_path):
    """Also one that was copied over the file: its epochs have the same numbers."""
    known = {}
    with History.open_writable(tmp_path / "other.db") as other:
        for one, factor in ((history, 1), (other, 5)):
            one.epoch = one.ensure_epoch(FINGERPRINT).id
            if one is other:
                for number in range(RUNS):
                    add(one, read=factor * (1000.0 + number % 3), write=500.0)
            one.epoch = one.ensure_epoch({**FINGERPRINT, "serials": "other"}).id
            add(one, read=1.0, write=1.0)
        run_figures.page(reader, (), Order.CHANGE, known=known)
        with queries.open_readonly(tmp_path / "other.db") as second:
            found = run_figures.of_runs(second, [RUNS], known)
            assert found == run_figures.of_runs(second, [RUNS])
    assert found[RUNS].change.side == 0


def test_sorting_again_judges_only_what_is_new(history, reader, monkeypatch):
    history.epoch = history.ensure_epoch({**FINGERPRINT, "serials": "other"}).id
    add(history, read=1.0, write=1.0)
    known = {}

    def order():
        found = run_figures.page(reader, (), Order.CHANGE, known=known)
        return [one.run.id for one in found.runs]

    before = order()
    judged = []
    of_epoch = run_figures._of_epoch
    monkeypatch.setattr(run_figures, "_of_epoch", lambda *of: judged.extend(of[2]) or of_epoch(*of))
    assert order() == before
    assert judged == [RUNS + 1]  # of the epoch that goes on
    add(history, read=1.0, write=1.0)
    assert sorted(order()) == [*sorted(before), RUNS + 2]


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (Metric.IOPS, 1000.0),
        (Metric.BANDWIDTH, 4096e3),
        (Metric.MEAN, READ.latency_mean_ns),
        (Metric.P99, 1e6),
        (Metric.P999, 2e6),
    ],
)
def test_a_trend_is_of_any_figure_and_has_its_own_normal(reader, metric, value):
    (key,) = [one for one in trends.keys(reader) if one.job == "rand-read-4k"]
    (stretch,) = trends.whole(reader, key, metric).stretches
    assert stretch.slots[0].value == value
    assert stretch.normal.low <= value <= stretch.normal.high
