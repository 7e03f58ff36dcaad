"""Every event has a catalog text, and the texts name only events that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from appliance.drift.codes import CODES
from appliance.system import journal
from tests.rig.catalog import CATALOG, FILES, PAGE, with_generated


def test_catalog_and_events_are_the_same_set() -> None:
    ids = re.findall(r"^-- ([0-9a-f]{32})$", CATALOG.read_text(), flags=re.MULTILINE)
    known = [event.value for event in journal.Event] + [code.message_id for code in CODES.values()]
    assert sorted(ids) == sorted(known)
    assert len(set(known)) == len(known)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_is_said_of_findings_is_generated(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text == with_generated(text, FILES[file](CODES.values())), "run make catalog"


def test_each_section_says_what_to_do_what_not_and_when_it_closes() -> None:
    _, *sections = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)
    for section in sections:
        own = section.split("\n## ")[0]
        assert [own.count(f"- **{word}**: ") for word in ("First", "Not", "Closes")] == [1, 1, 1]


def test_without_a_journal_a_warning_is_one_line_on_stderr(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(journal, "_JOURNAL_SOCKET", tmp_path / "none")
    journal.event(journal.Event.RUN_STARTED, "run 1")
    journal.event(
        journal.Event.VOLUME_REFUSED,
        "label is\nstripewright: all is well",
        priority=journal.Priority.WARNING,
        disk="x",
    )
    assert capsys.readouterr().err == "volume-refused: label is stripewright: all is well\n"


def test_fields_and_message_id_reach_the_journal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sent: dict[str, object] = {}
    socket = tmp_path / "socket"
    socket.touch()
    monkeypatch.setattr(journal, "_JOURNAL_SOCKET", socket)
    monkeypatch.setattr(
        "systemd.journal.send", lambda message, **fields: sent.update(MESSAGE=message, **fields)
    )
    journal.event(
        journal.Event.RUN_RESULT, "done", priority=journal.Priority.NOTICE, run=7, job="seq-read"
    )
    assert sent == {
        "MESSAGE": "done",
        "MESSAGE_ID": journal.Event.RUN_RESULT.value,
        "PRIORITY": "5",
        "SYSLOG_IDENTIFIER": "stripewright",
        "STRIPEWRIGHT_RUN": "7",
        "STRIPEWRIGHT_JOB": "seq-read",
    }
