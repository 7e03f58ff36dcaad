"""``drift confirm`` and ``drift accept``: what is run, what is kept, what is printed."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance import paths
from appliance.bench import fingerprint, runner
from appliance.bench.suite import load_suite
from appliance.cli import drift_confirm
from appliance.drift import check
from appliance.drift.series import evaluate, remeasure
from appliance.errors import Refused
from appliance.history import queries
from appliance.history.store import History
from appliance.model.confirmations import CONFIRM_SUITE, Verdict
from appliance.model.findings import DriftState
from appliance.model.measurement import Finding, JobResult, Severity
from appliance.model.runs import Job, RunState, Suite
from appliance.system import liveness
from tests.unit.histories import FINGERPRINT, difference
from tests.unit.test_slots import STRIPE, TARGET, add

NOW = 2_000_000_000.0
SUBJECT = "smoke/rand-read-4k read"
MEMBERS = ("nvme0n1", "nvme1n1", "nvme2n1")
EVEN, SLOW = (0.3, 0.3, 0.3), (0.1, 0.1, 2.0)
MODE = {90_000: 98_000, 30_000_000: 2_000}
QUIET = {90_000: 99_950, 300_000: 50}


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history of this test is the machine's own."""
    monkeypatch.setattr(paths, "HISTORY_DB", tmp_path / "history.db")
    monkeypatch.setattr(paths, "CONFIRM_WANTED", tmp_path / "confirm-wanted")
    monkeypatch.setattr(paths, "STATE_FILE", tmp_path / "none")


def stripe(iops: float, awaits=EVEN, bins=QUIET) -> JobResult:
    """A result of a stripe of three."""
    deltas = tuple(
        difference(name, 1_000_000, 4096 * 1_000_000, round(ms * 1_000_000), 0, 0, 0, 0, 30_000)
        for name, ms in zip(MEMBERS, awaits, strict=True)
    )
    p995 = 30_000_000 if bins is MODE else 95_000
    return dataclasses.replace(
        STRIPE,
        iops=iops,
        capability=None,
        device_io=deltas,
        total_ios=3_000_000,
        bins=bins,
        percentiles_ns={"99.000000": 95_000, "99.500000": p995, "99.900000": 300_000},
    )


def with_history(db: Path, *parts: tuple[int, JobResult]) -> None:
    """Runs six hours apart until now, 1 % of noise: so many of each result."""
    source = random.Random(3)  # noqa: S311
    with History.open_writable(db) as history:
        fingerprint = {**FINGERPRINT, "serials": "AWS1,AWS2,AWS3"}
        epoch = history.ensure_epoch(fingerprint).id
        connection = history._writer._connection
        connection.execute("PRAGMA synchronous = OFF")
        for count, result in parts:
            for _ in range(count):
                noisy = dataclasses.replace(result, iops=result.iops * source.gauss(1, 0.01))
                add(history, noisy, epoch=epoch)
        total = sum(count for count, _ in parts)
        with connection:
            connection.execute("UPDATE run SET members = ?", (json.dumps(MEMBERS),))
            connection.execute("UPDATE run SET started_at = ? - (? - id) * 21600.0", (NOW, total))


Measure = Callable[[Job, int], JobResult]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Suite, str]]:
    """Suites that were asked for. Each is 'run' by :data:`measure`, which a test may replace."""
    asked: list[tuple[Suite, str]] = []

    def run_suite(suite: Suite, *, target: Path | str, db: Path, **_: object) -> int:
        asked.append((suite, str(target)))
        with History.open_writable(db) as history:
            run_id = history.begin_run(
                suite, target=TARGET, device="md0", members=MEMBERS, machine_type="i3.4xlarge",
                fio_version="fio-3.39", time_factor=1.0,
            )  # fmt: skip
            current = history.current_epoch()
            assert current is not None
            history.update_run(run_id, epoch_id=current.id)
            for index in range(suite.passes):
                for job in suite.jobs:
                    result = measure(job, index)
                    named = dataclasses.replace(result, job=job.name, pass_index=index + 1)
                    history.add_result(run_id, named, raw_report="{}")
            history.finish_run(run_id, outcome.get("state", RunState.COMPLETE), "because")
        return run_id

    monkeypatch.setattr(runner, "run_suite", run_suite)
    outcome.clear()
    measures.clear()
    return asked


measures: dict[str, Measure] = {}
outcome: dict[str, RunState] = {}


def measure(job: Job, index: int) -> JobResult:
    if job.engine == "null":
        control = dataclasses.replace(stripe(4_000_000.0), engine="null", device_io=())
        return measures["null"](job, index) if "null" in measures else control
    return measures["suspect"](job, index)


def confirm(db: Path, capsys: pytest.CaptureFixture[str], status: int = 0) -> dict[str, object]:
    assert drift_confirm.confirm(db=db, as_json=True) == status
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def states(db: Path) -> dict[str, DriftState]:
    with queries.open_readonly(db) as reader:
        return {one.fact.code: one.state for one in reader.drift_findings(include_closed=True)}


def test_a_loss_that_repeats_is_confirmed_and_kept(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    paths.CONFIRM_WANTED.touch()
    measures["suspect"] = lambda job, index: stripe(900.0 + index)
    document = confirm(db, capsys)
    assert not paths.CONFIRM_WANTED.exists()
    (one,) = document["confirmations"]
    assert (one["subject"], one["verdict"]) == (SUBJECT, "confirmed")
    assert one["repeats_iops"] == [900.0, 901.0, 902.0, 903.0, 904.0]
    assert one["control_iops"] == [4_000_000.0] * 5
    assert states(db) == {"PERF-SLOWER": DriftState.CONFIRMED}
    ((suite, target),) = runs
    assert (suite.name, suite.passes, target) == (CONFIRM_SUITE, 5, str(Path(TARGET).parent))
    smoke = load_suite("smoke")
    assert suite.jobs[0] == next(job for job in smoke.jobs if job.name == "rand-read-4k")
    assert dataclasses.replace(
        suite.jobs[1], name="rand-read-4k", engine="", runtime_seconds=30.0
    ) == suite.jobs[0]  # fmt: skip
    # As many files as the suite has, though its largest job is not among these.
    assert suite.files == 8
    # What is confirmed is not repeated again.
    assert confirm(db, capsys) == {"confirmations": [], "waiting": []}


def test_a_loss_that_does_not_repeat_is_forgotten(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    judged = evaluate.facts_of(db, now=NOW)
    assert [fact.code for fact in judged] == ["PERF-SLOWER"]
    measures["suspect"] = lambda job, index: stripe(1000.0)
    (one,) = confirm(db, capsys)["confirmations"]
    assert one["verdict"] == "not_repeated"
    assert evaluate.facts_of(db, now=NOW) == ()


def test_the_machine_is_told_from_its_disks_by_earlier_controls(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    remeasure.measure_controls(db, load_suite("smoke"), TARGET)
    assert runs[0][0].passes == 3
    assert len(runs[0][0].jobs) == 5
    slow = dataclasses.replace(stripe(3_600_000.0), engine="null", device_io=())
    measures["suspect"] = lambda job, index: stripe(900.0)
    measures["null"] = lambda job, index: slow
    (one,) = confirm(db, capsys)["confirmations"]
    assert one["verdict"] == "machine"
    (fact,) = evaluate.facts_of(db, now=NOW)
    assert (fact.state, fact.evidence["cause_kind"]) == (DriftState.CONFIRMED, "machine")


def test_repeats_that_are_not_valid_decide_nothing(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    foreign = (Finding("FOREIGN", Severity.BLOCK, "others"),)
    measures["suspect"] = lambda job, index: dataclasses.replace(
        stripe(900.0), findings=foreign if index < 2 else ()
    )
    (one,) = confirm(db, capsys)["confirmations"]
    assert (one["verdict"], len(one["repeats_iops"])) == ("unclear", 3)
    assert states(db) == {"PERF-SLOWER": DriftState.SUSPECT}


def test_what_others_never_let_repeat_is_told_and_denied_in_the_end(tmp_path, runs, monkeypatch):
    db = tmp_path / "history.db"
    monkeypatch.setattr(liveness, "up_since", lambda _: NOW - 86_400.0)
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))

    def look(days: float) -> tuple[DriftState, str]:
        now = NOW + days * 86_400.0
        facts = [one for one in evaluate.facts_of(db, now=now) if one.code == "PERF-SLOWER"]
        check.keep_performance(db, facts, now=now)
        with queries.open_readonly(db) as reader:
            (found,) = reader.drift_findings(include_closed=True)
            last = reader.drift_transitions(found.id)[-1]
        return found.state, f"{last.kind}: {last.note or found.fact.summary}"

    assert look(0.0)[0] is DriftState.SUSPECT
    measures["suspect"] = lambda job, index: stripe(1000.0)
    outcome["state"] = RunState.SKIPPED
    assert [why for _, why in remeasure.repeat_suspects(db).waits] == ["because"]
    assert look(2.9)[0] is DriftState.SUSPECT
    state, words = look(3.1)
    assert state is DriftState.OPEN
    assert words.startswith("opened: ")
    assert words.endswith("could not be repeated")
    outcome.clear()
    (said,) = remeasure.repeat_suspects(db, now=lambda: NOW + 4 * 86_400.0).made
    assert said.verdict is Verdict.NOT_REPEATED
    assert look(4.1) == (DriftState.CLOSED, f"closed: {said.words}")


def test_a_slow_member_that_is_slow_again(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(500.0, SLOW)))
    measures["suspect"] = lambda job, index: stripe(500.0, SLOW if index else EVEN)
    found = {one["code"]: one for one in confirm(db, capsys)["confirmations"]}
    assert found["PERF-MEMBER"]["verdict"] == "confirmed"
    assert found["PERF-MEMBER"]["words"] == "AWS3 is the slow member in 4 of 5 repeats"
    assert len(runs) == 1
    assert states(db) == {
        "PERF-MEMBER": DriftState.CONFIRMED,
        "PERF-SLOWER": DriftState.CONFIRMED,
    }


@pytest.mark.parametrize(
    ("again", "verdict"), [(MODE, Verdict.CONFIRMED), (QUIET, Verdict.NOT_REPEATED)]
)
def test_a_second_mode_that_is_there_again_or_is_not(tmp_path, runs, capsys, again, verdict):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (3, stripe(1000.0, bins=MODE)))
    (fact,) = evaluate.facts_of(db, now=NOW)
    assert fact.code == "PERF-LATENCY-MODE"
    measures["suspect"] = lambda job, index: stripe(1000.0, bins=again)
    (one,) = confirm(db, capsys)["confirmations"]
    assert one["verdict"] == verdict.value
    left = evaluate.facts_of(db, now=NOW)
    assert [fact.state for fact in left] == (
        [DriftState.CONFIRMED] if verdict is Verdict.CONFIRMED else []
    )


def test_at_most_three_in_one_call_the_largest_loss_first(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with History.open_writable(db) as history:
        history._writer._connection.execute("PRAGMA synchronous = OFF")
        epoch = history.ensure_epoch(FINGERPRINT).id
        levels = {job.name: 0.5 + 0.08 * at for at, job in enumerate(load_suite("smoke").jobs)}
        for index in range(20):
            results = [
                dataclasses.replace(
                    STRIPE, job=name, iops=(1000 if index < 14 else 1000 * level) + index % 5
                )
                for name, level in levels.items()
            ]
            add(history, *results, epoch=epoch)
    measures["suspect"] = lambda job, index: stripe(1000.0 * levels[job.name])
    document = confirm(db, capsys)
    names = list(levels)
    assert {one["subject"].split()[0] for one in document["confirmations"]} == {
        f"smoke/{name}" for name in names[:3]
    }
    assert [one["why"] for one in document["waiting"]] == ["others are repeated first"] * 2


def test_why_a_suspect_waits(tmp_path, runs, capsys, monkeypatch):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    measures["suspect"] = lambda job, index: stripe(900.0)
    outcome["state"] = RunState.SKIPPED
    assert drift_confirm.confirm(db=db, as_json=False) == 0
    assert f"PERF-SLOWER {SUBJECT} waits: because" in capsys.readouterr().out
    outcome["state"] = RunState.ABORTED
    assert confirm(db, capsys, status=1)["waiting"][0]["why"] == "because"

    def refuse(*_: object, **__: object) -> int:
        raise Refused("another run is busy", "wait")

    monkeypatch.setattr(runner, "run_suite", refuse)
    assert confirm(db, capsys)["waiting"][0]["why"] == "another run is busy"


def test_nothing_is_suspect(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with_history(db, (20, stripe(1000.0)))
    assert drift_confirm.confirm(db=db, as_json=False) == 0
    assert capsys.readouterr().out == "nothing is suspect\n"
    assert runs == []


# ------------------------------------------------------------------------------- acceptance


def test_the_latest_run_is_judged_and_kept(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with_history(db, (1, stripe(500.0, SLOW)))
    assert drift_confirm.accept(db=db, as_json=False) == 5
    printed = capsys.readouterr().out
    assert "✗ not healthy (run 1)" in printed
    assert "PERF-MEMBER AWS3: first boot: nvme2n1 (serial AWS3)" in printed
    assert "took 2.00 ms an I/O and the others 0.10 ms" in " ".join(printed.split())
    assert runs == []
    assert states(db) == {"PERF-MEMBER": DriftState.OPEN}
    # It stays, whatever other runs say, until somebody accepts again.
    with History.open_writable(db) as history:
        current = history.current_epoch()
        assert current is not None
        add(history, stripe(1000.0), epoch=current.id)
    assert [fact.code for fact in evaluate.facts_of(db, now=NOW)] == ["PERF-MEMBER"]
    assert drift_confirm.accept(db=db, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["healthy"], document["run"], document["facts"]) == (True, 2, [])
    assert states(db) == {"PERF-MEMBER": DriftState.CLOSED}


def test_other_disks_are_another_acceptance(tmp_path, runs):
    db = tmp_path / "history.db"
    with_history(db, (1, stripe(500.0, SLOW)))
    assert drift_confirm.accept(db=db, as_json=False) == 5
    with History.open_writable(db) as history:
        history.ensure_epoch({**FINGERPRINT, "serials": "AWS7,AWS8,AWS9"})
    assert evaluate.facts_of(db, now=NOW) == ()


def test_of_an_epoch_without_a_run_one_is_made(tmp_path, runs, capsys, monkeypatch):
    db = tmp_path / "history.db"
    with_history(db, (1, stripe(500.0, SLOW)))
    with History.open_writable(db) as history:
        history.ensure_epoch({**FINGERPRINT, "serials": "AWS7,AWS8,AWS9"})
    monkeypatch.setattr(fingerprint, "default_target", lambda: Path("/mnt/scratch"))
    measures["suspect"] = lambda job, index: stripe(1000.0)
    assert drift_confirm.accept(db=db, as_json=True) == 0
    assert [(suite.name, target) for suite, target in runs] == [
        ("smoke", "/mnt/scratch"),
        (CONFIRM_SUITE, "/mnt/scratch"),
    ]
    assert json.loads(capsys.readouterr().out)["healthy"] is True


def test_a_run_that_was_skipped_accepts_nothing(tmp_path, runs, monkeypatch):
    db = tmp_path / "history.db"
    with History.open_writable(db) as history:
        history.ensure_epoch(FINGERPRINT)
    monkeypatch.setattr(fingerprint, "default_target", lambda: Path("/mnt/scratch"))
    measures["suspect"] = lambda job, index: stripe(1000.0)
    outcome["state"] = RunState.SKIPPED
    with pytest.raises(Refused, match="ended as skipped: because"):
        drift_confirm.accept(db=db, as_json=True)


@pytest.mark.parametrize("other", ["host", "disks"])
def test_another_machines_history_is_not_repeated_here(tmp_path, runs, capsys, monkeypatch, other):
    db = tmp_path / "copy.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    measures["suspect"] = lambda job, index: stripe(900.0)
    if other == "host":
        monkeypatch.setattr(remeasure.platform, "node", lambda: "elsewhere")
    else:
        monkeypatch.setattr(remeasure, "_directory", lambda _: tmp_path)
    document = confirm(db, capsys)
    assert runs == []
    (waits,) = document["waiting"]
    said = {"host": "and this is elsewhere", "disks": "are not those that"}[other]
    assert said in waits["why"]
