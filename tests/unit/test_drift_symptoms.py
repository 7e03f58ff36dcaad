"""What a rule sees in the last slots: one slow member, a second mode of latency."""

from __future__ import annotations

import dataclasses

import pytest

from appliance.drift.series import confirmation, performance, series_state
from appliance.model.confirmations import Verdict
from appliance.model.findings import DriftState, FindingRecord
from tests.unit import spans
from tests.unit.spans import (
    KEY,
    NORMAL,
    QD1,
    SLOWER,
    SUBJECT,
    confirmed,
    detail,
    judge,
    result,
    stepped,
)


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
    surveys = series_state.survey(span, (), ())

    def printed(p995):
        return {"99.000000": 95_000, "99.500000": p995, "99.900000": 300_000}

    def judged(since):
        known = series_state.Known(
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


# --------------------------------------------------------- an answer is about what was there

DAY = 86_400.0


def slow_member(run_id):
    awaits = (0.12, 0.12, 2.4, 0.12) if run_id > 60 else (0.3, 0.3, 0.4, 0.3)
    return detail(run_id, result(awaits_ms=awaits))


def gone(fact, closed_at):
    """The finding of ``fact``, closed."""
    return FindingRecord(1, fact, DriftState.CLOSED, 7, 0.0, closed_at, closed_at=closed_at)


def test_an_answer_does_not_confirm_what_came_after_it_was_over():
    found = {KEY: stepped((60, NORMAL), (8, 0.5 * NORMAL))}
    now = 100 * DAY

    def member(*confirmations, closed_at=None, at=now):
        records = () if closed_at is None else [gone(first, closed_at)]
        known = {"confirmations": confirmations, "records": records, "now": at}
        return judge(found, details=slow_member, **known)[0]

    first = judge(found, details=slow_member)[0]
    said = dataclasses.replace(confirmed(first, run_id=69), at=90 * DAY)
    again = member(said, closed_at=95 * DAY)
    assert (again.code, again.state) == ("PERF-MEMBER", DriftState.SUSPECT)
    assert again.identity == "epoch 7, again after run 69"
    assert confirmation.waiting([again], [said], last_tried=None, now=now) == (again,)
    # It has its own answers, and three of its own tries.
    sure = dataclasses.replace(confirmed(again, run_id=90), at=now)
    assert member(said, sure, closed_at=95 * DAY).state is DriftState.CONFIRMED
    # Within a day it is the same finding; and so it is if it was over before the answer.
    for closed_at in (None, now - DAY + 60, 85 * DAY):
        same = member(said, closed_at=closed_at)
        assert (same.identity, same.state) == (first.identity, DriftState.CONFIRMED)
    # What was denied and is back is asked about as it is.
    denied = dataclasses.replace(confirmed(first, Verdict.NOT_REPEATED, run_id=67), at=90 * DAY)
    same = member(denied, closed_at=91 * DAY)
    assert (same.identity, same.state) == (first.identity, DriftState.SUSPECT)


def test_answers_that_name_each_other_in_a_circle_end():
    fact = judge({KEY: stepped((60, NORMAL), (8, 0.5 * NORMAL))}, details=slow_member)[0]
    named = dataclasses.replace(fact, identity="epoch 7, again after run 69")
    said = [confirmed(fact, run_id=69), confirmed(named, run_id=69)]
    records = [gone(fact, DAY), gone(named, DAY)]
    found = confirmation.identity(fact, said, records, now=100 * DAY)
    assert found == named.identity


def test_a_second_mode_that_comes_back_is_asked_about_anew():
    normal = {90_000: 99_900, 300_000: 100}
    slow = {90_000: 98_900, 300_000: 100, 20_000_000: 1_000}
    printed = {"99.000000": 95_000, "99.500000": 20_000_000, "99.900000": 300_000}
    usual = {**printed, "99.500000": 99_000}
    found = {KEY: stepped((68, NORMAL))}

    def mode(**known):
        (fact,) = judge(
            found,
            details=lambda run_id: detail(
                run_id, result(percentiles_ns=printed if run_id > 60 else usual)
            ),
            bins=lambda _, run_id: slow if run_id > 60 else normal,
            **known,
        )
        return fact

    said = confirmed(mode(), run_id=69)
    assert mode(confirmations=[said]).state is DriftState.CONFIRMED
    again = mode(confirmations=[said], records=[gone(mode(), DAY)], now=9 * DAY)
    assert again.state is DriftState.SUSPECT
    assert again.identity == f"{mode().identity}, again after run 69"
