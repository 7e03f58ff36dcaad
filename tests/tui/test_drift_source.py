"""What the Drift screen asks of a real history file."""

import dataclasses
import time

import pytest

from appliance.bench import job_order
from appliance.bench.suite import load_suite
from appliance.drift.series import confirmation
from appliance.history.store import History
from appliance.model.confirmations import Confirmation, Verdict
from appliance.model.findings import DriftSeverity, DriftState, Fact, Kind, SeriesKey, Transition
from appliance.model.runs import RunState
from appliance.system import journal
from tests.unit.histories import FINGERPRINT, RESULT, begin
from tui.sources import drift
from tui.sources.drift import Drift

TARGET = "/mnt/scratch/.stripewright-bench"
RUNS = 14


def fact(epoch, **changes):
    made = Fact(
        code="PERF-SLOWER",
        subject="smoke/rand-read-4k read",
        summary="slower",
        identity="run 13",
        severity=DriftSeverity.WARNING,
        evidence={
            "suite": "smoke",
            "target": TARGET,
            "job": "rand-read-4k",
            "direction": "read",
            "epoch": epoch,
            "change_run": 12,
            "last_run": RUNS,
        },
        state=DriftState.SUSPECT,
    )
    return dataclasses.replace(made, **changes)


@pytest.fixture
def db(tmp_path, monkeypatch):
    """Runs of one epoch, the first without a finding; findings of each kind; a repeat."""
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    monkeypatch.setattr(journal, "message", lambda *_, **__: None)
    path = tmp_path / "history.db"
    with History.open_writable(path) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        for number in range(RUNS):
            run_id = begin(history, "smoke", 1.0)
            history.update_run(run_id, epoch_id=epoch)
            found = dataclasses.replace(RESULT, findings=(), member="", iops=1e5 + number)
            history.add_result(run_id, found, raw_report="x")
            history.finish_run(run_id, RunState.COMPLETE)
        facts = [
            fact(epoch),
            fact(epoch, code="PERF-LATENCY-MODE", subject="mode"),
            Fact("ENV-KERNEL", "kernel", "another", "a -> b", DriftSeverity.NOTICE),
        ]
        history.drift.step(
            lambda _: [Transition(Kind.OPENED, None, one, one.state) for one in facts],
            now=time.time(),
        )
        history.drift.add_confirmation(
            Confirmation(
                "PERF-SLOWER", facts[0].subject, "run 13", TARGET, 12, RUNS, time.time(),
                Verdict.UNCLEAR, "nothing clear", (1.0, 2.0),
            )
        )  # fmt: skip
    return path


def test_findings_what_is_not_judged_and_what_would_be_repeated(db):
    found = Drift(db).findings()
    assert [one.fact.code for one in found.records] == [
        "PERF-SLOWER",
        "PERF-LATENCY-MODE",
        "ENV-KERNEL",
    ]
    assert found.unjudged == ""
    # The first was repeated just now.
    (repeat,) = found.repeats
    (job,) = [one for one in load_suite("smoke").jobs if one.name == "rand-read-4k"]
    assert (repeat.subject, repeat.target, repeat.rw) == ("mode", TARGET, "randread")
    seconds = confirmation.REPEATS * (job.runtime_seconds + job_order.CONTROL_SECONDS)
    assert repeat.seconds == seconds


def test_evidence_has_the_series_of_its_epoch_the_repeats_and_what_happened(db):
    source = Drift(db)
    slower, mode, kernel = source.findings().records
    evidence = source.evidence(slower)
    assert [slot.value for slot in evidence.stretch.slots] == [1e5 + n for n in range(RUNS)]
    assert evidence.stretch.normal is not None
    assert [one.words for one in evidence.said] == ["nothing clear"]
    assert [one.kind for one in evidence.transitions] == ["opened"]
    assert not evidence.bins
    assert source.evidence(mode).bins == {1000: 10, 2_000_000: 990}
    assert not source.evidence(mode).said
    alone = source.evidence(kernel)
    assert alone.stretch is None
    assert [one.kind for one in alone.transitions] == ["opened"]
    other = dataclasses.replace(slower, fact=fact(99))
    assert source.evidence(other).stretch is None


def test_too_few_results_are_told_and_counted_anew_only_after_a_run(db, monkeypatch):
    from appliance.drift.series import evaluate

    asked = []
    monkeypatch.setattr(evaluate, "unlearned", lambda _: (asked.append(1), "too few")[0:2])
    source = Drift(db)
    assert source.findings().unjudged == "too few"
    source.findings()
    assert len(asked) == 1
    with History.open_writable(db) as history:
        history.finish_run(begin(history, "smoke", 1.0), RunState.FAILED)
    source.findings()
    assert len(asked) == 2


def test_the_member_of_a_slow_member_is_not_the_series():
    slow = fact(1, code="PERF-MEMBER", subject="AWS1")
    slow = dataclasses.replace(slow, evidence={**slow.evidence, "member_name": "nvme1n1"})
    of_stripe = SeriesKey("smoke", TARGET, "rand-read-4k", "read")
    assert drift.series_key(slow) == of_stripe
    of_member = dataclasses.replace(slow, code="PERF-SLOWER")
    assert drift.series_key(of_member) == dataclasses.replace(of_stripe, member="nvme1n1")
    assert drift.series_key(dataclasses.replace(slow, evidence={"suite": "smoke"})) is None


def test_what_is_said_of_a_finding_is_kept(db):
    source = Drift(db)
    assert source.acknowledge(3, "planned").state is DriftState.ACKNOWLEDGED
    assert source.approve(1, "").state is DriftState.CLOSED
    states = {one.id: one.state for one in source.findings().records}
    assert states == {1: DriftState.CLOSED, 2: DriftState.SUSPECT, 3: DriftState.ACKNOWLEDGED}
