"""What fio's own figures say: DEPTH, IMPOSSIBLE, SHORT, UNITS."""

import dataclasses

import pytest

from appliance.bench.validity import depth, impossible, short, unit_slips
from appliance.clouds.capability import published
from appliance.figures.quantities import queue_depth_seen
from appliance.model.measurement import Measurement, Severity, Source
from tests.unit import diary


def changed(evidence: Measurement, **changes: object) -> Measurement:
    return dataclasses.replace(evidence, **changes)


def one_worker(iops: float, latency_us: float, **changes: object) -> Measurement:
    return changed(
        diary.STRIPE_READ_4K,
        **{
            "jobs": 1,
            "iodepth": 1,
            "iops": iops,
            "total_ios": None,
            "latency_mean_ns": latency_us * 1000,
            "capability": None,
            **changes,
        },
    )


# --------------------------------------------------------------------------------- DEPTH


@pytest.mark.parametrize("evidence", diary.ASKED_FOR_8)
def test_psync_that_asked_for_8(evidence):
    # fio's own line says "depth=8" and "IO depths: 1=100.0%" in the same report.
    finding = depth.judge(evidence)
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert finding.measured == pytest.approx(evidence.jobs, rel=0.02)
    assert finding.limit == evidence.jobs * 8
    assert "psync does one I/O at a time and ignores iodepth" in finding.message
    # also where no latency was printed
    assert depth.judge(changed(evidence, latency_mean_ns=None)) is not None


@pytest.mark.parametrize("evidence", [e for e in diary.ALL if e not in diary.ASKED_FOR_8])
def test_depth_is_silent_in_the_other_reports(evidence):
    assert depth.judge(evidence) is None


def test_buffered_libaio_has_no_queue():
    # Recorded: 7.99 in flight of 8 by fio's figures, each of them read alone.
    finding = depth.judge(changed(diary.STRIPE_READ_4K, direct=False))
    assert finding is not None
    assert finding.measured == 16
    assert "direct=1" in finding.message
    assert depth.judge(changed(diary.STRIPE_READ_4K, direct=None)) is None
    assert depth.judge(changed(diary.STRIPE_READ_4K, direct=False, engine="io_uring")) is None


def test_a_mixed_job_is_judged_by_both_directions_together():
    # 213,562 × 1434.54 µs + 213,558 × 958.89 µs of 512
    assert queue_depth_seen(diary.STRIPE_MIXED_READ_4K) == pytest.approx(511.1, abs=0.1)
    assert queue_depth_seen(diary.STRIPE_MIXED_WRITE_4K) == pytest.approx(511.1, abs=0.1)
    half = changed(diary.STRIPE_MIXED_READ_4K, other_direction_latency_mean_ns=None)
    assert queue_depth_seen(half) is None
    assert depth.judge(half) is None
    slower = changed(diary.STRIPE_MIXED_READ_4K, other_direction_latency_mean_ns=700_000.0)
    assert depth.judge(slower) is not None


@pytest.mark.parametrize("latency_us", [560.0, 700.0])
def test_a_contradiction_of_iops_and_latency_is_blocked(latency_us):
    finding = depth.judge(changed(diary.STRIPE_READ_4K, latency_mean_ns=latency_us * 1000))
    assert finding is not None
    assert finding.severity is Severity.BLOCK


def test_iops_is_taken_exactly_where_it_is_printed_as_a_whole_number():
    # "iops=2" of 2.9: Little's law with the printed figure would miss a third.
    few = changed(
        diary.M5D_8X_SINGLE_4M, iops=2.0, total_ios=174, runtime_ms=60_000, jobs=1, iodepth=1,
        latency_mean_ns=344_000_000.0,
    )  # fmt: skip
    assert depth.judge(few) is None
    assert depth.judge(changed(few, total_ios=None)) is not None


def test_time_between_single_ios_is_a_warning():
    finding = depth.judge(one_worker(9_000.0, 90.0))
    assert finding is not None
    assert finding.severity is Severity.WARN
    assert "busy" not in finding.message
    busy = depth.judge(one_worker(9_000.0, 90.0, host_cpu_percent=97.4))
    assert "processors were 97 % busy" in busy.message


def test_more_in_flight_than_asked_is_blocked_at_depth_1_too():
    finding = depth.judge(one_worker(12_000.0, 90.0))
    assert finding is not None
    assert finding.severity is Severity.BLOCK


def test_a_run_that_is_short_beside_its_latencies_is_given_what_was_cut_off():
    # Recorded: a one-second run with iodepth 4 × 8 on a busy disk, 30.3 in flight.
    slow = one_worker(
        2_534.0, 11_940.0, jobs=8, iodepth=4, percentiles_ns={"99.000000": 244_320_000},
        runtime_ms=1_012, runtime_asked_ms=1_000,
    )  # fmt: skip
    assert depth.judge(slow) is None
    assert depth.judge(changed(slow, runtime_ms=180_000)) is not None
    # However slow and short: half of the depth is never enough.
    assert depth.judge(changed(slow, latency_mean_ns=1_490_000.0, runtime_ms=100)) is not None


def test_workers_that_start_one_after_the_other():
    # Recorded: 2 s with iodepth 8 and one processor, 7.45 in flight.
    brief = one_worker(
        21_248.0, 350.43, iodepth=8, runtime_ms=2001, percentiles_ns={"99.000000": 569_344}
    )
    assert depth.judge(brief) is None
    assert depth.judge(changed(brief, runtime_ms=20_001)) is not None


def test_workers_bound_by_size_end_one_by_one():
    early = changed(diary.STRIPE_READ_4K, latency_mean_ns=540_000.0)
    assert depth.judge(early) is not None
    assert depth.judge(changed(early, runtime_asked_ms=None)) is None
    assert depth.judge(changed(early, runtime_asked_ms=None, latency_mean_ns=300_000.0)) is not None


def test_time_in_fsync_is_not_missing_depth():
    # Recorded: 24,930 writes a second of one worker, each followed by fsync; 0.8 in flight.
    synced = one_worker(24_930.0, 31.7)
    assert depth.judge(synced) is not None
    assert depth.judge(changed(synced, sync_ios=74_866)) is None
    assert depth.judge(changed(synced, sync_ios=74_866, latency_mean_ns=60_000.0)) is not None


def test_a_pause_that_was_asked_for():
    probe = one_worker(1.0, 180.0)
    assert depth.judge(probe) is not None
    assert depth.judge(changed(probe, think_time_ms=1000)) is None
    assert depth.judge(changed(probe, think_time_ms=1000, iodepth=8)) is not None


def test_a_latency_that_was_not_measured_is_no_latency():
    assert depth.judge(changed(diary.STRIPE_READ_4K, latency_mean_ns=0.0)) is None


# ---------------------------------------------------------------------------- IMPOSSIBLE


def test_the_stripes_figure_said_of_one_disk():
    one_disk = published(
        "i3.4xlarge", kind=diary.LOCAL, member_count=1, direction="read", block_size_bytes=4096
    )
    finding = impossible.judge(changed(diary.STRIPE_READ_4K, capability=one_disk))
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert "200 % of the 412,500" in finding.message


@pytest.mark.parametrize("block_size_bytes", [4096, 16384, 1 << 20])
def test_the_published_iops_bound_every_block_size(block_size_bytes):
    evidence = changed(
        diary.STRIPE_READ_4K, iops=825_000 * 1.16, block_size_bytes=block_size_bytes, rw="read"
    )
    assert impossible.judge(evidence) is not None
    assert impossible.judge(changed(evidence, iops=825_000 * 1.14)) is None


def test_more_bandwidth_than_published():
    google = published(
        "n2-standard-32", kind=diary.LOCAL, member_count=24, direction="read",
        block_size_bytes=1 << 20,
    )  # fmt: skip
    evidence = changed(
        diary.STRIPE_READ_4K, capability=google, block_size_bytes=1 << 20, iops=9360.0,
        bandwidth_bytes=9360.0 * (1 << 20),
    )  # fmt: skip
    assert impossible.judge(evidence) is None
    faster = changed(evidence, iops=10_900.0, bandwidth_bytes=10_900.0 * (1 << 20))
    assert impossible.judge(faster) is not None
    # of a figure that nobody held against the page the rule says nothing
    unchecked = dataclasses.replace(google, is_limit=False)
    assert impossible.judge(changed(faster, capability=unchecked)) is None
    only_bandwidth = changed(faster, iops=None)
    assert "MB/s" in impossible.judge(only_bandwidth).message


def test_a_figure_that_the_provider_does_not_call_a_limit():
    azure = published(
        "Standard_L8s_v3", kind=diary.LOCAL, member_count=1, direction="read",
        block_size_bytes=4096,
    )  # fmt: skip
    assert azure is not None
    assert azure.iops == 400_000
    # Others measured 894,399 there.
    evidence = changed(diary.STRIPE_READ_4K, iops=894_399.0, capability=azure)
    assert impossible.judge(evidence) is None


def p1(ns: int, **changes: object) -> object:
    """The verdict on a report of which the disks' counts are not known."""
    unknown = {"percentiles_ns": {"1.000000": ns}, "device_io": (), "members": ()}
    return impossible.judge(changed(diary.STRIPE_READ_4K, **{**unknown, **changes}))


def test_a_read_that_no_disk_can_do():
    assert "a cache answered" in p1(1_000).message
    assert p1(10_000) is None
    # a drive's write cache does answer that fast, and so does readahead
    assert p1(5_000, direction="write") is None
    assert p1(600, direct=False) is None
    assert p1(600, direct=None, rw="read") is None
    assert p1(600, direct=None) is not None


def test_completion_latency_of_reads_that_all_reached_the_disk():
    # Recorded: io_uring on a paravirtual disk, clat of 0.9 µs where the read took 100 times that.
    counted = {"device_io": diary.STRIPE_READ_4K.device_io, "members": ("nvme0n1", "nvme1n1")}
    assert p1(900, **counted) is None
    # psync's clat is all of it
    assert p1(900, **counted, engine="psync") is not None
    # our own runs ask fio for percentiles from submission on
    assert p1(900, **counted, source=Source.RUN) is not None


# --------------------------------------------------------------------------------- SHORT


def test_the_interrupted_report():
    finding = short.judge(diary.EBS_SIX_INTERRUPTED)
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert finding.message == "fio was ended by signal 2; ran 114.3 s of 180.0 s asked"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"runtime_ms": 92_000}, "92.0 s of 180.0 s"),
        ({"errors": 5}, "error 5"),
        ({"total_ios": 0}, "no I/O"),
        ({"ended": "fio was ended by signal 9"}, "signal 9"),
        ({"runtime_ms": 210, "runtime_asked_ms": None}, "interval of 250"),
    ],
)
def test_short(changes, says):
    finding = short.judge(changed(diary.STRIPE_READ_4K, **changes))
    assert finding is not None
    assert says in finding.message


@pytest.mark.parametrize("evidence", [e for e in diary.ALL if e is not diary.EBS_SIX_INTERRUPTED])
def test_short_is_silent_in_the_other_reports(evidence):
    assert short.judge(evidence) is None


def test_what_is_not_known_is_not_short():
    # A pasted summary: what it says is whole, and nobody knows what was asked.
    summary = changed(
        diary.EBS_IO1_4M, truncated=True, runtime_asked_ms=None, total_ios=None, iops=None
    )
    assert short.judge(summary) is None
    assert short.judge(changed(diary.STRIPE_READ_4K, runtime_ms=179_900)) is None


# --------------------------------------------------------------------------------- UNITS


@pytest.mark.parametrize("evidence", diary.ALL)
def test_units_is_silent_in_the_diaries(evidence):
    assert unit_slips.judge(evidence) is None


@pytest.mark.parametrize(
    "changes",
    [
        # the stripe's 3221.5 MB/s, had they been taken for MB of 10^6
        {"bandwidth_bytes": 3221.5e6, "printed_bandwidth_bytes": 3221.5e6},
        {"printed_bandwidth_bytes": 3221.5e6},
        {"printed_iops": 82_469.0},
        {"block_size_bytes": 16384},
        {"io_bytes": 148_446_206 * 512},
        {"runtime_ms": 18_000},
        {"total_ios": 14_844_620},
    ],
)
def test_figures_that_contradict_each_other(changes):
    finding = unit_slips.judge(changed(diary.STRIPE_READ_4K, **changes))
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert "contradict" in finding.message


def test_rounded_figures_do_not_contradict():
    # fio 3: "IOPS=412k, BW=1610MiB/s", cut to three and four digits
    evidence = changed(
        diary.STRIPE_READ_4K, iops=412_000.0, printed_iops=412_000.0, total_ios=74_211_417,
        io_bytes=74_211_417 * 4096, bandwidth_bytes=1610.0 * (1 << 20),
        printed_bandwidth_bytes=1610.0 * (1 << 20), runtime_ms=180_003,
    )  # fmt: skip
    assert unit_slips.judge(evidence) is None
    slow = changed(
        evidence, iops=1.0, printed_iops=1.0, total_ios=119, io_bytes=119 * 4096,
        bandwidth_bytes=7 * 1024.0, printed_bandwidth_bytes=7 * 1024.0, runtime_ms=60_010,
    )  # fmt: skip
    assert unit_slips.judge(slow) is None
