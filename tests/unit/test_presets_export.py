"""What was measured here, as io_properties, and beside the presets of others."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from appliance import paths
from appliance.cli.main import main
from appliance.data import instance_type
from appliance.history import queries
from appliance.history.store import History
from appliance.model.measurement import Capability, JobResult
from appliance.model.runs import RunState
from appliance.presets import own, own_properties, preset_file
from tests.unit.histories import FINGERPRINT, RESULT, begin, select

pytestmark = pytest.mark.usefixtures("journalled")

MIB = 1 << 20
SOURCE = instance_type("i3.4xlarge").published_by.source  # type: ignore[union-attr]
_VALID = dataclasses.replace(
    RESULT, findings=(), member="", pass_index=1, capability=Capability(source=SOURCE)
)
READ_IOPS = dataclasses.replace(_VALID, job="rand-read-4k", iops=800_000.9)
LATENCY = dataclasses.replace(_VALID, job="rand-read-4k-qd1", iops=9_000.0, jobs=1, iodepth=1)
READ = dataclasses.replace(
    _VALID, job="seq-read-1m", rw="read", block_size_bytes=MIB, iops=3_000.0, jobs=8, iodepth=4
)
WRITE_IOPS = dataclasses.replace(
    _VALID, job="rand-write-4k", rw="randwrite", direction="write", iops=350_000.0
)
WRITE = dataclasses.replace(
    READ, job="seq-write-1m", rw="write", direction="write", iops=1_500.0,
    findings=RESULT.findings[1:],
)  # fmt: skip
ALL = (READ_IOPS, LATENCY, READ, WRITE_IOPS, WRITE)


def run(db: Path, *results: JobResult, times: int = 1, fingerprint: str = "AWS1,AWS2") -> None:
    with History.open_writable(db) as history:
        for _ in range(times):
            run_id = begin(history, "smoke", 1.0)
            epoch = history.ensure_epoch({**FINGERPRINT, "serials": fingerprint})
            history.update_run(run_id, epoch_id=epoch.id)
            for result in results:
                history.add_result(run_id, result, raw_report="x")
            history.finish_run(run_id, RunState.COMPLETE)
    select(db, "UPDATE run SET ended_at = 1764000000")


def export(db: Path, *argv: str) -> int:
    return main(["export", "io-properties", "--db", str(db), *argv])


def test_every_figure_names_its_run_date_and_verdict(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(db, *ALL)
    assert export(db) == 0
    median = "median of 1 run, too few for what is normal"
    assert capsys.readouterr().out == (
        "# io_properties of Seastar, as measured by stripewright.\n"
        "disks:\n"
        "  - mountpoint: /mnt/scratch\n"
        f"    # run 1, 2025-11-24 16:00:00Z, smoke rand-read-4k, valid: {median}\n"
        "    read_iops: 800000\n"
        f"    # run 1, 2025-11-24 16:00:00Z, smoke seq-read-1m, valid: {median}\n"
        "    read_bandwidth: 3145728000\n"
        f"    # run 1, 2025-11-24 16:00:00Z, smoke rand-write-4k, valid: {median}\n"
        "    write_iops: 350000\n"
        f"    # run 1, 2025-11-24 16:00:00Z, smoke seq-write-1m, valid DEPTH: {median}\n"
        "    write_bandwidth: 1572864000\n"
    )


def test_what_is_written_is_read_and_judged(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(db, *ALL, times=14)
    output = tmp_path / "io_properties.yaml"
    assert export(db, "--output", str(output)) == 0
    assert ", valid: normal of 14 runs\n" in output.read_text()
    (preset,) = preset_file.presets("f", output.read_bytes())
    assert [one.value for one in preset.figures] == [800_000, 3000 * MIB, 350_000, 1500 * MIB]
    capsys.readouterr()
    argv = [str(output), "--machine", "i3.4xlarge", "--db", str(db), "--json"]
    assert main(["audit-presets", *argv]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert {one["verdict"] for one in file["figures"]} == {"plausible"}
    assert [one["measured"]["run_id"] for one in file["figures"]] == [14] * 4


def test_only_valid_results_count_and_only_those_of_the_stripe(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = dataclasses.replace(READ_IOPS, member="nvme0n1", iops=1.0, iodepth=64)
    wrong = dataclasses.replace(READ_IOPS, findings=RESULT.findings, iops=9e6)
    run(db, wrong, *ALL, dataclasses.replace(READ_IOPS, pass_index=3), alone)
    run(db, wrong)
    assert export(db) == 0
    out = capsys.readouterr().out
    assert "# run 1, 2025-11-24 16:00:00Z, smoke rand-read-4k, valid: median of 1 run," in out
    assert "    read_iops: 800000\n" in out


def test_the_appliances_own_history_is_used(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(db, *ALL)
    monkeypatch.setattr(paths, "HISTORY_DB", db)
    (tmp_path / "model").write_text("259:1 rbps=1\n")
    assert main(["audit-presets", str(tmp_path / "model"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["history"] == str(db)


def test_one_disk_alone_is_beside_io_cost(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(db, *ALL, dataclasses.replace(READ, member="nvme0n1", iops=1_600.0))
    (tmp_path / "model").write_text(f"259:1 rbps={1600 * MIB}\n259:2 rbps={3200 * MIB}\n")
    argv = [str(tmp_path / "model"), "--machine", "i3.4xlarge", "--db", str(db)]
    assert main(["audit-presets", *argv]) == 5
    out = " ".join(capsys.readouterr().out.split())
    assert "2 figures: 1 plausible, 1 cannot be true" in out
    assert "3.12 GiB/s - 1.56 GiB/s 2.00 cannot be true, × 2 disks" in out


@pytest.mark.parametrize("lacking", [READ_IOPS, READ, WRITE_IOPS, WRITE])
@pytest.mark.parametrize("blocked", [True, False])
def test_without_a_valid_result_nothing_is_written(
    lacking: JobResult,
    blocked: bool,
    db: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(db, *(one for one in ALL if one is not lacking))
    if blocked:
        run(db, dataclasses.replace(lacking, findings=RESULT.findings))
    output = tmp_path / "io_properties.yaml"
    output.write_text("old")
    assert export(db, "--output", str(output)) == 3
    message, hint = capsys.readouterr().err.splitlines()
    kind = "iops" if lacking.rw.startswith("rand") else "bandwidth"
    assert f"/mnt/scratch has no valid result for {lacking.direction}_{kind}" in message
    assert "stripewright-bench@smoke" in hint
    assert output.read_text() == "old"


def test_other_disks_are_measured_anew(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(db, *ALL)
    with History.open_writable(db) as history:
        history.ensure_epoch({**FINGERPRINT, "serials": "AWS3,AWS4"})
    assert export(db) == 3
    assert "no volume has a valid result in its current epoch" in capsys.readouterr().err


def test_a_path_that_yaml_could_misread_is_refused(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(db, *ALL)
    select(db, "UPDATE run SET target = '/x: \x1b #/.stripewright-bench'")
    assert export(db) == 3
    err = capsys.readouterr().err
    assert "is no plain path: nothing is written" in err
    assert "\x1b" not in err


def test_a_device_is_no_volume(db: Path) -> None:
    run(db, *ALL)
    select(db, "UPDATE run SET target = '/dev/nvme0n1'")
    with queries.open_readonly(db) as history:
        measured = own.measured(history)
    assert len(measured) == 4
    with pytest.raises(own_properties.Refused):
        list(own_properties.pieces(measured))


@pytest.mark.parametrize("value", [0, 0.5, -1, 9e999])
def test_what_is_no_rate_is_no_result(value: float, db: Path) -> None:
    run(db, *ALL)
    select(db, "UPDATE result SET iops = ? WHERE job = 'rand-read-4k'", value)
    assert export(db) == 3
