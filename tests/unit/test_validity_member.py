"""What the members say of each other: MEMBER."""

import dataclasses

import pytest

from appliance.bench.validity import member
from appliance.model.measurement import Capability, Severity
from tests.unit import diary
from tests.unit.diary import NONE, disk, with_disks


@pytest.mark.parametrize("evidence", diary.M5D_STRIPES)
def test_the_two_m5d_stripes_by_their_capability_and_no_disk_is_blamed(evidence):
    finding = member.judge(evidence)
    assert finding is not None
    assert finding.severity is Severity.WARN
    assert finding.measured > 40
    assert "nvme7n1" in finding.message
    assert "the stripe as a whole does 100 % of" in finding.message
    assert "no sign of a bad disk" in finding.message


@pytest.mark.parametrize("evidence", [e for e in diary.ALL if e not in diary.M5D_STRIPES])
def test_a_queue_that_stands_at_one_member_is_ordinary(evidence):
    # The i3's members differ by factors of 1.6 to 2.8 at full speed, the six volumes' by 3.9.
    assert member.judge(evidence) is None


def test_a_slow_member_at_a_shallow_depth():
    md, first, second = diary.STRIPE_READ_4K.device_io
    slow = dataclasses.replace(second, read_ticks_ms=first.read_ticks_ms * 3)
    shallow = with_disks(diary.STRIPE_READ_4K, md, first, slow, jobs=1, iodepth=1)
    finding = member.judge(shallow)
    assert finding is not None
    assert finding.limit == 2.0
    assert member.judge(dataclasses.replace(shallow, jobs=16, iodepth=32)) is None


def test_large_blocks_queue_at_the_members_by_their_pieces():
    # Recorded: four psync workers of 4 MiB on four members, 2,391 writes in 19,128 requests,
    # 0.72 ms at one of the members and 0.25 ms at the others.
    ticks = {"sda": 1219, "sdb": 773, "sdc": 3465, "sdd": 1849}
    pieces = with_disks(
        diary.M5D_4X_STRIPE_4M,
        disk("md0", NONE, (153_024, 0, 47_020)),
        *(disk(name, NONE, (4782, 0, ms)) for name, ms in ticks.items()),
        device="md0", members=tuple(ticks), total_ios=2391, jobs=4, capability=None,
    )  # fmt: skip
    assert member.judge(pieces) is None
    assert member.judge(dataclasses.replace(pieces, total_ios=19_128)) is not None


def test_below_its_capability_the_message_asks_for_a_measurement():
    md, first, second = diary.STRIPE_READ_4K.device_io
    slow = dataclasses.replace(second, read_ticks_ms=first.read_ticks_ms * 20)
    evidence = with_disks(
        diary.STRIPE_READ_4K, md, first, slow, iops=200_000.0, bandwidth_bytes=200_000.0 * 4096
    )
    finding = member.judge(evidence)
    assert finding is not None
    assert "24 % of the published IOPS" in finding.message
    assert "measure each member alone" in finding.message
    unknown = member.judge(dataclasses.replace(evidence, capability=None))
    assert unknown is not None
    assert "no capability is known" in unknown.message
    other = Capability(kind="network")
    assert "no capability" in member.judge(dataclasses.replace(evidence, capability=other)).message


def test_unequal_work_and_short_waits_are_not_compared():
    md, first, second = diary.STRIPE_READ_4K.device_io
    slow = dataclasses.replace(second, read_ticks_ms=first.read_ticks_ms * 20)
    less = dataclasses.replace(slow, read_ios=second.read_ios // 2)
    assert member.judge(with_disks(diary.STRIPE_READ_4K, md, first, less)) is None
    quick = [
        dataclasses.replace(io, read_ticks_ms=ticks)
        for io, ticks in ((first, 1_000_000), (second, 9_000_000))
    ]
    assert member.judge(with_disks(diary.STRIPE_READ_4K, md, *quick)) is None
    unknown = dataclasses.replace(first, read_ticks_ms=None)
    assert member.judge(with_disks(diary.STRIPE_READ_4K, md, unknown, slow)) is None


@pytest.mark.parametrize(
    ("reads", "named"),
    [
        # Recorded: four disks, one of them slow, 4 KiB at random; the second more apart.
        ((906, 874, 970, 907), True),
        ((906, 840, 970, 907), True),
        ((906, 700, 970, 907), False),
        ((90_600, 84_000, 97_000, 90_700), False),
    ],
)
def test_few_ios_at_random_places_are_equal_work_although_chance_spreads_them(reads, named):
    each_ms = (17, 17, 87, 17)
    disks = [
        disk(f"sd{at}", (count, 0, count * ms), NONE)
        for at, (count, ms) in enumerate(zip(reads, each_ms, strict=True))
    ]
    evidence = with_disks(
        diary.STRIPE_READ_4K,
        disk("md0", (sum(reads), 0, 0), NONE),
        *disks,
        device="md0", members=tuple(one.device for one in disks),
        total_ios=sum(reads), jobs=4, iodepth=16, capability=None,
    )  # fmt: skip
    assert (member.judge(evidence) is not None) is named


def test_a_device_that_is_named_twice_is_compared_with_nothing():
    md, first, _ = diary.STRIPE_READ_4K.device_io
    twice = dataclasses.replace(
        with_disks(diary.STRIPE_READ_4K, md, first, first), members=(), device=md.device
    )
    assert len(member.member_io(twice)) == 2
    assert member.awaits_ms(twice) is None
    assert member.judge(twice) is None
