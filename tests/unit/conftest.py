"""Fixtures that several files of unit tests ask for by name."""

import json

import pytest

from appliance import paths
from appliance.cli.main import main
from appliance.system import journal
from tests.unit import drift_checks


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


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """An appliance that drift checks look at."""
    return drift_checks.set_up(tmp_path, monkeypatch)


@pytest.fixture
def drift(watched, capsys):
    """`stripewright drift`: the exit status, and the JSON document or what is on stderr."""

    def command(*words, db=None):
        status = main(["drift", *words, "--db", str(db or watched.db), "--json"])
        printed = capsys.readouterr()
        return status, json.loads(printed.out) if printed.out else printed.err

    return command
