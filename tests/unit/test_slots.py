"""The series of a history: which runs are in them, and what is read of each."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.bench.suite import load_suite
from appliance.drift import codes, lifecycle
from appliance.drift.series import evaluate
from appliance.history import queries, series_slots
from appliance.history.store import History
from appliance.model.confirmations import CONFIRM_SUITE
from appliance.model.findings import Area, SeriesKey
from appliance.model.measurement import Finding, JobResult, Severity
from appliance.model.runs import RunState, Suite
from tests.unit.histories import FINGERPRINT, RESULT, select

TARGET = "/mnt/scratch/.stripewright-bench"
KEY = SeriesKey("smoke", TARGET, "rand-read-4k", "read")
STRIPE = dataclasses.replace(RESULT, member="", pass_index=1, findings=())
BLOCKED = (Finding("COVERAGE", Severity.BLOCK, "71 %"),)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def history(db: Path) -> Iterator[History]:
    with History.open_writable(db) as opened:
        # Nothing here is to survive a power cut, and dozens of runs are written.
        opened._writer._connection.execute("PRAGMA synchronous = OFF")
        yield opened


def add(
    history: History,
    *results: JobResult,
    epoch: int | None = None,
    state: RunState = RunState.COMPLETE,
    suite: Suite | None = None,
    time_factor: float = 1.0,
    target: str = TARGET,
    reason: str = "",
) -> int:
    run_id = history.begin_run(
        suite or load_suite("smoke"),
        target=target,
        device="md0",
        members=("nvme0n1", "nvme1n1"),
        machine_type="i3.4xlarge",
        fio_version="fio-3.39",
        time_factor=time_factor,
    )
    if epoch is not None:
        history.update_run(run_id, epoch_id=epoch, conditions={"scheduler": "none"})
    for result in results:
        history.add_result(run_id, result, raw_report="{}")
    history.finish_run(run_id, state, reason)
    return run_id


def epoch_of(history: History, subject: str = queries.APPLIANCE, **changed: str) -> int:
    return history.ensure_epoch({**FINGERPRINT, **changed}, subject=subject).id


def spans(db: Path):
    with queries.open_readonly(db) as reader:
        return series_slots.spans(reader)


def test_one_slot_a_run_oldest_first(db, history):
    epoch = epoch_of(history)
    runs = [
        add(history, dataclasses.replace(STRIPE, iops=iops), epoch=epoch) for iops in (3.0, 1.0)
    ]
    (span,) = spans(db)
    assert span.epoch_id == epoch
    assert span.fingerprint["serials"] == "AWS1,AWS2"
    (slots,) = span.series.values()
    assert [(slot.run_id, slot.value, slot.valid) for slot in slots] == [
        (runs[0], 3.0, True),
        (runs[1], 1.0, True),
    ]
    assert abs(slots[0].started_at - time.time()) < 60
    assert str(KEY) in {str(key) for key in span.series}


def test_what_is_no_part_of_a_series(db, history):
    epoch = epoch_of(history)
    good = add(history, STRIPE, epoch=epoch)
    add(history, STRIPE, epoch=epoch, time_factor=0.5)
    add(history, STRIPE, epoch=epoch, state=RunState.ABORTED)
    add(history, STRIPE, epoch=epoch, state=RunState.FAILED)
    add(
        history, STRIPE, epoch=epoch, suite=dataclasses.replace(load_suite("smoke"), name="confirm")
    )
    add(history, STRIPE, epoch=epoch_of(history, "directory /tmp/x"), target="/tmp/x")
    (span,) = spans(db)
    assert {key: [slot.run_id for slot in slots] for key, slots in span.series.items()} == {
        KEY: [good]
    }


def test_another_epoch_begins_anew(db, history):
    add(history, STRIPE, epoch=epoch_of(history))
    later = epoch_of(history, kernel="6.12.2")
    (span,) = spans(db)
    assert (span.epoch_id, span.series) == (later, {})
    run = add(history, STRIPE, epoch=later)
    assert [slot.run_id for slot in spans(db)[0].series[KEY]] == [run]


def test_a_suite_that_was_edited_begins_anew(db, history):
    epoch = epoch_of(history)
    own = dataclasses.replace(load_suite("smoke"), name="own", content_hash="before")
    add(history, STRIPE, epoch=epoch, suite=own)
    run = add(history, STRIPE, epoch=epoch, suite=dataclasses.replace(own, content_hash="since"))
    key = dataclasses.replace(KEY, suite="own")
    assert [slot.run_id for slot in spans(db)[0].series[key]] == [run]


def test_without_an_appliance_each_subject_has_its_series(db, history):
    for subject, target in (("directory /a", "/a"), ("directory /b", "/b")):
        epoch_of(history, subject)
        add(history, STRIPE, epoch=epoch_of(history, subject), target=target)
    found = spans(db)
    assert [key.target for span in found for key in span.series] == ["/a", "/b"]


def test_passes_are_one_slot_and_members_their_own(db, history):
    epoch = epoch_of(history)
    values = ((10.0, ()), (50.0, ()), (12.0, ()), (1.0, BLOCKED))
    passes = [
        dataclasses.replace(STRIPE, iops=iops, pass_index=index, findings=findings)
        for index, (iops, findings) in enumerate(values, 1)
    ]
    alone = dataclasses.replace(STRIPE, iops=7.0, member="nvme1n1")
    add(history, *passes, alone, epoch=epoch)
    series = spans(db)[0].series
    assert [(slot.value, slot.valid) for slot in series[KEY]] == [(12.0, True)]
    on_member = dataclasses.replace(KEY, member="nvme1n1")
    assert [slot.value for slot in series[on_member]] == [7.0]


@pytest.mark.parametrize(("blocked", "valid"), [(1, True), (2, False), (3, False), (4, False)])
def test_most_passes_must_be_valid(db, history, blocked, valid):
    passes = [
        dataclasses.replace(STRIPE, pass_index=index, findings=BLOCKED if index <= blocked else ())
        for index in (1, 2, 3, 4)
    ]
    add(history, *passes, epoch=epoch_of(history))
    assert [slot.valid for slot in spans(db)[0].series[KEY]] == [valid]


def test_attempts_are_all_runs_of_the_epoch(db, history):
    epoch = epoch_of(history)
    add(history, epoch=None, state=RunState.SKIPPED, reason="before this epoch had a run")
    add(history, STRIPE, epoch=epoch)
    skipped = add(history, state=RunState.SKIPPED, reason="foreign load")
    attempts = spans(db)[0].attempts
    assert [one.run_id for one in attempts] == [skipped - 1, skipped]
    assert (attempts[-1].state, attempts[-1].reason) == (RunState.SKIPPED, "foreign load")


def test_details_have_everything_but_the_histogram(db, history):
    run = add(history, RESULT, epoch=epoch_of(history))
    with queries.open_readonly(db) as reader:
        found = series_slots.details(reader, [run, 999])
        assert list(found) == [run]
        assert found[run].results == (dataclasses.replace(RESULT, bins={}),)
        assert found[run].run.conditions == {"scheduler": "none"}
        assert (
            series_slots.bins(reader, dataclasses.replace(KEY, member="nvme0n1"), run)
            == RESULT.bins
        )
        assert series_slots.bins(reader, KEY, run) == {}
        assert series_slots.jobs(reader, run) == load_suite("smoke").jobs
        assert series_slots.suite_hash(reader, run) == load_suite("smoke").content_hash
        assert (series_slots.jobs(reader, 999), series_slots.suite_hash(reader, 999)) == ((), "")


def test_bins_of_the_passes_are_added_up(db, history):
    two = [dataclasses.replace(STRIPE, pass_index=index) for index in (1, 2)]
    run = add(history, *two, epoch=epoch_of(history))
    with queries.open_readonly(db) as reader:
        assert series_slots.bins(reader, KEY, run) == {1000: 20, 2_000_000: 1980}


def test_events_that_may_explain_a_change(db, history):
    history.event("TUNING_SET", "set", {})
    history.event("RUN_RESULT", "job", {})
    now = time.time()
    with queries.open_readonly(db) as reader:
        assert [one.message for one in series_slots.happenings(reader, now - 60, now + 60)] == [
            "set"
        ]
        assert series_slots.happenings(reader, now + 60, now + 120) == ()


def test_earlier_values_of_a_control_job(db, history):
    epoch = epoch_of(history)
    confirm = dataclasses.replace(load_suite("smoke"), name=CONFIRM_SUITE)
    control = dataclasses.replace(STRIPE, job="control-x")
    for iops in range(20):
        add(history, dataclasses.replace(control, iops=float(iops)), epoch=epoch, suite=confirm)
    add(history, dataclasses.replace(control, findings=BLOCKED), epoch=epoch, suite=confirm)
    add(history, dataclasses.replace(control, iops=99.0), epoch=epoch)
    with queries.open_readonly(db) as reader:
        found = series_slots.earlier_controls(reader, epoch, "control-x", "read")
        assert found == tuple(float(iops) for iops in range(19, 4, -1))
        assert series_slots.earlier_controls(reader, epoch + 1, "control-x", "read") == ()


def test_repeats_of_suspects_are_in_no_comparison_and_no_metric(db, history):
    epoch = epoch_of(history)
    run = add(history, STRIPE, epoch=epoch)
    add(
        history, STRIPE, epoch=epoch, suite=dataclasses.replace(load_suite("smoke"), name="confirm")
    )
    with queries.open_readonly(db) as reader:
        assert [found.id for found, _ in reader.latest_results()] == [run]
        assert [found.id for found in reader.runs_of_epoch(epoch, per_suite=5)] == [run]


def test_a_history_without_runs_has_nothing_to_say(db, history):
    assert spans(db) == ()
    epoch_of(history)
    with queries.open_readonly(db) as reader:
        facts = evaluate.performance_facts(
            reader, series_slots.spans(reader), now=time.time(), is_own=True
        )
    assert facts == ()


def test_ten_years_of_runs_are_read_without_their_reports(db, history, monkeypatch):
    """The slots come out of an index alone: what the query plan says, and no timing."""
    add(history, STRIPE, epoch=epoch_of(history))
    asked = []
    run_query = queries.Reader.all

    def listen(self, sql, *values):
        asked.append((sql, values))
        return run_query(self, sql, *values)

    monkeypatch.setattr(queries.Reader, "all", listen)
    spans(db)
    (of_results,) = [one for one in asked if "FROM result" in one[0]]
    plan = [str(row[-1]) for row in select(db, f"EXPLAIN QUERY PLAN {of_results[0]}", 1, 2)]
    assert any("COVERING INDEX" in step for step in plan)
    assert not any("TEMP B-TREE" in step for step in plan)


def test_what_a_look_at_the_machine_found_explains_a_change(db, history):
    epoch = epoch_of(history)
    for index in range(18):
        add(history, dataclasses.replace(STRIPE, iops=1000.0 + index % 3), epoch=epoch)
    scope = lifecycle.Scope(frozenset({Area.ENVIRONMENT}))
    seen = codes.fact(
        "ENV-SCHEDULER", "none", "bfq", subject="nvme0n1",
        summary="nvme0n1 has scheduler bfq", next_step="set it back",
    )  # fmt: skip
    history.drift.step(lambda known: lifecycle.step(known, [seen], scope, now=time.time()),
                       now=time.time())  # fmt: skip
    for index in range(6):
        add(history, dataclasses.replace(STRIPE, iops=700.0 + index % 3), epoch=epoch)
    (fact,) = evaluate.facts_of(db, now=time.time())
    assert fact.evidence["cause"] == "between the runs: nvme0n1 has scheduler bfq"


def test_what_the_history_says_of_a_slower_stripe(db, history):
    epoch = epoch_of(history)
    for index in range(24):
        iops = (1000.0 if index < 18 else 700.0) + index % 3
        add(history, dataclasses.replace(STRIPE, iops=iops), epoch=epoch)
    for fact in evaluate.facts_of(db, now=time.time()):
        assert (fact.code, fact.subject) == ("PERF-SLOWER", str(KEY))
        assert fact.evidence["change_run"] == 19
        assert fact.evidence["epoch"] == epoch
        break
    else:
        pytest.fail("nothing was found")
