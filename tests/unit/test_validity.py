"""The four rules, with figures typed from a published diary (i3.4xlarge, fio 2.14).

The diary's reports: single disk and two-disk stripe, 16 jobs, iodepth 32, 180 s.
"""

import dataclasses

import pytest

from appliance.bench import validity
from appliance.bench.capability import instance_limits, percent_of_published, published_iops
from appliance.model import DiskKind, JobResult, Severity

LOCAL = (DiskKind.INSTANCE_STORE,) * 2
I3 = instance_limits("i3.4xlarge", LOCAL)


def diary(**changes: object) -> JobResult:
    """'performs 4 KB random read operations' on the two-disk stripe: all in order."""
    result = JobResult(
        job="fio_test_file",
        direction="read",
        engine="libaio",
        block_size_bytes=4096,
        iops=824_691.0,
        bandwidth_bytes=3221.5 * 1024 * 1024,
        io_bytes=148_446_206 * 4096,
        total_ios=148_446_206,
        latency_mean_ns=619_900.0,
        percentiles_ns={"1.000000": 215_000, "50.000000": 572_000},
        bins={},
        runtime_ms=180_002,
        runtime_asked_ms=180_000,
        jobs=16,
        iodepth=32,
        errors=0,
        cpu_percent=83.7,
        device_bytes=148_410_673 * 4096,
        device_deltas=(),
        published_iops=published_iops(I3, direction="read", member_count=2),
        rw="randread",
    )
    return dataclasses.replace(result, **changes)  # type: ignore[arg-type]


def single_disk_read() -> JobResult:
    """The same on one disk: 74,211,417 of 104,651,512 I/Os reached it."""
    return diary(
        iops=581_387.0,
        total_ios=104_651_512,
        io_bytes=104_651_512 * 4096,
        device_bytes=74_211_417 * 4096,
        latency_mean_ns=879_880.0,
        percentiles_ns={"1.000000": 1_000, "50.000000": 1_080_000},
        runtime_ms=180_003,
        published_iops=published_iops(I3, direction="read", member_count=1),
    )


def codes(result: JobResult, ended: str = "") -> dict[str, Severity]:
    return {finding.code: finding.severity for finding in validity.judge(result, ended=ended)}


def test_the_true_stripe_result_is_silent():
    assert codes(diary()) == {}


def test_coverage_gives_the_number_that_is_probably_true():
    result = single_disk_read()
    finding = validity.coverage(result)
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert finding.corrected == pytest.approx(412_279, abs=2)
    assert finding.measured == pytest.approx(0.7091, abs=1e-4)
    judged = dataclasses.replace(result, findings=validity.judge(result))
    assert not judged.valid
    assert validity.corrected_iops(judged) == finding.corrected
    # the stripe's gain is 2.00, not the 1.42 that the diary's figures say
    assert diary().iops / finding.corrected == pytest.approx(2.00, abs=0.005)


def test_coverage_of_the_16k_single_disk_read():
    result = diary(iops=216_421.0, block_size_bytes=16384, io_bytes=1000, device_bytes=563)
    finding = validity.coverage(result)
    assert finding is not None
    assert finding.corrected == pytest.approx(216_421 * 0.563)


@pytest.mark.parametrize(
    "changes",
    [
        {"device_bytes": None},  # unknown devices: not judged
        {"direction": "write", "device_bytes": 0},  # writes may rest in a cache below
        {"io_bytes": 1000, "device_bytes": 981},
        {"io_bytes": 1000, "device_bytes": 2000},  # somebody else read too: not this rule
    ],
)
def test_coverage_is_silent(changes):
    assert validity.coverage(diary(**changes)) is None


def test_psync_with_an_iodepth_of_8_is_blocked():
    result = diary(engine="psync", iodepth=8, jobs=16, iops=120_000.0, latency_mean_ns=132_000.0)
    finding = validity.depth(result)
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert finding.measured == pytest.approx(15.84)
    assert finding.limit == 128
    assert "ignores iodepth" in finding.message


def test_a_contradiction_of_iops_and_latency_is_blocked():
    assert codes(diary(latency_mean_ns=700_000.0)) == {"DEPTH": Severity.BLOCK}
    assert codes(diary(latency_mean_ns=560_000.0)) == {"DEPTH": Severity.BLOCK}


def test_time_between_single_ios_is_a_warning_and_the_result_stays_valid():
    result = diary(jobs=1, iodepth=1, iops=9_000.0, latency_mean_ns=90_000.0, published_iops=None)
    assert codes(result) == {"DEPTH": Severity.WARN}
    assert dataclasses.replace(result, findings=validity.judge(result)).valid
    assert "busy" not in validity.judge(result)[0].message
    (finding,) = validity.judge(dataclasses.replace(result, host_cpu_percent=97.4))
    assert "processors were 97 % busy" in finding.message


def test_a_run_that_is_short_beside_its_latencies_is_given_what_was_cut_off():
    # Recorded: a one-second run with iodepth 4 × 8 on a busy disk, 30.3 in flight.
    changes = {"jobs": 8, "iodepth": 4, "iops": 2_534.0, "latency_mean_ns": 11_940_000.0}
    slow = {"percentiles_ns": {"99.000000": 244_320_000}, "published_iops": None}
    assert codes(diary(**changes, **slow, runtime_ms=1_012, runtime_asked_ms=1_000)) == {}
    assert codes(diary(**changes, **slow)) == {"DEPTH": Severity.BLOCK}
    # However slow and short: half of the depth is never enough.
    absent = changes | {"latency_mean_ns": 1_490_000.0, "runtime_asked_ms": 100}
    assert "DEPTH" in codes(diary(**absent, **slow, runtime_ms=100))


def test_more_in_flight_than_asked_is_blocked_at_depth_1_too():
    result = diary(jobs=1, iodepth=1, iops=12_000.0, latency_mean_ns=90_000.0, published_iops=None)
    assert codes(result) == {"DEPTH": Severity.BLOCK}


def test_faster_than_published_is_impossible():
    # The stripe's figure, had it been said of one disk: 200 % of 412,500.
    one_disk = published_iops(I3, direction="read", member_count=1)
    assert one_disk == 412_500
    finding = validity.impossible(diary(published_iops=one_disk))
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert "200 %" in finding.message


@pytest.mark.parametrize("block_size_bytes", [4096, 16384, 1 << 20])
def test_the_limit_is_an_upper_bound_for_every_block_size(block_size_bytes):
    result = diary(iops=825_000 * 1.16, block_size_bytes=block_size_bytes, rw="read")
    assert validity.impossible(result) is not None


def test_114_percent_is_possible():
    assert validity.impossible(diary(iops=825_000 * 1.14)) is None


def test_a_read_that_no_disk_can_do_is_impossible():
    finding = validity.impossible(diary(percentiles_ns={"1.000000": 1_000}))
    assert finding is not None
    assert "cache" in finding.message
    assert validity.impossible(diary(percentiles_ns={"1.000000": 10_000})) is None
    assert validity.impossible(diary(percentiles_ns={})) is None
    # a drive's write cache does answer that fast
    assert validity.impossible(diary(direction="write", percentiles_ns={"1.000000": 5_000})) is None


@pytest.mark.parametrize(
    ("changes", "ended", "says"),
    [
        ({"runtime_ms": 92_000}, "", "92.0 s of 180.0 s"),
        ({"errors": 5}, "", "error 5"),
        ({"total_ios": 0, "iops": 0.0, "latency_mean_ns": 0.0}, "", "no I/O"),
        ({}, "fio was ended by signal 9", "signal 9"),
    ],
)
def test_short(changes, ended, says):
    found = validity.judge(diary(**changes), ended=ended)
    assert [finding.code for finding in found] == ["SHORT"]
    assert found[0].severity is Severity.BLOCK
    assert says in found[0].message


def test_a_few_milliseconds_less_are_not_short():
    assert validity.short(diary(runtime_ms=179_900)) is None


def test_blocking_findings_come_first():
    result = diary(jobs=1, iodepth=1, iops=9_000.0, latency_mean_ns=90_000.0, device_bytes=0)
    found = validity.judge(result)
    assert [finding.severity for finding in found] == [Severity.BLOCK, Severity.WARN]


def test_published_limits_by_level():
    assert published_iops(I3, direction="read", member_count=2) == 825_000
    assert published_iops(I3, direction="write", member_count=2) == 360_000
    assert published_iops(I3, direction="write", member_count=1) == 180_000
    # more members than the type has instance-storage disks: they are something else
    assert published_iops(I3, direction="read", member_count=3) is None
    assert published_iops(I3, direction="read", member_count=0) is None
    assert published_iops(None, direction="read", member_count=1) is None
    assert instance_limits("no.such", LOCAL) is None


def test_published_limits_are_those_of_instance_storage_only():
    for other in (DiskKind.NETWORK, DiskKind.UNKNOWN):
        assert instance_limits("i3.4xlarge", (DiskKind.INSTANCE_STORE, other)) is None
        assert instance_limits("i3.4xlarge", (other,)) is None


def test_percent_of_published_is_for_what_the_figure_is_published_for():
    assert percent_of_published(diary()) == pytest.approx(99.96, abs=0.01)
    assert percent_of_published(diary(jobs=1, iodepth=32)) is not None
    for other in (
        {"published_iops": None},
        {"block_size_bytes": 1 << 20},
        {"block_size_bytes": 16384},
        {"rw": "read"},
        {"rw": ""},  # a result of a version that did not keep it
        {"jobs": 1, "iodepth": 1},
        {"jobs": 1, "iodepth": 31},
    ):
        assert percent_of_published(diary(**other)) is None
