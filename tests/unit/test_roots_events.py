"""Root's events get into the history, from the journal, and only root's."""

from __future__ import annotations

import re
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from appliance.drift import check, journal_events
from appliance.history import pages, queries, series_slots
from appliance.history.series_slots import EXPLAINING
from appliance.history.store import History
from appliance.system import journal, services
from appliance.system.journal import Event
from tests.unit.drift_checks import Machine

ROOT = Path(__file__).parents[2]
NOW = time.time()


def entry(event: Event = Event.TUNING_SET, **fields: str) -> dict[str, str]:
    return {
        "MESSAGE_ID": event.value,
        "MESSAGE": "read_ahead_kb: 128 -> 4096",
        "_UID": "0",
        "_SYSTEMD_UNIT": services.ASSEMBLE_UNIT,
        **fields,
    }


class Journal:
    """A journal of ``entries``, in the place of systemd's library; each is a second later."""

    SYSTEM = LOCAL_ONLY = 1

    def __init__(self) -> None:
        self.entries: list[dict[str, str]] = []
        self.readable = True
        self.rotated = 0
        self.opened = 0

    def Reader(self, _: int, *, converters: dict[str, Any]) -> Reader:  # noqa: N802 - its name
        self.opened += 1
        return Reader(self, converters)


class Reader:
    def __init__(self, of: Journal, converters: dict[str, Any]) -> None:
        self.of, self.converters, self.at = of, converters, 0

    def get_usage(self) -> int:
        return 4096 if self.of.readable else 0

    def add_match(self, _: str) -> None: ...
    def add_conjunction(self) -> None: ...
    def add_disjunction(self) -> None: ...
    def close(self) -> None: ...

    def seek_head(self) -> None:
        self.at = self.of.rotated

    def seek_cursor(self, cursor: str) -> None:
        self.at = max(int(cursor), self.of.rotated)

    def get_next(self) -> dict[str, Any]:
        if self.at >= len(self.of.entries):
            return {}
        raw = {name: text.encode() for name, text in self.of.entries[self.at].items()}
        found = {name: self.converters.get(name, lambda it: it)(raw[name]) for name in raw}
        # The library makes these two itself: a text, and a number for the converter.
        found["__CURSOR"] = str(self.at)
        at = int((NOW - 1000 + self.at) * 1e6)
        self.at += 1
        return {**found, "__REALTIME_TIMESTAMP": self.converters["__REALTIME_TIMESTAMP"](at)}


@pytest.fixture
def journalled(monkeypatch: pytest.MonkeyPatch) -> Journal:
    made = Journal()
    package = types.ModuleType("systemd")
    package.journal = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "systemd", package)
    monkeypatch.setattr(journal, "is_there", lambda: True)
    return made


def happened(db: Path) -> list[str]:
    with queries.open_readonly(db) as reader:
        return [one.message for one in series_slots.happenings(reader, NOW - 2000, NOW)]


def test_what_root_set_is_among_what_may_explain_a_change(
    watched: Machine, journalled: Journal
) -> None:
    watched.has_run()
    journalled.entries.append(entry())
    assert check.check(watched.db).notes == ()
    assert happened(watched.db) == ["read_ahead_kb: 128 -> 4096"]
    with queries.open_readonly(watched.db) as reader:
        (row,) = [one for one in pages.last_events(reader, 10) if one["code"] == "TUNING_SET"]
    assert row["at"] == pytest.approx(NOW - 1000), "when it happened, and not when it was read"


def test_each_is_copied_once(watched: Machine, journalled: Journal) -> None:
    watched.has_run()
    journalled.entries += [entry(MESSAGE="first"), entry(MESSAGE="second")]
    for _ in range(2):
        check.check(watched.db)
    journalled.entries.append(entry(MESSAGE="third"))
    check.check(watched.db)
    assert happened(watched.db) == ["third", "second", "first"]
    # What was read last is no longer there: it goes on with the oldest that is.
    journalled.entries += [entry(MESSAGE="lost"), entry(MESSAGE="fifth")]
    journalled.rotated = 4
    check.check(watched.db)
    assert happened(watched.db) == ["fifth", "third", "second", "first"]


def test_more_than_one_check_copies(
    watched: Machine, journalled: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_events, "_AT_ONCE", 2)
    watched.has_run()
    journalled.entries += [entry(MESSAGE=str(number)) for number in range(5)]
    for count in (2, 4, 5, 5):
        check.check(watched.db)
        assert len(happened(watched.db)) == count


def test_what_explains_nothing_is_read_once(watched: Machine, journalled: Journal) -> None:
    watched.has_run()
    journalled.entries += [entry(_SYSTEMD_UNIT=services.CPU_LATENCY_UNIT)] * 3
    check.check(watched.db)
    with queries.open_readonly(watched.db) as reader:
        assert reader.drift_value("journal_cursor") == "2"


@pytest.mark.parametrize(
    "fields",
    [
        {"_UID": "1000", "_SYSTEMD_UNIT": "session-3.scope"},
        {"_UID": "1000", "_SYSTEMD_UNIT": "user@1000.service"},
        # What a process says of itself is no field of journald's.
        {"_UID": "1000", "_SYSTEMD_UNIT": "session-3.scope", "UNIT": services.ASSEMBLE_UNIT},
        {"_UID": "990", "_SYSTEMD_UNIT": "stripewright-bench@smoke.service"},
        # journald has no such fields of what the kernel said.
        {"_UID": "", "_SYSTEMD_UNIT": ""},
        {"MESSAGE_ID": Event.RUN_RESULT.value},
        # With every suite, before as after.
        {"_SYSTEMD_UNIT": services.CPU_LATENCY_UNIT},
    ],
)
def test_what_is_not_believed(fields: dict[str, str]) -> None:
    assert journal_events.row_of({**entry(), "__REALTIME_TIMESTAMP": 1} | fields) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"_SYSTEMD_UNIT": "stripewright-apply@0f.service"},
        {"_SYSTEMD_UNIT": "session-1.scope"},
        {
            "MESSAGE_ID": Event.DISK_ARRIVED.value,
            "_UID": "991",
            "_SYSTEMD_UNIT": services.WATCH_UNIT,
        },
    ],
)
def test_what_is_believed(fields: dict[str, str]) -> None:
    row = journal_events.row_of({**entry(), "__REALTIME_TIMESTAMP": 1_500_000} | fields)
    assert row is not None
    assert row["at"] == 1.5


def test_a_hostile_text_is_harmless_and_short() -> None:
    row = journal_events.row_of(
        {**entry(MESSAGE="\x1b[2J" + "x" * 5000), "__REALTIME_TIMESTAMP": 1}
    )
    assert row is not None
    assert row["message"].startswith(r"\x1b[2J")
    assert len(row["message"]) == 500


def test_a_journal_that_may_not_be_read_is_told(watched: Machine, journalled: Journal) -> None:
    watched.has_run()
    journalled.readable = False
    (note,) = check.check(watched.db).notes
    assert "may not read the system's journal" in note


def test_without_a_history_or_for_another_one_nothing_is_read(
    watched: Machine, journalled: Journal, tmp_path: Path
) -> None:
    assert journal_events.keep_roots_events(watched.db) == ""
    assert not watched.db.exists()
    copy = tmp_path / "copy.db"
    History.open_writable(copy).close()
    assert journal_events.keep_roots_events(copy) == ""
    assert journalled.opened == 0


def test_the_units_whose_words_are_believed_are_there_and_say_them() -> None:
    """Each event that may explain something is told by what root or the watch unit runs."""
    for unit in (services.WATCH_UNIT, services.CPU_LATENCY_UNIT):
        assert (ROOT / "units/systemd" / unit).exists()
    assert all(code in Event.__members__ for code in EXPLAINING)
    told = "".join(file.read_text() for file in (ROOT / "appliance/storage/execute").glob("*.py"))
    assert set(re.findall(r"journal\.Event\.(\w+)", told)) >= set(EXPLAINING)


def test_the_check_may_read_the_journal() -> None:
    unit = (ROOT / "units/systemd" / services.DRIFT_UNIT).read_text()
    assert "\nSupplementaryGroups=systemd-journal\n" in unit
