"""Series of runs → facts: what has changed, since when, and what is said about it."""

from __future__ import annotations

import dataclasses

import pytest

from appliance.drift.codes import CODES
from appliance.drift.series import confirmation
from appliance.model.confirmations import Approval
from appliance.model.findings import DriftSeverity, DriftState, SeriesKey
from appliance.model.slots import Happening
from tests.unit import spans
from tests.unit.spans import (
    BEGAN,
    KEY,
    NORMAL,
    SLOWER,
    SUBJECT,
    confirmed,
    detail,
    judge,
    noise,
    result,
    stepped,
)

OTHER = dataclasses.replace(KEY, job="seq-read-1m")


def test_a_loss_of_a_tenth_is_dated_measured_and_suspect():
    (fact,) = judge({KEY: stepped((60, NORMAL), (6, SLOWER))})
    assert (fact.code, fact.subject) == ("PERF-SLOWER", SUBJECT)
    assert fact.state is DriftState.SUSPECT
    assert fact.severity is DriftSeverity.WARNING
    evidence = fact.evidence
    assert abs(evidence["change_run"] - 61) <= 2
    assert evidence["change_run"] <= evidence["alarm_run"] <= 65
    assert fact.identity == f"run {evidence['alarm_run']}"
    assert evidence["effect_percent"] == pytest.approx(-10, abs=1.5)
    assert evidence["baseline_iops"] == pytest.approx(NORMAL, rel=0.005)
    assert evidence["baseline_low_iops"] < NORMAL < evidence["baseline_high_iops"]
    assert evidence["level_iops"] == pytest.approx(SLOWER, rel=0.01)
    assert evidence["epoch"] == 7
    assert {"suite", "target", "job", "direction"} <= evidence.keys()
    assert evidence["change_at"] == "2026-01-16 00:00:00Z"
    assert "provisional" not in evidence
    assert "not known" in evidence["cause"]
    assert "-9.9% since 2026-01-16" in fact.summary
    assert "in all" not in fact.summary
    assert CODES[fact.code].severity is fact.severity


def test_an_ordinary_series_has_nothing_to_say():
    for seed in range(20):
        assert judge({KEY: stepped((200, NORMAL), seed=seed)}) == ()
    assert judge({}) == ()
    assert judge({KEY: ()}) == ()
    assert judge({KEY: spans.series([NORMAL] * 5)}) == ()


def test_the_identity_stays_however_many_slots_come():
    whole = stepped((60, NORMAL), (60, SLOWER))
    identities = {judge({KEY: whole[:count]})[0].identity for count in range(66, 120)}
    assert len(identities) == 1


def test_results_that_are_not_valid_take_no_part():
    good = noise(60) + noise(20, seed=2)
    with_holes = [value if at % 5 else None for at, value in enumerate(good)]
    slots = tuple(
        slot if slot.valid else slot._replace(value=1.0) for slot in spans.series(with_holes)
    )
    assert judge({KEY: slots}) == ()


def test_an_improvement_is_a_notice_that_waits_for_a_person():
    found = {KEY: stepped((60, NORMAL), (10, 1.2 * NORMAL))}
    (fact,) = judge(found)
    assert fact.code == "PERF-FASTER"
    assert fact.severity is DriftSeverity.NOTICE
    assert "approve" in fact.next_step
    approved = Approval(SUBJECT, KEY.target, int(fact.evidence["change_run"]))
    assert judge(found, approvals=[approved]) == ()
    assert judge(found, approvals=[dataclasses.replace(approved, target="/elsewhere")]) == (fact,)


def test_an_approved_level_is_the_new_normal():
    slots = stepped((60, NORMAL), (40, SLOWER), (10, 0.8 * NORMAL))
    approved = Approval(SUBJECT, KEY.target, 61)
    (fact,) = judge({KEY: slots}, approvals=[approved])
    assert fact.evidence["baseline_iops"] == pytest.approx(SLOWER, rel=0.005)
    assert abs(fact.evidence["change_run"] - 101) <= 2


def test_a_disk_that_recovers_closes_its_finding():
    assert judge({KEY: stepped((60, NORMAL), (30, SLOWER), (15, NORMAL))}) == ()


def test_two_losses_are_two_findings_and_half_a_recovery_is_none():
    found = judge({KEY: stepped((60, NORMAL), (40, SLOWER), (10, 0.7 * NORMAL))})
    assert [fact.code for fact in found] == ["PERF-SLOWER"] * 2
    assert [abs(fact.evidence["change_run"] - run) <= 2 for fact, run in zip(found, (61, 101))]  # noqa: B905
    assert found[1].evidence["before_iops"] == pytest.approx(SLOWER, rel=0.01)
    assert found[1].evidence["against_baseline_percent"] == pytest.approx(-30, abs=1.5)
    assert "-21.9% since" in found[1].summary
    assert all(fact.summary.endswith("normal is 801.3k, -30.0% in all") for fact in found)
    (fact,) = judge({KEY: stepped((60, NORMAL), (40, 0.7 * NORMAL), (15, SLOWER))})
    assert fact.code == "PERF-SLOWER"
    assert abs(fact.evidence["change_run"] - 61) <= 2


def test_few_slots_make_a_notice_that_says_so():
    (fact,) = judge({KEY: stepped((16, NORMAL), (6, SLOWER))})
    assert fact.severity is DriftSeverity.NOTICE
    assert fact.evidence["provisional"] == 1
    assert "provisional" in fact.summary
    (again,) = judge({KEY: stepped((16, NORMAL), (6, SLOWER))}, confirmations=[confirmed(fact)])
    assert again.state is DriftState.SUSPECT
    # With as many slots on both sides it is known well enough.
    (later,) = judge({KEY: stepped((16, NORMAL), (60, SLOWER))})
    assert later.severity is DriftSeverity.WARNING
    assert "provisional" not in later.evidence


def test_many_slots_of_a_few_days_are_provisional_too():
    hourly = tuple(
        slot._replace(started_at=BEGAN + slot.run_id * 3600)
        for slot in stepped((60, NORMAL), (6, SLOWER))
    )
    (fact,) = judge({KEY: hourly})
    assert fact.evidence["provisional"] == 1


def test_few_slots_of_many_days_are_provisional_too():
    daily = tuple(
        slot._replace(started_at=BEGAN + slot.run_id * 86_400.0)
        for slot in stepped((16, NORMAL), (40, SLOWER))
    )
    (fact,) = judge({KEY: daily})
    assert fact.evidence["provisional"] == 1


def test_what_changed_the_other_way_did_not_change_together():
    found = judge({KEY: stepped((60, NORMAL), (8, SLOWER)),
                   OTHER: stepped((60, NORMAL), (8, 1.2 * NORMAL), seed=5)})  # fmt: skip
    assert [fact.code for fact in found] == ["PERF-SLOWER", "PERF-FASTER"]
    assert [fact.evidence["also_changed"] for fact in found] == ["", ""]


def test_series_that_changed_together_name_each_other():
    other, third = (dataclasses.replace(KEY, job=job) for job in ("seq-read-1m", "seq-write-1m"))
    found = judge(
        {
            KEY: stepped((60, NORMAL), (8, SLOWER)),
            other: stepped((61, NORMAL), (7, SLOWER), seed=5),
            third: stepped((50, NORMAL), (18, SLOWER), seed=9),
        }
    )
    told = {fact.subject: fact.evidence["also_changed"] for fact in found}
    assert told[SUBJECT] == "smoke/seq-read-1m read"
    assert told["smoke/seq-read-1m read"] == SUBJECT
    assert told["smoke/seq-write-1m read"] == ""


def test_its_cause_and_the_tail_before_and_after():
    def make(run_id):
        after = run_id > 60
        p99 = {"99.000000": 9_000_000 if after else 1_000_000}
        run = {"conditions": {"scheduler": "mq-deadline" if after else "none"}}
        return detail(run_id, result(percentiles_ns=p99), **run)

    (fact,) = judge(
        {KEY: stepped((60, NORMAL), (8, SLOWER))},
        details=make,
        happenings=[Happening(1.0, "TUNING_SET", "kernel settings were set")],
    )
    assert fact.evidence["cause_kind"] == "environment"
    assert "scheduler none → mq-deadline" in fact.evidence["cause"]
    assert "kernel settings were set" in fact.evidence["cause"]
    assert (fact.evidence["p99_before_ns"], fact.evidence["p99_ns"]) == (1_000_000, 9_000_000)
    assert "set it back" in fact.next_step


def test_members_and_other_targets_have_their_own_series():
    on_member = SeriesKey(KEY.suite, KEY.target, KEY.job, KEY.direction, "nvme1n1")
    found = judge(
        {
            KEY: stepped((68, NORMAL)),
            on_member: stepped((60, NORMAL), (8, SLOWER), seed=3),
        }
    )
    assert [fact.subject for fact in found] == [f"{SUBJECT} on nvme1n1"]
    assert found[0].evidence["member_name"] == "nvme1n1"
    # Nobody repeats it but by hand.
    assert confirmation.waiting(found, (), last_tried=None, now=0.0) == ()
