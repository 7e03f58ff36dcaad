"""Arguments from typed fields; reports as fio 3.33 wrote them, and broken ones."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.bench import fio
from appliance.model.runs import Job

DATA = Path(__file__).parent / "data"
READ = (DATA / "fio-3.33-rand-read-4k.txt").read_text()
WRITE = (DATA / "fio-3.33-seq-write-1m.txt").read_text()
PSYNC = (DATA / "fio-3.33-psync-depth-8.txt").read_text()


def job(**changes: object) -> Job:
    fields: dict[str, object] = {
        "name": "j",
        "rw": "randread",
        "block_size_bytes": 4096,
        "iodepth": 8,
        "jobs": 2,
        "runtime_seconds": 1.5,
    }
    return Job(**(fields | changes))  # type: ignore[arg-type]


def test_a_job_reads_existing_files_directly_and_for_its_time():
    workers = fio.share_files(("data.0", "data.1"), 2)
    arguments = fio.job_arguments(job(), workers, file_size_bytes=5, engine="libaio")
    for wanted in (
        "--direct=1",
        "--allow_file_create=0",
        "--time_based",
        "--runtime=1500ms",
        "--ioengine=libaio",
        "--iodepth=8",
        "--bs=4096",
        "--filesize=5",
        "--thread",
        "--group_reporting",
    ):
        assert wanted in arguments
    assert arguments[-4:] == ("--name=w0", "--filename=data.0", "--name=w1", "--filename=data.1")


def test_fewer_workers_share_all_files_among_them_and_more_workers_use_them_twice():
    files = ("data.0", "data.1", "data.2")
    assert [one.target for one in fio.share_files(files, 1)] == ["data.0:data.1:data.2"]
    assert [one.target for one in fio.share_files(files, 2)] == ["data.0:data.2", "data.1"]
    assert [one.target for one in fio.share_files(files, 4)] == [*files, "data.0"]


def test_workers_of_a_device_have_equal_parts_that_no_other_touches():
    workers = fio.share_device("/dev/x", size_bytes=100 << 20, count=3, block_bytes=4096)
    assert [(one.offset_bytes, one.size_bytes) for one in workers] == [
        (0, 33 << 20),
        (33 << 20, 33 << 20),
        (66 << 20, 33 << 20),
    ]
    arguments = fio.job_arguments(job(jobs=3), workers, engine="psync", read_only=True)
    assert "--readonly" in arguments
    assert arguments[-3:] == (
        "--filename=/dev/x",
        f"--offset={66 << 20}",
        f"--size={33 << 20}",
    )
    assert not any(argument.startswith("--filesize") for argument in arguments)
    # Parts are multiples of the block; with less than a block each there is nothing to do.
    (large, _) = fio.share_device("/dev/x", size_bytes=40 << 20, count=2, block_bytes=16 << 20)
    assert large.size_bytes == 16 << 20
    assert fio.share_device("/dev/x", size_bytes=8 << 20, count=9, block_bytes=4096) == ()


def test_files_and_devices_that_may_be_written_are_not_read_only():
    assert "--readonly" not in fio.job_arguments(job(), (fio.Worker("data.0"),), engine="psync")
    assert "--rw=write" in fio.probe_arguments("psync", "probe")
    reading = fio.probe_arguments("psync", "/dev/x", read_only=True)
    assert {"--readonly", "--rw=read"} <= set(reading)


def test_a_mixed_job_says_how_much_of_it_reads_and_a_thinking_one_how_long_it_waits():
    workers = (fio.Worker("data.0"),)
    mixed = fio.job_arguments(job(rw="randrw", read_percent=70), workers, engine="psync")
    assert {"--rw=randrw", "--rwmixread=70"} <= set(mixed)
    assert "--thinktime=250ms" in fio.job_arguments(job(think_time_ms=250), workers, engine="psync")
    plain = fio.job_arguments(job(), workers, engine="psync")
    assert not any(argument.startswith(("--rwmix", "--think")) for argument in plain)


def test_a_device_is_filled_from_its_beginning_and_then_again():
    arguments = fio.fill_arguments("/dev/x", size_bytes=10, write_bytes=20, engine="libaio")
    assert {"--rw=write", "--bs=131072", "--io_size=20", "--size=10", "--offset=0"} <= set(
        arguments
    )


def test_preparation_writes_every_file_in_full():
    arguments = fio.prepare_arguments(("data.0", "data.1"), file_size_bytes=9, engine="io_uring")
    assert {"--rw=write", "--bs=1048576", "--direct=1", "--end_fsync=1"} <= set(arguments)
    assert not any("time_based" in argument for argument in arguments)


def test_engines_in_order_of_preference():
    assert fio.offered_engines("Available IO engines:\n\tpsync\n\tlibaio\n\tnull\n") == (
        "libaio",
        "psync",
    )


def test_a_recorded_read_report():
    report = fio.parse_report(READ)
    assert report.error == 0
    assert set(report.directions) == {"read"}
    read = report.directions["read"]
    assert read.iops == pytest.approx(74286.713287)
    assert read.io_bytes == read.total_ios * 4096
    assert sum(read.bins.values()) == read.total_ios
    assert read.percentiles_ns["1.000000"] < read.latency_mean_ns
    # Little's law holds for total latency, which is why clat is not used.
    assert read.iops * read.latency_mean_ns / 1e9 == pytest.approx(16, rel=0.02)


def test_a_recorded_write_report():
    report = fio.parse_report(WRITE)
    assert set(report.directions) == {"write"}
    assert report.directions["write"].io_bytes % (1 << 20) == 0


def test_text_around_the_report_is_passed_over():
    assert PSYNC.startswith("note: both iodepth")
    noisy = "fio: pid=1 {odd\n{ not json\n" + PSYNC + "\ntrailing {words}\n"
    assert fio.parse_report(noisy) == fio.parse_report(PSYNC)


def test_a_report_without_total_latency_histogram_uses_completion_latency():
    swapped = READ.replace('"lat_ns"', '"x"').replace('"clat_ns"', '"lat_ns"')
    swapped = swapped.replace('"x"', '"clat_ns"')
    assert fio.parse_report(swapped).directions["read"].bins == (
        fio.parse_report(READ).directions["read"].bins
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fio: engine io_uring not loadable\n",
        READ[: len(READ) // 2],
        READ[:-3],
        "[" * 100_000,
        '{"jobs": []}',
        '{"jobs": [3]}',
        '{"jobs": [{}]}',
        READ.replace('"iops":', '"iopz":'),
        READ.replace('"error": 0', '"error": "0"'),
        READ.replace('"bins": {', '"bins": {"x": 1,'),
        READ.replace('"bins": {', '"bins": 5, "x": {'),
        READ.replace('"total_ios":', '"total_ios": true, "x":'),
    ],
)
def test_a_broken_report_is_one_typed_error(text):
    with pytest.raises(fio.FioOutputError) as caught:
        fio.parse_report(text)
    assert caught.value.hint


@given(st.integers(0, len(READ)), st.integers(0, 400), st.text(max_size=6))
def test_damaged_reports_never_raise_anything_else(at, cut, instead):
    with contextlib.suppress(fio.FioOutputError):
        fio.parse_report(READ[:at] + instead + READ[at + cut :])


# ------------------------------------------------------------- reports that were asked for


def test_the_last_of_several_reports_is_the_one_at_the_end():
    text = "note: a word\n" + WRITE + "\n" + PSYNC + "\n" + READ
    kept = fio.without_interim(text)
    assert fio.parse_report(kept) == fio.parse_report(READ)
    assert kept.startswith("note: a word\n")
    assert kept.count('"fio version"') == 1


@pytest.mark.parametrize("text", [READ, "note\n" + READ + "\nafter", "", "no report"])
def test_a_report_alone_stays_as_it_is(text):
    assert fio.without_interim(text) == text


@pytest.mark.parametrize("cut", [2, 1000, -40])
def test_a_report_on_the_way_is_not_taken_for_one_that_is_cut_off(cut):
    with pytest.raises(fio.FioOutputError, match="the end is cut off"):
        fio.without_interim(READ + "\n" + READ.lstrip()[:cut])


def test_whole_reports_are_read_while_the_next_is_being_written():
    first = READ + "\n"
    reports, end = fio.interim_reports(first + WRITE + "\n" + READ[:900])
    assert reports == (fio.parse_report(READ), fio.parse_report(WRITE))
    assert (first + WRITE)[:end].rstrip() == (first + WRITE).rstrip()
    assert fio.interim_reports(READ[:900]) == ((), 0)
