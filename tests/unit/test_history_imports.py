"""Imported diaries: kept whole, once, and with the verdicts of the latest import."""

from __future__ import annotations

import dataclasses
import os
import time

import pytest

from appliance.errors import OperatorError
from appliance.history import queries
from appliance.history.store import History
from appliance.model.measurement import (
    Capability,
    DeviceIo,
    Finding,
    Measurement,
    Provisioned,
    Severity,
    Slice,
)
from tests.unit.histories import report, select

pytestmark = pytest.mark.usefixtures("journalled")

_COVERAGE = Finding("COVERAGE", Severity.BLOCK, "71 %", 0.709, 0.98, 412_279.0, "iops")

FULL = Measurement(
    file="diary.txt",
    line=17,
    job="job [red]\x1b",
    direction="read",
    rw="randrw",
    engine="psync",
    fio_version="fio-3.7",
    direct=False,
    block_size_bytes=4096,
    jobs=16,
    iodepth=32,
    iops=581_387.0,
    bandwidth_bytes=2.4e9,
    io_bytes=10**12,
    total_ios=104_651_512,
    runtime_ms=180_001,
    runtime_asked_ms=180_000,
    latency_mean_ns=879_880.5,
    percentiles_ns={"99.000000": 2_008_000},
    errors=3,
    ended="by a signal",
    truncated=True,
    cpu_percent=12.5,
    device="md0",
    members=("nvme0n1", "nvme1n1"),
    device_io=(DeviceIo("md0", 1, 2), DeviceIo("nvme0n1", 3, 4, 5, 6, 7, 8, 9, 10)),
    target="/mnt/x",
    expected=("md0",),
    expected_why="the first report",
    slices=(Slice(5.0, 1.0, 2.0), Slice(5.0, 3.0, 4.0)),
    full_suite=True,
    machine_type="i3.4xlarge",
    capability=Capability("instance-store", iops=825_000.0, basis="2 ×", source="where"),
    provisioned=Provisioned(volume_iops_us=5),
)


def _add(history: History, *judged: Measurement, sha256: str = "ab", machine_type: str = "") -> int:
    return history.add_import("diary.txt", sha256=sha256, machine_type=machine_type, judged=judged)


def test_a_report_comes_back_as_it_went_in(db):
    judged = (dataclasses.replace(FULL, findings=(_COVERAGE,)), report(40))
    with History.open_writable(db) as history:
        import_id = _add(history, *judged, machine_type="i3.4xlarge")
    with queries.open_readonly(db) as reader:
        assert reader.import_reports(import_id) == judged
        (found,) = reader.imports()
    assert (found.reports, found.valid, found.file) == (2, 1, "diary.txt")
    assert (found.sha256, found.machine_type) == ("ab", "i3.4xlarge")
    assert abs(found.at - time.time()) < 60
    assert select(
        db, "SELECT job, rw, direction, iops, iodepth, valid FROM result WHERE line = 17"
    ) == [("job [red]\x1b", "randrw", "read", 581_387.0, 32, 0)]


def test_every_field_of_a_report_is_tried_above():
    """So that a field that is added to Measurement is kept, too, or this test asks why not."""
    untried = [
        field.name
        for field in dataclasses.fields(Measurement)
        if field.default is not dataclasses.MISSING and getattr(FULL, field.name) == field.default
    ]
    # Later fields go the same way as these: through the evidence as it is.
    assert set(untried) <= {
        "source",
        # Of the verdicts another test has some.
        "findings",
        "printed_iops",
        "printed_bandwidth_bytes",
        "host_cpu_percent",
        "other_direction_iops",
        "other_direction_latency_mean_ns",
        "sync_ios",
        "ramp_ms",
        "think_time_ms",
        "device_latencies",
        "latency_min_ns",
        "submit_mean_ns",
        "synced",
        "paced_by",
        "printed_iops_error",
        "printed_bandwidth_error_bytes",
    }


def test_the_same_file_for_the_same_machine_is_the_same_import(db):
    with History.open_writable(db) as history:
        first = _add(history, report(1), report(2), machine_type="i3.4xlarge")
        rows = select(db, "SELECT id FROM result")
        assert _add(history, report(1), report(2), machine_type="i3.4xlarge") == first
        assert select(db, "SELECT id FROM result") == rows, "nothing was written"
        other = _add(history, report(1), machine_type="m5d.2xlarge")
        another = _add(history, report(1), sha256="cd", machine_type="i3.4xlarge")
        assert len({first, other, another}) == 3
    with queries.open_readonly(db) as reader:
        assert [one.id for one in reader.imports()] == [another, other, first]
        assert len(reader.import_reports(first)) == 2


def test_verdicts_that_have_become_others_replace_the_old_ones(db):
    with History.open_writable(db) as history:
        first = _add(history, report(1), report(2))
        again = _add(history, report(1), report(2, findings=[_COVERAGE]))
    assert again == first
    with queries.open_readonly(db) as reader:
        assert [one.valid for one in reader.import_reports(first)] == [True, False]
        assert reader.imports()[0].valid == 1


def test_half_an_import_is_no_import(db):
    broken = report(2, job=None)
    with History.open_writable(db) as history:
        with pytest.raises(OperatorError):
            _add(history, report(1), broken)
        first = _add(history, report(1))
        with pytest.raises(OperatorError):
            _add(history, report(3), broken)
    with queries.open_readonly(db) as reader:
        assert [one.id for one in reader.imports()] == [first]
        assert reader.import_reports(first) == (report(1),)


@pytest.mark.parametrize(
    "odd",
    [
        {"job": os.fsdecode(b"\xff\xfe")},
        {"job": "a\x00b"},
        {"block_size_bytes": 10**30},
        {"jobs": -(10**30)},
        {"iops": float("inf")},
        {"percentiles_ns": {"x": 10**40}},
    ],
)
def test_whatever_a_diary_holds_is_kept(db, odd):
    with History.open_writable(db) as history:
        import_id = history.add_import(
            os.fsdecode(b"d\xff.txt"), sha256="00", machine_type="", judged=[report(1, **odd)]
        )
    with queries.open_readonly(db) as reader:
        (found,) = reader.import_reports(import_id)
        assert found == dataclasses.replace(report(1, **odd), file="d\\udcff.txt")
        assert found.file == reader.imports()[0].file == "d\\udcff.txt"


def test_what_is_not_a_number_is_kept_as_not_known_for_sql(db):
    with History.open_writable(db) as history:
        _add(history, report(1, iops=float("nan"), latency_mean_ns=float("nan")))
    assert select(db, "SELECT iops, latency_mean_ns FROM result") == [(None, None)]


@pytest.mark.parametrize("number", [7, 1 << 70])
def test_an_import_that_is_not_there(db, number):
    with (
        History.open_writable(db),
        queries.open_readonly(db) as reader,
        pytest.raises(OperatorError, match="no import"),
    ):
        reader.import_reports(number)


def test_evidence_that_cannot_be_understood_is_damage(db):
    with History.open_writable(db) as history:
        import_id = _add(history, report(1))
    for broken in ("[]", "{", '{"source": "moon"}', '{"source": "run", "unknown": 1}'):
        select(db, "UPDATE result SET more = ?", broken)
        with queries.open_readonly(db) as reader, pytest.raises(OperatorError, match="damaged"):
            reader.import_reports(import_id)
