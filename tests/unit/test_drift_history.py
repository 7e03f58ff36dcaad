"""Findings of drift in history.db."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from appliance.drift import acknowledge, lifecycle
from appliance.drift.acknowledge import Action, Request
from appliance.drift.lifecycle import Scope
from appliance.errors import OperatorError, Refused
from appliance.history import queries
from appliance.history.store import History
from appliance.model.confirmations import Approval, Confirmation, Verdict
from appliance.model.findings import Area, DriftSeverity, DriftState, Fact, Kind
from appliance.model.runs import RunState
from tests.unit.histories import FINGERPRINT, begin, select

pytestmark = pytest.mark.usefixtures("journalled")

ALL = Scope(frozenset(Area))
NOW = 1_800_000_000.0
FACT = Fact(
    code="MEMBER-SWAPPED",
    subject="scratch",
    summary="slot 2 of scratch holds AWS9 in place of AWS3",
    identity="2: AWS3 -> AWS9",
    severity=DriftSeverity.CRITICAL,
    expected="AWS3",
    observed="AWS9",
    volume="scratch",
    member="AWS9",
    evidence={"slot": 2, "share": 0.25, "model": "Amazon EC2 NVMe Instance Storage"},
    next_step="look at: stripewright inventory",
)
SLOWER = Fact(
    code="PERF-SLOWER",
    subject="smoke/rand-read-4k read",
    summary="5 % slower",
    identity="epoch 1 run 40 down",
    severity=DriftSeverity.WARNING,
    evidence={"target": "/mnt/scratch", "change_run": 38},
    state=DriftState.SUSPECT,
)


def look(history, facts, now=NOW, scope=ALL):
    return history.drift.step(
        lambda records: lifecycle.step(records, facts, scope, now=now), now=now, boot_id="boot"
    )


def test_a_finding_is_read_as_it_was_written(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        ((record, moved),), records = look(history, [FACT])
        assert (moved.kind, records) == (Kind.OPENED, (record,))
    assert record.fact == FACT
    assert (record.state, record.epoch_id, record.boot_id) == (DriftState.OPEN, epoch, "boot")
    assert (record.opened_at, record.seen_at, record.closed_at) == (NOW, NOW, None)
    assert (record.times, record.announced_at, record.quiet) == (1, NOW, False)
    with queries.open_readonly(db) as reader:
        assert reader.drift_findings() == (record,)
        assert reader.drift_finding(record.id) == record
        (opened,) = reader.drift_transitions(record.id)
        assert (opened.kind, opened.state, opened.at) == ("opened", DriftState.OPEN, NOW)
        for number in (0, 99, 1 << 70):
            with pytest.raises(OperatorError, match="there is no finding"):
                reader.drift_finding(number)


def test_its_whole_life_is_kept(db):
    with History.open_writable(db) as history:
        look(history, [FACT])
        look(history, [FACT], NOW + 3600)
        acknowledge.keep(
            history, Request(1, Action.ACKNOWLEDGE, "known", "operator"), now=NOW + 3700
        )
        look(history, [], NOW + 7200)
        look(history, [FACT], NOW + 7500)
    with queries.open_readonly(db) as reader:
        (record,) = reader.drift_findings()
        kinds = [(one.kind, one.who, one.note) for one in reader.drift_transitions(1)]
    assert kinds == [
        ("opened", "", ""),
        ("acknowledged", "operator", "known"),
        ("closed", "", "no longer so"),
        ("reopened", "", ""),
    ]
    assert (record.state, record.times, record.quiet) == (DriftState.ACKNOWLEDGED, 2, True)
    assert (record.acknowledged_by, record.note, record.acknowledged_at) == (
        "operator",
        "known",
        NOW + 3700,
    )
    assert (record.opened_at, record.seen_at, record.closed_at) == (NOW, NOW + 7500, None)


def test_closed_findings_stay_and_are_listed_when_asked_for(db):
    with History.open_writable(db) as history:
        look(history, [FACT])
        look(history, [], NOW + 300)
        look(history, [], NOW + 90 * 86_400)
    with queries.open_readonly(db) as reader:
        assert reader.drift_findings() == ()
        (record,) = reader.drift_findings(include_closed=True)
        assert (record.state, record.closed_at) == (DriftState.CLOSED, NOW + 300)
        assert record.seen_at == NOW, "when it was closed it was not seen"
        assert reader.drift_lately(NOW + 3600) == (record,)
        assert reader.drift_lately(NOW + 5 * 86_400) == ()


def test_two_checks_at_once_open_one_finding(db):
    with History.open_writable(db):
        pass
    ready, opened = threading.Barrier(2), []

    def one_check():
        with History.open_writable(db) as history:
            ready.wait(10)
            opened.extend(look(history, [FACT]).moved)

    checks = [threading.Thread(target=one_check) for _ in range(2)]
    for one in checks:
        one.start()
    for one in checks:
        one.join(30)
    assert [moved.kind for _, moved in opened] == [Kind.OPENED]
    assert select(db, "SELECT count(*) FROM drift_finding") == [(1,)]


def test_what_fails_half_way_leaves_nothing(db):
    with History.open_writable(db) as history:
        good, bad = look(history, [FACT]).moved[0][1], FACT

        def decide(_):
            return [
                dataclasses.replace(good, fact=dataclasses.replace(FACT, identity="other")),
                dataclasses.replace(good, fact=dataclasses.replace(bad, evidence={1: object()})),
            ]

        with pytest.raises(TypeError):
            history.drift.step(decide, now=NOW)
    assert select(db, "SELECT identity FROM drift_finding") == [(FACT.identity,)]


def test_an_approval_begins_a_baseline_and_closes_the_finding(db):
    with History.open_writable(db) as history:
        look(history, [SLOWER])
        closed = acknowledge.keep(
            history, Request(1, Action.APPROVE, "new kernel", "operator"), now=NOW
        )
        assert closed.state is DriftState.CLOSED
        with pytest.raises(Refused, match="is already closed"):
            acknowledge.keep(history, Request(1, Action.APPROVE, "", "operator"), now=NOW)
    with queries.open_readonly(db) as reader:
        assert reader.approvals() == (Approval(SLOWER.subject, "/mnt/scratch", 38),)
    assert select(db, "SELECT who, note, finding_id FROM drift_approval") == [
        ("operator", "new kernel", 1)
    ]


@pytest.mark.parametrize("evidence", [{}, {"target": "/t"}, {"target": "/t", "change_run": "x"}])
def test_a_change_without_its_run_cannot_be_approved(db, evidence):
    with History.open_writable(db) as history:
        look(history, [dataclasses.replace(SLOWER, evidence=evidence)])
        with pytest.raises(Refused, match="does not say with which run"):
            acknowledge.keep(history, Request(1, Action.APPROVE, "", "operator"), now=NOW)
    with queries.open_readonly(db) as reader:
        assert len(reader.drift_findings()) == 1, "nothing of it was done"


def test_confirmations_are_read_as_they_were_written(db):
    with History.open_writable(db) as history:
        said = Confirmation(
            code=SLOWER.code,
            subject=SLOWER.subject,
            identity=SLOWER.identity,
            target="/mnt/scratch",
            change_run=38,
            run_id=begin(history),
            at=NOW,
            verdict=Verdict.UNCLEAR,
            words="3 of 5 repeats",
            repeats=(1.5, 2.5),
            control=(3.0,),
        )
        history.drift.add_confirmation(said)
    with queries.open_readonly(db) as reader:
        assert reader.confirmations() == (said,)


def test_the_first_word_on_the_surroundings_of_a_boot_stands(db):
    with History.open_writable(db) as history:
        for boot, values in (("a", {"x": "1"}), ("b", {"x": "2"}), ("b", {"x": "3"})):
            history.drift.keep_surroundings(boot, values, now=NOW)
    with queries.open_readonly(db) as reader:
        assert reader.surroundings_before("c") == {"x": "2"}
        assert reader.surroundings_before("b") == {"x": "1"}
        assert [reader.knows_surroundings(boot) for boot in "abc"] == [True, True, False]
    with History.open_writable(db) as history:
        for number in range(30):
            history.drift.keep_surroundings(f"boot {number}", {}, now=NOW)
    assert select(db, "SELECT count(*), min(boot_id) FROM drift_surroundings") == [(20, "boot 10")]


def test_the_mark_moves_with_everything_that_performance_is_judged_by(db):
    def mark():
        with queries.open_readonly(db) as reader:
            return reader.drift_mark()

    with History.open_writable(db) as history:
        marks = [mark()]
        history.ensure_epoch(FINGERPRINT)
        marks.append(mark())
        run_id = begin(history)
        look(history, [SLOWER])
        assert mark() == marks[-1], "a run that has not ended has nothing to be judged by"
        history.finish_run(run_id, RunState.COMPLETE)
        marks.append(mark())
        acknowledge.keep(history, Request(1, Action.APPROVE, "", "operator"), now=NOW)
        marks.append(mark())
    assert len(set(marks)) == 4


def test_when_it_was_checked_is_kept_with_the_check(db):
    with History.open_writable(db) as history:
        look(history, [FACT])
        with queries.open_readonly(db) as reader:
            assert reader.drift_checked_at() is None
        history.drift.step(lambda _: (), now=NOW, is_check=True)
        history.drift.step(lambda _: (), now=NOW + 60, is_check=True)
    with queries.open_readonly(db) as reader:
        assert reader.drift_checked_at() == NOW + 60
    select(db, "UPDATE drift_value SET value = 'a stranger wrote it'")
    with queries.open_readonly(db) as reader:
        assert reader.drift_checked_at() is None


def test_damaged_rows_are_told_as_damage(db):
    with History.open_writable(db) as history:
        look(history, [FACT])
    select(db, "UPDATE drift_finding SET evidence = 'no JSON'")
    with queries.open_readonly(db) as reader, pytest.raises(OperatorError, match="is damaged"):
        reader.drift_findings()
