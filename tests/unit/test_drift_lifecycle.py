"""What becomes of findings from look to look."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.drift import lifecycle
from appliance.drift.lifecycle import DAY_SECONDS, FLAP_SECONDS, SEEN_SECONDS, Scope
from appliance.errors import Refused, UsageError
from appliance.model.findings import Area, DriftSeverity, DriftState, Fact, FindingRecord, Kind

ALL = Scope(frozenset(Area))
NOW = 1_800_000_000.0


def fact(code="MEMBER-MISSING", subject="scratch", identity="AWS1", **other) -> Fact:
    return Fact(
        **{
            "code": code,
            "subject": subject,
            "identity": identity,
            "summary": f"{subject}: {identity}",
            "severity": DriftSeverity.CRITICAL,
            **other,
        }
    )


class Book:
    """Findings as history keeps them, in memory."""

    def __init__(self) -> None:
        self.records: dict[int, FindingRecord] = {}
        self.told: list[tuple[float, Kind, tuple[str, str, str]]] = []

    def look(self, facts, now, scope=ALL, boot_id="boot"):
        records = tuple(self.records.values())
        moved = lifecycle.step(records, facts, scope, now=now, boot_id=boot_id)
        for one in moved:
            self.keep(one, now, boot_id)
        return moved

    def keep(self, one, now, boot_id="boot"):
        number = one.id or len(self.records) + 1
        before = self.records.get(number) or FindingRecord(
            number, one.fact, one.state, 1, now, now, boot_id=boot_id
        )
        came_back = one.kind is Kind.REOPENED and before.state is DriftState.CLOSED
        record = dataclasses.replace(
            before,
            fact=one.fact,
            state=one.state,
            quiet=one.quiet,
            closed_at=now if one.state is DriftState.CLOSED else None,
            seen_at=before.seen_at if one.kind is Kind.CLOSED else now,
            times=before.times + came_back,
        )
        if one.announce:
            self.told.append((now, one.kind, one.fact.key))
            if one.state is not DriftState.CLOSED:
                record = dataclasses.replace(record, announced_at=now)
        if one.kind is Kind.ACKNOWLEDGED:
            record = dataclasses.replace(record, acknowledged_at=now, note=one.note)
        self.records[number] = record

    @property
    def active(self):
        return [one for one in self.records.values() if one.state is not DriftState.CLOSED]


def test_a_fact_is_told_once_and_closed_when_it_is_gone():
    book = Book()
    (opened,) = book.look([fact()], NOW)
    assert (opened.kind, opened.state, opened.announce) == (Kind.OPENED, DriftState.OPEN, True)
    assert book.look([fact()], NOW + 300) == ()
    (closed,) = book.look([], NOW + 600)
    assert (closed.kind, closed.state, closed.announce) == (Kind.CLOSED, DriftState.CLOSED, True)
    assert book.look([], NOW + 900) == ()


def test_last_seen_is_kept_once_an_hour_without_a_word():
    book = Book()
    book.look([fact()], NOW)
    assert book.look([fact(summary="another figure")], NOW + SEEN_SECONDS - 1) == ()
    (seen,) = book.look([fact(summary="another figure")], NOW + SEEN_SECONDS)
    assert (seen.kind, seen.announce, seen.is_change) == (Kind.SEEN, False, False)
    assert seen.fact.summary == "another figure"


def test_another_identity_is_another_finding():
    book = Book()
    book.look([fact(identity="AWS1")], NOW)
    moved = book.look([fact(identity="AWS2")], NOW + 300)
    assert [one.kind for one in moved] == [Kind.OPENED, Kind.CLOSED]


@pytest.mark.parametrize(
    "scope",
    [
        Scope(frozenset({Area.ENVIRONMENT, Area.PERFORMANCE})),
        Scope(frozenset(Area), frozenset({("MEMBER-MISSING", "")})),
        Scope(frozenset(Area), frozenset({("*", "")})),
        Scope(frozenset(Area), frozenset({("*", "scratch")})),
        Scope(frozenset(Area), frozenset({("MEMBER-MISSING", "scratch")})),
    ],
)
def test_a_look_that_could_not_see_closes_nothing(scope):
    book = Book()
    book.look([fact()], NOW)
    assert book.look([], NOW + 300, scope) == ()


def test_what_is_blind_elsewhere_does_not_keep_a_finding_open():
    book = Book()
    book.look([fact(), fact("PERF-SLOWER", "smoke/x read")], NOW)
    blind = Scope(frozenset(Area), frozenset({("MEMBER-MISSING", "logs"), ("LVM-SEGMENTS", "")}))
    assert {one.kind for one in book.look([], NOW + 300, blind)} == {Kind.CLOSED}


def test_performance_is_judged_though_the_machine_cannot_be_seen():
    book = Book()
    book.look([fact("PERF-SLOWER", "smoke/x read")], NOW)
    blind = Scope(frozenset({Area.PERFORMANCE}), frozenset({("*", "")}))
    assert [one.kind for one in book.look([], NOW + 300, blind)] == [Kind.CLOSED]


def test_a_code_of_a_later_version_is_never_closed():
    book = Book()
    book.look([fact("SOMETHING-NEW")], NOW)
    assert book.look([], NOW + 300) == ()


def test_what_flaps_is_one_finding_and_told_once_a_day():
    book = Book()
    for minute in range(0, 3 * 24 * 60, 10):
        here = [fact()] if minute % 20 == 0 else []
        book.look(here, NOW + minute * 60)
    (record,) = book.records.values()
    assert record.times == 3 * 24 * 3
    told = [at for at, kind, _ in book.told if kind is not Kind.CLOSED]
    assert [at - NOW for at in told] == [0, DAY_SECONDS, 2 * DAY_SECONDS]
    closings = [at for at, kind, _ in book.told if kind is Kind.CLOSED]
    assert len(closings) == 3, "whoever was not told that it is back is not told that it has gone"


def test_what_came_back_in_silence_and_stays_is_told_when_the_day_is_over():
    book = Book()
    book.look([fact()], NOW)
    book.look([], NOW + 300)
    (back,) = book.look([fact()], NOW + 600)
    assert (back.kind, back.announce, back.quiet) == (Kind.REOPENED, False, True)
    for minute in range(15, 24 * 60, 5):
        assert not any(one.announce for one in book.look([fact()], NOW + minute * 60))
    (late,) = book.look([fact()], NOW + DAY_SECONDS)
    assert (late.kind, late.announce, late.quiet) == (Kind.REOPENED, True, False)
    assert book.records[1].times == 2


def test_after_a_day_it_is_a_new_finding():
    book = Book()
    book.look([fact()], NOW)
    book.look([], NOW + 300)
    (again,) = book.look([fact()], NOW + 300 + DAY_SECONDS)
    assert (again.kind, again.id, again.announce) == (Kind.OPENED, None, True)


def broken_known_and_repaired():
    """A critical fact that was acknowledged in boot ``boot``, and is over after ten minutes."""
    book = Book()
    book.look([fact()], NOW)
    said = lifecycle.acknowledge(book.records[1], who="operator", note="disk ordered")
    assert said is not None
    book.keep(said, NOW + 10)
    return book


def test_a_critical_fault_that_comes_back_after_a_reboot_is_an_alarm_again():
    book = broken_known_and_repaired()
    book.look([], NOW + 600, boot_id="next")
    (again,) = book.look([fact()], NOW + 900, boot_id="next")
    assert (again.kind, again.state, again.announce) == (Kind.OPENED, DriftState.OPEN, True)
    # In that boot it flaps like everything else.
    book.look([], NOW + 1200, boot_id="next")
    (flapped,) = book.look([fact()], NOW + 1500, boot_id="next")
    assert (flapped.kind, flapped.id, flapped.announce) == (Kind.REOPENED, 2, False)


def test_a_critical_fault_that_was_away_for_long_is_an_alarm_again():
    book = broken_known_and_repaired()
    book.look([], NOW + 600)
    (again,) = book.look([fact()], NOW + 600 + 20 * 60)
    assert (again.kind, again.state, again.announce) == (Kind.OPENED, DriftState.OPEN, True)


def test_a_critical_fault_that_flaps_stays_acknowledged():
    book = broken_known_and_repaired()
    book.look([], NOW + 600, boot_id="")
    (again,) = book.look([fact()], NOW + 600 + 10 * 60, boot_id="")
    assert (again.id, again.state, again.announce) == (1, DriftState.ACKNOWLEDGED, False)


def test_what_was_acknowledged_as_less_and_comes_back_critical_is_an_alarm():
    book = Book()
    book.look([fact(severity=DriftSeverity.WARNING)], NOW)
    said = lifecycle.acknowledge(book.records[1], who="operator", note="")
    assert said is not None
    book.keep(said, NOW)
    book.look([], NOW + 300)
    (again,) = book.look([fact()], NOW + 600)
    assert (again.state, again.announce) == (DriftState.OPEN, True)


def test_it_grows_worse_and_is_told_and_wavering_is_not():
    book = Book()
    mild, grave = fact(severity=DriftSeverity.WARNING), fact(severity=DriftSeverity.CRITICAL)
    book.look([mild], NOW)
    (worse,) = book.look([grave], NOW + 300)
    assert (worse.kind, worse.announce) == (Kind.SEVERITY, True)
    for count in range(2, 100):
        moved = book.look([mild if count % 2 else grave], NOW + 300 * count)
        assert not any(one.is_change for one in moved)
    (milder,) = book.look([mild], NOW + 300 + DAY_SECONDS)
    assert (milder.kind, milder.announce, milder.fact.severity) == (
        Kind.SEVERITY,
        False,
        DriftSeverity.WARNING,
    )


def test_of_two_that_are_the_same_the_graver_counts():
    moved = Book().look([fact(severity=DriftSeverity.NOTICE), fact()], NOW)
    assert [one.fact.severity for one in moved] == [DriftSeverity.CRITICAL]


def test_a_suspect_is_confirmed_once_and_stays_so():
    book = Book()
    suspect = fact("PERF-SLOWER", "smoke/x read", state=DriftState.SUSPECT)
    confirmed = dataclasses.replace(suspect, state=DriftState.CONFIRMED)
    (raised,) = book.look([suspect], NOW)
    assert raised.state is DriftState.SUSPECT
    assert not lifecycle.alarms(raised.state, raised.fact.severity)
    (certain,) = book.look([confirmed], NOW + 300)
    assert (certain.kind, certain.state, certain.announce) == (
        Kind.CONFIRMED,
        DriftState.CONFIRMED,
        True,
    )
    assert book.look([suspect], NOW + 600) == ()
    assert book.records[1].state is DriftState.CONFIRMED


def test_acknowledged_stays_acknowledged_through_confirmation_and_flapping():
    book = Book()
    suspect = fact("PERF-SLOWER", "smoke/x read", state=DriftState.SUSPECT)
    book.look([suspect], NOW)
    said = lifecycle.acknowledge(book.records[1], who="operator", note="known")
    assert said is not None
    book.keep(said, NOW + 10)
    confirmed = dataclasses.replace(suspect, state=DriftState.CONFIRMED)
    (one,) = book.look([confirmed], NOW + 300)
    assert (one.kind, one.state, one.announce) == (Kind.CONFIRMED, DriftState.ACKNOWLEDGED, False)
    book.look([], NOW + 600)
    (back,) = book.look([confirmed], NOW + 900)
    assert (back.state, back.announce) == (DriftState.ACKNOWLEDGED, False)
    book.look([confirmed], NOW + 900 + 2 * DAY_SECONDS)
    assert book.records[1].state is DriftState.ACKNOWLEDGED
    assert [kind for _, kind, _ in book.told] == [Kind.OPENED, Kind.ACKNOWLEDGED, Kind.CLOSED]


def test_what_was_acknowledged_and_grows_worse_is_told():
    book = Book()
    book.look([fact(severity=DriftSeverity.WARNING)], NOW)
    said = lifecycle.acknowledge(book.records[1], who="operator", note="")
    assert said is not None
    book.keep(said, NOW)
    (worse,) = book.look([fact()], NOW + 300)
    assert (worse.state, worse.announce) == (DriftState.ACKNOWLEDGED, True)


def test_what_cannot_be_acknowledged_or_approved():
    book = Book()
    book.look([fact()], NOW)
    record = book.records[1]
    with pytest.raises(UsageError, match="501 characters"):
        lifecycle.acknowledge(record, who="operator", note="x" * 501)
    with pytest.raises(Refused, match="only PERF-SLOWER, PERF-FASTER"):
        lifecycle.approve(record, who="operator", note="")
    book.look([], NOW + 300)
    for say in (lifecycle.acknowledge, lifecycle.approve):
        with pytest.raises(Refused, match="is already closed"):
            say(book.records[1], who="operator", note="")


def test_saying_the_same_twice_moves_nothing():
    book = Book()
    book.look([fact()], NOW)
    said = lifecycle.acknowledge(book.records[1], who="operator", note="known")
    assert said is not None
    book.keep(said, NOW)
    assert lifecycle.acknowledge(book.records[1], who="operator", note="known") is None
    assert lifecycle.acknowledge(book.records[1], who="operator", note="") is None, "words stay"
    assert lifecycle.acknowledge(book.records[1], who="operator", note="new") is not None


def test_an_approved_change_closes_its_finding():
    book = Book()
    book.look([fact("PERF-FASTER", "smoke/x read", severity=DriftSeverity.NOTICE)], NOW)
    said = lifecycle.approve(book.records[1], who="operator", note="new kernel")
    assert (said.kind, said.state) == (Kind.APPROVED, DriftState.CLOSED)


def test_a_clock_that_jumps_back_years_neither_repeats_nor_silences_for_ever():
    book = Book()
    book.look([fact()], NOW)
    ago = NOW - 400 * DAY_SECONDS
    assert not any(one.announce for one in book.look([fact()], ago))
    book.look([], ago + 300)
    (back,) = book.look([fact()], ago + 600)
    assert back.announce, "the last word was years away"


# ------------------------------------------------------------------------ any order of looks

_FACTS = st.sets(
    st.tuples(
        st.sampled_from(["MEMBER-MISSING", "MOUNT-OPTIONS", "PERF-SLOWER", "ENV-KERNEL"]),
        st.sampled_from(["scratch", "logs"]),
        st.sampled_from(["a", "b"]),
    ),
    max_size=4,
)
_LOOKS = st.lists(
    st.tuples(
        _FACTS,
        st.sets(st.sampled_from(list(Area))),
        st.integers(1, 60 * 30),
        st.none() | st.integers(0, 5),
    ),
    max_size=30,
)


def _severity(code):
    return DriftSeverity.CRITICAL if code == "MEMBER-MISSING" else DriftSeverity.WARNING


@given(_LOOKS)
def test_no_fact_is_told_twice_nothing_is_lost_acknowledged_stays(looks):
    """In any order of looks, blind ones among them, with people acknowledging meanwhile."""
    book, now = Book(), NOW
    acknowledged: set[int] = set()
    for keys, areas, minutes, said in looks:
        now += minutes * 60
        facts = [
            fact(code, subject, identity, severity=_severity(code))
            for code, subject, identity in sorted(keys)
        ]
        book.look(facts, now, Scope(frozenset(areas)))
        here = {one.fact.key for one in book.active}
        assert keys <= here, "what is there has a finding"
        assert len(here) == len(book.active), "and only one"
        for one in book.active:
            if one.id in acknowledged:
                assert one.state is DriftState.ACKNOWLEDGED
        if said is not None and said < len(book.active):
            record = book.active[said]
            moved = lifecycle.acknowledge(record, who="operator", note="")
            if moved is not None:
                book.keep(moved, now)
                acknowledged.add(record.id)
    for identity in {key for _, _, key in book.told}:
        news = [
            at
            for at, kind, key in book.told
            if key == identity and kind in {Kind.OPENED, Kind.REOPENED}
        ]
        critical = _severity(identity[0]) is DriftSeverity.CRITICAL
        apart = FLAP_SECONDS if critical else DAY_SECONDS
        assert all(b - a >= apart for a, b in itertools.pairwise(news))
