"""Series of runs → facts: what has changed, since when, and what is said about it."""

from __future__ import annotations

import dataclasses

import pytest

from appliance.drift import confirmation, context, performance, series
from appliance.drift.codes import CODES
from appliance.model import (
    Approval,
    Confirmation,
    DriftSeverity,
    DriftState,
    Finding,
    Happening,
    RunState,
    SeriesKey,
    Severity,
    Verdict,
)
from appliance.model.slots import Attempt
from tests.unit import spans
from tests.unit.spans import BEGAN, INTERVAL, KEY, NORMAL, QD1, detail, noise, result

SLOWER = 0.9 * NORMAL
SUBJECT = "smoke/rand-read-4k read"


def judge(
    found,
    *,
    approvals=(),
    confirmations=(),
    details=None,
    happenings=(),
    now=0.0,
    up_since=None,
    attempts=(),
):
    span = spans.span(found, attempts)
    surveys = series.survey(span, approvals, confirmations)
    wanted = performance.wanted(span, surveys)
    make = details or (lambda run_id: detail(run_id, *(result(key) for key in found)))
    known = context.Known(
        confirmations=confirmations,
        details={run_id: make(run_id) for run_id in wanted},
        happenings=lambda _, __: happenings,
    )
    return performance.judge(span, surveys, known, now=now, up_since=up_since)


def stepped(*parts, seed=1):
    """A series of (slots, level) one after the other, with 1 % noise."""
    values = []
    for index, (count, level) in enumerate(parts):
        values += noise(count, level=level, seed=seed + index)
    return spans.series(values)


def confirmed(fact, verdict=Verdict.CONFIRMED, *, run_id=10_000):
    return Confirmation(
        fact.code, fact.subject, fact.identity, KEY.target,
        int(fact.evidence["change_run"]), run_id, 0.0, verdict, "what they said",
    )  # fmt: skip


# ------------------------------------------------------------------------- a change of level


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
        slot if slot.valid else slot._replace(iops=1.0) for slot in spans.series(with_holes)
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


# ------------------------------------------------------------------------------ what repeats say


def test_repeats_confirm_or_end_it():
    found = {KEY: stepped((60, NORMAL), (6, SLOWER))}
    (fact,) = judge(found)
    (sure,) = judge(found, confirmations=[confirmed(fact)])
    assert sure.state is DriftState.CONFIRMED
    assert sure.evidence["repeats"] == "what they said"
    assert judge(found, confirmations=[confirmed(fact, Verdict.NOT_REPEATED)]) == ()
    (unclear,) = judge(found, confirmations=[confirmed(fact, Verdict.UNCLEAR)])
    assert unclear.state is DriftState.SUSPECT
    (machine,) = judge(found, confirmations=[confirmed(fact, Verdict.MACHINE)])
    assert machine.state is DriftState.CONFIRMED
    assert machine.evidence["cause_kind"] == "machine"


def test_after_a_false_alarm_the_series_goes_on_with_its_baseline():
    slots = stepped((60, NORMAL), (6, SLOWER), (30, NORMAL), (8, SLOWER))
    (first,) = judge({KEY: slots[:66]})
    denied = confirmed(first, Verdict.NOT_REPEATED, run_id=67)
    # The run of the repeats takes a number, too.
    slots = slots[:66] + tuple(slot._replace(run_id=slot.run_id + 1) for slot in slots[66:])
    assert judge({KEY: slots[:96]}, confirmations=[denied]) == ()
    (second,) = judge({KEY: slots}, confirmations=[denied])
    assert abs(second.evidence["change_run"] - 98) <= 2
    assert second.evidence["baseline_iops"] == pytest.approx(NORMAL, rel=0.005)


def test_a_loss_that_was_denied_and_is_still_there_is_told_again():
    slots = stepped((60, NORMAL), (14, SLOWER))
    (first,) = judge({KEY: slots[:66]})
    denied = confirmed(first, Verdict.NOT_REPEATED, run_id=67)
    slots = slots[:66] + tuple(slot._replace(run_id=slot.run_id + 1) for slot in slots[66:])
    assert judge({KEY: slots[:67]}, confirmations=[denied]) == ()
    (again,) = judge({KEY: slots}, confirmations=[denied])
    assert again.identity != first.identity
    assert again.evidence["change_run"] >= 68


# ----------------------------------------------------------------------- what is told beside it


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


def test_one_slow_member_leads_and_the_series_names_it():
    def make(run_id):
        awaits = (0.12, 0.12, 2.4, 0.12) if run_id > 60 else (0.3, 0.3, 0.4, 0.3)
        return detail(run_id, result(awaits_ms=awaits), result(QD1, awaits_ms=(0.1,) * 4))

    found = {KEY: stepped((60, NORMAL), (8, 0.5 * NORMAL)), QD1: stepped((68, NORMAL), seed=4)}
    member, slower = judge(found, details=make)
    assert (member.code, member.subject, member.member) == ("PERF-MEMBER", "AWS33", "AWS33")
    assert member.state is DriftState.SUSPECT
    assert member.evidence["confidence"] == "high"
    assert member.evidence["series"] == SUBJECT
    assert member.evidence["ratio"] == pytest.approx(20)
    assert member.evidence["ratio_before"] == pytest.approx(1.3)
    assert (slower.code, slower.member) == ("PERF-SLOWER", "AWS33")
    assert slower.evidence["cause_kind"] == "member"
    (sure, _) = judge(found, details=make, confirmations=[confirmed(member)])
    assert sure.state is DriftState.CONFIRMED
    assert sure.identity == member.identity


def test_a_member_that_was_denied_is_told_again_when_a_later_run_shows_it():
    def make(run_id):
        awaits = (0.12, 0.12, 2.4, 0.12) if run_id > 60 else (0.3, 0.3, 0.4, 0.3)
        return detail(run_id, result(awaits_ms=awaits))

    found = {KEY: stepped((60, NORMAL), (8, 0.5 * NORMAL))}
    member, _ = judge(found, details=make)

    def codes(run_id):
        denied = confirmed(member, Verdict.NOT_REPEATED, run_id=run_id)
        return [fact.code for fact in judge(found, details=make, confirmations=[denied])]

    assert codes(69) == ["PERF-SLOWER"]
    assert codes(67) == ["PERF-MEMBER", "PERF-SLOWER"]


@pytest.mark.parametrize("level", [NORMAL, 1.1 * NORMAL])
def test_a_longer_queue_at_one_member_of_a_stripe_that_lost_nothing(level):
    def make(run_id):
        awaits = (0.12, 0.12, 2.4, 0.12) if run_id > 60 else (0.3, 0.3, 0.4, 0.3)
        return detail(run_id, result(awaits_ms=awaits))

    found = judge({KEY: stepped((60, NORMAL), (8, level))}, details=make)
    assert "PERF-MEMBER" not in {fact.code for fact in found}


def test_a_member_that_was_always_behind_is_no_drift():
    def make(run_id):
        return detail(run_id, result(awaits_ms=(0.12, 0.12, 2.4, 0.12)))

    found = judge({KEY: stepped((60, NORMAL), (8, SLOWER))}, details=make)
    assert [fact.code for fact in found] == ["PERF-SLOWER"]


def test_a_second_mode_of_latency():
    normal = {90_000: 99_900, 300_000: 100}
    slow = {90_000: 98_900, 300_000: 100, 20_000_000: 1_000}
    span = spans.span({KEY: stepped((68, NORMAL))})
    surveys = series.survey(span, (), ())

    def printed(p995):
        return {"99.000000": 95_000, "99.500000": p995, "99.900000": 300_000}

    def judged(since):
        known = context.Known(
            details={
                run_id: detail(
                    run_id,
                    result(percentiles_ns=printed(20_000_000 if run_id >= since else 99_000)),
                )
                for run_id in performance.wanted(span, surveys)
            },
            bins=lambda _, run_id: slow if run_id >= since else normal,
        )
        return performance.judge(span, surveys, known, now=0.0, up_since=None)

    (fact,) = judged(since=67)
    assert (fact.code, fact.subject, fact.state) == (
        "PERF-LATENCY-MODE", SUBJECT, DriftState.SUSPECT
    )  # fmt: skip
    assert fact.evidence["mode_ns"] == pytest.approx(20_000_000, rel=0.1)
    assert fact.evidence["share_percent"] == pytest.approx(1.1)
    assert fact.evidence["change_run"] == 67
    assert judged(since=68) == ()
    assert judged(since=99) == ()
    assert judged(since=60)[0].identity == fact.identity


# -------------------------------------------------------------------------------- RUNS-MISSING


def silent(slots, *, now, up_since=BEGAN, attempts=(), details=None, key=KEY):
    return judge({key: slots}, now=now, up_since=up_since, attempts=attempts, details=details)


def at(slot):
    """When the run of ``slot`` (from 1) begins."""
    return BEGAN + (slot - 1) * INTERVAL


def test_no_run_for_three_intervals():
    slots = stepped((40, NORMAL))
    assert silent(slots, now=at(42)) == ()
    assert silent(slots, now=at(43) - 60) == ()
    (fact,) = silent(slots, now=at(43) + 60)
    assert (fact.code, fact.subject, fact.identity) == ("RUNS-MISSING", "smoke", "run 40")
    assert fact.state is DriftState.OPEN
    assert fact.observed == "no run was started"
    assert "every 6 h 00 min" in fact.summary
    assert "list-timers" in fact.next_step


def test_time_in_which_the_machine_was_off_does_not_count():
    slots = stepped((40, NORMAL))
    assert silent(slots, now=at(60), up_since=at(60) - 600) == ()
    assert silent(slots, now=at(60), up_since=None) == ()
    # A clock that was put back.
    assert silent(slots, now=at(10)) == ()


def test_why_there_is_none():
    whole = spans.series([*noise(40), None, None])
    attempts = [
        Attempt(41, "smoke", KEY.target, RunState.COMPLETE, at(41)),
        Attempt(42, "smoke", KEY.target, RunState.COMPLETE, at(42)),
        Attempt(43, "smoke", KEY.target, RunState.SKIPPED, at(43), "no space"),
        Attempt(44, "smoke", KEY.target, RunState.RUNNING, at(44)),
        Attempt(45, "full", KEY.target, RunState.FAILED, at(44), "another suite"),
    ]

    def make(run_id):
        codes = ("COVERAGE", Severity.BLOCK), ("CPU", Severity.WARN)
        findings = tuple(Finding(code, severity, "") for code, severity in codes)
        return detail(run_id, result(findings=findings if run_id > 40 else ()))

    (fact,) = silent(whole, now=at(44), attempts=attempts, details=make)
    assert fact.observed == (
        "2 complete, but not valid (COVERAGE), 1 skipped runs since (no space)"
    )
    assert fact.evidence["runs_since"] == 3
    assert fact.identity == "run 40"


def test_one_finding_for_a_suite_and_one_for_a_job_of_it():
    other = dataclasses.replace(KEY, job="seq-read-1m")
    both = judge({KEY: stepped((40, NORMAL)), other: stepped((40, NORMAL))}, now=at(50), up_since=0)
    assert [fact.subject for fact in both] == ["smoke"]
    (one,) = judge(
        {KEY: stepped((40, NORMAL)), other: stepped((50, NORMAL))}, now=at(51), up_since=0
    )
    assert one.subject == SUBJECT


def test_runs_by_hand_are_no_habit():
    by_hand = tuple(
        slot._replace(started_at=BEGAN + slot.run_id * 300) for slot in stepped((20, NORMAL))
    )
    assert silent(by_hand, now=BEGAN + 30 * INTERVAL) == ()
    scattered = tuple(
        slot._replace(started_at=BEGAN + slot.run_id**4 * INTERVAL)
        for slot in stepped((20, NORMAL))
    )
    assert silent(scattered, now=BEGAN + 10_000_000 * INTERVAL) == ()
    assert silent(stepped((7, NORMAL)), now=at(100)) == ()


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


def test_a_device_is_measured_by_hand_only():
    device = dataclasses.replace(KEY, target="/dev/nvme1n1")
    found = judge({device: stepped((60, NORMAL), (8, SLOWER))})
    assert [fact.state for fact in found] == [DriftState.SUSPECT]
    assert confirmation.waiting(found, (), last_tried=None, now=0.0) == ()
    of_files = judge({KEY: stepped((60, NORMAL), (8, SLOWER))})
    assert confirmation.waiting(of_files, (), last_tried=None, now=0.0) == of_files
