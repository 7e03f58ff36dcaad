"""The reader of the log: what it keeps, what of the journal is ours, and what stands in for it."""

import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest

from appliance.errors import OperatorError, Refused
from appliance.history.store import History
from tests.tui.fake_log import entries
from tui.sources import journal, journal_events, journal_reader
from tui.sources.journal import Follower


@dataclass
class FakeReading:
    """Entries 0 to ``last``, of which those from ``boot`` on are of this boot."""

    last: int = 5000
    boot: int = 2500
    about: str = "the journal"
    notice: str = ""
    come: list[int] = field(default_factory=list)
    first: int = 0
    problem: OperatorError | None = None

    def latest(self, count):
        self.first = max(self.boot, self.last - count)
        return entries(self.last - self.first, self.first)

    def older(self, count, *, this_boot):
        begin = max(self.boot if this_boot else 0, self.first - count)
        found = entries(self.first - begin, begin)
        self.first = begin
        return found

    def newer(self, wait_seconds):
        if self.problem is not None:
            raise self.problem
        if not self.come:
            return ()
        count = self.come.pop()
        self.last += count
        return entries(count, self.last - count)

    def close(self):
        pass


def numbers(follower):
    return [int(entry.key[1:]) for entry in follower._state.entries]


def test_this_boot_first_and_older_ones_when_asked_for():
    follower = Follower(FakeReading, lambda _: None, clock=lambda: 7.0)
    follower.step()
    assert numbers(follower) == list(range(4800, 5000))
    follower.step()
    assert numbers(follower) == list(range(3000, 5000))
    assert follower._state.read_at == 7.0
    follower.load_older()
    follower.step()
    assert numbers(follower) == list(range(2000, 5000))
    assert follower._state.has_older
    for _ in range(3):
        follower.load_older()
        follower.step()
    assert numbers(follower) == list(range(5000))
    assert not follower._state.has_older


def test_older_ones_are_read_back_to_a_time():
    follower = Follower(lambda: FakeReading(last=9000, boot=8900), lambda _: None)
    follower.step()
    follower.step()
    wanted = entries(1, 5500)[0]
    follower.load_older(wanted.at)
    follower.step()
    assert follower._state.reads_older
    for _ in range(4):
        follower.step()
    assert numbers(follower)[0] == 4900
    assert not follower._state.reads_older
    assert follower._state.has_older


def test_what_comes_pushes_out_the_oldest():
    reading = FakeReading(come=[30])
    follower = Follower(lambda: reading, lambda _: None)
    for _ in range(3):
        follower.step()
    assert numbers(follower) == list(range(3030, 5030))


def test_never_more_than_the_most_however_often_older_ones_are_asked_for():
    follower = Follower(lambda: FakeReading(last=90_000, boot=0), lambda _: None)
    for _ in range(40):
        follower.load_older()
        follower.step()
    assert len(numbers(follower)) <= journal.MOST
    assert not follower._state.has_older


def test_a_failure_is_told_and_read_anew_after_it():
    reading = FakeReading()
    follower = Follower(lambda: reading, lambda _: None, clock=lambda: 7.0)
    follower.step()
    follower.step()
    reading.problem = OperatorError("bad message", "")
    assert not follower.step()
    assert follower._state.problem == "bad message"
    assert len(numbers(follower)) == 2000  # what was there stays
    reading.problem = None
    assert follower.step()
    assert follower._state.problem == ""


def test_who_comes_back_has_not_waited_while_nobody_looked():
    clock = [100.0]
    follower = Follower(FakeReading, lambda _: None, clock=lambda: clock[0])
    follower._thread = threading.current_thread()  # no other: the steps are made here
    assert follower.state().asked_at == 100.0
    follower.step()
    clock[0] = 105.0
    assert follower.state().asked_at == 100.0
    clock[0] = 700.0
    state = follower.state()
    assert (state.read_at, state.asked_at) == (100.0, 700.0)


FIELDS = {
    "__CURSOR": "s=1",
    "__REALTIME_TIMESTAMP": 1_790_000_000_500_000,
    "_BOOT_ID": UUID("0ec5373fc9414e158f730120d0d0c713"),
    "MESSAGE": "said",
    "PRIORITY": 3,
    "_PID": 812,
    "_SYSTEMD_UNIT": "stripewright-drift.service",
}


def test_an_entry_of_the_fields_of_the_journal():
    entry = journal_reader.to_entry(FIELDS)
    assert (entry.key, entry.at, entry.priority) == ("s=1", 1_790_000_000.5, 3)
    assert (entry.unit, entry.message) == ("stripewright-drift.service", "said")
    assert entry.boot == "0ec5373fc9414e158f730120d0d0c713"


def test_binary_endless_and_doubled_fields_become_short_texts():
    made = {
        **FIELDS,
        "MESSAGE": b"\xff\x00abc" + b"y" * 100_000,
        "PRIORITY": b"bad",
        "_SYSTEMD_UNIT": ["a.service", "b.service"],
    }
    entry = journal_reader.to_entry(made)
    assert entry.message.startswith("\\xff\x00abc")
    assert len(entry.message) <= journal.LONGEST_TEXT
    assert entry.priority == 6
    assert entry.unit == "a.service | b.service"
    names = [name for name, _ in journal_reader.in_order({**made, "ERRNO": 5})]
    assert names[:3] == ["MESSAGE", "PRIORITY", "_SYSTEMD_UNIT"]
    assert names.index("ERRNO") < names.index("_PID") < names.index("__CURSOR")


@pytest.mark.parametrize(
    ("pid", "unit", "ours"),
    [
        (812, "", True),
        (1, "stripewright-bench@smoke.service", True),
        (1, "ssh.service", False),
        (1, "", False),
    ],
)
def test_what_the_service_manager_says_is_ours_if_it_is_about_our_units(pid, unit, ours):
    assert journal_reader.is_ours({**FIELDS, "_PID": pid, "UNIT": unit}) is ours


def test_every_unit_of_the_image_is_matched():
    folder = Path("units/systemd")
    services = {file.name for file in folder.glob("*.service")}
    assert set(journal_reader.UNITS) == {name for name in services if "@" not in name}
    for name in services - set(journal_reader.UNITS):
        text = (folder / name).read_text()
        of_file = [line[6:] for line in text.splitlines() if line.startswith("Slice=")]
        template = name.partition("@")[0].replace("-", "\\x2d")
        assert (of_file or [f"system-{template}.slice"])[0] in journal_reader.SLICES


def test_who_may_not_read_the_journal_is_told_which_group_may(tmp_path, monkeypatch):
    machine_id = tmp_path / "machine-id"
    machine_id.write_text("abc\n")
    absent = journal_reader.why_unreadable([tmp_path / "none"], machine_id)
    assert isinstance(absent, journal_reader.NoJournal)
    file = tmp_path / "journal" / "abc" / "system.journal"
    file.parent.mkdir(parents=True)
    file.touch()
    assert journal_reader.why_unreadable([tmp_path / "journal"], machine_id) is None
    monkeypatch.setattr(journal_reader.os, "access", lambda *_: False)
    refused = journal_reader.why_unreadable([tmp_path / "journal"], machine_id)
    assert isinstance(refused, Refused)
    assert "group systemd-journal" in refused.hint


def test_the_events_of_another_history_stand_in_for_a_journal(tmp_path):
    db = tmp_path / "history.db"
    with History.open_writable(db) as history:
        for number in range(5):
            history.event("STEP_FAILED", f"step {number}", {"argv": "mdadm", "n": number})
    follower = journal_events.follow(db)
    assert follower.step()
    state = follower._state
    assert state.about == "events in the history"
    assert "not this machine's journal" in state.notice
    assert [entry.message for entry in state.entries] == [f"step {number}" for number in range(5)]
    assert state.entries[0].priority == 3
    assert state.entries[0].unit == "STEP_FAILED"
    detail = dict(follower.detail(state.entries[2].key).fields)
    assert detail["message"] == "step 2"
    assert detail["argv"] == "mdadm"
    with pytest.raises(OperatorError):
        follower.detail("event-99")


def test_events_are_read_on_in_both_directions(tmp_path):
    db = tmp_path / "history.db"
    with History.open_writable(db) as history:
        for number in range(1, 8):
            history.event("RUN_STARTED", str(number), {})
        slept = []
        log = journal_events.HistoryEvents(db, "", sleep=slept.append)
        assert [entry.message for entry in log.latest(3)] == ["5", "6", "7"]
        assert [entry.message for entry in log.older(2, this_boot=False)] == ["3", "4"]
        assert [entry.message for entry in log.older(9, this_boot=False)] == ["1", "2"]
        assert log.older(9, this_boot=False) == ()
        history.event("RUN_STARTED", "8", json.loads('{"a": "b"}'))
        assert [entry.message for entry in log.newer(1.0)] == ["8"]
        assert log.newer(1.0) == []
        assert slept == [5.0, 5.0]
