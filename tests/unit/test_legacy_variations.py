"""Diaries that nobody has written yet: the same evidence in other words and forms."""

from __future__ import annotations

import pytest

from appliance.model.measurement import Measurement
from tests.unit.legacies import codes, command, imported, measured, only, report_3


def diary(*parts: str) -> tuple[Measurement, ...]:
    return imported("\n".join(parts))


PROMPTS = [
    "[ec2-user@ip-10-0-0-136 ~]$ sudo ",
    "ubuntu@ip-10-0-0-5:~$ ",
    "root@host:/# time ",
    "(base) [centos@node1 data]$ ",
    "sh-4.2$ sudo ",
    "# ",
    "$ ",
    "> $ ",
    "+ ",
    "    numactl -N 0 ",
    "/usr/local/bin/",
    "nohup taskset -c 0-3 ",
    "Run: `",
]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_command_behind_any_prompt(prompt: str) -> None:
    evidence = only(prompt + command() + "\n" + report_3())
    assert (evidence.target, evidence.engine, evidence.iodepth) == ("/mnt/data", "libaio", 32)
    assert (evidence.runtime_asked_ms, evidence.direct) == (180_000, True)


@pytest.mark.parametrize(
    "line",
    [
        "fio -filename=/mnt/data/f -direct=1 -iodepth 32 -thread -rw=randread -ioengine=libaio"
        " -bs=4k -size=1G -numjobs=16 -runtime=180 -time_based -group_reporting -name=job",
        "fio --rw randread --bs 4k --iodepth 32 --ioengine libaio --direct 1 --directory /mnt/data/"
        " --runtime=3m --time_based --numjobs 16 --name job",
        "fio --name=global --rw=randread --bs=4k --iodepth=32 --ioengine=libaio --direct=1"
        " --directory=/mnt/data --time_based --runtime=180s --name=job --numjobs=16",
        "fio --name=job --rw=randread --bs=4k \\\n  --iodepth=32 --ioengine=libaio --direct=1 \\\n"
        "  --directory=/mnt/data --time_based --runtime=180 --numjobs=16",
    ],
)
def test_the_options_in_any_of_fios_forms(line: str) -> None:
    evidence = only(f"$ {line}\n{report_3()}")
    assert (evidence.target, evidence.engine, evidence.iodepth) == ("/mnt/data", "libaio", 32)
    assert (evidence.runtime_asked_ms, evidence.direct, evidence.rw) == (180_000, True, "randread")
    assert evidence.block_size_bytes == 4096


def test_a_job_file_shown_before() -> None:
    text = (
        "$ cat disk.fio\n[global]\nbs=4k\nioengine=libaio\niodepth=32\ndirect=1\nruntime=180\n"
        "time_based\ndirectory=/mnt/data\n\n[job]\nrw=randread\nnumjobs=16\n\n"
        f"[root@box ~]# fio disk.fio\n{report_3()}"
    )
    evidence = only(text)
    assert (evidence.rw, evidence.iodepth, evidence.target) == ("randread", 32, "/mnt/data")
    assert evidence.runtime_asked_ms == 180_000


def test_what_a_shell_or_a_reader_would_have_put_in_is_not_known() -> None:
    asked = "$ fio --name=$n --rw=randread --bs=${bs}k --iodepth=<depth> --directory=/mnt/data\n"
    evidence = only(asked + report_3())
    assert (evidence.block_size_bytes, evidence.target) == (
        4096,
        "/mnt/data",
    )  # 4096 by the figures
    assert evidence.iodepth == 32  # as the report prints it


def test_a_command_of_another_report_is_not_this_ones() -> None:
    other = only(f"$ {command(rw='randwrite')}\n{report_3()}")
    assert (other.target, other.runtime_asked_ms) == ("", None)
    named = only(f"$ {command().replace('name=job', 'name=else')}\n{report_3()}")
    assert named.target == ""


def test_a_second_run_of_the_same_job_is_of_the_same_command() -> None:
    first, second = diary("$ " + command(), report_3(), "again", report_3(pid=7))
    assert (first.target, second.target) == ("/mnt/data", "/mnt/data")
    assert second.direct is True
    other = diary("$ " + command(), report_3(), "again", report_3(pid=7, name="other"))[1]
    assert (other.target, other.direct) == ("", None)


# --------------------------------------------------------------------------- wrong targets


WRITE = "$ " + command(rw="randwrite") + "\n" + report_3(direction="write", device="nvme1n1")
READ = "$ " + command() + "\n" + report_3(device="nvme0n1", pid=5)


def wrong(found: tuple[Measurement, ...]) -> list[bool]:
    return ["TARGET" in codes(one) for one in found]


def test_a_read_of_another_disk_than_was_written() -> None:
    found = diary("# i3.4xlarge", WRITE, "## random read", READ)
    assert wrong(found) == [False, True]
    assert found[1].expected == ("nvme1n1",)


@pytest.mark.parametrize(
    "between",
    [
        "$ sudo umount /mnt/data && sudo mount /dev/nvme0n1 /mnt/data",
        "/dev/nvme0n1    1.8T  1.8G  1.8T   1% /mnt/data",
        "/dev/nvme0n1 on /mnt/data type xfs (rw,noatime)",
        "nvme0n1 259:0    0  1.7T  0 disk /mnt/data",
        "## The same on a single EBS volume",
        "# i3.8xlarge",
        "Instance type: m5d.4xlarge",
    ],
)
def test_another_mount_or_machine_that_is_stated_is_no_wrong_target(between: str) -> None:
    assert wrong(diary("# i3.4xlarge", WRITE, between, READ)) == [False, False]


def test_another_host_is_another_disk() -> None:
    first = WRITE.replace("$ fio", "[a@one ~]$ fio")
    second = READ.replace("$ fio", "[a@two ~]$ fio")
    assert wrong(diary(first, second)) == [False, False]
    assert wrong(diary(first, second.replace("two", "one"))) == [False, True]


def test_an_array_on_the_directory_is_a_new_layout_and_its_disk_alone_another() -> None:
    stripe = READ.replace(
        "  nvme0n1: ios",
        "    md0: ios=74189000/0, merge=0/0, ticks=0/0, in_queue=0, util=0.00%, "
        "aggrios=37094500/0, aggrmerge=0/0, aggrticks=45500000/0, aggrin_queue=0, aggrutil=99.00%\n"
        "  nvme1n1: ios=37094500/0, merge=0/0, ticks=45500000/0, in_queue=1, util=99.00%\n"
        "  nvme0n1: ios",
    ).replace("nvme0n1: ios=74189000/0", "nvme0n1: ios=37094500/0")
    found = diary(WRITE, stripe, READ)
    assert [one.device for one in found] == ["nvme1n1", "md0", "nvme0n1"]
    assert wrong(found) == [False, False, False]
    # The stripe was lost and the directory is now on the system's disk.
    lost = diary(stripe, READ.replace("nvme0n1", "nvme9n1"))
    assert wrong(lost) == [False, True]


def test_a_device_that_fio_was_told_and_another_that_did_it() -> None:
    told = "$ " + command(where="--filename=/dev/nvme1n1p1") + "\n"
    assert codes(only(told + report_3(device="nvme1n1"))) == []
    assert codes(only(told + report_3(device="nvme2n1"))) == ["TARGET"]
    # /dev/xvdb is a link to an NVMe disk on machines that have those.
    link = "$ " + command(where="--filename=/dev/xvdb") + "\n"
    assert codes(only(link + report_3(device="nvme2n1"))) == []


# --------------------------------------------------------------------------- machines, volumes


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        ("# i4i.4xlarge", "i4i.4xlarge"),
        ("## Results (m5d.metal)", "m5d.metal"),
        ("Product Name: i3en.24xlarge", "i3en.24xlarge"),
        ("**Standard_L8s_v3**", "Standard_L8s_v3"),
        ("VM: n2-standard-16 with 4 local SSDs", "n2-standard-16"),
        ("We took an i3.2xlarge because it was cheap and it had been used before by others.",
         "i3.2xlarge"),
        ("# i3.large\nThe i3.16xlarge would have had eight of these drives instead of one.",
         "i3.large"),
        ("# i3.large\n# i3.xlarge", "i3.xlarge"),
        ("# i3.large\n| i3.xlarge | 200 |\n| i3.2xlarge | 400 |", "i3.large"),
        ("# i3.large\n## i3.xlarge or i3.2xlarge?", "i3.large"),
        ("see file.small, www.large and v1.2.medium-sized", ""),
        ("the m5d.8large that somebody mistyped here", ""),
    ],
)  # fmt: skip
def test_the_nearest_machine_type_and_headings_first(text: str, machine: str) -> None:
    assert only(text + "\n\n" + report_3()).machine_type == machine


def test_the_operator_knows_better() -> None:
    found = imported("# i3.large\n" + report_3(), machine_type="i3.4xlarge")
    assert found[0].machine_type == "i3.4xlarge"
    assert found[0].capability is not None


@pytest.mark.parametrize(
    ("heading", "iops"),
    [
        ("## Single gp3 volume, 100 GB", 3000),
        ("## EBS io2 1TB @ 20k IOPS", 20_000),
        ("### io1 of 300GB @ 15000iops", 15_000),
        ("### gp3 12,000 IOPS 500 MiB/s", 12_000),
    ],
)
def test_volumes_in_headings(heading: str, iops: float) -> None:
    capability = only(f"{heading}\n{command()}\n{report_3()}").capability
    assert capability is not None
    assert (capability.kind, capability.iops) == ("network", iops)


def test_words_of_ebs_keep_instance_storage_limits_away() -> None:
    text = "# m5d.4xlarge\n## One EBS volume\n" + command() + "\n" + report_3(device="nvme2n1")
    capability = only(text).capability
    assert capability is None or capability.kind == "network"
    own = only(text.replace("One EBS volume", "Instance storage")).capability
    assert own is not None
    assert own.kind == "instance-store"


def test_disks_that_say_themselves_what_they_are() -> None:
    listing = (
        "/dev/nvme1n1  AWS1A2B  Amazon EC2 NVMe Instance Storage  1  300.00 GB\n"
        "/dev/nvme2n1  vol0123  Amazon Elastic Block Store  1  8.59 GB\n"
    )
    text = f"# m5d.4xlarge\n$ sudo nvme list\n{listing}\n{command()}\n"
    own = only(text + report_3(device="nvme1n1")).capability
    network = only(text + report_3(device="nvme2n1")).capability
    assert own is not None
    assert own.kind == "instance-store"
    assert network is not None
    assert network.kind == "network"


def test_the_systems_disk_is_not_instance_storage() -> None:
    listing = (
        "nvme0n1     259:0    0    8G  0 disk\n"
        "└─nvme0n1p1 259:1    0    8G  0 part /\n"
        "nvme1n1     259:2    0  279G  0 disk /mnt\n"
    )
    text = f"# m5d.4xlarge\n{listing}\n{command()}\n"
    assert only(text + report_3(device="nvme0n1")).capability is None
    assert only(text + report_3(device="nvme1n1")).capability is not None


def test_a_report_without_statistics_has_the_device_that_is_mounted_there() -> None:
    cut = report_3().split("Disk stats")[0]
    text = (
        "$ mdadm --create /dev/md0 --level=0 --raid-devices=2 /dev/nvme0n1 /dev/nvme1n1\n"
        f"$ mount -o noatime /dev/md0 /mnt/data/\n$ {command(where='--directory=/mnt/data/sub')}\n"
    )
    evidence = only(text + cut)
    assert (evidence.device, evidence.members) == ("md0", ("nvme0n1", "nvme1n1"))
    assert evidence.device_io == ()


def test_quoted_and_indented_and_coloured() -> None:
    whole = only(command() + "\n" + report_3())
    lines = (command() + "\n" + report_3()).splitlines()
    for text in (
        "\n".join("> " + line for line in lines),
        "\n".join("    " + line for line in lines),
        "\r\n".join(lines),
        "\n".join("\x1b[32m" + line + "\x1b[0m" for line in lines),
        "```\n" + "\n".join(lines) + "\n```",
    ):
        assert measured(only(text)) == measured(whole)
