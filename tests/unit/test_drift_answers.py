"""What becomes of a suspect: its repeats say so, deny it, or say nothing clear."""

from __future__ import annotations

import dataclasses

import pytest

from appliance.drift import lifecycle
from appliance.drift.series import confirmation
from appliance.model.confirmations import Verdict
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord
from tests.unit.spans import (
    BEGAN,
    INTERVAL,
    KEY,
    NORMAL,
    SLOWER,
    confirmed,
    judge,
    stepped,
)


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


def test_a_device_is_measured_by_hand_only():
    device = dataclasses.replace(KEY, target="/dev/nvme1n1")
    found = judge({device: stepped((60, NORMAL), (8, SLOWER))})
    assert [fact.state for fact in found] == [DriftState.SUSPECT]
    assert confirmation.waiting(found, (), last_tried=None, now=0.0) == ()
    of_files = judge({KEY: stepped((60, NORMAL), (8, SLOWER))})
    assert confirmation.waiting(of_files, (), last_tried=None, now=0.0) == of_files


# ------------------------------------------------------------- when they say nothing clear

SEEN = BEGAN + 66 * INTERVAL
DAY = 86_400.0
LOSS = {KEY: stepped((60, NORMAL), (6, SLOWER))}


def kept(fact, opened_at=SEEN, **known):
    """The finding that history has of ``fact``."""
    return FindingRecord(1, fact, known.pop("state", fact.state), 7, opened_at, SEEN, **known)


def unclear(fact, count):
    return [confirmed(fact, Verdict.UNCLEAR, run_id=70 + at) for at in range(count)]


def slower(found=LOSS, **known):
    """The PERF-SLOWER among the facts: no run comes any more, which is told, too."""
    return tuple(fact for fact in judge(found, **known) if fact.code == "PERF-SLOWER")


def alarms(fact):
    return lifecycle.alarms(fact.state, fact.severity)


def test_three_unclear_answers_make_an_alarm_that_is_not_confirmed():
    (fact,) = judge(LOSS)
    (waits,) = judge(LOSS, confirmations=unclear(fact, 2))
    assert not alarms(waits)
    (told,) = judge(LOSS, confirmations=unclear(fact, 3))
    assert alarms(told)
    assert told.state is DriftState.OPEN
    assert told.severity is DriftSeverity.WARNING
    assert told.identity == fact.identity
    assert told.summary.endswith("; not confirmed: 3 repeats were inconclusive")
    assert told.evidence["repeats"] == "what they said"
    # There will be no fourth, and what is clear in the end counts.
    assert confirmation.waiting([told], unclear(fact, 3), last_tried=None, now=9e9) == ()
    (sure,) = judge(LOSS, confirmations=[*unclear(fact, 3), confirmed(fact)])
    assert sure.state is DriftState.CONFIRMED
    assert "not confirmed" not in sure.summary


def test_what_could_not_be_repeated_for_three_days_is_an_alarm_and_goes_on_being_asked_for():
    (fact,) = judge(LOSS)
    now = SEEN + 3 * DAY

    def told(at=now, up_since=BEGAN, **known):
        (one,) = slower(now=at, up_since=up_since, records=[kept(fact)], **known)
        return one

    assert told().state is DriftState.OPEN
    assert alarms(told())
    assert told().summary.endswith(
        "; not confirmed: suspect since 2026-01-17 12:00:00Z, could not be repeated"
    )
    assert told(now - 60).state is DriftState.SUSPECT
    assert "repeats were inconclusive" in told(confirmations=unclear(fact, 1)).summary
    assert confirmation.waiting([told()], (), last_tried=None, now=now) == (told(),)
    # Just booted: the repeats get their chance first. What was told before stays told.
    assert told(up_since=now - 3600).state is DriftState.SUSPECT
    before = kept(told())
    (after,) = slower(now=now, up_since=now - 3600, records=[before])
    assert after == told()
    # Nobody knows of another machine's history whether it could have been repeated.
    assert told(up_since=None).state is DriftState.SUSPECT
    # One that was confirmed long ago, is closed, or is another one.
    for other in (
        kept(dataclasses.replace(fact, state=DriftState.CONFIRMED)),
        kept(fact, state=DriftState.CLOSED, closed_at=SEEN + 60),
        kept(dataclasses.replace(fact, identity="run 5")),
    ):
        (one,) = slower(now=now, up_since=now - DAY, records=[other])
        assert one.state is DriftState.SUSPECT
    # They answer in the end.
    assert told(confirmations=[confirmed(fact)]).state is DriftState.CONFIRMED
    denied = confirmed(fact, Verdict.NOT_REPEATED)
    assert slower(now=now, up_since=now - DAY, records=[before], confirmations=[denied]) == ()


def test_after_a_denial_it_waits_anew():
    (fact,) = judge(LOSS)
    denied = dataclasses.replace(confirmed(fact, Verdict.NOT_REPEATED), at=SEEN + 2 * DAY)
    said, records = [*unclear(fact, 3), denied], [kept(fact)]

    def why(now):
        return confirmation.unanswered(fact, said, records, now=now, up_since=BEGAN)

    assert why(SEEN + 4 * DAY) == ""
    assert why(SEEN + 5 * DAY) == "suspect since 2026-01-19 12:00:00Z, could not be repeated"


def test_what_is_provisional_or_measured_by_hand_stays_suspect():
    young = {KEY: stepped((16, NORMAL), (6, SLOWER))}
    device = {dataclasses.replace(KEY, target="/dev/nvme1n1"): stepped((60, NORMAL), (8, SLOWER))}
    for found in (young, device):
        (fact,) = judge(found)
        (late,) = slower(
            found, now=SEEN + 3 * DAY, up_since=SEEN, records=[kept(fact)],
            confirmations=unclear(fact, 3),
        )  # fmt: skip
        assert late.state is DriftState.SUSPECT
        assert not alarms(late)
