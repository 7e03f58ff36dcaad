"""fio's text reports: what real fio printed, and forms of other versions."""

from __future__ import annotations

import pytest

from appliance.history.json_documents import missing
from tests.unit.legacies import FIO, codes, command, imported, measured, of_file, only, report_3

OLD = """\
seq: (g=0): rw=read, bs=128K-128K/128K-128K/128K-128K, ioengine=libaio, iodepth=16
fio-2.0.13
Starting 1 process

seq: (groupid=0, jobs=1): err= 0: pid=2041: Tue May  7 12:00:00 2013
  read : io=2048.0MB, bw=408003KB/s, iops=3187 , runt=  5140msec
    slat (usec): min=8 , max=1000 , avg=20.10, stdev= 5.00
    clat (msec): min=1 , max=30 , avg= 4.99, stdev= 1.00
     lat (msec): min=1 , max=30 , avg= 5.01, stdev= 1.00
  cpu          : usr=0.50%, sys=8.20%, ctx=16000, majf=0, minf=530
     issued    : total=r=16384/w=0/d=0, short=r=0/w=0/d=0

Run status group 0 (all jobs):
   READ: io=2048.0MB, aggrb=408003KB/s, minb=408003KB/s, maxb=408003KB/s, mint=5140msec, \
maxt=5140msec

Disk stats (read/write):
  sdb: ios=16100/0, merge=0/0, ticks=80000/0, in_queue=80100, util=98.00%
"""


def test_a_real_group_of_four_jobs() -> None:
    evidence = only((FIO / "fio-3.33-group.txt").read_bytes())
    assert (evidence.jobs, evidence.iodepth, evidence.engine) == (4, 8, "libaio")
    assert (evidence.rw, evidence.block_size_bytes) == ("randread", 4096)
    assert evidence.printed_iops == 109_000
    assert evidence.iops == pytest.approx(109_252, abs=1)
    assert evidence.latency_mean_ns == 292_520
    assert evidence.percentiles_ns is not None
    assert len(evidence.percentiles_ns) == 17
    assert (evidence.fio_version, evidence.truncated, evidence.errors) == ("fio-3.33", False, 0)
    assert [io.device for io in evidence.device_io] == ["vda"]
    assert evidence.direct is None


def test_a_mixed_job_has_two_results_and_fsync_has_its_own_latencies() -> None:
    read, write = of_file(FIO / "fio-3.33-mixed.txt")
    assert (read.direction, write.direction) == ("read", "write")
    assert read.line == write.line == 1
    assert read.other_direction_iops == write.iops
    assert read.sync_ios == 631
    assert (read.total_ios, write.total_ios) == (9695, 9673)
    # Not the table below "fsync/fdatasync", and lat where there is lat.
    assert write.latency_mean_ns == 489_780
    assert write.percentiles_ns is not None
    assert write.percentiles_ns["99.990000"] == 82_314_000


def test_clones_are_a_result_each_with_their_share_of_the_disk() -> None:
    clones = of_file(FIO / "fio-3.33-clones.txt")
    assert len(clones) == 3
    assert len({one.line for one in clones}) == 3
    assert all(one.jobs == 1 for one in clones)
    reads = [one.device_io[0].read_ios for one in clones]
    ios = [one.total_ios or 0 for one in clones]
    assert reads[0] / ios[0] == pytest.approx(reads[2] / ios[2], rel=0.001)
    assert 0.9 < sum(reads) / sum(ios) < 1


def test_of_a_run_told_every_second_the_last_counts() -> None:
    one = only((FIO / "fio-3.33-status.txt").read_bytes())
    assert one.runtime_ms == 3001
    assert one.engine == "psync"
    assert one.line == 1


def test_a_signal_before_the_report() -> None:
    one = only((FIO / "fio-3.33-signal.txt").read_bytes())
    assert one.ended == "fio was ended by signal 2"
    assert "SHORT" in codes(one)


def test_a_job_that_failed_before_any_io_is_told() -> None:
    one = only((FIO / "fio-3.33-error.txt").read_bytes())
    assert (one.errors, one.direction, one.iops) == (28, "write", None)
    assert "SHORT" in codes(one)


def test_a_recorded_terminal_with_progress_drawn_over_itself() -> None:
    one = only((FIO / "fio-3.33-script.txt").read_bytes())
    assert one.iops == pytest.approx(51_388, abs=1)
    # The recorder's own first line has fio's command.
    assert one.runtime_ms == 3002


def test_jobs_of_a_job_file_and_the_disk_that_belongs_to_none_of_them() -> None:
    first, second = of_file(FIO / "fio-3.33-jobfile.txt")
    assert [one.rw for one in (first, second)] == ["read", "randwrite"]
    assert first.direct
    assert first.device == "vda"
    assert first.device_io == ()


def test_the_form_before_2_17() -> None:
    evidence = only(OLD)
    assert evidence.bandwidth_bytes == pytest.approx(408_003 * 1024, rel=1e-4)
    assert evidence.iops == pytest.approx(3187.5, abs=0.1)
    assert evidence.printed_iops == 3187
    assert evidence.io_bytes == 16384 * 128 * 1024
    assert evidence.latency_mean_ns == 5_010_000
    assert (evidence.device, evidence.members) == ("sdb", ("sdb",))
    assert evidence.printed_bandwidth_bytes == 408_003 * 1024
    assert only(OLD).valid


def test_kb_base_1000_is_believed() -> None:
    asked = "$ fio --name=seq --rw=read --bs=128k --kb_base=1000\n"
    assert only(asked + OLD).bandwidth_bytes == pytest.approx(408_003 * 1000, rel=1e-4)


def test_a_figure_that_was_edited_contradicts_the_others() -> None:
    assert "UNITS" in codes(only(OLD.replace("iops=3187", "iops=6374")))


@pytest.mark.parametrize("lines", range(2, 22))
def test_cut_at_any_line(lines: int) -> None:
    text = command() + "\n" + "".join(report_3().splitlines(keepends=True)[:lines])
    (one,) = imported(text)
    assert one.truncated is (lines < 15)
    assert one.iops == (412_000.0 if lines < 15 else pytest.approx(412_156.5))
    # What is missing is said, and is not held against it.
    assert one.valid
    assert ("total_ios" in missing(one)) is (lines < 15)
    assert ("latency_mean_ns" in missing(one)) is (lines < 4)


def test_the_first_line_of_a_job_alone_is_no_result() -> None:
    assert imported(command() + "\n" + report_3().splitlines(keepends=True)[0]) == ()


@pytest.mark.parametrize("width", [80, 100, 120, 132])
def test_broken_by_a_terminal_of_any_usual_width(width: int) -> None:
    stripe = report_3().replace(
        "  nvme1n1: ios",
        "    md0: ios=74189000/0, merge=0/0, ticks=0/0, in_queue=0, util=0.00%, "
        "aggrios=37094500/0, aggrmerge=0/0, aggrticks=45500000/0, aggrin_queue=0, aggrutil=99.10%\n"
        "  nvme0n1: ios=37094500/0, merge=0/0, ticks=45500000/0, in_queue=1, util=99.00%\n"
        "  nvme1n1: ios",
    )
    whole = only(command() + "\n" + stripe)
    broken = "\n".join(
        line[at : at + width]
        for line in (command() + "\n" + stripe).split("\n")
        for at in range(0, max(1, len(line)), width)
    )
    found = only(broken)
    assert measured(found) == measured(whole)
    assert found.device == "md0"


def test_the_same_report_pasted_twice_is_two_results() -> None:
    assert len(imported(report_3() * 2)) == 2
    assert len(imported(report_3() + "and once more:\n" + report_3())) == 2


def test_excerpts_without_the_jobs_line() -> None:
    text = (
        "results:\n  read: IOPS=97.0k, BW=758MiB/s (795MB/s)(44.4GiB/60001msec)\n"
        "  write: IOPS=99.7k, BW=779MiB/s (817MB/s)(45.6GiB/60001msec); 0 zone resets\n"
        "later\n  read: IOPS=105k, BW=824MiB/s (864MB/s)(48.3GiB/60001msec)\n"
    )
    read, write, later = (one for one in imported(text))
    assert (read.iops, write.iops, later.iops) == (97_000, 99_700, 105_000)
    assert [one.block_size_bytes for one in (read, write, later)] == [8192] * 3
    assert all(one.truncated and one.jobs is None for one in (read, write, later))


def test_sectors_of_new_versions_are_bytes() -> None:
    text = report_3().replace("ios=74189000/0, merge", "ios=74189000/0, sectors=593512000/0, merge")
    evidence = only(text)
    assert evidence.device_io[0].read_bytes == 74_189_000 * 4096
