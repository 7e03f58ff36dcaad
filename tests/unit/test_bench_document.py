"""JSON documents, progress lines, fingerprints and the judged result."""

import dataclasses
import json
import os
from pathlib import Path

import pytest

from appliance.bench import fingerprint, result
from appliance.bench.block_devices import Devices
from appliance.bench.fio import DirectionReport, FioReport
from appliance.bench.progress import Progress, progress_json, progress_line
from appliance.errors import OperatorError, UsageError
from appliance.figures.sampling import Minute
from appliance.history.json_documents import result_to_json, run_to_json
from appliance.model.disks import DiskKind
from appliance.model.runs import Counters, Job, RunRecord, RunState, Sample
from tests.unit.formats import RESULT_KEYS

JOB = Job("rand-read-4k", "randread", 4096, 32, 8, 30.0)
STRIPE = Devices("md0", ("nvme0n1", "nvme1n1"))
IOS = 3_000_100


def report(**changes: object) -> FioReport:
    read = DirectionReport(
        io_bytes=4096 * IOS,
        total_ios=IOS,
        iops=100_000.0,
        bandwidth_bytes=100_000.0 * 4096,
        runtime_ms=30_001,
        latency_mean_ns=2_560_000.0,
        percentiles_ns={"1.000000": 90_000, "99.000000": 4_000_000},
        bins={90_000: IOS},
    )
    return FioReport(0, 50.0, {"read": dataclasses.replace(read, **changes)})


def change(device: str, read_bytes: int) -> Counters:
    return Counters(device, 1, read_bytes, 1, 0, 0, 0, 0, 1)


def judged(report: FioReport, *changes: Counters, **more: object):
    direction = str(more.pop("direction", "read"))
    devices = more.pop("devices", STRIPE)
    kinds = more.pop("kinds", (DiskKind.INSTANCE_STORE,) * 2)
    asked = {"machine_type": "i3.4xlarge", "host_cpu_percent": 12.5, "engine": "io_uring"} | more
    found = dataclasses.replace(result.reported(JOB, report, direction), **asked)
    return result.judged(result.counted(found, devices, changes, kinds))


BOTH = (
    change("md0", 4096 * IOS),
    change("nvme0n1", 2048 * IOS),
    change("nvme1n1", 2048 * IOS),
)


def test_coverage_is_over_the_members_and_not_over_the_stripe_as_well():
    result = judged(report(), *BOTH)
    assert result.device_bytes == 4096 * IOS
    assert result.coverage == 1.0
    assert result.valid


def test_a_write_job_counts_the_bytes_that_were_written():
    written = FioReport(0, 50.0, {"write": report().directions["read"]})
    changes = [
        dataclasses.replace(counted, read_bytes=7, write_bytes=counted.read_bytes)
        for counted in BOTH
    ]
    assert judged(written, *changes, direction="write").device_bytes == 4096 * IOS


def test_a_member_that_vanished_leaves_coverage_unknown():
    assert judged(report(), *BOTH[:2]).device_bytes is None


def test_no_devices_leave_coverage_unknown():
    assert judged(report(), devices=Devices(problem="none")).coverage is None


def test_a_job_that_did_nothing_is_short():
    result = judged(FioReport(5, 0.0, {}), *BOTH, ended="fio exited with status 1")
    assert [finding.code for finding in result.findings] == ["SHORT"]
    assert result.iops == 0


def test_the_keys_of_a_result_are_those_of_the_import():
    half = (BOTH[0], change("nvme0n1", 1024 * IOS), change("nvme1n1", 1024 * IOS))
    run = a_run()
    document = json.loads(json.dumps(result_to_json(judged(report(), *half), run)))
    assert set(document) >= RESULT_KEYS
    assert document["queue_depth_asked"] == 256
    assert document["queue_depth_seen"] == pytest.approx(256)
    assert document["coverage"] == 0.5
    assert document["corrected_iops"] == 50_000
    assert document["valid"] is False
    assert document["percent_of_published"] == pytest.approx(12.12, abs=0.01)
    assert document["members"] == ["nvme0n1", "nvme1n1"]
    assert document["host_cpu_percent"] == 12.5
    assert document["rw"] == "randread"
    assert set(document["findings"][0]) >= {"code", "severity", "message"}
    assert document["findings"][0]["code"] == "COVERAGE"


def a_run() -> RunRecord:
    return RunRecord(
        id=3,
        suite="smoke",
        state=RunState.SKIPPED,
        epoch_id=2,
        target="/mnt/scratch/.stripewright-bench",
        engine="io_uring",
        fio_version="fio-3.33",
        started_at=1.0,
        ended_at=2.0,
        phase="check",
        job_index=0,
        job_count=5,
        phase_started_at=1.0,
        phase_seconds=20.0,
        reason="foreign load",
        pid=1,
        device="md0",
        members=("nvme0n1", "nvme1n1"),
    )


def test_a_run_says_what_it_was_and_why_it_ended():
    document = json.loads(json.dumps(run_to_json(a_run())))
    assert document["run"] == 3
    assert document["suite"] == "smoke"
    assert document["state"] == "skipped"
    assert document["reason"] == "foreign load"
    assert document["epoch"] == 2
    assert document["time_factor"] == 1.0


# ------------------------------------------------------------------------------ progress

AT = Progress(
    run_id=1,
    suite="smoke",
    phase="rand-read-4k",
    job_index=2,
    job_count=5,
    elapsed_seconds=15.2,
    phase_seconds=30,
    left_seconds=105,
    read_iops=412_345,
    bytes_per_s=1.69e9,
    total_elapsed_seconds=45,
)


def test_a_progress_line_with_room_for_all():
    line = progress_line(AT, 120)
    assert line.startswith(
        "smoke 2/5 rand-read-4k  15/30 s  [######..............]  30 %, 1:45 left  412,345 r/s"
    )
    assert "412,345 r/s" in line
    assert "1,690 MB/s" in line


@pytest.mark.parametrize("width", [0, 1, 20, 40, 60, 79, 80, 200])
def test_a_progress_line_never_wraps(width):
    line = progress_line(AT, width)
    assert len(line) <= width
    assert line.isascii()


def test_a_phase_that_takes_longer_than_thought_keeps_a_full_bar():
    late = dataclasses.replace(AT, elapsed_seconds=50, left_seconds=0)
    assert "[####################]" in progress_line(late, 120)


def test_a_disk_that_is_measured_alone_is_named_and_hours_are_hours():
    alone = dataclasses.replace(AT, member="nvme1n1", left_seconds=3 * 3600 + 62)
    assert "rand-read-4k on nvme1n1  " in progress_line(alone, 120)
    assert "3:01:02 left" in progress_line(alone, 120)


def test_nothing_is_done_of_a_run_of_which_nothing_is_known():
    unknown = dataclasses.replace(AT, total_elapsed_seconds=0, left_seconds=0)
    assert unknown.share == 0


def test_progress_as_one_line_of_json():
    member = Sample(1, "nvme1n1", 10.0, 1.0, 40960.0, 4096.0, 0.5, 0.9)
    minute = Minute(60, "md0", 60, 600.0, 0.0, 2457600.0, 0.0)
    text = progress_json(
        dataclasses.replace(AT, members=(member,), minute=minute, pass_index=2, passes=3)
    )
    assert "\n" not in text
    document = json.loads(text)
    assert document["job"] == document["phase"] == "rand-read-4k"
    assert (document["job_index"], document["job_count"]) == (2, 5)
    assert (document["pass"], document["passes"], document["member"]) == (2, 3, None)
    assert document["left_seconds"] == pytest.approx(14.8)
    assert document["total_left_seconds"] == 105
    assert document["members"][0]["device"] == "nvme1n1"
    assert document["members"][0]["bytes_per_s"] == 45056
    assert document["minute"]["read_ios"] == 600
    check = json.loads(progress_json(dataclasses.replace(AT, job_index=0, phase="check")))
    assert (check["job"], check["phase"], check["minute"]) == (None, "check", None)


# --------------------------------------------------------------------------- environment


def state(tmp_path, *volumes: dict[str, object]):
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"volumes": volumes}))
    return file


def test_the_disks_that_a_directory_should_be_on_are_those_of_the_volume_declared_there(tmp_path):
    file = state(
        tmp_path,
        {
            "name": "scratch",
            "mount": str(tmp_path / "scratch"),
            "outcome": "mounted",
            "members": [{"path": "/dev/nvme1n1"}, {"path": "/dev/nvme2n1"}],
        },
        {"name": "logs", "mount": str(tmp_path / "logs"), "outcome": "mounted"},
    )
    disks = fingerprint.declared_disks(tmp_path / "scratch" / "bench", file)
    assert disks == ("nvme1n1", "nvme2n1")
    assert fingerprint.declared_disks(tmp_path / "logs", file) == ()
    assert fingerprint.declared_disks(tmp_path / "scratch2", file) == ()


def test_the_default_target_is_in_the_first_mounted_volume(tmp_path):
    file = state(
        tmp_path,
        {"name": "a", "outcome": "refused", "mount": "/mnt/a"},
        {"name": "b", "outcome": "mounted", "mount": "/mnt/b", "epoch_id": 4},
    )
    assert str(fingerprint.default_target(file)) == "/mnt/b/.stripewright-bench"


def test_a_target_is_on_the_volume_that_is_named(tmp_path):
    file = state(
        tmp_path,
        {"name": "a", "outcome": "mounted", "mount": "/mnt/a"},
        {"name": "b", "outcome": "mounted", "mount": "/mnt/b"},
        {"name": "c", "outcome": "refused", "mount": "/mnt/c"},
        {"name": "d", "outcome": "mounted", "mount": None},
    )
    assert str(fingerprint.target_on("b", file)) == "/mnt/b/.stripewright-bench"
    for name in ("c", "d", "e", "", "B", "/mnt/b"):
        with pytest.raises(UsageError, match="no volume called") as caught:
            fingerprint.target_on(name, file)
        assert caught.value.hint.startswith("mounted: a, b;")
    with pytest.raises(UsageError) as caught:
        fingerprint.target_on("a", tmp_path / "none")
    assert caught.value.hint.startswith("mounted: none;")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"volumes": 3}', '{"volumes": [3]}', '{"volumes": []}']
)
def test_without_a_mounted_volume_there_is_nothing_to_measure(tmp_path, text):
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(OperatorError, match="nothing to measure") as caught:
        fingerprint.default_target(tmp_path / "state.json")
    assert "--target" in caught.value.hint


def test_a_target_in_a_volume_has_that_volumes_epoch(tmp_path):
    file = state(
        tmp_path, {"name": "b", "outcome": "mounted", "mount": str(tmp_path / "b"), "epoch_id": 4}
    )
    (tmp_path / "b" / "x").mkdir(parents=True)
    (tmp_path / "bee").mkdir()
    assert fingerprint.declared_epoch(tmp_path / "b" / "x", file) == 4
    assert fingerprint.declared_epoch(tmp_path / "bee", file) is None
    assert fingerprint.declared_epoch(tmp_path, tmp_path / "none") is None


def test_another_filesystem_below_a_volume_is_not_in_it(tmp_path):
    file = state(tmp_path, {"name": "b", "outcome": "mounted", "mount": "/", "epoch_id": 4})
    assert fingerprint.declared_epoch(Path("/etc"), file) == 4
    assert fingerprint.declared_epoch(Path("/proc"), file) is None
    assert fingerprint.declared_epoch(Path("/no-such-directory"), file) is None


def test_a_fingerprint_from_sysfs_and_mountinfo(tmp_path):
    for name, serial in (("nvme0n1", "AWS1"), ("nvme1n1", "AWS2")):
        (tmp_path / name / "device").mkdir(parents=True)
        (tmp_path / name / "device" / "serial").write_text(f"{serial}  \n")
    (tmp_path / "md0" / "md").mkdir(parents=True)
    (tmp_path / "md0" / "md" / "level").write_text("raid0\n")
    (tmp_path / "md0" / "md" / "chunk_size").write_text("262144\n")
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(
        "22 1 259:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
        "40 22 9:0 / /mnt/scratch rw,nodev,noatime shared:9 - xfs /dev/md0 rw,sunit=512\n"
    )
    found = fingerprint.fingerprint(
        STRIPE,
        device_number=os.makedev(9, 0),
        fio_version="fio-3.33",
        machine_type="i3.4xlarge",
        sys_block=tmp_path,
        mountinfo=mountinfo,
    )
    assert found == {
        "serials": "AWS1,AWS2",
        "stripe": "md-raid0 chunk=262144 members=2",
        "filesystem": "xfs",
        "mount_options": "rw,nodev,noatime",
        "kernel": os.uname().release,
        "fio": "fio-3.33",
        "machine_type": "i3.4xlarge",
    }
