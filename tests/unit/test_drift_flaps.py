"""What goes and comes is told once a day at the most, and what somebody knows of not at all."""

from __future__ import annotations

from appliance.drift import lifecycle
from appliance.drift.lifecycle import DAY_SECONDS, Scope
from appliance.model.findings import Area, DriftSeverity, DriftState
from tests.unit.test_drift_lifecycle import NOW, Book, fact

HOUR = 3_600.0
MILD = fact(severity=DriftSeverity.WARNING)


def test_what_was_acknowledged_comes_back_without_a_word_after_the_day_too():
    book = Book()
    book.look([MILD], NOW)
    said = lifecycle.acknowledge(book.records[1], who="operator", note="")
    assert said is not None
    book.keep(said, NOW + 10)
    book.look([], NOW + 20 * HOUR)
    (back,) = book.look([MILD], NOW + DAY_SECONDS + 5 * HOUR)
    assert (back.state, back.announce) == (DriftState.ACKNOWLEDGED, False)


def test_of_two_findings_that_it_may_be_it_is_the_later_one():
    book, grave = Book(), fact()
    book.look([grave], NOW)
    book.look([], NOW + 60)
    book.look([grave], NOW + 120, boot_id="next")
    book.look([], NOW + 180, boot_id="next")
    (back,) = book.look([grave], NOW + 240, boot_id="")
    assert back.id == 2


def test_a_fact_of_a_disk_stays_while_its_volume_cannot_be_seen():
    book = Book()
    book.look([fact(subject="AWS1", volume="scratch")], NOW)
    blind = Scope(frozenset(Area), frozenset({("MEMBER-MISSING", "scratch")}))
    assert book.look([], NOW + 60, scope=blind) == ()
    blind = Scope(frozenset(Area), frozenset({("MEMBER-MISSING", "data")}))
    assert len(book.look([], NOW + 60, scope=blind)) == 1
