"""RUNS-MISSING: a suite or a job that ran regularly gives nothing any more."""

from __future__ import annotations

import dataclasses

from appliance.drift.series import missing_runs
from appliance.model.findings import DriftState
from appliance.model.measurement import Finding, Severity
from appliance.model.runs import RunState
from appliance.model.slots import Attempt
from tests.unit import spans
from tests.unit.spans import (
    BEGAN,
    INTERVAL,
    KEY,
    NORMAL,
    QD1,
    SUBJECT,
    detail,
    judge,
    noise,
    result,
    stepped,
)


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
        Attempt(40, "smoke", KEY.target, RunState.COMPLETE, at(40)),
        Attempt(41, "smoke", KEY.target, RunState.COMPLETE, at(41)),
        Attempt(42, "smoke", KEY.target, RunState.COMPLETE, at(42)),
        Attempt(43, "smoke", KEY.target, RunState.SKIPPED, at(43), "no space"),
        Attempt(44, "smoke", KEY.target, RunState.RUNNING, at(44)),
        Attempt(45, "full", KEY.target, RunState.FAILED, at(44), "another suite"),
    ]

    def make(run_id):
        codes = ("COVERAGE", Severity.BLOCK), ("CPU", Severity.WARN)
        findings = tuple(Finding(code, severity, "") for code, severity in codes)
        other = result(QD1, findings=(Finding("ANOTHER-JOBS", Severity.BLOCK, ""),))
        return detail(run_id, result(findings=findings if run_id > 40 else ()), other)

    (fact,) = silent(whole, now=at(44), attempts=attempts, details=make)
    assert fact.observed == (
        "2 complete, but not valid (COVERAGE), 1 skipped runs since (no space)"
    )
    assert fact.evidence["runs_since"] == 3
    assert fact.identity == "run 40"


def test_only_the_last_runs_without_a_result_are_read():
    whole = spans.series([*noise(40), None, None])
    assert missing_runs.wanted(spans.span({KEY: whole})) == {41, 42}


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
    # A clock that stood still, and was set two days later.
    stood = (*(slot._replace(started_at=BEGAN) for slot in stepped((20, NORMAL))),
             stepped((21, NORMAL))[-1]._replace(started_at=BEGAN + 2 * 86_400.0))  # fmt: skip
    assert missing_runs.usual_interval(stood) is None


def test_a_habit_that_has_changed_is_the_new_one():
    hourly = [
        slot._replace(started_at=BEGAN + slot.run_id * 3600) for slot in stepped((45, NORMAL))
    ]
    since = [slot._replace(started_at=BEGAN + 50 * 3600 + at * INTERVAL)
             for at, slot in enumerate(stepped((30, NORMAL)))]  # fmt: skip
    assert missing_runs.usual_interval([*hourly, *since]) == INTERVAL
