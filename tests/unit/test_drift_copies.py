"""A damaged history that is not the machine's own is told, and stays where it is."""

from __future__ import annotations

import pytest

from appliance.errors import EXIT_FAILED, OperatorError
from appliance.history.store import History
from tests.unit.histories import begin, select
from tests.unit.test_drift_history import SLOWER


def damaged(db):
    """The rows can be read; that there is a trigger says that somebody else wrote it."""
    select(db, "CREATE TRIGGER theirs AFTER INSERT ON run BEGIN SELECT 1; END")
    return db.read_bytes()


def test_a_damaged_file_is_only_set_aside_by_whoever_may(db):
    with History.open_writable(db) as history:
        begin(history)
    content = damaged(db)
    with pytest.raises(OperatorError, match="is damaged"):
        History.open_writable(db, may_set_aside=False)
    assert (db.read_bytes(), list(db.parent.iterdir())) == (content, [db])
    with History.open_writable(db) as history:
        assert history.set_aside is not None


@pytest.fixture
def copy(watched, drift):
    watched.has_run()
    watched.performance = [SLOWER]
    drift("check")
    found = watched.db.with_name("copy.db")
    found.write_bytes(watched.db.read_bytes())
    damaged(found)
    return found


def test_a_check_of_a_copy(watched, drift, copy):
    content = copy.read_bytes()
    watched.performance = []
    _, found = drift("check", db=copy)
    assert any("nothing was kept" in note and "is damaged" in note for note in found["notes"])
    assert copy.read_bytes() == content
    assert list(copy.parent.glob("*.damaged-*")) == []


def test_a_word_on_a_finding_of_a_copy(drift, copy):
    content = copy.read_bytes()
    status, said = drift("ack", "1", db=copy)
    assert status == EXIT_FAILED
    assert "is damaged" in said
    assert copy.read_bytes() == content
    assert list(copy.parent.glob("*.damaged-*")) == []
