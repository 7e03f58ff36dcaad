"""Whose limit was measured: STEADY, BURST, CPU, CAP."""

import dataclasses

import pytest

from appliance.bench.validity import burst, cap, cpu, unsteady
from appliance.clouds.capability import published
from appliance.clouds.volumes import Volume
from appliance.model.disks import DiskKind
from appliance.model.measurement import Capability, Measurement, Provisioned, Severity, Slice
from tests.unit import diary


def changed(evidence: Measurement, **changes: object) -> Measurement:
    return dataclasses.replace(evidence, **changes)


# -------------------------------------------------------------------------------- STEADY


def sliced(*rates: float, **changes: object) -> Measurement:
    slices = tuple(Slice(18.0, rate, rate * 4096) for rate in rates)
    return changed(diary.STRIPE_WRITE_4K, slices=slices, **{"full_suite": True, **changes})


def test_a_rate_that_still_falls_is_not_steady():
    # Written past its spare area, a drive goes on getting slower.
    finding = unsteady.judge(sliced(400e3, 357e3, 340e3, 325e3, 310e3, 295e3))
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert finding.limit == 0.10
    wild = unsteady.judge(sliced(357e3, 357e3, 300e3, 420e3, 357e3))
    assert wild is not None
    assert wild.limit == 0.20


@pytest.mark.parametrize(
    "evidence",
    [
        sliced(90e3, 357e3, 356e3, 358e3, 360e3, 355e3),
        sliced(400e3, 300e3, 200e3, 100e3),  # fewer than five
        sliced(400e3, 357e3, 340e3, 325e3, 310e3, 295e3, full_suite=False),
        sliced(0, 0, 0, 0, 0),
    ],
)
def test_steady_is_silent(evidence):
    assert unsteady.judge(evidence) is None


# --------------------------------------------------------------------------------- BURST


def network(
    machine: str, volume: Volume | None, rw: str, block: int, **changes: object
) -> Measurement:
    capability = published(
        machine, kind=DiskKind.NETWORK, member_count=1, direction="write",
        block_size_bytes=block, rw=rw, volume=volume,
    )  # fmt: skip
    return changed(
        diary.EBS_IO1_4M, capability=capability, block_size_bytes=block, rw=rw,
        **{"iops": None, "bandwidth_bytes": None, "total_ios": None, "io_bytes": None, **changes},
    )  # fmt: skip


def test_the_smallest_st1_volume_bursts_to_six_times_its_baseline():
    # The lab's log volume: 125 GiB, 5 MiB/s sustained and 31 MiB/s with credits.
    volume = Volume("st1", size_gib=125)
    fast = network("m5.8xlarge", volume, "write", 1 << 20, bandwidth_bytes=33_000 * 1024)
    finding = burst.judge(fast)
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert "5 MB/s" in finding.message
    assert burst.judge(changed(fast, bandwidth_bytes=5.0 * (1 << 20))) is None


def test_a_small_gp2_volume_and_a_small_machine():
    gp2 = network("m5.8xlarge", Volume("gp2", size_gib=100), "randread", 4096, iops=3000.0)
    assert burst.judge(gp2) is not None
    assert burst.judge(changed(gp2, iops=301.0)) is None
    large = network("m5.8xlarge", Volume("gp2", size_gib=1000), "randread", 4096, iops=3000.0)
    assert burst.judge(large) is None
    # gp3 has no credits, but a t3.micro has: 500 IOPS sustained, 11,800 at the most.
    micro = network("t3.micro", Volume("gp3", size_gib=8), "randread", 4096, iops=3000.0)
    finding = burst.judge(micro)
    assert finding is not None
    assert finding.limit == pytest.approx(525)


def test_a_bucket_that_runs_empty_during_the_job():
    def falling(*rates: float) -> Measurement:
        slices = tuple(Slice(10.0, rate, rate * 1e6) for rate in rates)
        return network("m5.8xlarge", None, "write", 1 << 20, slices=slices)

    finding = burst.judge(falling(31, 31.2, 30.9, 31, 12, 5.1, 5.0, 5.0))
    assert finding is not None
    assert "fell from 31 MB/s to 5 MB/s" in finding.message
    assert burst.judge(falling(31, 31.2, 30.9, 31, 31, 30.8, 31.0, 31)) is None
    assert burst.judge(falling(31, 31, 31, 31, 23, 23, 23, 23)) is not None
    assert burst.judge(falling(31, 31, 31, 31, 24.5, 24.5, 24.5, 24.5)) is None
    assert burst.judge(falling(31, 31, 31, 5, 5, 5)) is not None
    assert burst.judge(falling(31, 31, 5, 5, 5)) is None
    assert burst.judge(falling(0, 0, 0, 0, 0, 0)) is None
    assert burst.judge(falling(31)) is None
    # neither stretch is flat enough to be a limiter's
    assert burst.judge(falling(34, 31, 29, 31, 12, 12, 12, 12)) is not None
    assert burst.judge(falling(36, 31, 28, 31, 12, 12, 12, 12)) is None
    assert burst.judge(falling(31, 31, 31, 31, 14, 8, 12, 12)) is None
    assert burst.judge(falling(31, 25, 20, 15, 12, 10, 8, 5)) is None
    assert burst.judge(falling(31, 31, 31, 31, 31, 31, 31, 5)) is None
    # a local drive that slows down is not steady, but has no credits
    local = changed(falling(31, 31, 31, 31, 5, 5, 5, 5), capability=Capability("instance-store"))
    assert burst.judge(local) is None


@pytest.mark.parametrize("evidence", diary.ALL)
def test_burst_is_silent_in_the_diaries(evidence):
    assert burst.judge(evidence) is None


# ----------------------------------------------------------------------------------- CPU


def test_processors_at_work_are_no_limit_where_the_disks_do_all_they_can():
    # The stripe's read used 84 % of 16 workers' time at 99.96 % of the published IOPS.
    busy = changed(diary.STRIPE_READ_4K, cpu_percent=99.0, host_cpu_percent=99.0)
    assert cpu.judge(busy) is None
    slower = changed(busy, iops=600_000.0, bandwidth_bytes=600_000.0 * 4096)
    assert cpu.judge(slower) is not None
    assert cpu.judge(changed(slower, capability=None)).severity is Severity.WARN


@pytest.mark.parametrize(
    ("worker", "host", "fires"),
    [(55.98, None, False), (89.0, 94.0, False), (93.0, None, True), (20.0, 96.0, True)],
)
def test_cpu(worker, host, fires):
    evidence = changed(
        diary.SINGLE_READ_4K, cpu_percent=worker, host_cpu_percent=host, capability=None
    )
    assert (cpu.judge(evidence) is not None) is fires


@pytest.mark.parametrize("evidence", diary.ALL)
def test_cpu_is_silent_in_the_diaries(evidence):
    assert cpu.judge(evidence) is None


# ----------------------------------------------------------------------------------- CAP


@pytest.mark.parametrize(
    "evidence",
    [diary.EBS_ROOT_64K, diary.M5D_4X_SINGLE_64K_ASKED_FOR_8, diary.M5D_8X_SINGLE_4M],
)
def test_flat_latencies(evidence):
    finding = cap.judge(evidence)
    assert finding is not None
    assert finding.severity is Severity.LABEL
    assert "flat" in finding.message


def test_a_network_volume_at_its_formula():
    # Six io1 volumes are sold with more than their machine lets through: 593.75 MB/s.
    finding = cap.judge(diary.EBS_SIX_4M)
    assert finding is not None
    assert "102 % of what is provisioned" in finding.message
    assert "m5d.4xlarge's limit for network volumes" in finding.message
    # 300 GiB of io1 with 15,000 IOPS: 487,812 KiB/s at 32 KiB is 15,000 × 32 KiB.
    io1 = network(
        "m5d.8xlarge", Volume("io1", 300, iops=15_000), "randwrite", 32 * 1024,
        bandwidth_bytes=487_812 * 1024.0,
    )  # fmt: skip
    assert "io1" in cap.judge(io1).message
    # providers promise to be within 10 % below it, and no more than that is a limit
    assert cap.judge(changed(io1, bandwidth_bytes=440_000 * 1024.0)) is not None
    assert cap.judge(changed(io1, bandwidth_bytes=430_000 * 1024.0)) is None
    assert cap.judge(changed(io1, bandwidth_bytes=510_000 * 1024.0)) is None


def test_a_machine_whose_credits_are_used_up():
    # A t3.large sustains 4,000 IOPS of network volumes.
    tired = network("t3.large", Volume("gp3", 500, iops=16_000), "randread", 4096, iops=4000.0)
    assert tired.capability.baseline_iops == 4000
    assert "100 % of what is provisioned" in cap.judge(tired).message
    assert cap.judge(changed(tired, iops=7000.0)) is None


def test_the_devices_own_counters():
    counted = changed(diary.STRIPE_READ_4K, provisioned=Provisioned(volume_iops_us=60_000_000))
    finding = cap.judge(counted)
    assert finding is not None
    assert "the volume's IOPS limit was exceeded for 60.0 s" in finding.message

    def exceeded(share: float) -> object:
        micros = round(180_002_000 * share)
        return cap.judge(
            changed(diary.STRIPE_READ_4K, provisioned=Provisioned(instance_throughput_us=micros))
        )

    assert exceeded(0.049) is None
    assert "the machine's throughput limit for network volumes" in exceeded(0.051).message


def test_io_held_back_above_an_idle_disk():
    # Recorded: blk-throttle at 1000 IOPS, iodepth 32; the disk was busy for 3 % of the time.
    throttled = changed(
        diary.SINGLE_READ_4K, iops=1006.0, total_ios=4025, runtime_ms=4000, jobs=1,
        latency_mean_ns=31_800_000.0, capability=None, cpu_percent=3.0,
        percentiles_ns={"10.000000": 250_880, "50.000000": 505_856, "90.000000": 99_090_432},
        device="vda", members=("vda",),
        device_io=(diary.disk("vda", (4081, 1, 1118), (375, 1, 85)),),
    )  # fmt: skip
    finding = cap.judge(throttled)
    assert finding is not None
    assert "0.30 were at the disks" in finding.message
    for changes in (
        {"cpu_percent": 95.0},
        {"latency_mean_ns": 300_000.0},
        {"direct": False},
        {"sync_ios": 4025},
        {"device_io": (diary.disk("vda", (4081, 1, 118_000), (375, 1, 85)),)},
        {"device_io": (diary.disk("vda", (4081, 1, 0), (375, 1, 0)),)},
        {"device_io": (diary.disk("vda", (99, 1, 1118), (375, 1, 85)),)},
        {"ramp_ms": 1000},
        # in flight at the disk: more than one, and more than a tenth of two
        {"device_io": (diary.disk("vda", (4081, 1, 4100), (375, 1, 0)),)},
        {"latency_mean_ns": 2_000_000.0, "iops": 1006.0},
        # a device between (dm-delay) has them
        {
            "device": "dm-1",
            "device_io": (
                diary.disk("dm-1", (4081, 1, 0), (375, 1, 0)),
                diary.disk("dm-0", (4081, 1, 120_000), (375, 1, 85)),
                diary.disk("vda", (4081, 1, 1118), (375, 1, 85)),
            ),
        },
    ):
        assert cap.judge(changed(throttled, **changes)) is None


@pytest.mark.parametrize(
    "evidence", [*diary.I3_STRIPE, *diary.I3_SINGLE_READS, *diary.I3_SINGLE_WRITES]
)
def test_cap_is_silent_where_the_device_was_measured(evidence):
    assert cap.judge(evidence) is None


def flat(low_us: int, high_us: int, **changes: object) -> Measurement:
    percentiles = {"10.000000": low_us * 1000, "50.000000": 7_776_000, "90.000000": high_us * 1000}
    return changed(diary.EBS_ROOT_64K, **{"percentiles_ns": percentiles, **changes})


def test_how_flat_is_flat():
    somewhere = diary.EBS_SIX_64K.capability
    assert cap.judge(flat(7500, 8100, capability=somewhere)) is not None
    assert cap.judge(flat(7450, 8100, capability=somewhere)) is None
    # Where nothing is known of the machine, less than that is no limiter.
    assert cap.judge(flat(7600, 7980)) is not None
    assert cap.judge(flat(7500, 8100)) is None
    assert cap.judge(flat(7600, 7980, block_size_bytes=1 << 20)) is None
    assert cap.judge(flat(7600, 7980, cpu_percent=85.0)) is None
    # The queue that was there, whatever was asked for.
    assert cap.judge(flat(7600, 7980, jobs=3)) is not None
    one = diary.EBS_ROOT_64K.latency_mean_ns
    assert cap.judge(flat(7600, 7980, latency_mean_ns=one / 16)) is None
    quick = {"10.000000": 990_000, "50.000000": 999_000, "90.000000": 1_000_000}
    assert cap.judge(flat(1, 1, percentiles_ns=quick)) is None
    for percent in quick:
        some = {key: 7_776_000 for key in quick if key != percent}
        assert cap.judge(changed(diary.EBS_ROOT_64K, percentiles_ns=some)) is None


def test_flat_latencies_of_one_worker_or_of_sequential_io_are_the_disks_own():
    alone = diary.EBS_ROOT_64K.latency_mean_ns / 16
    assert cap.judge(changed(diary.EBS_ROOT_64K, latency_mean_ns=alone)) is None
    assert cap.judge(changed(diary.EBS_ROOT_64K, rw="write")) is None
