"""`drift check`, `list`, `show`, `ack`, `approve`: exit codes, documents, what is told."""

from __future__ import annotations

import dataclasses
import time

import pytest

from appliance.cli.main import main
from appliance.drift import check as checking
from appliance.drift import check_summary
from appliance.drift.looks import observe
from appliance.errors import EXIT_DRIFT, EXIT_FAILED, EXIT_OK, EXIT_REFUSED, EXIT_USAGE
from appliance.history import queries
from appliance.model.findings import DriftSeverity, DriftState
from appliance.system import journal
from tests.unit.drift_checks import KERNEL, ME
from tests.unit.test_drift_history import FACT, SLOWER

# ---------------------------------------------------------------------------------- check


def test_nothing_found_is_0_and_makes_no_history_of_nothing(watched, drift):
    status, found = drift("check")
    assert (status, found["findings"]) == (EXIT_OK, [])
    assert found["looked_at"]["layout"] == {"judged": True, "why": ""}
    assert found["looked_at"]["performance"] == {
        "judged": False,
        "why": "there is no history yet",
    }
    assert found["checked_at"] == pytest.approx(time.time(), abs=60)


def test_something_grave_is_5_until_it_is_acknowledged(watched, drift):
    watched.layout = [FACT]
    status, found = drift("check")
    assert status == EXIT_DRIFT
    (one,) = found["findings"]
    assert (one["id"], one["code"], one["state"]) == (1, "MEMBER-SWAPPED", "open")
    assert (one["severity"], one["member"], one["volume"]) == ("critical", "AWS9", "scratch")
    assert one["evidence"] == dict(FACT.evidence)
    status, acknowledged = drift("ack", "1", "--note", "ticket 7\nsecond line")
    assert status == EXIT_OK
    assert (acknowledged["state"], acknowledged["acknowledged_by"]) == ("acknowledged", ME)
    assert acknowledged["note"] == "ticket 7 second line"
    status, found = drift("check")
    assert (status, len(found["findings"])) == (EXIT_OK, 1)
    watched.layout = []
    status, found = drift("check")
    assert (status, found["findings"]) == (EXIT_OK, [])
    assert drift("list")[1]["findings"] == []
    assert [one["state"] for one in drift("list", "--all")[1]["findings"]] == ["closed"]


def test_what_was_acknowledged_is_5_again_when_it_comes_back_after_a_reboot(
    watched, drift, monkeypatch
):
    watched.layout = [FACT]
    drift("check")
    drift("ack", "1")
    look = observe.look
    monkeypatch.setattr(observe, "look", lambda: dataclasses.replace(look(), boot_id="next"))
    assert drift("check")[0] == EXIT_OK, "it is still the same"
    watched.layout = []
    drift("check")
    watched.layout = [FACT]
    status, found = drift("check")
    (one,) = found["findings"]
    assert (status, one["id"], one["state"], one["boot_id"]) == (EXIT_DRIFT, 2, "open", "next")
    assert int(watched.told[-1]["priority"]) == 3


@pytest.mark.parametrize(
    ("fact", "state"), [(KERNEL, "open"), (dataclasses.replace(SLOWER), "suspect")]
)
def test_notices_and_suspects_are_printed_and_do_not_fail(watched, drift, fact, state):
    watched.has_run()
    watched.performance = [fact]
    status, found = drift("check")
    assert (status, [one["state"] for one in found["findings"]]) == (EXIT_OK, [state])


def test_a_fact_is_told_once_with_its_fields(watched, drift):
    watched.layout = [FACT]
    for _ in range(3):
        drift("check")
    (told,) = watched.told
    assert told == {
        "line": "MEMBER-SWAPPED opened (finding 1): slot 2 of scratch holds AWS9 in place of AWS3."
        " Next: look at: stripewright inventory",
        "priority": journal.Priority.ERROR,
        "id": told["id"],
        "drift_code": "MEMBER-SWAPPED",
        "drift_state": "open",
        "drift_severity": "critical",
        "drift_subject": "scratch",
        "drift_volume": "scratch",
        "drift_member": "AWS9",
        "drift_expected": "AWS3",
        "drift_observed": "AWS9",
        "drift_finding": 1,
    }


def test_what_is_over_acknowledged_or_suspect_is_told_as_a_notice(watched, drift):
    watched.has_run()
    watched.layout, watched.performance = [FACT], [SLOWER]
    drift("check")
    drift("ack", "1")
    watched.layout = []
    drift("check")
    assert [(one["drift_state"], int(one["priority"])) for one in watched.told] == [
        ("open", 3),
        ("suspect", 5),
        ("acknowledged", 5),
        ("closed", 5),
    ]
    lines = [one["line"] for one in watched.told]
    assert lines[1].startswith("PERF-SLOWER suspected (finding 2): ")
    assert lines[2].startswith(f"MEMBER-SWAPPED acknowledged by {ME} (finding 1): ")
    assert lines[3].startswith("MEMBER-SWAPPED closed (no longer so) (finding 1): ")


def test_what_was_acknowledged_and_grows_worse_is_told_as_an_alarm(watched, drift):
    watched.layout = [dataclasses.replace(FACT, severity=DriftSeverity.WARNING)]
    drift("check")
    drift("ack", "1")
    watched.layout = [FACT]
    assert drift("check")[0] == EXIT_OK
    last = watched.told[-1]
    assert (last["drift_state"], int(last["priority"])) == ("acknowledged", 3)
    assert last["line"].startswith("MEMBER-SWAPPED is now critical (finding 1): ")


def test_when_nothing_has_changed_nothing_is_written(watched):
    watched.has_run()
    watched.layout = [FACT]
    now = time.time()
    checking.check(watched.db, now=now)
    before = (watched.db.read_bytes(), watched.db.stat().st_mtime_ns)
    for minutes in range(5, 60, 5):
        assert checking.check(watched.db, now=now + minutes * 60).alarms
    assert (watched.db.read_bytes(), watched.db.stat().st_mtime_ns) == before
    assert check_summary.load(watched.folder).at == now + 55 * 60
    checking.check(watched.db, now=now + 3600)
    assert watched.db.read_bytes() != before[0], "once an hour it is kept when it was last seen"


def test_runs_are_judged_once_and_again_when_there_is_a_new_one(watched, drift):
    watched.has_run()
    drift("check")
    _, found = drift("check")
    assert watched.judged == 1
    assert found["looked_at"]["performance"]["judged"] is False
    watched.has_run()
    drift("check")
    assert watched.judged == 2


def test_runs_are_judged_again_after_an_hour(watched):
    watched.has_run()
    now = time.time()
    for minutes in (0, 30, 61):
        checking.check(watched.db, now=now + minutes * 60)
    assert watched.judged == 2


def test_findings_of_performance_stay_while_nothing_new_is_judged(watched, drift):
    watched.has_run()
    watched.performance = [dataclasses.replace(SLOWER, state=DriftState.CONFIRMED)]
    assert drift("check")[0] == EXIT_DRIFT
    watched.performance = []
    assert drift("check")[0] == EXIT_DRIFT
    watched.has_run()
    assert drift("check")[0] == EXIT_OK


def test_what_could_not_be_seen_is_not_closed(watched, drift):
    watched.layout = [FACT]
    drift("check")
    watched.layout, watched.blind, watched.notes = [], (("*", ""),), ("the boot unit is at work",)
    status, found = drift("check")
    assert (status, len(found["findings"])) == (EXIT_DRIFT, 1)
    assert found["looked_at"]["layout"] == {"judged": False, "why": "the boot unit is at work"}
    watched.blind = ()
    assert drift("check")[0] == EXIT_OK


def test_a_suspect_asks_for_repeats_and_a_broken_stripe_forbids_them(watched, drift):
    watched.has_run()
    watched.performance, watched.layout = [SLOWER], [FACT]
    drift("check")
    assert not watched.wanted.exists()
    watched.layout = []
    drift("check")
    assert watched.wanted.exists()
    assert watched.wanted.read_bytes() == b""


def test_what_is_told_without_an_answer_still_asks_for_repeats(watched, drift):
    watched.has_run()
    watched.performance = [dataclasses.replace(SLOWER, state=DriftState.OPEN)]
    drift("check")
    assert not watched.wanted.exists()
    watched.has_run()
    unconfirmed = {**SLOWER.evidence, "unconfirmed": "could not be repeated"}
    watched.performance = [
        dataclasses.replace(SLOWER, identity="run 9", state=DriftState.OPEN, evidence=unconfirmed)
    ]
    assert drift("check")[0] == EXIT_DRIFT
    assert watched.wanted.exists()


# ----------------------------------------------------------------------------- list and show


def test_show_tells_the_whole_life(watched, drift, capsys):
    watched.layout = [FACT]
    drift("check")
    drift("ack", "1", "--note", "known")
    status, shown = drift("show", "1")
    assert status == EXIT_OK
    assert [one["kind"] for one in shown["transitions"]] == ["opened", "acknowledged"]
    assert shown["transitions"][1]["who"] == ME
    assert main(["drift", "show", "1", "--db", str(watched.db)]) == EXIT_OK
    text = capsys.readouterr().out
    for part in ("expected: AWS3", "observed: AWS9", "slot: 2", f"acknowledged by {ME}: known"):
        assert part in text
    assert "more: journalctl -x -t stripewright STRIPEWRIGHT_DRIFT_CODE=MEMBER-SWAPPED" in text


def test_list_has_the_gravest_first(watched, capsys):
    watched.has_run()
    watched.performance, watched.layout = [SLOWER], [KERNEL]
    main(["drift", "check", "--db", str(watched.db)])
    watched.layout.append(FACT)
    main(["drift", "check", "--db", str(watched.db)])
    capsys.readouterr()
    main(["drift", "list", "--db", str(watched.db)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[3] for line in lines[1:]] == [
        "MEMBER-SWAPPED",
        "PERF-SLOWER",
        "ENV-KERNEL",
    ]


def test_what_is_acknowledged_comes_after_what_nobody_knows(watched, drift):
    watched.layout = [FACT, dataclasses.replace(FACT, severity=DriftSeverity.WARNING, subject="b")]
    drift("check")
    drift("ack", "1")
    assert [one["id"] for one in drift("check")[1]["findings"]] == [2, 1]


@pytest.mark.parametrize("bad", ["0", "99", "999999999999999999"])
@pytest.mark.parametrize("action", ["show", "ack", "approve"])
def test_a_number_that_is_no_finding(watched, drift, action, bad):
    watched.has_run()
    status, said = drift(action, bad)
    assert status == EXIT_FAILED
    assert f"there is no finding {bad}" in said
    assert "drift list --all" in said


@pytest.mark.parametrize("bad", ["x", "-1", "1.5", "", "9" * 19, "١"])
def test_what_is_no_number_at_all(watched, capsys, bad):
    with pytest.raises(SystemExit) as ended:
        main(["drift", "ack", bad])
    assert ended.value.code == EXIT_USAGE


def test_drift_alone_says_what_there_is(capsys):
    assert main(["drift"]) == EXIT_USAGE
    said = capsys.readouterr().err
    for action in ("check", "list", "show", "ack", "approve", "confirm", "accept", "replay"):
        assert action in said


# ----------------------------------------------------------------------------- ack, approve


def test_what_is_closed_or_cannot_be_approved_is_refused(watched, drift):
    watched.layout = [FACT]
    drift("check")
    status, said = drift("approve", "1")
    assert status == EXIT_REFUSED
    assert "only PERF-SLOWER, PERF-FASTER" in said
    watched.layout = []
    drift("check")
    status, said = drift("ack", "1")
    assert (status, "is already closed" in said) == (EXIT_REFUSED, True)


def test_a_note_that_is_too_long(watched, drift):
    watched.layout = [FACT]
    drift("check")
    assert drift("ack", "1", "--note", "x" * 501)[0] == EXIT_USAGE


def test_approve_begins_a_new_baseline(watched, drift):
    watched.has_run()
    step = "if it is to be so: stripewright drift approve ID"
    watched.performance = [dataclasses.replace(SLOWER, next_step=step)]
    _, found = drift("check")
    assert found["findings"][0]["next_step"].endswith("drift approve 1")
    status, done = drift("approve", "1", "--note", "expected")
    assert (status, done["state"]) == (EXIT_OK, "closed")
    with queries.open_readonly(watched.db) as reader:
        assert [one.from_run for one in reader.approvals()] == [38]
    watched.performance = []
    assert drift("check")[1]["findings"] == []
