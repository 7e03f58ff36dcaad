"""The diaries whose conclusions were wrong: what each of their reports proves."""

from __future__ import annotations

import pytest

from appliance.clouds import capability
from appliance.figures import quantities
from tests.unit.legacies import DIARIES, codes, of_file

I3 = of_file(DIARIES / "i3-single-and-stripe.txt")
M5D = of_file(DIARIES / "m5d-psync-and-ebs.txt")


def test_each_report_of_the_i3_diary_is_there_and_the_mixed_one_has_two_results() -> None:
    assert len({one.line for one in I3}) == 10
    assert [one.direction for one in I3].count("read") == 6
    assert len(I3) == 11
    assert {one.machine_type for one in I3} == {"i3.4xlarge"}
    assert {one.block_size_bytes for one in I3} == {4096, 16384}


@pytest.mark.parametrize(("at", "corrected"), [(1, 121_900), (3, 412_300)])
def test_reads_of_the_other_single_disk_are_blocked_and_corrected(at: int, corrected: int) -> None:
    read = I3[at]
    assert not read.valid
    assert {"COVERAGE", "TARGET"} <= set(codes(read))
    assert quantities.corrected_iops(read) == pytest.approx(corrected, rel=0.005)
    assert (read.device, read.expected) == ("nvme0n1", ("nvme1n1",))
    assert "the first report on /mnt/p_iops_vol0" in read.expected_why


def test_the_stripe_is_valid_at_its_published_limit_and_twice_a_disk() -> None:
    stripe = [one for one in I3 if one.device == "md0"]
    assert len({one.line for one in stripe}) == 6
    assert all(one.valid and not one.findings for one in stripe)
    assert all(one.members == ("nvme0n1", "nvme1n1") for one in stripe)
    read = stripe[1]
    assert (read.rw, read.block_size_bytes) == ("randread", 4096)
    assert capability.percent_of_published(read) == pytest.approx(99, abs=1)
    single = quantities.corrected_iops(I3[3])
    assert single is not None
    assert read.iops is not None
    assert read.iops / single == pytest.approx(2.00, abs=0.005)


def test_writes_on_the_first_disk_are_valid() -> None:
    assert [one.valid for one in (I3[0], I3[2])] == [True, True]


def test_every_report_of_the_m5d_diary_is_there() -> None:
    assert len(M5D) == 14
    assert [one.block_size_bytes for one in M5D] == [
        *(64 * 1024,) * 4,
        4 * 1024**2,
        64 * 1024,
        *(1024 * kib for kib in (32, 128, 256)),
        4 * 1024**2,
        32 * 1024,
        *(4 * 1024**2,) * 3,
    ]


def test_bandwidth_is_in_1024_units_and_may_have_thousands_separators() -> None:
    assert M5D[0].bandwidth_bytes == pytest.approx(586_774 * 1024, rel=1e-4)
    assert M5D[1].bandwidth_bytes == pytest.approx(131_901 * 1024, rel=1e-4)
    assert M5D[6].bandwidth_bytes == pytest.approx(487_812 * 1024, rel=1e-4)


def test_psync_that_was_asked_for_eight_is_blocked_by_depth() -> None:
    asked = [one for one in M5D if one.iodepth == 8]
    assert len(asked) == 3
    assert all("DEPTH" in codes(one) for one in asked)
    others = [one for one in M5D if one.iodepth != 8]
    assert all(one.valid for one in others), [codes(one) for one in others]


def test_the_interrupted_run_is_short_and_its_broken_lines_are_whole() -> None:
    run = M5D[3]
    assert codes(run)[:1] == ["SHORT"]
    assert run.ended == "fio was ended by signal 2"
    # The command is broken behind "--time_based --", the statistics in "93.8|2%".
    assert run.runtime_asked_ms == 180_000
    assert len(run.members) == 6
    # Broken between two options.
    assert M5D[12].runtime_asked_ms == 60_000


def test_the_m5d_stripes_warn_of_a_member_without_calling_it_bad() -> None:
    stripes = [one for one in M5D if one.device == "md1"]
    assert [one.machine_type for one in stripes] == ["m5d.4xlarge", "m5d.8xlarge"]
    for one in stripes:
        member = next(finding for finding in one.findings if finding.code == "MEMBER")
        assert member.severity == "warn"
        assert one.valid
        assert one.capability is not None
        assert one.capability.kind == "instance-store"


def test_other_machines_and_volumes_on_the_same_directory_are_no_wrong_target() -> None:
    assert not any("TARGET" in codes(one) for one in M5D)


def test_reports_cut_to_their_summary_have_what_it_says_and_no_more() -> None:
    cut = M5D[6]
    assert cut.truncated
    assert (cut.engine, cut.iodepth, cut.jobs) == ("psync", 1, None)
    # Bandwidth ÷ block would be a figure that the text does not have.
    assert cut.iops is None
    assert cut.bandwidth_bytes == pytest.approx(487_812 * 1024, rel=1e-4)
    assert (cut.runtime_ms, cut.runtime_asked_ms) == (60_003, None)
    assert (cut.latency_mean_ns, cut.percentiles_ns) == (None, None)
    # The command of the report before it is not this one's.
    assert cut.target == ""


def test_volumes_stated_in_a_heading_give_the_limit() -> None:
    cut, whole, stripe = M5D[6], M5D[9], M5D[13]
    assert cut.capability is not None
    assert cut.capability.iops == pytest.approx(15_000)
    assert [codes(one) for one in (cut, whole, stripe)] == [["CAP"]] * 3
    assert stripe.capability is not None
    assert stripe.capability.kind == "network"
    assert len(stripe.members) == 6
