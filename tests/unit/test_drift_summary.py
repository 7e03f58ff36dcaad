"""Drift in a line, in `status`, and as metrics."""

from __future__ import annotations

import dataclasses
import json

import pytest

from appliance import paths
from appliance.bench import timetable
from appliance.bench.timetable import Schedule
from appliance.cli import export, main
from appliance.drift import acknowledge, check, check_summary
from appliance.drift.acknowledge import Action, Request
from appliance.drift.check_summary import DriftSummary
from appliance.history import exports, metrics, queries
from appliance.history.store import History
from appliance.model.confirmations import Confirmation, Verdict
from appliance.model.findings import DriftSeverity, DriftState
from appliance.model.runs import RunState
from appliance.system import liveness
from tests.unit.histories import begin
from tests.unit.test_drift_history import FACT, NOW, SLOWER, look

pytestmark = pytest.mark.usefixtures("journalled")

WARNING = dataclasses.replace(
    FACT, code="MOUNT-OPTIONS", severity=DriftSeverity.WARNING, summary="other options"
)


@pytest.fixture
def findings(db):
    """One critical, one warning, one suspect; one that is acknowledged and one that is closed."""
    with History.open_writable(db) as history:
        known = dataclasses.replace(FACT, identity="known")
        gone = dataclasses.replace(FACT, identity="gone")
        look(history, [gone], NOW - 600)
        look(history, [WARNING, SLOWER, known], NOW - 300)
        look(history, [WARNING, SLOWER, known, FACT])
        acknowledged = next(
            one.id
            for one in history.drift.step(lambda _: (), now=NOW).records
            if one.fact.identity == "known"
        )
        acknowledge.keep(
            history, Request(acknowledged, Action.ACKNOWLEDGE, "", "operator"), now=NOW
        )
    return db


def test_counts_and_the_gravest(findings):
    with queries.open_readonly(findings) as reader:
        found = check_summary.read(reader, is_appliance=True, now=NOW)
    assert (found.critical, found.warning, found.notice) == (1, 1, 0)
    assert (found.suspect, found.acknowledged) == (1, 1)
    assert found.severity is DriftSeverity.CRITICAL
    assert found.words == (
        "1 critical, 1 warning, 1 suspect, 1 acknowledged;"
        " #5 MEMBER-SWAPPED: slot 2 of scratch holds AWS9 in place of AWS3"
    )
    assert found.overdue == "", "a copy is looked at by nobody"


def test_without_a_look_nothing_is_known_and_with_one_there_is_nothing():
    assert not DriftSummary().is_known
    looked = check_summary.summarise((), checked_at=NOW)
    assert (looked.is_known, looked.words) == (True, "no findings")


@pytest.mark.parametrize(
    ("looked", "overdue"),
    [
        ((5, 600, None), ""),
        ((14, 600, None), ""),
        ((16, 600, None), "not checked for 16 min 00 s"),
        ((16, 600, 60), ""),
        ((181, 600, 60), "not checked for 3 h 01 min"),
        ((600, 9, None), ""),
        ((600, 20, None), "not checked since the boot"),
        ((None, 20, None), "not checked since the boot"),
    ],
)
def test_nobody_looks_any_more(db, tmp_path, monkeypatch, looked, overdue):
    minutes_ago, up_minutes, every = looked
    monkeypatch.setattr(paths, "HISTORY_DB", db)
    monkeypatch.setattr(paths, "DRIFT_RUN_DIR", tmp_path)
    monkeypatch.setattr(liveness, "up_since", lambda now: now - up_minutes * 60)
    monkeypatch.setattr(timetable, "read_schedule", lambda _: Schedule(drift_minutes=every))
    with History.open_writable(db):
        pass
    if minutes_ago is not None:
        assert check_summary.save(tmp_path, check_summary.Memory(at=NOW - minutes_ago * 60))
    with queries.open_readonly(db) as reader:
        found = check_summary.read(reader, is_appliance=True, now=NOW)
        assert found.overdue == overdue
        assert check_summary.read(reader, is_appliance=False, now=NOW).overdue == ""
    assert (overdue in found.words) is True


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"at": "x"}', '{"at": null}', "\0"])
def test_a_memory_that_is_none_is_forgotten(tmp_path, content):
    (tmp_path / "checked.json").write_text(content)
    assert check_summary.load(tmp_path) == check_summary.Memory()


def test_memory_is_read_as_it_was_written_and_has_a_bound(tmp_path):
    told = {f"fact {number}": float(number) for number in range(300)}
    assert check_summary.save(tmp_path, check_summary.Memory(NOW, "runs", NOW - 1, told))
    found = check_summary.load(tmp_path)
    assert (found.at, found.judged, found.judged_at) == (NOW, "runs", NOW - 1)
    assert list(found.told) == [f"fact {number}" for number in range(44, 300)]
    assert not check_summary.save(tmp_path / "none", check_summary.Memory())


def test_only_whose_directory_it_is_remembers(tmp_path, monkeypatch):
    monkeypatch.setattr(check_summary.os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert not check_summary.save(tmp_path, check_summary.Memory(NOW))
    assert list(tmp_path.iterdir()) == []


def test_status_tells_it(findings, capsys):
    assert main.main(["status", "--db", str(findings), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["drift"]["critical"] == 1
    assert document["drift"]["worst"].startswith("#5 MEMBER-SWAPPED")
    assert main.main(["status", "--db", str(findings)]) == 0
    assert "drift: 1 critical, 1 warning" in capsys.readouterr().out


def test_metrics_have_every_severity_and_state_and_the_findings(findings):
    with queries.open_readonly(findings) as reader:
        text = metrics.metrics_text(reader, drift_checked_at=NOW)
    lines = text.splitlines()
    counts = [line for line in lines if line.startswith("stripewright_drift_findings{")]
    assert len(counts) == 3 * 4
    assert 'stripewright_drift_findings{severity="critical",state="open"} 1' in counts
    assert 'stripewright_drift_findings{severity="critical",state="acknowledged"} 1' in counts
    assert 'stripewright_drift_findings{severity="notice",state="open"} 0' in counts
    assert (
        'stripewright_drift_finding_opened_timestamp_seconds{finding="5",code="MEMBER-SWAPPED",'
        f'severity="critical",state="open",subject="scratch",member="AWS9"}} {NOW:.0f}' in lines
    )
    assert f"stripewright_drift_checked_timestamp_seconds {NOW:.0f}" in lines
    assert "gone" not in text


def test_metrics_of_a_history_that_nobody_checked_have_no_drift(db):
    with History.open_writable(db):
        pass
    with queries.open_readonly(db) as reader:
        assert metrics.drift_gauges(reader, checked_at=None) == []
        assert "drift" not in "".join(export.pieces("metrics", reader, []))


def test_metrics_are_bounded(db):
    many = [dataclasses.replace(FACT, identity=str(n), subject="s" * 900) for n in range(80)]
    with History.open_writable(db) as history:
        look(history, many)
    with queries.open_readonly(db) as reader:
        text = metrics.metrics_text(reader, drift_checked_at=NOW)
    lines = [line for line in text.splitlines() if "drift_finding_opened" in line and "{" in line]
    assert len(lines) == 50
    assert max(map(len, lines)) < 400


def test_export_json_has_findings_with_their_changes(findings):
    with queries.open_readonly(findings) as reader:
        document = json.loads("".join(exports.json_text(reader, [])))
    assert len(document["drift"]) == 5
    (gone,) = (one for one in document["drift"] if one["state"] == "closed")
    assert [one["kind"] for one in gone["transitions"]] == ["opened", "closed"]


@pytest.mark.parametrize(
    ("verdict", "note"),
    [
        (Verdict.NOT_REPEATED, "what the repeats said"),
        (Verdict.UNCLEAR, "no longer so"),
    ],
)
def test_what_was_judged_of_runs_alone_is_kept_and_told(db, monkeypatch, verdict, note):
    told = []
    monkeypatch.setattr(check.journal_events, "log", lambda record, one: told.append(one))
    with History.open_writable(db) as history:
        look(history, [FACT])
        run_id = begin(history)
        history.finish_run(run_id, RunState.COMPLETE)
        history.drift.add_confirmation(
            Confirmation(
                *(SLOWER.code, SLOWER.subject, SLOWER.identity, "/mnt/scratch", 38, run_id, NOW),
                verdict=verdict,
                words="what the repeats said",
            )
        )
    (layout, suspect) = check.keep_performance(db, [SLOWER], now=NOW)
    assert (layout.fact.code, suspect.state) == ("MEMBER-SWAPPED", DriftState.SUSPECT)
    check.keep_performance(db, [], now=NOW + 60)
    assert [one.note for one in told] == ["", note]
    with queries.open_readonly(db) as reader:
        assert [one.fact.code for one in reader.drift_findings()] == ["MEMBER-SWAPPED"]
        assert reader.drift_transitions(suspect.id)[-1].note == note
