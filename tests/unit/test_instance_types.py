"""The table of machine types: each row for itself, and beside its family's."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from appliance import data
from appliance.bench.validity.impossible import MAX_OF_PUBLISHED
from appliance.cli.main import main
from appliance.clouds.capability import measured_by_others
from appliance.clouds.provider import disk_count, provider
from appliance.data import InstanceType, instance_type
from appliance.model.disks import Disk, DiskKind, Machine
from appliance.storage.policy.identity import identify

ALL = tuple(data.instance_types().values())
EC2 = [one for one in ALL if one.provider == "aws"]
GIB = 1 << 30


def family(one: InstanceType) -> str:
    if one.provider == "azure":
        return re.sub(r"_L\d+i?", "_L", one.name)
    return re.split(r"[.-]" if one.provider == "gcp" else r"[.]", one.name)[0]


def test_every_row_of_the_file_is_another_type() -> None:
    rows = (data.DIRECTORY / "instance_types.csv").read_text().splitlines()[1:]
    assert len(rows) == len({one.name.casefold() for one in ALL})


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_a_row(one: InstanceType) -> None:
    sources = [data.instance_sources()[key] for key in one.sources]
    assert sources
    assert len(set(sources)) == len(sources)
    assert one.architecture in {"x86_64", "arm64"}
    assert one.hypervisor in {"nitro", "xen", "bare-metal", "kvm", "hyper-v", "unknown"}
    assert ("metal" in one.name) == (one.hypervisor == "bare-metal")
    assert one.boot_modes in {("bios",), ("uefi",), ("bios", "uefi"), ()}
    if one.provider == "oci":
        assert (one.disk_count, one.transport, one.media) == (None, "unknown", "unknown")
        return
    assert (one.transport, one.media) in {
        ("nvme", "ssd"), ("nvme", "hdd"), ("xen", "ssd"), ("xen", "hdd"),
    }  # fmt: skip
    assert 1 <= (one.disk_count or 0) <= 48
    # m3.medium has 4 GB, Azure's Laosv5 15,360 GB.
    assert 4 * 10**9 <= (one.disk_size_bytes or 0) <= 15_360 * 10**9
    assert 1 <= (one.vcpus or 0) <= 1024
    assert one.memory_mib is None or 1 <= one.memory_mib / (one.vcpus or 1) / 512 <= 64
    # Figures come with what they are for, and bandwidth with IOPS of about 4 KiB and more.
    assert (one.read_iops is None) or one.published_by.conditions
    assert (one.read_iops or 0) >= (one.write_iops or 0)
    for iops, rate in (
        (one.read_iops, one.read_bytes_per_s),
        (one.write_iops, one.write_bytes_per_s),
    ):
        assert iops is None or iops >= (one.disk_count or 0)
        assert rate is None or (iops and 4096 <= rate / iops <= 8192)
    found = provider(one.provider)
    assert found
    if not one.name.startswith("mac-"):
        assert re.fullmatch(found.machine_type_pattern, one.name)


def test_every_source_is_used_and_every_key_is_another() -> None:
    assert {key for one in ALL for key in one.sources} | {"gcp-local-ssd"} == set(
        data.instance_sources()
    )
    assert len(data.instance_sources()) == len(data.toml_rows("instance_sources.toml"))


def test_ec2s_totals_are_those_of_equal_disks() -> None:
    for one in EC2:
        for total in (one.read_iops, one.write_iops):
            assert total is None or total % (one.disk_count or 0) == 0, one.name


def test_architectures_follow_the_families() -> None:
    for one in EC2:
        found = re.match(r"[a-z]+\d+([a-z]*)", family(one))
        graviton = bool(found and found.group(1).startswith("g"))
        # Apple's own, and NVIDIA's Grace.
        others = family(one) in {"mac-m4", "mac-m4pro", "p6e-gb200"}
        assert (one.architecture == "arm64") == (graviton or others), one.name
    for one in ALL:
        if one.provider == "gcp":
            assert (one.architecture == "arm64") == (family(one) == "c4a"), one.name


def test_what_cannot_boot_by_uefi_is_named() -> None:
    bios = [one for one in ALL if one.boot_modes == ("bios",)]
    virtual = {family(one) for one in bios if one.hypervisor != "bare-metal"}
    xen = {family(one) for one in EC2 if one.hypervisor == "xen"}
    assert xen == {"c1", "c3", "d2", "h1", "i2", "i3", "m1", "m2", "m3", "r3", "x1", "x1e"}
    assert virtual == xen | {"g4ad", "p4d", "p4de", "trn1", "trn1n"}
    # All metal but Graviton's.
    metal = [one for one in EC2 if one.hypervisor == "bare-metal" and one.boot_modes]
    assert {one.name for one in metal if one.boot_modes == ("bios",)} == {
        one.name for one in metal if one.architecture == "x86_64" or one.name.startswith("mac-")
    }
    # No Gravitons start by BIOS.
    assert {one.boot_modes for one in ALL if one.architecture == "arm64"} == {
        ("uefi",), ("bios",), (),
    }  # fmt: skip
    assert [one.name for one in EC2 if not one.boot_modes] == [
        "dl1.24xlarge", "p6e-gb200.36xlarge", "trn2u.48xlarge",
    ]  # fmt: skip


def test_writes_are_untorn_where_the_guide_lists_the_family() -> None:
    untorn = defaultdict(set)
    for one in ALL:
        untorn[one.atomic_write_bytes].add(family(one))
    assert untorn[16384] == {"i4i", "im4gn", "is4gen", "i7i", "i7ie", "i8g", "i8ge"}
    assert untorn[4096] == {"i3", "i3en", "i4g"}
    assert set(untorn) == {4096, 16384, None}


# Sizes with other shares of one disk, by the guide.
_SHARED = {"g4dn", "g6", "g6e", "g6f"}
# Totals rounded to 0.1 million, and one whose page is in doubt (its note).
_ROUNDED = {"Standard_Ls_v2", "Standard_Ls_v3", "Standard_Las_v3", "Standard_Laos_v5"}


def test_a_larger_disk_of_a_family_is_not_slower() -> None:
    families = defaultdict(list)
    for one in ALL:
        if one.read_iops and one.disk_count:
            per_disk = one.read_iops / one.disk_count, (one.write_iops or 0) / one.disk_count
            families[family(one)].append((one.disk_size_bytes or 0, *per_disk, one.name))
    odd = set()
    for name, rows in families.items():
        rows.sort()
        for less, more in pairwise(rows):
            (size, reads, writes, _), (larger, more_reads, more_writes, _) = less, more
            # A disk of the same size is as fast, but for the guide's own rounding.
            low, high = (0.997, 1.003) if size == larger else (1.0, 100.0)
            if not low <= more_reads / reads <= high:
                odd.add(name)
            if writes and not low <= more_writes / writes <= high:
                odd.add(name)
    assert odd == _SHARED | _ROUNDED


def test_nothing_that_others_measured_is_impossible() -> None:
    held = 0
    for one in ALL:
        found = measured_by_others(one.name)
        if found is None or not one.disk_count or not one.published_by.limit:
            continue
        disks = one.disk_count if found.scope == "disk" else 1
        for measured, limit in (
            (found.read_iops, one.read_iops),
            (found.write_iops, one.write_iops),
        ):
            held += limit is not None
            assert limit is None or measured * disks <= MAX_OF_PUBLISHED * limit, one.name
    assert held > 300


# ---------------------------------------------------------------------------- completeness


@pytest.mark.parametrize(
    ("machine_type", "count"),
    [
        ("i3.16xlarge", 8),
        ("Standard_L80s_v2", 10),
        ("standard_l8s_V2", 1),
        ("Standard_L48as_v3", 6),
        ("Standard_L96s_v4", 12),
        ("Standard_L32aos_v4", 12),
        ("Standard_L160ias_v5", 8),
        ("Standard_L24aos_v5", 2),
        ("Standard_D2s_v4", None),
        ("c3-standard-44-lssd", 8),
        ("c3d-highmem-90-lssd", 8),
        ("c4-standard-288-lssd-metal", 6),
        ("c4a-highmem-64-lssd", 14),
        ("c4d-standard-64-lssd", 6),
        ("h4d-highmem-192-lssd", 10),
        ("z3-highmem-176-standardlssd", 12),
        # Its page contradicts itself: 9 disks, with the figures of 6.
        ("Standard_L96aos_v5", None),
        # Chosen when the machine is made.
        ("g4-standard-48", None),
        ("n2-standard-32", None),
        ("c4-standard-32", None),
        ("VM.DenseIO.E5.Flex-8", None),
        ("I3.large", None),
    ],
)
def test_how_many_disks_a_machine_has(machine_type: str, count: int | None) -> None:
    assert disk_count(machine_type) == count


@pytest.mark.parametrize("one", [one for one in ALL if one.transport == "xen"], ids=str)
def test_xen_disks_are_recognised_by_type_and_mapping(one: InstanceType) -> None:
    from appliance.clouds.aws import ephemeral_names

    assert one.disk_count
    assert one.disk_size_bytes
    letters = "bcdefghijklmnopqrstuvwxyz"[: one.disk_count]
    mapping = {f"ephemeral{at}": f"sd{letter}" for at, letter in enumerate(letters)}
    names = ephemeral_names(one.name, {"block-device-mapping": mapping})
    assert names == tuple(f"xvd{letter}" for letter in letters)
    machine = Machine(provider="aws", machine_type=one.name, ephemeral_names=names)
    size = one.disk_size_bytes

    def seen(name: str, size_bytes: int) -> Disk:
        disk = Disk(f"/dev/{name}", name, "", "", size_bytes, transport="xen", blank=True)
        return identify(disk, machine=machine)

    for name in names:
        assert (seen(name, size).kind, seen(name, size).claimable) == (
            DiskKind.INSTANCE_STORE, True,
        )  # fmt: skip
    # The provider's GB may be GiB; another size or name is another disk.
    assert seen(names[-1], size // 10**9 * GIB).claimable
    for other in (seen(names[-1], size * 2), seen("xvdzz", size)):
        assert not other.claimable
        assert "does not give it as instance storage" in other.reason
        assert "[[rule]]" in other.hint


# ------------------------------------------------------------------------------ the command


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = main(["types", *argv])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_many_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "I4I.*")
    heading, *rows = out.splitlines()
    assert status == 0
    assert heading.split() == ["TYPE", "ARCH", "DISKS", "READ", "IOPS", "WRITE", "IOPS", "BOOT",
                               "HYPERVISOR"]  # fmt: skip
    assert len(rows) == sum(family(one) == "i4i" for one in ALL)
    assert "i4i.4xlarge" in rows[3]
    assert "1 × 3,750 GB  400,000    220,000     bios uefi" in rows[3]
    assert call(capsys)[1].count("\n") == len(ALL) + 1


def test_one_has_everything_with_its_sources(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "i3.4xlarge")
    words = " ".join(out.split())
    assert "type i3.4xlarge provider aws" in words
    assert "vCPUs 16 memory 122 GiB hypervisor xen boots by bios disks 2 × 1,900 GB" in words
    assert "disk count checked before a volume is made" in words
    assert "read 825,000 IOPS write 360,000 IOPS" in words
    assert "the most that is possible: random, 4096 bytes, queues full" in words
    assert "411,200 read and 181,500 write IOPS" in words
    assert "atomic writes aligned, up to 4 KiB" in words
    assert "sources EC2 instance types guide: storage optimized" in words
    assert max(map(len, out.splitlines())) <= 100


def test_what_is_not_known_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    oracle = " ".join(call(capsys, "vm.denseio.e5.flex-8")[1].split())
    assert "provider oci: its machines and disks are not recognised" in oracle
    assert "disks unknown read not published" in oracle
    assert "1,112,606 read" in oracle
    chosen = " ".join(call(capsys, "g4-standard-48")[1].split())
    assert "4 × 375 GiB, or none: that is chosen when a machine is made" in chosen
    assert "disk count cannot be checked read 600,000 IOPS, 2,500 MiB/s" in chosen
    doubted = " ".join(call(capsys, "Standard_L96aos_v5")[1].split())
    assert "disks 9 × 11,520 GB kind ssd, NVMe disk count cannot be checked" in doubted
    assert "of all disks together, typical, not a limit: " in doubted
    assert "atomic writes unknown note the IOPS and the size for its vCPUs" in doubted
    xen = " ".join(call(capsys, "d2.xlarge")[1].split())
    assert "kind hdd, Xen (xvd), recognised by the block device mapping and the size" in xen
    assert " ? " in call(capsys, "VM.*")[1]


def test_json_has_the_same_of_one_and_of_many(capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = json.loads(call(capsys, "z3-highmem-8-highlssd", "--json")[1])["types"]
    assert one["disk_size_bytes"] == 3000 * GIB
    assert (one["read_bytes_per_s"], one["expected_disks"]) == (3000 << 20, 1)
    assert one["sources"][0]["key"] == "gcp-local-ssd"
    assert one["measured_by_others"] is None
    several = json.loads(call(capsys, "--json", "i3.*")[1])["types"]
    assert [each["measured_by_others"]["scope"] for each in several] == ["disk"] * 7
    assert Counter(each["provider"] for each in json.loads(call(capsys, "--json")[1])["types"]) == {
        "aws": 576, "gcp": 89, "azure": 66, "oci": 6,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["i3.4xlrge", "zzz.*", "", "i3.[", "i3.4xlarge\x1b[31m"])
def test_no_such_type_is_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, name)
    assert (status, out) == (2, "")
    message, hint = err.splitlines()
    assert message.startswith("error: no machine type ")
    assert hint == "hint: see all: stripewright types"
    assert "\x1b" not in err
    assert ("i3.4xlarge" in message.partition("the nearest")[2]) == name.startswith("i3.4")


def test_a_name_is_found_in_azures_case_only_there() -> None:
    found = instance_type("STANDARD_L8S_V3")
    assert found is not None
    assert found.name == "Standard_L8s_v3"
    assert instance_type("I3.LARGE") is None


def test_one_type_is_decoded_alone_and_is_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """At boot: all rows take the time of many."""
    for one in ALL:
        assert instance_type(one.name) == one
    instance_type.cache_clear()
    made = []
    real = InstanceType.__init__

    def counted(*given: object, **named: object) -> None:
        made.append(named["name"])
        real(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(InstanceType, "__init__", counted)
    assert disk_count("i4i.16xlarge") == 4
    assert [disk_count(one) for one in ("", "aws", "i4i.16xlarge,x86_64", "I3.large")] == [None] * 4
    assert made == ["i4i.16xlarge"]
