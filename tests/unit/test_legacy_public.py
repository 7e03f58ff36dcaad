"""What public texts taught the import: wraps, mail, cut figures, options that are not seen."""

from __future__ import annotations

import dataclasses
import json
import os
import quopri
from pathlib import Path

import pytest

from appliance import fio_import
from appliance.bench.validity import coverage, impossible, unit_slips
from appliance.errors import UsageError
from appliance.fio_import import draft, import_reports, json_report, reader
from appliance.history.json_documents import report_to_json
from appliance.model.measurement import DeviceIo, Measurement, Source
from tests.unit.legacies import FIO, codes, command, imported, measured, only, report_3

SECTION = "job: (groupid=0, jobs=16): err= 0: pid=100: Mon Mar  1 10:00:00 2021"
DATE = "Mon Mar  1 10:00:00 2021"
DEFINITION = (
    "{name}: (g=0): rw={rw}, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, "
    "ioengine=libaio, iodepth=32\n"
)


def defined(rw: str = "randread", name: str = "job") -> str:
    return DEFINITION.format(rw=rw, name=name)


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


# --------------------------------------------------------------------------- lines


@pytest.mark.parametrize("cut", ["Mon Mar|  1 10:00:00 2021", "Mon Mar  1|10:00:00 2021"])
@pytest.mark.parametrize("quoted", ["", "> "])
def test_a_date_on_the_next_line(cut: str, quoted: str) -> None:
    text = changed(report_3(), ("err= 0", "err= 5"), (DATE, cut.replace("|", "\n")))
    one = only("".join(f"{quoted}{line}\n" for line in text.splitlines()))
    assert (one.errors, one.job, one.jobs) == (5, "job", 16)
    assert "SHORT" in codes(one)


def test_an_error_below_zero() -> None:
    assert only(changed(report_3(), ("err= 0", "err=-17024"))).errors == -17024


def test_zone_resets_on_the_next_line() -> None:
    text = changed(report_3(direction="write"), ("180002msec)\n", "180002msec); 0 zone \nresets\n"))
    evidence = only(text)
    assert (evidence.latency_mean_ns, evidence.total_ios) == (1_240_500, 74_189_000)
    assert evidence.percentiles_ns is not None
    assert evidence.percentiles_ns["99.000000"] == 2_000_000


def test_a_wrapped_summary_that_begins_a_report_keeps_its_rest() -> None:
    line = "   READ: bw=3560MiB/s (3733MB/s), 445MiB/s-445MiB/s (467MB/s-467MB/s),"
    rest = "   io=3129GiB (3360GB), run=900003-900013msec\n"
    group = "Run status group 0 (all jobs):\n"
    first, second = imported((group + line + "\n" + rest + "\n") * 2)
    assert first.runtime_ms == second.runtime_ms == 900_013
    assert first.valid


def test_latencies_by_priority_and_a_description_are_not_the_end() -> None:
    by_priority = (
        "    clat prio 0/0 (msec): min=7, max=918, avg=171.68, stdev=150.48\n"
        "    clat percentiles (usec):\n"
    )
    text = changed(
        report_3(),
        (DATE + "\n", DATE + "\n  Description  : [a file server]\n"),
        ("    clat percentiles (usec):\n", by_priority),
        ("   bw (", "    clat prio 1/0 (10.01% of IOs) percentiles (usec):\n"
         "     |  1.00th=[  1],  99.00th=[  3]\n   bw ("),
    )  # fmt: skip
    evidence = only(text)
    assert evidence.percentiles_ns is not None
    assert evidence.percentiles_ns["99.000000"] == 2_000_000
    assert evidence.total_ios == 74_189_000


def test_a_word_of_another_program_in_between() -> None:
    text = changed(
        report_3(), ("clat percentiles (usec):\n", "clat percentiles (usec):\n[global]\n")
    )
    assert only(text).percentiles_ns is not None
    # A text between is not one: what follows may be of another report.
    text = changed(text, ("[global]\n", "And this is the other drive:\n"))
    assert only(text).percentiles_ns is None


def test_quoted_printable_mail() -> None:
    plain = "The disk – at last:\n$ " + command() + "\n" + report_3()
    mail = quopri.encodestring(plain.encode())
    assert b"IOPS=3D412k" in mail
    assert b"=\n" in mail
    found, expected = only(mail), only(plain)
    assert measured(found) == measured(expected)
    # The line is that of the file as it is.
    at = mail.decode().splitlines()[found.line - 1]
    assert at.startswith("job: (groupid=3D0")
    # Plain text beside it stays plain.
    both = imported(mail + b"\n\nOr, read again: bw=30MB\n" + report_3(pid=7, name="b").encode())
    assert both[1].runtime_ms == 180_002


def test_plain_text_beside_quoted_printable_mail_stays_as_it_is() -> None:
    mail = "  read: IOPS=3d412k, BW=3d1610MiB/s (1688MB/s)(283GiB/180002msec)\n\n"
    plain = (
        "$ "
        + command()
        + "\n"
        + changed(
            report_3(),
            ("usr=5.00%", "usr=95.00%"),
            ("=412k", "=82.1k"),
            ("1610MiB/s (1688MB/s)(283GiB", "321MiB/s (337MB/s)(56.6GiB"),
        )
    )
    first, second = imported(mail + plain)
    assert first.iops == 412_000
    assert measured(second) == measured(only(plain))


def test_unbreakable_spaces_and_emphasis() -> None:
    text = changed(report_3().replace("   ", "\xa0 \xa0"), ("IOPS=412k", "**IOPS=412k**"))
    assert only(text).total_ios == 74_189_000


def test_a_client_prints_no_unit_of_time() -> None:
    text = changed(report_3(), ("BW=1610MiB/s (1688MB/s)", "BW=1610Mi (1688M)"))
    cut = text.split("    slat")[0]
    assert only(cut).bandwidth_bytes == pytest.approx(1688e6, rel=0.001)


def test_a_number_cut_by_a_terminal() -> None:
    line = defined().rstrip("\n")
    broken = line[:-1] + "\n" + line[-1] + "\n"
    assert only(broken + report_3()).iodepth == 32
    assert only(line + "\n4 disks of one kind\n" + report_3()).iodepth == 32


def test_json_in_mail_and_broken_in_its_strings() -> None:
    document = json.loads((FIO / "fio-3.33-group.json").read_text())
    whole = only(json.dumps(document, indent=2))
    indented = json.dumps(document, indent=2)
    quoted = "".join(f"> {line}\n" for line in indented.splitlines())
    assert measured(only(quoted)) == measured(whole)
    compact = json.dumps(document)
    at_80 = "\n".join(compact[at : at + 80] for at in range(0, len(compact), 80))
    assert measured(only(at_80 + "\n")) == measured(whole)


def test_a_report_behind_broken_json_is_read() -> None:
    document = json.loads((FIO / "fio-3.33-group.json").read_text())
    document["jobs"][0]["job options"]["description"] = "four workers"
    broken = json.dumps(document, indent=2).replace("four workers", "four\nworkers")
    assert len(imported(broken + "\n\n" + report_3())) == 2


def test_clones_on_more_devices_than_can_be_shared_out() -> None:
    section, rest = report_3(jobs=1).split("Run status")
    disk = rest.splitlines()[-1] + "\n"
    disks = "".join(disk.replace("nvme1n1", f"nvme{n}n1") for n in range(70))
    found = imported(section * 70 + "Run status" + rest + disks)
    assert len(found) == 70
    assert {(one.members, one.device_io) for one in found} == {((), ())}


# --------------------------------------------------------------------------- figures


@pytest.mark.parametrize(
    ("version", "printed", "ios", "iops"),
    [
        # axboe/fio#1150: until 3.25 a carry was lost.
        ("fio-3.7", "26.0k", 4_858_482, 26_991),
        ("fio-3.7", "4", 880, 4.89),
        ("fio-3.25", "13.0k", 2_513_520, 13_964),
        ("fio-3.28", "14.0k", 2_513_520, 13_964),
    ],
)
def test_iops_are_ios_by_time(version: str, printed: str, ios: int, iops: float) -> None:
    text = changed(
        report_3(direction="write"),
        ("IOPS=412k, BW=1610MiB/s (1688MB/s)(283GiB/180002msec)",
         f"IOPS={printed}, BW=1MiB/s (1MB/s)(1GiB/180002msec)"),
        ("total=0,74189000", f"total=0,{ios}"),
    ).split("Run status")[0]  # fmt: skip
    evidence = only(f"{version}\n{text}")
    assert evidence.iops == pytest.approx(iops, rel=0.001)
    assert evidence.printed_iops == pytest.approx(
        float(printed.rstrip("k")) * (1000 if "k" in printed else 1)
    )


def test_a_figure_that_no_rounding_makes_is_a_contradiction() -> None:
    text = changed(report_3(), ("IOPS=412k", "IOPS=26.0k"))
    one = only("fio-3.7\n" + text)
    assert one.iops == 26_000
    assert "UNITS" in codes(one)


def test_a_cut_bandwidth_is_no_contradiction() -> None:
    # 3068 × 4096 is 12.57 MB/s: 11.98 MiB/s, printed as 11.0.
    text = changed(
        report_3(direction="write"),
        ("IOPS=412k, BW=1610MiB/s (1688MB/s)(283GiB/180002msec)",
         "IOPS=3068, BW=11.0MiB/s (12.6MB/s)(2157MiB/180002msec)"),
        ("total=0,74189000", "total=0,552246"),
    ).split("Run status")[0]  # fmt: skip
    one = only("fio-3.1\n" + defined("randwrite") + text)
    assert one.bandwidth_bytes == pytest.approx(12.566e6, rel=0.001)
    assert "UNITS" not in codes(one)


def test_a_group_alone_has_no_iops() -> None:
    asked = "$ " + command() + "\n"
    group = (
        "   READ: bw=100MiB/s (105MB/s), 100MiB/s-100MiB/s (105MB/s-105MB/s), "
        "io=1GiB (1074MB), run=10000-10000msec\n"
    )
    assert only(asked + "Run status group 0 (all jobs):\n" + group).iops is None


def test_percentiles_that_the_mean_excludes() -> None:
    text = changed(report_3(), ("99.00th=[ 2000]", "99.00th=[17112761]"))
    assert only(text).percentiles_ns is None


def test_a_mean_below_the_least() -> None:
    text = changed(report_3(), ("lat (usec): min=72", "lat (usec): min=1500"))
    assert "UNITS" in codes(only(text))


def test_shells_without_figures_are_no_results() -> None:
    assert imported(f"{SECTION}\n\n{SECTION}\n") == ()
    failed = SECTION.replace("err= 0", "err= 5")
    assert codes(only(failed)) == ["SHORT"]


# --------------------------------------------------------------------------- what was asked


def asked(*lines: str, report: str = "") -> Measurement:
    return only("\n".join([*lines, report or report_3()]))


def test_what_is_not_seen_is_unknown() -> None:
    bare = asked()
    assert (bare.direct, bare.ramp_ms, bare.synced, bare.paced_by) == (None, None, None, None)
    assert report_to_json(only(report_3()))["direct"] is None
    whole = asked("$ " + command().replace(" --direct=1", ""))
    assert (whole.direct, whole.ramp_ms, whole.synced, whole.paced_by) == (False, 0, False, "")
    assert asked("$ fio random.fio --name=job --rw=randread").direct is None
    assert asked("$ " + command().replace("--direct=1", "--direct=$direct")).direct is None
    # Something stands where the rest of a broken line would.
    cut = "$ fio --name=job --rw=randread --bs=4k --ioengine=libaio --iodepth=32"
    assert asked(cut, "which is the usual one:").direct is None
    assert asked(cut, "").direct is False


@pytest.mark.parametrize(
    "line", ["-direct 1 -numjobs=16", "--direct=1", "--numjobs=16 --direct=1 -"]
)
def test_options_on_the_next_line(line: str) -> None:
    evidence = asked("$ fio -name job -rw=randread", line, "-readonly" if line[-1] == "-" else "")
    assert (evidence.direct, evidence.rw) == (True, "randread")


@pytest.mark.parametrize(
    "prompt", [r"C:\Program Files\fio>fio", r"C:\fio\fio.exe", '"C:\\f\\fio.exe"']
)
def test_a_command_on_windows(prompt: str) -> None:
    line = f"{prompt} --name=job --rw=randread --ioengine=windowsaio ^\n  --direct=1 --iodepth=32"
    evidence = asked(line)
    assert (evidence.engine, evidence.direct) == ("windowsaio", True)


def test_a_container_of_fio() -> None:
    line = "# docker run --rm -v x:/t some/fio /usr/bin/fio --name=job --direct=1 --iodepth=32"
    assert asked(line).direct is True


@pytest.mark.parametrize(
    "more",
    [
        "$OPTS",
        "$(cat opts)",
        "...",
        "/root/jobs/randread",
        "- < x",
        "jobs/4k-rr+qd32.fio",
        r"C:\j\r.fio",
    ],
)
def test_a_word_that_is_not_understood_may_be_more_options(more: str) -> None:
    assert (
        asked(f"$ fio --name=job --rw=randread --iodepth=32 --ioengine=libaio {more}").direct
        is None
    )
    assert asked(f"$ fio --readonly {more} --output=out.txt").direct is None


@pytest.mark.parametrize(
    "behind", [" &", "; sync", " && cat out", " > out.txt 2>&1; cat out.txt", ")"]
)
def test_what_a_shell_does_next(behind: str) -> None:
    evidence = asked(
        f"$ (fio --name=job --rw=randread --ioengine=libaio --iodepth=32 --direct=0{behind}"
    )
    assert evidence.direct is False


def test_fio_prints_what_the_command_does_not_ask_for() -> None:
    bare = "$ fio --name=job --rw=randread --bs=4k"
    assert asked(bare, report=defined() + report_3()).direct is None
    whole = bare + " --ioengine=libaio --iodepth=32"
    assert asked(whole, report=defined() + report_3()).direct is False


@pytest.mark.parametrize("cut", ["include common.inc", "<snip>", "[...]", "and some more of it:"])
def test_a_job_file_of_which_something_is_missing(cut: str) -> None:
    file = (
        f"[global]\nioengine=libaio\niodepth=32\nrefill_buffers\n{cut}\nbs=4k\n[job]\nrw=randread"
    )
    assert asked(file).direct is None
    assert asked(file.replace(cut, "thread")).direct is False


def test_a_job_file_after_a_report_is_another() -> None:
    first = "[job]\nrw=randread\niodepth=32\nruntime=600\ntime_based\nramp_time=10\n\n"
    second = "[job]\nrw=randread\niodepth=32\ndirect=1\n\n"
    found = imported(first + report_3() + "\n" + second + report_3(pid=2))
    assert [one.runtime_asked_ms for one in found] == [600_000, None]
    assert [one.direct for one in found] == [False, True]


@pytest.mark.parametrize(
    "words", ["And here with 30 seconds:", "Again with --direct=0:", "and jobs=4"]
)
def test_a_text_that_says_that_the_next_run_was_another(words: str) -> None:
    found = imported(f"$ {command()}\n{report_3()}\n{words}\n{report_3(pid=2)}")
    assert found[1].direct is None
    assert found[1].runtime_asked_ms is None


def test_the_common_part_of_a_file_ends_with_its_report() -> None:
    first = "[global]\ndirect=1\n[job]\nrw=randread\niodepth=32\n\n"
    second = "[second]\nrw=randread\niodepth=32\n\n"
    found = imported(first + report_3() + "\n" + second + report_3(pid=2, name="second"))
    assert [one.direct for one in found] == [True, False]


def test_prose_about_fio_is_no_command() -> None:
    line = "$ " + command()
    for words in (
        "Note that fio --direct=0 would use the page cache of the machine.",
        "People often use `fio --name=job --direct=0 --runtime=600` but should not.",
    ):
        assert asked(line, words).direct is True


@pytest.mark.parametrize(
    ("value", "direct"), [(1, True), (True, True), (0, False), (None, None), (["1"], None)]
)
def test_json_options_that_are_no_strings(value: object, direct: bool | None) -> None:
    document = json.loads((FIO / "fio-3.33-group.json").read_text())
    for options in (document.get("global options", {}), document["jobs"][0]["job options"]):
        options.pop("direct", None)
    document["jobs"][0]["job options"]["direct"] = value
    assert only(json.dumps(document)).direct is direct


def test_a_job_file_of_other_jobs_says_nothing() -> None:
    file = "[global]\nbs=64k\ndirect=1\n[else]\nrw=randread\n"
    evidence = asked(file)
    assert evidence.direct is None
    assert asked(file.replace("else", "job")).direct is True


def test_the_last_command_that_named_the_job() -> None:
    other = command().replace("name=job", "name=other").replace("--direct=1", "--direct=0")
    assert asked("$ " + command(), "", "$ " + other, "").direct is True


def test_a_second_run_of_one_command_is_judged_by_it() -> None:
    short = changed(
        report_3(pid=7), ("180002msec", "79000msec"), ("total=74189000", "total=32560000")
    )
    short = short.replace("run=180002-180002msec", "run=79000-79000msec").split("Disk stats")[0]
    assert "SHORT" in codes(
        imported("$ " + command() + "\nfrom:\n" + report_3() + "\nto:\n" + short)[1]
    )


# --------------------------------------------------------------------------- rules


def test_reads_that_verify_are_not_beside_the_writes() -> None:
    write = report_3(direction="write")
    read = "  read: IOPS=412k, BW=1610MiB/s (1688MB/s)(283GiB/180002msec)\n" + "".join(
        line for line in report_3().splitlines(keepends=True) if "lat (" in line and "min=" in line
    )
    text = defined("randwrite") + changed(
        write, ("  write:", read + "  write:"), ("total=0,74189000", "total=74189000,74189000")
    )
    found = imported(text)
    assert [one.direction for one in found] == ["read", "write"]
    assert all("DEPTH" not in codes(one) for one in found)
    mixed = imported(text.replace("rw=randwrite", "rw=randrw"))
    assert all("DEPTH" in codes(one) for one in mixed)


SLOW = (
    ("avg=1238.00", "avg=238.00"),
    ("avg=1240.50", "avg=240.50"),
    ("50.00th=[ 1200], 99.00th=[ 2000], 99.99th=[ 8000]", "50.00th=[ 230], 99.00th=[ 400]"),
)


@pytest.mark.parametrize(
    "option",
    ["rate_iops=5k", "rate=1m", "iodepth_low=1", "iodepth_batch_complete=64", "latency_target=5ms"],
)
def test_a_queue_that_fio_holds_back(option: str) -> None:
    held = changed(report_3(), *SLOW)
    assert "DEPTH" not in codes(only(f"$ {command()} --{option}\n{held}"))
    assert "DEPTH" in codes(only(f"$ {command()}\n{held}"))


def test_a_queue_that_is_held_back_by_nothing() -> None:
    held = changed(report_3(), *SLOW)
    for option in ("iodepth_batch_submit=1", "iodepth_low=32"):
        assert "DEPTH" in codes(only(f"$ {command()} --{option}\n{held}"))


def test_reads_that_verify_take_as_long_as_they_take() -> None:
    read = changed(report_3(), ("180002msec)", "15000msec)"), ("(283GiB/", "(23.6GiB/"))
    write = report_3(direction="write")
    text = changed(
        write,
        ("  write:", read.splitlines()[1] + "\n  write:"),
        ("total=0,74189000", "total=6180000,74189000"),
    )
    line = "$ " + command("randwrite") + " --verify=crc32c\n"
    assert all("SHORT" not in codes(one) for one in imported(line + defined("randwrite") + text))


def test_a_run_that_ends_when_it_is_steady() -> None:
    short = changed(report_3(), ("180002msec)", "90000msec)"))
    assert "SHORT" in codes(only(f"$ {command()}\n{short}"))
    assert "SHORT" not in codes(only(f"$ {command()} --ss=iops:1%\n{short}"))


@pytest.mark.parametrize("device", ["pmem0", "ram0", "nullb0"])
def test_devices_that_count_nothing(device: str) -> None:
    buffered = "$ " + command().replace(" --direct=1", " --direct=0").replace("libaio", "psync")
    text = changed(report_3(device=device), ("ios=74189000/0", "ios=0/0"))
    assert not {"COVERAGE", "TARGET"} & {*codes(only(f"{buffered}\n{text}"))}
    assert "COVERAGE" in codes(only(f"{buffered}\n{text.replace(device, 'sda')}"))


def test_the_machines_own_link_says_nothing_of_the_disks() -> None:
    text = "`i3.16xlarge`\n* 8 x 1900 NVMe SSD\n* 25Gbps Networking Bandwidth (shared with EBS)\n\n"
    local, network = only(text + report_3()), only("# i3.16xlarge, EBS\n" + report_3())
    assert local.capability is not None
    assert network.capability is not None
    assert local.capability.kind == "instance-store"
    assert network.capability.kind == "network"


def test_more_than_fio_counted_may_have_been_its_ramp() -> None:
    more = changed(report_3(), ("ios=74189000/0", "ios=84189000/0"))
    assert "FOREIGN" not in codes(only(more))
    assert "FOREIGN" in codes(only(f"$ {command()}\n{more}"))
    # Writes beside a job that reads are no ramp.
    writes = changed(report_3(), ("ios=74189000/0", "ios=74189000/20000000"))
    assert "FOREIGN" in codes(only(writes))


def test_writes_made_durable_one_by_one() -> None:
    text = changed(report_3(direction="write"), ("ios=0/74189000", "ios=0/174189000"))
    for option, foreign in (("sync=1", False), ("fdatasync=1", False), ("randrepeat=0", True)):
        line = f"$ {command('randwrite')} --{option}\n"
        assert ("FOREIGN" in codes(only(line + text))) is foreign, option


def test_done_while_it_was_submitted() -> None:
    text = changed(
        report_3(),
        ("slat (nsec): min=1200, max=9000", "slat (usec): min=94, max=900"),
        ("avg=2500.00", "avg=151.30"),
        ("1.00th=[  210]", "1.00th=[    0]"),
        ("lat (usec): min=72", "lat (usec): min=96"),
    ).split("Disk stats")[0]  # fmt: skip
    text = defined() + text
    assert "IMPOSSIBLE" not in codes(only(text))
    quick = changed(text, ("avg=151.30", "avg=1.30"), ("lat (usec): min=96", "lat (usec): min=2"))
    assert "IMPOSSIBLE" in codes(only(quick))


def test_the_first_of_four_clones() -> None:
    text = changed(report_3(jobs=1), ("74189000,0,0,0", "18547250,0,0,0")).replace(
        "IOPS=412k, BW=1610MiB/s (1688MB/s)(283GiB", "IOPS=103k, BW=402MiB/s (422MB/s)(70.8GiB"
    )
    one = only(defined() + "Starting 4 processes\n" + text)
    assert not {"UNITS", "FOREIGN"} & {*codes(one)}
    assert one.device_io == ()
    assert not {"UNITS", "FOREIGN"} & {*codes(only("$ " + command() + "\n" + text))}


def test_blocks_faster_than_memory() -> None:
    text = (
        (
            "job: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, "
            "(T) 1024KiB-1024KiB, "
            "ioengine=psync, iodepth=1\n"
        )
        + "".join(report_3(jobs=1).splitlines(keepends=True)[:1])
        + (
            "  read: IOPS=3900, BW=3900MiB/s (4089MB/s)(381GiB/100000msec)\n"
            "    clat (nsec): min=500, max=900000, avg=256000.00, stdev=1.00\n"
            "     lat (nsec): min=520, max=900000, avg=256100.00, stdev=1.00\n"
            "    clat percentiles (nsec):\n"
            "     |  1.00th=[  520], 50.00th=[  540], 99.00th=[ 612]\n"
        )
    )
    found = only(text)
    assert "IMPOSSIBLE" in codes(found)
    assert "IMPOSSIBLE" not in codes(only(text.replace("1.00th=[  520]", "1.00th=[  92000]")))


BUFFERED = "$ fio --name=job --rw={rw} --bs=4k --ioengine=psync --size=1G --numjobs=1{more}\n"


def in_memory(
    rw: str, *, more: str = "", mean_us: float = 2.0, p5_us: int = 1, cpu: int = 20
) -> Measurement:
    direction = "write" if "write" in rw else "read"
    iops = round(1e6 / mean_us)
    return only(
        BUFFERED.format(rw=rw, more=more)
        + "job: (groupid=0, jobs=1): err= 0: pid=9: Mon Mar  1 10:00:00 2021\n"
        f"  {direction}: IOPS={iops}, BW={iops * 4096 // 1024}KiB/s\n"
        f"     lat (nsec): min=900, max=900000, avg={mean_us * 1000:.2f}, stdev=1.00\n"
        "    clat percentiles (usec):\n"
        f"     |  1.00th=[ 1], 5.00th=[ {p5_us}], 50.00th=[ {mean_us:.0f}]\n"
        f"  cpu          : usr={cpu}.00%, sys=0.00%, ctx=1, majf=0, minf=1\n"
    )


def test_the_page_cache_without_disk_statistics() -> None:
    assert "IMPOSSIBLE" in codes(in_memory("randread"))
    assert "IMPOSSIBLE" not in codes(in_memory("randread", mean_us=90, p5_us=60))
    # Read ahead: most reads in order are answered from memory, at the disk's rate.
    assert "IMPOSSIBLE" not in codes(in_memory("read"))
    assert "IMPOSSIBLE" in codes(in_memory("write"))
    assert "IMPOSSIBLE" not in codes(in_memory("write", mean_us=90))
    assert "IMPOSSIBLE" in codes(in_memory("write", mean_us=90, cpu=99))
    assert "IMPOSSIBLE" not in codes(in_memory("write", more=" --fsync=1"))
    assert "IMPOSSIBLE" not in codes(in_memory("write", more=" --end_fsync=1"))


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/null", "/dev/urandom", "/dev/shm/file"])
def test_what_is_no_disk(target: str) -> None:
    line = "$ " + command(where=f"--filename={target}")
    assert "TARGET" in codes(only(line + "\n" + report_3().split("Disk stats")[0]))


def test_both_directions_of_a_volume_count_together() -> None:
    text = (
        "# c6id.4xlarge, single EBS gp3 of 100 GiB @ 3000 IOPS\n"
        f"{defined('randrw', 'fio-ebs')}"
        "fio-ebs: (groupid=0, jobs=1): err= 0: pid=9: Mon Mar  1 10:00:00 2021\n"
        "  read: IOPS=2250, BW=9004KiB/s (9220kB/s)(6142MiB/698555msec)\n"
        "  write: IOPS=751, BW=3005KiB/s (3077kB/s)(2050MiB/698555msec); 0 zone resets\n"
        "     issued rwts: total=1572409,524743,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )
    assert [codes(one) for one in imported(text)] == [["CAP"], ["CAP"]]
    assert all("CAP" not in codes(one) for one in imported(text.replace("3000 IOPS", "9000 IOPS")))


def test_writes_that_no_memory_holds() -> None:
    written = in_memory("write")
    assert impossible.judge(dataclasses.replace(written, io_bytes=10**9)) is not None
    assert impossible.judge(dataclasses.replace(written, io_bytes=110 * 10**9)) is None


def test_a_trim_copies_nothing() -> None:
    large = Measurement(
        source=Source.IMPORT, job="x", direction="write", block_size_bytes=1 << 20,
        latency_min_ns=15_000,
    )  # fmt: skip
    assert impossible.judge(large) is not None
    assert impossible.judge(dataclasses.replace(large, direction="trim")) is None


def test_requests_and_merges_bound_what_reached_a_disk() -> None:
    # rbd takes requests of 4 MiB: 1,000 of them for 8,000 reads of 512 KiB.
    io = DeviceIo("rbd0", 1000, 0, read_merges=7000)
    read = Measurement(
        source=Source.IMPORT, job="x", direction="read", rw="read", direct=False,
        block_size_bytes=512 * 1024, total_ios=8000, io_bytes=8000 * 512 * 1024,
        runtime_ms=60_000, device="rbd0", members=("rbd0",), device_io=(io,),
    )  # fmt: skip
    assert coverage.judge(read) is None
    none = dataclasses.replace(io, read_merges=0)
    assert coverage.judge(dataclasses.replace(read, device_io=(none,))) is not None


def test_a_cut_figure_may_be_as_far_off_as_it_was_printed() -> None:
    cut = Measurement(
        source=Source.IMPORT, job="x", direction="read", iops=26_991.0, printed_iops=26_000.0
    )
    assert unit_slips.judge(cut) is not None
    assert unit_slips.judge(dataclasses.replace(cut, printed_iops_error=1000.0)) is None


# --------------------------------------------------------------------------- bounds


def notes(data: bytes) -> tuple[str, ...]:
    return import_reports(data, file="x").notes


def test_what_is_not_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notes(report_3().encode()) == ()
    assert "terse" in notes(b"3;fio-3.33;job;0;0;1;2;3\n")[0]
    monkeypatch.setattr(fio_import, "MOST_RESULTS", 2)
    kept = import_reports((report_3() + "\n" + report_3(pid=2)).encode() * 2, file="x")
    assert len(kept.judged) == 2
    assert "only the first 2 results" in kept.notes[0]
    monkeypatch.setattr(reader, "MOST_LINES", 30)
    assert "at line 31;" in notes(report_3().encode() * 3)[0]
    monkeypatch.setattr(draft, "MOST_SECTIONS", 1)
    two = json.loads((FIO / "fio-3.33-group.json").read_bytes())
    two["jobs"] *= 2
    assert "of the 2 jobs" in notes(json.dumps(two, indent=1).encode())[0]
    monkeypatch.setattr(json_report, "MOST_CHARACTERS", 2000)
    assert any("of a JSON document" in note for note in notes(json.dumps(two).encode()))


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    from appliance.cli.bench_import import import_files

    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        import_files(files=[str(tmp_path / "pipe")], machine="", db=None, as_json=False)
