"""Published limits at the level that was measured, and a result's share of them."""

import dataclasses

import pytest

from appliance import data
from appliance.clouds import aws, volumes
from appliance.clouds.capability import one_kind, percent_of_published, published
from appliance.clouds.provider import is_type
from appliance.clouds.volumes import Volume, volume_types
from appliance.model.disks import DiskKind
from appliance.model.measurement import Capability, Measurement
from tests.unit import diary


@dataclasses.dataclass
class Row:
    source: str


LOCAL, NETWORK = DiskKind.INSTANCE_STORE, DiskKind.NETWORK
MIB = 1 << 20


def local(machine: str, count: int, direction: str = "read", block: int | None = 4096):
    return published(
        machine, kind=LOCAL, member_count=count, direction=direction, block_size_bytes=block
    )


def network(
    machine: str,
    volume: Volume | None,
    *,
    block: int | None = 4096,
    rw: str = "randread",
    count: int = 1,
) -> Capability | None:
    return published(
        machine, kind=NETWORK, member_count=count, direction="read", block_size_bytes=block,
        rw=rw, volume=volume,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "known"),
    [
        ("i3.4xlarge", True),
        ("t3.micro", True),
        ("Standard_L8s_v3", True),
        ("n2-standard-32", True),
        ("z3-highmem-8-highlssd", True),
        ("VM.DenseIO.E5.Flex-8", True),
        ("i3.4xlrge", False),
        ("x", False),
    ],
)
def test_a_machine_type_of_which_nothing_is_published(machine, known):
    assert is_type(machine) is known


# --------------------------------------------------------------------------- local disks


def test_per_disk_and_per_array_are_kept_apart():
    stripe = local("i3.4xlarge", 2)
    assert stripe is not None
    assert stripe.iops == 825_000
    assert stripe.member_iops == 412_500
    assert stripe.basis == "2 × 412,500 (i3.4xlarge)"
    assert "EC2 instance types guide" in stripe.source
    assert stripe.bytes_per_s is None
    assert local("i3.4xlarge", 1).iops == 412_500
    assert local("i3.4xlarge", 2, "write").iops == 360_000


def test_the_disks_of_a_whole_machine_have_the_published_total():
    for row in data.instance_types().values():
        for direction, total in (("read", row.read_iops), ("write", row.write_iops)):
            if total is not None:
                found = local(row.name, row.disk_count, direction, None)
                assert found.iops == total
                assert found.member_iops == pytest.approx(total / row.disk_count)


@pytest.mark.parametrize(
    ("machine", "count"), [("i3.4xlarge", 3), ("i3.4xlarge", 0), ("no.such", 1), ("", 1)]
)
def test_nothing_is_published_for_more_disks_or_other_machines(machine, count):
    assert local(machine, count) is None


def test_iops_are_no_bound_for_blocks_below_4_kib():
    assert local("i3.4xlarge", 2, block=512).iops is None
    assert local("i3.4xlarge", 2, block=16384).iops == 825_000
    assert local("i3.4xlarge", 2, block=None).iops == 825_000


def test_disks_of_several_kinds_have_no_published_limit():
    assert one_kind((LOCAL, LOCAL)) is LOCAL
    assert one_kind((LOCAL, NETWORK)) is DiskKind.UNKNOWN
    assert one_kind(()) is DiskKind.UNKNOWN
    for kind in (DiskKind.UNKNOWN, DiskKind.SYSTEM):
        assert published(
            "i3.4xlarge", kind=kind, member_count=1, direction="read", block_size_bytes=4096
        ) is None  # fmt: skip
    assert local("i3.4xlarge", 1, "trim") is None


def test_google_publishes_by_number_of_disks():
    four = local("n2-standard-32", 4, block=MIB)
    assert four.bytes_per_s == 2650 * MIB
    assert four.iops == 2650
    assert local("n2-standard-32", 4).iops == pytest.approx(2650 * MIB / 4096)
    assert local("n2-standard-32", 8).member_iops == 85_000
    assert local("n2-standard-32", 16, "write").iops == pytest.approx(3120 * MIB / 4096)
    assert local("n2-standard-32", 9) is None
    assert four.basis == "4 NVMe local SSDs of 375 GiB"
    assert local("n2-standard-32", 1).basis == "1 NVMe local SSD of 375 GiB"
    assert four.is_limit is True
    assert "About Local SSD disks" in four.source
    # a type with a fixed number, of the same disks
    assert local("c3-standard-44-lssd", 8).iops == local("n2-standard-32", 8).iops
    assert local("c3-standard-8-lssd", 3) is None
    # Titanium SSDs: by the type
    two = local("c4-standard-16-lssd", 2)
    assert (two.iops, two.bytes_per_s, two.is_limit) == (300_000, 1250 * MIB, True)
    assert local("c4-standard-16-lssd", 1, "write").iops == 75_000
    assert local("c4-standard-16-lssd", 3) is None
    assert local("c4-standard-16", 1) is None


def test_azure_publishes_what_is_reached_and_not_a_limit():
    three = local("standard_l32s_v3", 2)
    assert three.is_limit is False
    assert three.iops == 750_000
    assert three.bytes_per_s == 4_000_000_000
    assert "Lsv3" in three.source
    # Lsv3 has no writes; what others measured is kept apart
    writes = local("Standard_L32s_v3", 4, "write")
    assert writes.iops is None
    assert writes.measured_iops == 2_362_130
    newer = local("Standard_L4s_v4", 2, "write")
    assert (newer.iops, newer.bytes_per_s, newer.is_limit) == (110_000, 750_000_000, False)


def test_what_others_measured_is_never_a_limit():
    stripe = local("m5d.4xlarge", 2, "write", 4 * MIB)
    assert stripe.measured_bytes_per_s == 2 * 267_703_397
    assert stripe.bytes_per_s is None
    assert "scylla" in stripe.measured_source
    # an i3 of a size that was not measured itself has its family's figure per disk
    assert local("i3.4xlarge", 2).measured_iops == 2 * 411_200
    # whole arrays are divided only where the number of disks is known
    assert local("Standard_L16s_v3", 1).measured_iops == pytest.approx(1_376_027 / 2)
    assert local("VM.DenseIO.E5.Flex-8", 1) is None
    # Scylla's presets for Z3 are what Google publishes, not measured.
    assert local("z3-highmem-88-highlssd", 12).measured_iops is None


def test_every_row_of_the_tables_has_a_source():
    assert all(row.source for row in aws.ebs_limits().values())
    assert all(row.source for row in volume_types().values())
    assert len(aws.ebs_limits()) > 1000
    assert all(row.source for row in data.csv_rows("measured_by_others.csv", Row))


# ----------------------------------------------------------------------- network volumes


@pytest.mark.parametrize(
    ("volume", "block", "iops", "mib_s"),
    [
        # min(IOPS × min(block, 256 KiB), throughput limit)
        (Volume("gp3", 100), 4096, 3000, 3000 / 256),
        (Volume("gp3", 100), 64 * 1024, 2000, 125),
        (Volume("gp3", 100, iops=16_000, throughput_bytes_per_s=1000 * MIB), 16384, 16_000, 250),
        (Volume("io1", 300, iops=15_000), 32 * 1024, 15_000, 468.75),
        (Volume("io1", 300, iops=15_000), 128 * 1024, 4000, 500),
        (Volume("io1", 1300, iops=64_000), 16384, 64_000, 1000),
        (Volume("io1", 100, iops=1000), 4 * MIB, 62.5, 250),
        (Volume("io2", 100, iops=1000), 256 * 1024, 1000, 250),
        (Volume("gp2", 5000), 4096, 15_000, 15_000 / 256),
        (Volume("gp2", 20), 4096, 3000, 3000 / 256),
        (Volume("pd-ssd", 500), 4096, 21_000, 21_000 / 256),
        (Volume("pd-balanced", 100), MIB, 168, 168),
        (Volume("hyperdisk", iops=5000, throughput_bytes_per_s=200 * MIB), MIB, 200, 200),
    ],
)  # fmt: skip
def test_a_volumes_formula(volume, block, iops, mib_s):
    found = network("", volume, block=block)
    assert found is not None
    assert found.kind == "network"
    assert found.iops == pytest.approx(iops)
    assert found.bytes_per_s == pytest.approx(mib_s * MIB)
    assert volume.type in found.basis


def test_credits_make_a_burst_above_a_baseline():
    st1 = network("", Volume("st1", 125), block=MIB, rw="write")
    assert st1.baseline_bytes_per_s == pytest.approx(125 / 1024 * 40 * MIB)
    assert st1.burst_bytes_per_s == pytest.approx(125 / 1024 * 250 * MIB)
    gp2 = network("", Volume("gp2", 300))
    assert (gp2.baseline_iops, gp2.burst_iops) == (900, 3000)
    small = network("", Volume("gp2", 10))
    assert small.baseline_iops == 100
    middle = network("", Volume("gp2", 200), block=256 * 1024)
    assert middle.baseline_bytes_per_s == 150 * MIB
    assert middle.burst_bytes_per_s == 250 * MIB
    assert network("", Volume("gp2", 170), block=256 * 1024).burst_bytes_per_s == 128 * MIB


def test_several_volumes_and_their_machine():
    # The diary's six io1 volumes of 2,500 IOPS: sold with more than an m5d.4xlarge lets through.
    six = network("m5d.4xlarge", Volume("io1", 100, iops=2500), block=4 * MIB, count=6)
    assert six.bytes_per_s == 593_750_000
    assert six.basis == "the lesser of 6 × io1 and m5d.4xlarge's limit for network volumes"
    assert network("m5d.4xlarge", Volume("io1", 100, iops=2500), count=6).iops == 15_000
    alone = network("m5d.4xlarge", None)
    assert alone.iops == 18_750
    assert alone.member_iops == 18_750
    assert network("t3.micro", None).baseline_iops == 500
    assert network("no.such", None) is None
    assert network("no.such", Volume("no such type", 100)) is None


def test_small_sequential_ios_are_merged_so_that_iops_do_not_bound_them():
    found = network("", Volume("gp3", 100), block=4096, rw="write")
    assert found.iops == 125 * MIB / 4096
    assert found.bytes_per_s == 125 * MIB
    assert network("", Volume("gp3", 100), block=4096, rw="").iops == 125 * MIB / 4096


def test_of_a_volume_whose_size_is_not_known_only_what_holds_for_every_size():
    assert network("", Volume("gp2")).iops == pytest.approx(250 * MIB / 4096)
    assert network("", Volume("st1"), block=MIB, rw="write").bytes_per_s == 500 * MIB
    assert network("", Volume("io2"), block=MIB).bytes_per_s == 4000 * MIB
    assert network("", Volume("hyperdisk")) is None
    unknown = volumes.published(
        Volume("gp3"), None, machine_type="", count=1, block_size_bytes=None, sequential=False
    )
    assert unknown is not None
    assert unknown.iops == 3000
    assert unknown.bytes_per_s == 125 * MIB


@pytest.mark.parametrize(
    ("volume", "is_limit"),
    [
        (Volume("gp2", 100), True),
        (Volume("io1", 100, iops=1000), True),
        (Volume("gp3", 100, iops=16_000, throughput_bytes_per_s=1000 * MIB), True),
        # more may have been bought than anybody wrote down
        (Volume("gp3", 100), False),
        (Volume("gp3", 100, iops=16_000), True),  # at 4 KiB, where IOPS bound it
        (Volume("gp3", 100, throughput_bytes_per_s=250 * MIB), False),
        # figures that were not held against the page
        (Volume("pd-ssd", 100), False),
        (Volume("premium-ssd-v2", 100), False),
        # only what was bought
        (Volume("hyperdisk", iops=5000), True),
    ],
)
def test_what_is_not_certain_is_no_limit(volume, is_limit):
    assert network("", volume).is_limit is is_limit


def test_what_was_not_bought_for_certain_bounds_nothing_at_this_block_size():
    half = Volume("gp3", 100, iops=16_000)
    assert network("", half, block=256 * 1024).is_limit is False
    other = Volume("gp3", 100, throughput_bytes_per_s=250 * MIB)
    assert network("", other, block=256 * 1024).is_limit is True


def test_a_row_that_was_not_checked_says_so():
    for row in volume_types().values():
        assert row.checked != ("not checked" in row.source), row.name


# ------------------------------------------------------------------ percent of published


def test_percent_of_published_is_for_what_the_figure_is_published_for():
    assert percent_of_published(diary.STRIPE_READ_4K) == pytest.approx(99.96, abs=0.01)
    assert percent_of_published(diary.STRIPE_WRITE_4K) == pytest.approx(99.23, abs=0.01)
    assert percent_of_published(change(jobs=1, iodepth=32)) is not None


def change(**changes: object) -> Measurement:
    return dataclasses.replace(diary.STRIPE_READ_4K, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"capability": None},
        {"block_size_bytes": 1 << 20},
        {"block_size_bytes": 16384},
        {"block_size_bytes": None},
        {"rw": "read"},
        {"rw": "randrw"},  # nothing is published for a mixture
        {"rw": ""},
        {"jobs": 1, "iodepth": 1},
        {"jobs": 1, "iodepth": 31},
        {"jobs": None},
        {"iops": None},
    ],
)
def test_what_is_not_comparable_has_no_percentage(changes):
    assert percent_of_published(change(**changes)) is None


def test_where_bandwidth_is_published_every_block_size_is_comparable():
    google = local("n2-standard-32", 4, block=MIB)
    large = change(capability=google, block_size_bytes=MIB, iops=2600.0, rw="read")
    assert percent_of_published(large) == pytest.approx(100 * 2600 / 2650)
    random_16k = change(
        capability=local("n2-standard-32", 4, block=16384), block_size_bytes=16384, iops=100_000.0
    )
    assert percent_of_published(random_16k) == pytest.approx(100 * 100_000 * 16384 / (2650 * MIB))
    small = dataclasses.replace(large, block_size_bytes=65536)
    assert percent_of_published(small) is None


def test_a_volume_with_few_iops_needs_few_in_flight():
    # The lab's gp3 volume: six workers, one I/O each, 3,000 IOPS.
    gp3 = network("m5.8xlarge", Volume("gp3", 8))
    lab = change(capability=gp3, jobs=6, iodepth=1, iops=3015.0)
    assert percent_of_published(lab) == pytest.approx(100.5)
    assert percent_of_published(dataclasses.replace(lab, jobs=2)) is None
