"""The command ``compare``: what a person and a program get to see."""

from __future__ import annotations

import dataclasses
import json

import pytest

from appliance.cli.main import main
from appliance.history.store import History
from appliance.model.measurement import Finding, Severity
from appliance.model.runs import RunState, Sample
from tests.unit.histories import FINGERPRINT, RESULT, begin, report, select

pytestmark = pytest.mark.usefixtures("journalled")

_VALID = dataclasses.replace(
    RESULT, findings=(), member="", pass_index=1, provisioned=None, engine="io_uring"
)
_COVERAGE = Finding("COVERAGE", Severity.BLOCK, "71 %", 0.7, 0.98, 412_279.0, "iops")


def _compare(db, capsys, a: str, b: str, *, status: int = 0) -> str:
    assert main(["compare", a, b, "--db", str(db)]) == status
    printed = capsys.readouterr()
    assert all(len(line) <= 80 for line in printed.out.splitlines()), printed.out
    return printed.out if status == 0 else printed.err


def _document(db, capsys, a: str, b: str) -> dict[str, object]:
    assert main(["compare", a, b, "--json", "--db", str(db)]) == 0
    return json.loads(capsys.readouterr().out)


def _run(history, *results, epoch=None, factor=1.0) -> int:
    run_id = begin(history, "smoke", factor)
    history.update_run(run_id, epoch_id=epoch)
    for result in results:
        history.add_result(run_id, result, raw_report="x")
    history.finish_run(run_id, RunState.COMPLETE)
    return run_id


def _at(iops: float, **other: object):
    return dataclasses.replace(_VALID, iops=iops, **other)


def test_two_epochs(db, capsys):
    with History.open_writable(db) as history:
        for serials, scale in (("a,b", 1.0), ("c,d", 2.0)):
            epoch = history.ensure_epoch({**FINGERPRINT, "serials": serials}).id
            for n in range(6):
                low, high = {1000: 90, 2000: 10}, {4000: 5, 9000: 5}
                _run(history, _at(scale * (400_000 + n), bins=low if n else high), epoch=epoch)
            _run(history, _at(9e9), epoch=epoch, factor=0.1)
    out = _compare(db, capsys, "epoch:1", "epoch:2")
    assert "the last 6 complete runs" in out
    assert "md-raid0 of 2, chunk 256 KiB" in " ".join(out.split())
    (row,) = [line for line in out.splitlines() if line.startswith("randread")]
    assert row.split() == [
        *("randread", "4", "KiB", "QD", "32", "×", "16", "400.0k", "800.0k", "2.00"),
        *("2.00", "to", "2.00", "1"),
    ]
    assert "between values of both (6 and 6 values)" in out
    found = _document(db, capsys, "epoch:1", "epoch:2")
    (row,) = found["rows"]
    assert found["confidence"] == 0.95
    assert row["interval"][0] <= row["ratio"] <= row["interval"][1]
    assert len(row["a"]["values"]) == 6
    # From the sum of all six histograms, which no percentile of a run could tell.
    assert (row["a"]["p50_ns"], row["a"]["p99_ns"]) == (1000, 4000)
    assert row["workload"] == {
        "rw": "randread",
        "direction": "read",
        "block_size_bytes": 4096,
        "jobs": 16,
        "iodepth": 32,
        "engine": "io_uring",
    }


def test_a_raw_device_is_another_layout_than_its_filesystem(db, capsys):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        for iops in (100.0, 300.0):
            run_id = _run(history, _at(iops), epoch=epoch)
        select(db, "UPDATE run SET target_kind = 'raw-read' WHERE id = ?", run_id)
    found = _document(db, capsys, f"epoch:{epoch}", f"epoch:{epoch}")
    values = [(row["a"]["values"], row["b"]["values"]) for row in found["rows"]]
    assert sorted(values) == [([100.0], [100.0]), ([300.0], [300.0])]
    words = "md-raid0 of 2, chunk 256 KiB"
    assert f"{words}, raw-read and {words}" in found["a"]["what"]


def test_two_runs_with_their_seconds(db, capsys):
    result = _at(1000.0, runtime_ms=40_000)
    with History.open_writable(db) as history:
        for factor in (1.0, 3.0):
            run_id = _run(history, dataclasses.replace(result, iops=1000 * factor))
            select(db, "UPDATE result SET ended_at = 5000.0 WHERE run_id = ?", run_id)
            history.add_samples(
                run_id,
                [
                    Sample(int(at * 1e9), device, 0, 0, factor * (100 + at % 7), 0, 0, 0)
                    for at in range(4900, 5010)
                    for device in ("md0", "nvme0n1")
                ],
            )
    out = _compare(db, capsys, "1", "2")
    assert "within the two runs only; repeated runs may differ by more" in out
    assert " 3.00  2.9" in out
    assert _document(db, capsys, "1", "2")["rows"][0]["basis"] == "within the two runs"


def test_the_diary_beside_itself_tells_the_true_gain_of_the_stripe(db, capsys):
    with History.open_writable(db) as history:
        history.add_import(
            "diary.txt",
            sha256="0",
            machine_type="i3.4xlarge",
            judged=[
                report(90, [_COVERAGE], iops=581_387.0, device="nvme1n1", members=()),
                report(150, iops=824_600.0),
            ],
        )
    out = _compare(db, capsys, "import:1:nvme1n1", "import:1:md0")
    assert "~412.3k  824.6k  2.00" in out
    assert "corrected figures, no interval" in out
    assert "A, line 90: 581.4k is not valid (COVERAGE), not compared" in out
    (row,) = _document(db, capsys, "import:1:nvme1n1", "import:1:md0")["rows"]
    assert row["ratio"] == pytest.approx(2.0, rel=0.001)
    assert row["interval"] is None
    assert row["a"]["corrected"] is True
    assert row["a"]["not_compared"][0]["corrected_iops"] == 412_279.0
    assert "it has reports on: nvme1n1, md0" in _compare(
        db, capsys, "import:1:sda", "import:1", status=1
    )


def test_a_diary_beside_an_epoch_of_ours(db, capsys):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        for n in range(7):
            _run(history, _at(800_000.0 + 1000 * n, engine="libaio"), epoch=epoch)
        history.add_import(
            "d.txt", sha256="0", machine_type="", judged=[report(1), report(2, rw="randwrite")]
        )
    out = _compare(db, capsys, "import:1", f"epoch:{epoch}")
    assert "between values of B alone (1 and 7 values)" in out
    assert "job randread in A is rand-read-4k in B" in " ".join(out.split())
    assert "only in A" in out


def test_other_engines_are_other_workloads_and_it_says_so(db, capsys):
    with History.open_writable(db) as history:
        _run(history, _at(1.0))
        _run(history, _at(2.0, engine="psync"))
    out = _compare(db, capsys, "1", "2")
    assert "only in A; psync" not in out, "psync has another queue depth"
    with History.open_writable(db) as history:
        _run(history, _at(2.0, engine="libaio"))
    assert "only in A; libaio is another workload" in _compare(db, capsys, "1", "3")


def test_a_scaled_run_says_so_and_an_epoch_leaves_it_out(db, capsys):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        _run(history, _at(1.0), epoch=epoch, factor=0.1)
        assert "scaled by 0.1" in _compare(db, capsys, "1", f"epoch:{epoch}")
        _run(history, _at(2.0), epoch=epoch)
    out = _compare(db, capsys, "1", f"epoch:{epoch}")
    assert out.count("scaled by 0.1") == 1
    assert _document(db, capsys, "1", "1")["a"]["notes"] == [
        "run times were scaled by 0.1: not to be quoted or compared"
    ]


@pytest.mark.parametrize(
    ("a", "status", "words"),
    [
        ("7", 1, "no run 7"),
        ("epoch:7", 1, "no epoch 7"),
        ("epoch:1", 1, "no complete run"),
        ("import:7", 1, "no import 7"),
        ("x", 2, "cannot be compared"),
    ],
)
def test_what_is_not_there_is_named(db, capsys, a, status, words):
    with History.open_writable(db) as history:
        history.ensure_epoch(FINGERPRINT)
        _run(history)
    err = _compare(db, capsys, a, "1", status=status)
    assert words in err
    assert "hint: " in err


def test_hostile_words_of_a_diary_are_shown_and_not_obeyed(db, capsys):
    bad = Finding("TARGET", Severity.BLOCK, "x")
    with History.open_writable(db) as history:
        history.add_import(
            "d\x1b[2J.txt",
            sha256="0",
            machine_type="\x07",
            judged=[
                report(1, [bad], device="md\x1b[31m0", engine="a\x1bb", rw="x" * 60),
                report(2, device="other", job="\u202e"),
            ],
        )
    for a in ("import:1", "import:1:other"):
        assert main(["compare", a, "import:1", "--db", str(db)]) == 0
        out = capsys.readouterr().out
        assert not any(char in out for char in "\x1b\x07\u202e")


def test_results_name_the_imports_and_can_be_of_one_suite(db, capsys):
    with History.open_writable(db) as history:
        _run(history, _at(1.0))
        history.add_import("d\x1b.txt", sha256="0", machine_type="m5d", judged=[report(1)])
    assert main(["results", "--db", str(db)]) == 0
    out = capsys.readouterr().out
    assert "import 1: d\\x1b.txt, m5d, " in out
    assert "1 of 1 results valid" in out
    assert main(["results", "--suite", "full", "--db", str(db)]) == 0
    assert capsys.readouterr().out.startswith("no runs of suite full yet; start one")
    assert main(["results", "--suite", "smoke", "--json", "--db", str(db)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["runs"]) == 1
    assert main(["results", "--json", "--db", str(db)]) == 0
    (imported,) = json.loads(capsys.readouterr().out)["imports"]
    assert (imported["id"], imported["reports"], imported["valid"]) == (1, 1, 1)


def test_a_run_during_which_the_clock_was_put_back_has_no_duration(db, capsys):
    with History.open_writable(db) as history:
        run_id = _run(history)
    select(db, "UPDATE run SET ended_at = started_at - 3600 WHERE id = ?", run_id)
    assert main(["results", "--db", str(db)]) == 0
    heading = capsys.readouterr().out.splitlines()[0]
    assert "Z, /mnt" in heading


def test_a_run_without_results_is_no_side(db, capsys):
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.finish_run(run_id, RunState.ABORTED, "stopped by SIGINT")
        other = _run(history, _at(1.0))
    err = _compare(db, capsys, str(run_id), str(other), status=1)
    assert "run 1 has no results: it is aborted (stopped by SIGINT)" in err
