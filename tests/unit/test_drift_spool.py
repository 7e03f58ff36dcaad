"""An operator says something of a finding: by way of the spool, and of nothing else."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
import time

import pytest

from appliance.drift import acknowledge
from appliance.drift import check as checking
from appliance.drift.acknowledge import Action, Request
from appliance.errors import EXIT_DRIFT, EXIT_FAILED, EXIT_OK, OperatorError
from appliance.history import opening, published
from appliance.history.findings_store import DriftWriter
from appliance.system import services
from tests.unit.drift_checks import ME
from tests.unit.test_drift_history import FACT


@pytest.fixture
def operator(watched, monkeypatch):
    """Somebody who may not write the history; the unit is the check itself."""
    from appliance.client import finding_actions

    started = []

    def start(unit):
        started.append(unit)
        checking.check(watched.db)

    monkeypatch.setattr(finding_actions, "is_ours_to_write", lambda _: False)
    monkeypatch.setattr(services, "is_installed", lambda _: True)
    monkeypatch.setattr(services, "start_and_wait", start)
    return started


def test_an_operator_leaves_a_word_and_the_check_keeps_it(watched, drift, operator):
    watched.layout = [FACT]
    drift("check")
    status, done = drift("ack", "1", "--note", "ticket 7")
    assert (status, done["state"], done["acknowledged_by"]) == (EXIT_OK, "acknowledged", ME)
    assert done["note"] == "ticket 7"
    assert operator == [services.DRIFT_UNIT]
    assert list(watched.spool.iterdir()) == []


def test_a_check_that_was_at_work_already_is_asked_again(watched, drift, operator, monkeypatch):
    from appliance.client import finding_actions

    watched.layout = [FACT]
    drift("check")
    checks = iter([lambda: None, lambda: checking.check(watched.db)])
    monkeypatch.setattr(services, "start_and_wait", lambda _: next(checks)())
    monkeypatch.setattr(finding_actions, "_POLL_SECONDS", 0.0)
    assert drift("ack", "1")[1]["state"] == "acknowledged"


def test_another_note_on_what_is_acknowledged_reaches_it(watched, drift, operator):
    watched.layout = [FACT]
    drift("check")
    drift("ack", "1", "--note", "one")
    assert drift("ack", "1", "--note", "two")[1]["note"] == "two"


def test_an_operator_whose_word_is_not_taken_is_told(watched, drift, operator, monkeypatch):
    from appliance.client import finding_actions

    watched.layout = [FACT]
    drift("check")
    monkeypatch.setattr(services, "start_and_wait", lambda _: None)
    monkeypatch.setattr(finding_actions, "_PATIENCE_SECONDS", 0.0)
    status, said = drift("ack", "1")
    assert status == EXIT_FAILED
    assert "not acknowledged yet" in said
    assert services.DRIFT_UNIT in said


def test_where_no_unit_can_write_it_either(watched, drift, operator, monkeypatch):
    watched.layout = [FACT]
    drift("check")
    monkeypatch.setattr(services, "is_installed", lambda _: False)
    status, said = drift("ack", "1")
    assert (status, "cannot be written by you" in said) == (EXIT_FAILED, True)


# ------------------------------------------------------------------------------ the spool


def leave(watched, **changes):
    acknowledge.leave(
        watched.spool, dataclasses.replace(Request(1, Action.ACKNOWLEDGE, "n"), **changes)
    )


def test_who_says_it_is_the_owner_of_the_file(watched):
    leave(watched, who="root, really")
    (word,) = acknowledge.read(watched.spool)
    assert (word.finding_id, word.action, word.note, word.who) == (1, "acknowledge", "n", ME)


def test_words_come_in_their_order_and_a_half_written_one_waits(watched):
    for number in (3, 1, 2):
        leave(watched, finding_id=number)
        time.sleep(0.002)
    (watched.spool / ".half").write_text("{")
    assert [one.finding_id for one in acknowledge.read(watched.spool)] == [3, 1, 2]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 5000,
        b'{"finding": 1, "action": "close", "note": ""}',
        b'{"finding": "1", "action": "acknowledge", "note": ""}',
        b'{"finding": true, "action": "acknowledge", "note": ""}',
        b'{"finding": 0, "action": "acknowledge", "note": ""}',
        b'{"finding": 99999999999999999999, "action": "acknowledge", "note": ""}',
        b'{"finding": 1, "action": "acknowledge", "note": 5}',
        b'{"finding": 1, "action": "acknowledge"}',
        b'{"finding": 1, "action": "acknowledge", "note": "' + b"x" * 501 + b'"}',
        b'{"finding": 1, "action": "acknowledge", "note": ""}' + b" " * 8192,
        b"\xff\xfe",
    ],
)
def test_what_says_nothing_is_rejected_and_taken_away(watched, drift, content, journalled):
    watched.layout = [FACT]
    drift("check")
    (watched.spool / "a.json").write_bytes(content)
    assert drift("check")[0] == EXIT_DRIFT
    assert list(watched.spool.iterdir()) == []
    assert [name for name, _ in journalled] == ["DRIFT_REQUEST_REJECTED"]


def test_links_pipes_and_directories_are_not_read(watched, drift, journalled, tmp_path):
    watched.layout = [FACT]
    drift("check")
    secret = tmp_path / "secret"
    shared = tmp_path / "shared"
    for one in (secret, shared):
        one.write_text('{"finding": 1, "action": "acknowledge", "note": "from elsewhere"}')
    (watched.spool / "link").symlink_to(secret)
    (watched.spool / "hard").hardlink_to(shared)
    os.mkfifo(watched.spool / "pipe")
    (watched.spool / "folder").mkdir()
    assert drift("check")[0] == EXIT_DRIFT
    assert list(watched.spool.iterdir()) == []
    assert secret.exists()
    assert shared.exists()
    assert len(journalled) == 4


def test_directories_that_hold_something_do_not_stop_the_words(watched, drift, journalled):
    watched.layout = [FACT]
    drift("check")
    for number in range(acknowledge._MAX_FILES):
        (watched.spool / f"{number}" / "deep").mkdir(parents=True)
    time.sleep(0.002)
    leave(watched)
    drift("check")
    assert len(journalled) == acknowledge._MAX_FILES
    assert drift("check")[1]["findings"][0]["state"] == "acknowledged"
    assert all(one.name.startswith(".") for one in watched.spool.iterdir())
    assert len(journalled) == acknowledge._MAX_FILES, "each is told once"


def test_a_word_on_no_finding_is_rejected_and_the_next_is_heard(watched, drift, journalled):
    watched.layout = [FACT]
    drift("check")
    leave(watched, finding_id=99)
    leave(watched)
    assert drift("check")[0] == EXIT_OK
    assert len(journalled) == 1
    assert "there is no finding 99" in journalled[0][1]


def test_while_the_history_cannot_be_written_words_wait(watched, drift, monkeypatch):
    watched.layout = [FACT]
    drift("check")
    leave(watched)
    monkeypatch.setattr(opening, "_WAIT_SECONDS", 0.05)
    with contextlib.closing(sqlite3.connect(published.live(watched.db))) as other:
        other.execute("BEGIN IMMEDIATE")
        status, found = drift("check")
        other.rollback()
    assert status == EXIT_DRIFT
    assert any("operator actions are pending" in note for note in found["notes"])
    assert drift("check")[0] == EXIT_OK
    assert list(watched.spool.iterdir()) == []


def test_on_a_full_disk_words_wait(watched, drift, monkeypatch, journalled):
    watched.layout = [FACT]
    drift("check")
    leave(watched)

    def full(*_, **__):
        raise OperatorError("history: database or disk is full", "make room on that filesystem")

    with monkeypatch.context() as patched:
        patched.setattr(DriftWriter, "decide_on", full)
        status, found = drift("check")
    assert status == EXIT_DRIFT
    assert any("operator actions are pending: history: database" in note for note in found["notes"])
    assert journalled == []
    assert drift("check")[0] == EXIT_OK
    assert list(watched.spool.iterdir()) == []


def test_a_directory_of_another_is_no_place_for_words(tmp_path):
    with pytest.raises(Exception, match="cannot write to"):
        acknowledge.leave(tmp_path / "none", Request(1, Action.ACKNOWLEDGE, ""))
    assert acknowledge.read(tmp_path / "none") == ()


def test_a_pipe_with_something_in_it_is_no_word(watched):
    pipe = watched.spool / "pipe.json"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(descriptor, b'{"finding": 1, "action": "acknowledge", "note": ""}')
        (found,) = acknowledge.read(watched.spool)
    finally:
        os.close(descriptor)
    assert isinstance(found, acknowledge.Rejected)


def test_a_full_spool_is_read_in_parts(watched):
    for number in range(70):
        acknowledge.leave(watched.spool, Request(number + 1, Action.ACKNOWLEDGE, ""))
    assert [one.finding_id for one in acknowledge.read(watched.spool)] == list(range(1, 65))


def test_what_is_left_can_be_read_by_the_check_whatever_the_umask_is(watched):
    before = os.umask(0o077)
    try:
        acknowledge.leave(watched.spool, Request(1, Action.ACKNOWLEDGE, ""))
    finally:
        os.umask(before)
    (file,) = watched.spool.iterdir()
    assert file.stat().st_mode & 0o777 == 0o644
