"""Fixtures that several files of unit tests ask for by name."""

import pytest

from appliance import paths
from appliance.system import journal


@pytest.fixture
def db(tmp_path):
    return tmp_path / "history.db"


@pytest.fixture
def own_place(db, monkeypatch):
    """The appliance's own history, which is set aside whatever it holds."""
    monkeypatch.setattr(paths, "HISTORY_DB", db)
    return db


@pytest.fixture
def journalled(monkeypatch):
    said = []
    monkeypatch.setattr(
        journal, "event", lambda event, message, **_: said.append((event.name, message))
    )
    return said
