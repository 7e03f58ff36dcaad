"""What the disks say: COVERAGE, TARGET, FOREIGN."""

import dataclasses

import pytest

from appliance.bench.validity import coverage, foreign, wrong_target
from appliance.figures import quantities
from appliance.model.measurement import DeviceIo, Measurement, Severity, Source
from tests.unit import diary
from tests.unit.diary import NONE, disk, with_disks


def with_bytes(io: DeviceIo, read_bytes: int, write_bytes: int) -> DeviceIo:
    return dataclasses.replace(io, read_bytes=read_bytes, write_bytes=write_bytes)


def measured_here(read_bytes: int, write_bytes: int = 0, **changes: object) -> Measurement:
    """A run of ours on a plain disk: fio read 1,000,000 bytes in 4 KiB blocks."""
    requests = disk("nvme0n1", (read_bytes // 4096, 0, 1), (write_bytes // 4096, 0, 1))
    io = with_bytes(requests, read_bytes, write_bytes)
    return dataclasses.replace(
        diary.SINGLE_READ_4K,
        io_bytes=1_000_000,
        total_ios=244,
        runtime_ms=100,
        source=Source.RUN,
        device="nvme0n1",
        members=("nvme0n1",),
        device_io=(io,),
        **changes,
    )


# ------------------------------------------------------------------------------ COVERAGE


def test_coverage_gives_the_number_that_is_probably_true():
    finding = coverage.judge(diary.SINGLE_READ_4K)
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert finding.corrected == pytest.approx(412_279, abs=2)
    assert finding.measured == pytest.approx(0.7091, abs=1e-4)
    assert finding.limit == 0.98
    assert finding.unit == "iops"
    assert "412,27" in finding.message
    # the stripe's gain is 2.00, not the 1.42 that the diary's figures say
    assert diary.STRIPE_READ_4K.iops / finding.corrected == pytest.approx(2.00, abs=0.005)
    read = dataclasses.replace(diary.SINGLE_READ_4K, findings=(finding,))
    assert quantities.corrected_iops(read) == finding.corrected


def test_coverage_of_the_16k_single_disk_read():
    finding = coverage.judge(diary.SINGLE_READ_16K)
    assert finding is not None
    assert finding.corrected == pytest.approx(121_925, abs=1)


def test_bytes_are_believed_before_requests():
    assert coverage.judge(measured_here(981_000)) is None
    finding = coverage.judge(measured_here(500_000))
    assert finding is not None
    assert finding.measured == 0.5
    assert quantities.coverage_of(measured_here(0)) == 0.0


def test_more_requests_than_ios_prove_nothing():
    # 4 MiB writes in requests of 64 KiB: 492,332 for 7,701.
    assert quantities.coverage_of(diary.M5D_4X_STRIPE_4M) is None
    half_cached = dataclasses.replace(
        diary.STRIPE_READ_4K, block_size_bytes=1 << 20, total_ios=1_000_000
    )
    assert coverage.judge(half_cached) is None


def test_reads_that_were_merged_reached_the_disk():
    merged = dataclasses.replace(
        diary.SINGLE_READ_4K,
        device_io=(disk("nvme0n1", (1_651_512, 103_000_000, 9), NONE),),
    )
    assert coverage.judge(merged) is None


def test_readahead_is_no_cache():
    # Buffered reads in order arrive as requests of 128 KiB: 32 of fio's in one.
    evidence = with_disks(
        diary.SINGLE_READ_4K, disk("nvme0n1", (3_270_360, 0, 9), NONE), rw="read", direct=False
    )
    assert coverage.judge(evidence) is None
    assert quantities.coverage_of(evidence) is None
    assert coverage.judge(dataclasses.replace(evidence, direct=None)) is None


def test_buffered_reads_with_hardly_a_request_came_from_the_page_cache():
    evidence = with_disks(
        diary.SINGLE_READ_4K, disk("nvme0n1", (120, 0, 9), NONE), rw="read", direct=False
    )
    finding = coverage.judge(evidence)
    assert finding is not None
    assert finding.corrected is None
    assert "page cache" in finding.message


def test_fios_disk_statistics_end_a_little_before_fio():
    # Recorded: 3 s on an otherwise idle disk; 303,536 of 326,353 reads were in the statistics.
    short = with_disks(
        diary.SINGLE_READ_4K, disk("nvme0n1", (303_536, 0, 26_248), NONE), total_ios=326_353,
        runtime_ms=3000,
    )  # fmt: skip
    assert coverage.judge(short) is None
    assert coverage.judge(dataclasses.replace(short, runtime_ms=30_000)) is not None
    assert coverage.judge(dataclasses.replace(short, source=Source.RUN)) is not None


def test_buffered_writes_that_are_still_in_memory():
    io = with_bytes(disk("nvme1n1", NONE, (90, 0, 1)), 0, 400_000)
    written = with_disks(diary.SINGLE_WRITE_4K, io, io_bytes=1_000_000, direct=False)
    finding = coverage.judge(written)
    assert finding is not None
    assert finding.corrected is None
    assert "40.0 % of what fio wrote" in finding.message
    assert coverage.judge(dataclasses.replace(written, direct=True)) is None
    assert coverage.judge(dataclasses.replace(written, direct=None)) is None
    flushed = with_bytes(io, 0, 1_000_000)
    assert coverage.judge(dataclasses.replace(written, device_io=(flushed,))) is None


@pytest.mark.parametrize(
    "evidence",
    [
        diary.STRIPE_READ_4K,
        diary.STRIPE_SEQUENTIAL_READ_4K,
        diary.STRIPE_MIXED_READ_4K,
        # writes may rest in a cache below
        with_disks(diary.SINGLE_WRITE_4K, disk("nvme1n1", NONE, (5, 0, 9))),
        with_disks(diary.SINGLE_READ_4K),
    ],
)
def test_coverage_is_silent(evidence):
    assert coverage.judge(evidence) is None


def test_what_was_read_before_fio_began_to_count():
    # Recorded: 3 s after 3 s of ramp_time; fio counted 173,939, the disk 291,961.
    evidence = with_disks(
        diary.SINGLE_READ_4K, disk("vda", (291_961, 0, 26_309), NONE), total_ios=173_939,
        device="vda", members=("vda",), ramp_ms=3000,
    )  # fmt: skip
    assert coverage.judge(evidence) is None
    assert quantities.coverage_of(evidence) is None
    assert foreign.judge(evidence) is None
    assert foreign.judge(dataclasses.replace(evidence, ramp_ms=0, io_bytes=173_939 * 4096))
    cached = with_disks(evidence, disk("vda", (90_000, 0, 9), NONE))
    assert coverage.judge(cached) is not None


def test_a_kernel_that_does_not_count_an_arrays_io():
    md, *members = diary.STRIPE_READ_4K.device_io
    silent = dataclasses.replace(md, read_ios=0, write_ios=0)
    assert coverage.judge(with_disks(diary.STRIPE_READ_4K, silent, *members)) is None


def test_a_member_that_vanished_leaves_the_array_to_judge_by():
    md, first, _ = diary.STRIPE_READ_4K.device_io
    assert quantities.coverage_of(with_disks(diary.STRIPE_READ_4K, md, first)) == pytest.approx(
        0.99976, abs=1e-5
    )


# -------------------------------------------------------------------------------- TARGET


def test_reads_that_hit_another_disk_than_the_writes_before_them():
    finding = wrong_target.judge(
        dataclasses.replace(
            diary.SINGLE_READ_4K, expected=("nvme1n1",), expected_why="as the writes before it"
        )
    )
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert "done by nvme0n1, not by nvme1n1 (as the writes before it)" in finding.message


@pytest.mark.parametrize(
    ("device", "members", "expected"),
    [
        ("nvme0n1", ("nvme0n1",), ("nvme0n1",)),
        ("nvme0n1", ("nvme0n1",), ("/dev/nvme0n1p1",)),
        ("xvdf", ("xvdf",), ("xvdf1",)),
        ("md0", ("nvme0n1", "nvme1n1"), ("md0",)),
        ("md0", ("nvme0n1", "nvme1n1"), ("nvme0n1", "nvme1n1")),
        ("nvme0n1", ("nvme0n1",), ()),
    ],
)
def test_target_is_silent_on_the_right_disk(device, members, expected):
    evidence = dataclasses.replace(
        diary.SINGLE_READ_4K, device=device, members=members, expected=expected,
        device_io=tuple(disk(name, (104_651_512, 0, 1), NONE) for name in dict.fromkeys(
            (device, *members))),
    )  # fmt: skip
    assert wrong_target.judge(evidence) is None


def test_a_run_of_ours_whose_bytes_went_elsewhere():
    here = with_bytes(disk("nvme0n1", (1, 0, 1), NONE), 10_000, 0)
    there = with_bytes(disk("vda", (1, 0, 1), NONE), 990_000, 0)
    evidence = dataclasses.replace(measured_here(0), device_io=(here, there), expected=("nvme0n1",))
    finding = wrong_target.judge(evidence)
    assert finding is not None
    assert finding.measured == pytest.approx(0.01)
    assert "vda" in finding.message


def test_reads_from_a_cache_beside_a_busy_root_disk_are_no_wrong_target():
    here = with_bytes(disk("nvme0n1", (1, 0, 1), NONE), 600_000, 0)
    there = with_bytes(disk("vda", (1, 0, 1), NONE), 100_000, 0)
    evidence = dataclasses.replace(measured_here(0), device_io=(here, there), expected=("nvme0n1",))
    assert wrong_target.judge(evidence) is None
    assert coverage.judge(evidence) is not None


# ------------------------------------------------------------------------------- FOREIGN


def test_other_reads_on_the_disk_beside_ours():
    finding = foreign.judge(measured_here(1_200_000))
    assert finding is not None
    assert finding.severity is Severity.BLOCK
    assert finding.measured == pytest.approx(1.2)
    assert foreign.judge(measured_here(1_049_000)) is None


def test_writes_during_a_read_job_are_foreign_even_where_reads_are_missing():
    assert foreign.judge(measured_here(700_000, 200_000)) is not None
    assert foreign.judge(measured_here(700_000, 40_000)) is None


def test_a_few_writes_of_the_filesystem_beside_a_job_that_does_little():
    # Recorded: 500 reads a second for 3 s, and XFS wrote its log: 5 requests, 2.6 MB.
    log = with_bytes(disk("sda", (1501, 0, 324), (5, 0, 1)), 1501 * 4096, 2_590_720)
    little = with_disks(
        diary.SINGLE_READ_4K, log, io_bytes=1501 * 4096, total_ios=1501, device="sda",
        members=("sda",),
    )  # fmt: skip
    assert foreign.judge(dataclasses.replace(little, runtime_ms=3000)) is None
    # Recorded: ext4 was writing the inode tables that mkfs had left out.
    tables = with_bytes(log, 1501 * 4096, 12_983_296)
    assert foreign.judge(with_disks(little, tables, runtime_ms=12_003)) is not None
    often = dataclasses.replace(log, write_ios=8)
    assert foreign.judge(with_disks(little, often, runtime_ms=3000)) is not None
    # the same in three minutes is what any system does
    assert foreign.judge(with_disks(little, often)) is None


def test_a_competing_job_in_a_text_report():
    # The stripe's report, had something else read as much from the same array.
    md, first, second = diary.STRIPE_READ_4K.device_io
    more = dataclasses.replace(md, read_ios=md.read_ios * 2)
    finding = foreign.judge(with_disks(diary.STRIPE_READ_4K, more, first, second))
    assert finding is not None
    assert "at least 100 % more" in finding.message


@pytest.mark.parametrize("evidence", [e for e in diary.ALL if e not in diary.I3_SINGLE_READS])
def test_foreign_is_silent_in_the_diaries(evidence):
    assert foreign.judge(evidence) is None


def test_a_journal_and_metadata_are_not_foreign():
    # 000's reads with 762 and 2,515 writes beside them; a 64 KiB stripe write with 2.8 % more.
    assert foreign.judge(diary.SINGLE_READ_4K) is None
    assert foreign.judge(diary.EBS_SIX_64K) is None
    each_write_synced = with_disks(
        diary.SINGLE_WRITE_4K, disk("nvme1n1", NONE, (99_000_000, 0, 9)), sync_ios=32_501_253
    )
    assert foreign.judge(each_write_synced) is None
    assert foreign.judge(dataclasses.replace(each_write_synced, sync_ios=0)) is not None


def test_large_blocks_that_were_split_are_not_foreign():
    assert foreign.judge(diary.M5D_4X_STRIPE_4M) is None
    assert foreign.judge(diary.EBS_IO1_4M) is None


def test_each_direction_of_a_mixed_job_is_judged_with_its_own_figures():
    # the other direction may have another block size; its bytes are not guessed here
    assert foreign.judge(measured_here(1_000_000, 1_000_000)) is not None
    both = measured_here(1_000_000, 1_000_000, rw="randrw", other_direction_iops=900.0)
    assert foreign.judge(both) is None
    assert foreign.judge(dataclasses.replace(both, rw="")) is None
    # Nor are there none where the report does not say so: fio may have read to verify.
    bare = dataclasses.replace(both, rw="", other_direction_iops=None, source=Source.IMPORT)
    assert foreign.judge(bare) is None
    more = measured_here(1_200_000, 1_000_000, rw="randrw", other_direction_iops=900.0)
    assert foreign.judge(more) is not None


def stripe(top: int, *members: int, direction: str = "write") -> Measurement:
    """1,000,000 bytes written to an array whose members did so many each."""
    names = tuple(f"nvme{n}n1" for n in range(len(members)))

    def did(name: str, amount: int) -> DeviceIo:
        read, write = (amount, 0) if direction == "read" else (0, amount)
        return with_bytes(disk(name, (1, 0, 1), (1, 0, 1)), read, write)

    return dataclasses.replace(
        diary.SINGLE_WRITE_4K if direction == "write" else diary.SINGLE_READ_4K,
        io_bytes=1_000_000,
        runtime_ms=100,
        device="md0",
        members=names,
        device_io=(did("md0", top), *map(did, names, members)),
    )


def test_mirrors_and_parity_are_not_foreign_but_one_busier_member_is():
    assert foreign.judge(stripe(1_000_000, 500_000, 500_000)) is None
    assert foreign.judge(stripe(1_000_000, 1_000_000, 1_000_000)) is None  # RAID 1
    assert foreign.judge(stripe(1_000_000, 500_000, 500_000, 500_000)) is None  # RAID 5
    assert foreign.judge(stripe(1_000_000, 1_000_000, 0)) is None  # one after the other
    assert foreign.judge(stripe(1_000_000, 800_000, 500_000)) is not None
    assert foreign.judge(stripe(1_000_000, 800_000, 500_000, direction="read")) is not None
    assert foreign.judge(stripe(1_000_000, 600_000, 600_000, direction="read")) is not None


def test_readahead_is_not_foreign():
    assert foreign.judge(measured_here(4_000_000, direct=False)) is None
    assert foreign.judge(measured_here(1_000_000, 300_000, direct=False)) is not None
