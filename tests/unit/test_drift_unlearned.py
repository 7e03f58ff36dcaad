"""What a drift check says of series that are too young to be judged."""

from __future__ import annotations

import dataclasses

import pytest

from appliance.drift.series import evaluate
from appliance.errors import EXIT_OK
from appliance.history import queries, series_slots
from appliance.history.store import History
from appliance.model.runs import RunState
from tests.unit.test_slots import STRIPE, add, epoch_of

OTHER = dataclasses.replace(STRIPE, job="seq-read")


def runs(db, results, *more, state=RunState.COMPLETE):
    """``results`` runs of one series; the first ``more`` of them measure another one, too."""
    with History.open_writable(db) as history:
        history._writer._connection.execute("PRAGMA synchronous = OFF")
        epoch = epoch_of(history)
        for number in range(results):
            also = (OTHER,) if more and number < more[0] else ()
            add(history, STRIPE, *also, epoch=epoch, state=state)


def said(db):
    with queries.open_readonly(db) as reader:
        return evaluate.unlearned(series_slots.spans(reader))


def test_twelve_valid_results_can_be_judged(db):
    runs(db, 11)
    assert said(db) == (
        False,
        "a baseline needs 12 valid results of whole runs in one epoch; the longest series has 11",
    )
    runs(db, 1)
    assert said(db) == (True, "")


def test_runs_that_were_not_whole_are_no_series(db):
    runs(db, 12, state=RunState.ABORTED)
    assert said(db)[0] is False
    assert "there are none" in said(db)[1]


def test_one_young_series_beside_an_old_one_is_named_and_the_old_one_judged(db):
    runs(db, 12, 3)
    assert said(db) == (True, "1 of 2 series are not judged yet: a baseline needs 12 valid results")


@pytest.mark.parametrize(
    ("count", "judged", "note"),
    [((11,), False, ""), ((12,), True, ""), ((12, 3), True, "1 of 2 series are not judged yet")],
)
def test_a_check_says_so(watched, drift, count, judged, note):
    runs(watched.db, *count)
    status, found = drift("check")
    performance = found["looked_at"]["performance"]
    assert (status, performance["judged"]) == (EXIT_OK, judged)
    assert ("baseline needs 12" in performance["why"]) is not judged
    assert any(note in one for one in found["notes"]) is bool(note)
