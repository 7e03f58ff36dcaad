"""Where each rule begins: just inside and just outside of its limits."""

import dataclasses

import pytest

from appliance.bench.validity import (
    coverage,
    cpu,
    depth,
    foreign,
    impossible,
    member,
    short,
    unit_slips,
    wrong_target,
)
from appliance.model.measurement import DeviceIo, Measurement, Source
from tests.unit import diary
from tests.unit.diary import NONE, disk

READ = diary.STRIPE_READ_4K
EXACT = 148_446_206 * 1000 / 180_002  # its IOPS


def changed(evidence: Measurement = READ, **changes: object) -> Measurement:
    return dataclasses.replace(evidence, **changes)


def in_flight(share: float, **changes: object) -> Measurement:
    return changed(latency_mean_ns=512 * share / EXACT * 1e9, **changes)


def on_disk(read_ios: int, **changes: object) -> Measurement:
    single = changed(diary.SINGLE_READ_4K, total_ios=1_000_000, io_bytes=1_000_000 * 4096)
    did = (disk("nvme0n1", (read_ios, 0, 9), NONE),)
    return changed(single, **{"device_io": did, **changes})


def counted(read_bytes: int, write_bytes: int = 0, **changes: object) -> Measurement:
    io = dataclasses.replace(
        disk("nvme0n1", (1_000_000, 0, 9), (1_000_000, 0, 9)),
        read_bytes=read_bytes * 4096,
        write_bytes=write_bytes * 4096,
    )
    return on_disk(0, **{"device_io": (io,), "source": Source.RUN, **changes})


def stripe(ratio: float, *, depth: int = 512, ios: tuple[int, int] = (9000, 9000)) -> Measurement:
    """A stripe whose first member has 1 ms and whose second has ``ratio`` ms."""
    first = disk("nvme0n1", (ios[0], 0, ios[0]), NONE)
    second = disk("nvme1n1", (ios[1], 0, round(ios[1] * ratio)), NONE)
    top: DeviceIo = disk("md0", (sum(ios), 0, 0), NONE)
    return changed(
        device_io=(top, first, second), total_ios=sum(ios), jobs=depth, iodepth=1, capability=None
    )


def elsewhere(here: float, there: float) -> Measurement:
    """Shares of a run's bytes on the volume's disk and on another one."""
    both = tuple(
        dataclasses.replace(disk(name, (1, 0, 9), NONE), read_bytes=round(share * 1e9))
        for name, share in (("nvme0n1", here), ("vda", there))
    )
    return on_disk(0, device_io=both, io_bytes=10**9, expected=("nvme0n1",))


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        (coverage, counted(980_000), counted(979_000)),
        # 500 ms of 100 s are half a percent
        (coverage, on_disk(975_000, runtime_ms=100_000), on_disk(974_000, runtime_ms=100_000)),
        # 1280 KiB a request of buffered I/O
        (
            coverage,
            on_disk(3130, direct=False, rw="read"),
            on_disk(3050, direct=False, rw="read"),
        ),
        # at random there is no readahead
        (coverage, on_disk(978_000, direct=False), on_disk(977_000, direct=False)),
        (depth, in_flight(0.951), in_flight(0.948)),
        (depth, in_flight(1.049), in_flight(1.052)),
        (depth, in_flight(0.751, runtime_asked_ms=None), in_flight(0.748, runtime_asked_ms=None)),
        (impossible, changed(iops=825_000 * 1.15), changed(iops=825_000 * 1.151)),
        (short, changed(runtime_ms=176_400), changed(runtime_ms=176_399)),
        (
            short,
            changed(runtime_ms=250, runtime_asked_ms=None),
            changed(runtime_ms=249, runtime_asked_ms=None),
        ),
        (foreign, counted(1_049_000), counted(1_051_000)),
        (foreign, counted(1_000_000, 49_000), counted(1_000_000, 51_000)),
        (foreign, on_disk(1_049_000), on_disk(1_051_000)),
        (
            foreign,
            on_disk(1_049_000, block_size_bytes=512, io_bytes=512_000_000),
            on_disk(1_051_000, block_size_bytes=512, io_bytes=512_000_000),
        ),
        # 64 KiB/s for 180 s
        (
            foreign,
            counted(1000, 2880, total_ios=1000, io_bytes=4_096_000),
            counted(1000, 2881, total_ios=1000, io_bytes=4_096_000),
        ),
        # 4 KiB a request: of blocks of 16 KiB four times as many
        (
            foreign,
            on_disk(1_190_000, block_size_bytes=16384, io_bytes=16_384_000_000),
            on_disk(1_210_000, block_size_bytes=16384, io_bytes=16_384_000_000),
        ),
        (
            foreign,
            on_disk(3_000_000, block_size_bytes=65536, io_bytes=65_536_000_000),
            on_disk(3_000_000, block_size_bytes=32768, io_bytes=32_768_000_000),
        ),
        (member, stripe(3.95), stripe(4.05)),
        (member, stripe(1.95, depth=2), stripe(2.05, depth=2)),
        (member, stripe(3.0, depth=3), stripe(3.0, depth=2)),
        (member, stripe(9.0, ios=(9000, 8000)), stripe(9.0, ios=(9000, 8200))),
        (member, stripe(9.0, ios=(99, 99)), stripe(9.0, ios=(101, 101))),
        (wrong_target, elsewhere(0.98, 0.02), elsewhere(0.979, 0.02)),
        (wrong_target, elsewhere(0.5, 0.24), elsewhere(0.5, 0.26)),
        (
            unit_slips,
            changed(printed_bandwidth_bytes=EXACT * 4096 * 0.972),
            changed(printed_bandwidth_bytes=EXACT * 4096 * 0.968),
        ),
        (
            cpu,
            changed(cpu_percent=89.9, capability=None),
            changed(cpu_percent=90.0, capability=None),
        ),
        (
            cpu,
            changed(host_cpu_percent=95.0, capability=None),
            changed(host_cpu_percent=95.1, capability=None),
        ),
        (
            cpu,
            changed(cpu_percent=99.0, iops=825_000 * 0.95),
            changed(cpu_percent=99.0, iops=825_000 * 0.949),
        ),
    ],
)
def test_a_rule_begins_at_its_limit(rule, inside, outside):
    assert rule.judge(inside) is None
    assert rule.judge(outside) is not None


@pytest.mark.parametrize(("share", "says"), [(0.89, "measure each"), (0.91, "no sign of a bad")])
def test_from_90_percent_of_its_capability_on_a_stripe_is_at_its_limit(share, says):
    slow = stripe(9.0)
    rates = {"iops": 825_000 * share, "bandwidth_bytes": 1.0}
    finding = member.judge(changed(slow, capability=READ.capability, **rates))
    assert says in finding.message


def test_waits_of_less_than_a_quarter_of_a_millisecond_are_not_compared():
    def waits(slow_ms: int) -> Measurement:
        first = disk("nvme0n1", (10_000, 0, 100), NONE)
        second = disk("nvme1n1", (10_000, 0, slow_ms), NONE)
        return changed(stripe(1.0), device_io=(disk("md0", (20_000, 0, 0), NONE), first, second))

    assert member.judge(waits(2590)) is None
    assert member.judge(waits(2610)) is not None
