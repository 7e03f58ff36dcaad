"""Forms in which people paste reports and commands: loops, globs, commas, paths of a disk."""

from __future__ import annotations

import pytest

from tests.unit.legacies import codes, command, imported, only, report_3

STATISTICS = "Disk stats"


@pytest.mark.parametrize("mean", ["620,5", "620.50", "620,50"])
def test_a_decimal_comma(mean: str) -> None:
    evidence = only(command() + "\n" + report_3())
    assert evidence.latency_mean_ns is not None
    printed = f"avg={evidence.latency_mean_ns / 1000:.2f}"
    text = report_3()
    assert printed in text
    found = only(command() + "\n" + text.replace(printed, f"avg={mean}"))
    assert found.latency_mean_ns == 620_500


def test_the_runs_of_a_loop_have_its_command() -> None:
    loop = "$ for rw in randwrite randread; do " + command().replace("randread", "$rw") + "; done\n"
    write, read = report_3(direction="write"), report_3(device="nvme0n1")
    first, second = imported(loop + write + "\n" + read)
    assert first.target == second.target == "/mnt/data"
    assert (codes(first), codes(second)) == ([], ["TARGET"])
    # A command that says it all is for one report.
    plain = "$ " + command("randwrite") + "\n"
    assert imported(plain + write + "\n" + read)[1].target == ""


def test_two_runs_with_one_process_number_are_two() -> None:
    # Containers give out the same numbers again. What a run counts only grows, and fio says
    # what its jobs are once for a run.
    first = report_3()
    assert len(imported(first + "\n" + report_3(direction="write"))) == 2
    fewer = first.replace("total=74189000", "total=7418900")
    more = first.replace("total=74189000", "total=74199000")
    assert len(imported(first + "\n" + fewer)) == 2
    assert len(imported(first + "\n" + more)) == 1
    definition = (
        "job: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, "
        "ioengine=libaio, iodepth=32\n"
    )
    assert len(imported(definition + first + "\n" + definition + more)) == 2


@pytest.mark.parametrize(
    ("words", "members"),
    [
        ("/dev/nvme{1..4}n1", ("nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1")),
        ("/dev/nvme[1-2]n1", ("nvme1n1", "nvme2n1")),
        ("/dev/nvme[13]n1", ("nvme1n1", "nvme3n1")),
        ("/dev/nvme{0,2}n1 /dev/nvme5n1", ("nvme0n1", "nvme2n1", "nvme5n1")),
        ("/dev/xvd{b,c}", ("xvdb", "xvdc")),
        ("/dev/sd[b-d]", ("sdb", "sdc", "sdd")),
        ("/dev/nvme?n1 /dev/nvme10n1", ()),
        ("$DISKS /dev/nvme{9..", ()),
    ],
)
def test_the_members_of_an_array_as_a_shell_spells_them(
    words: str, members: tuple[str, ...]
) -> None:
    text = (
        "# i4i.16xlarge, instance storage\n"
        f"$ sudo mdadm --create /dev/md0 --level=0 --raid-devices=4 {words}\n"
        f"$ sudo mount /dev/md0 /mnt/data\n$ {command()}\n"
    )
    found = only(text + report_3().split(STATISTICS)[0])
    assert (found.device, found.members) == ("md0", members)
    # An array of unknown disks has no published limit: it is not one disk.
    assert (found.capability is None) == (members == ())


def test_a_path_of_a_disk_is_that_disk() -> None:
    told = f"# i4i.4xlarge\n$ {command(where='--filename=/dev/nvme1n1')}\n"
    path = only(told + report_3(device="nvme1c0n1"))
    assert (path.device, codes(path)) == ("nvme1n1", [])
    assert path.capability is not None
    # Both in one report are the same I/O told twice.
    both = report_3(device="nvme1n1").rstrip("\n")
    last = both.splitlines()[-1]
    twice = only(told + both + "\n" + last.replace("nvme1n1", "nvme1c0n1") + "\n")
    assert (twice.members, codes(twice)) == (("nvme1n1",), [])


def test_one_of_several_files_on_another_disk() -> None:
    where = "--filename=/dev/nvme1n1:/dev/nvme2n1"
    text = report_3(device="nvme1n1").replace("ios=74189000/0", "ios=37094500/0").rstrip("\n")
    last = text.splitlines()[-1]

    def on(second: str) -> list[str]:
        whole = f"$ {command(where=where)}\n{text}\n{last.replace('nvme1n1', second)}\n"
        return codes(only(whole))

    assert on("nvme2n1") == []
    assert on("nvme3n1") == ["TARGET"]


def test_buffered_random_reads_from_the_page_cache() -> None:
    buffered = command().replace(" --direct=1", "").replace("libaio", "psync").replace("=32", "=1")
    report = report_3().replace("depth=32", "depth=1")
    text = report.replace("ios=74189000/0", "ios=7418900/0")
    found = only("$ " + buffered + "\n" + text)
    assert "COVERAGE" in codes(found)
    whole = only("$ " + buffered + "\n" + report)
    assert "COVERAGE" not in codes(whole)
    # In order one request brings many blocks.
    ordered = buffered.replace("randread", "read")
    assert "COVERAGE" not in codes(only("$ " + ordered + "\n" + text.replace("randread", "read")))
