"""NVMe log page 0xD0: pages put together by hand, and nodes that do not give one."""

import ctypes
import json
import re
import struct
import time
from pathlib import Path

import pytest

from appliance.bench import log_page
from appliance.clouds.aws import decode
from appliance.errors import Refused
from appliance.figures.provisioned import since
from appliance.model.measurement import Exceeded, Provisioned
from appliance.storage.probe import nvme
from appliance.system.services import LOOK_UNIT

ROOT = Path(__file__).parents[2]
EBS, LOCAL = 0x3C23B510, 0xEC2C0D7E


def page(magic: int, *exceeded: int, size: int = 4096) -> bytes:
    """Magic, version, six totals, then the four counters at byte 56, the queue, the rest."""
    head = struct.pack("<II6Q4QQ", magic, 1, 11, 12, 13, 14, 15, 16, *exceeded, 17)
    return head.ljust(size, b"\xff")


def test_an_ebs_volume_tells_its_own_limits_and_the_machines():
    found = decode(page(EBS, 1, 2, 3, 4))
    assert found is not None
    assert found.limits == Provisioned(
        volume_iops_us=1, volume_throughput_us=2, instance_iops_us=3, instance_throughput_us=4
    )


def test_a_local_disk_keeps_its_own_limits_where_ebs_keeps_the_machines():
    found = decode(page(LOCAL, 0, 0, 30, 40))
    assert found is not None
    assert found.limits == Provisioned(volume_iops_us=30, volume_throughput_us=40)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        page(EBS, 1, 2, 3, 4)[:87],
        page(0, 1, 2, 3, 4),
        page(0x10B5233C, 1, 2, 3, 4),  # the magic number the other way round
        bytes(4096),
        b"\xff" * 4096,
    ],
)
def test_another_page_or_half_a_page_is_nothing(raw):
    assert decode(raw) is None


def test_as_many_bytes_as_are_needed_are_enough():
    assert decode(page(EBS, 1, 2, 3, 4)[:88]) is not None


def reading(magic: int = EBS, *exceeded: int) -> Exceeded:
    found = decode(page(magic, *exceeded))
    assert found is not None
    return found


def test_what_was_exceeded_between_two_readings():
    before = {"nvme1n1": reading(EBS, 100, 200, 300, 400)}
    after = {"nvme1n1": reading(EBS, 1_100, 200, 300, 2_400)}
    assert since(before, after) == Provisioned(volume_iops_us=1_000, instance_throughput_us=2_000)


def test_of_several_disks_the_longest():
    before = {name: reading(EBS, 0, 0, 0, 0) for name in ("nvme1n1", "nvme2n1")}
    after = {"nvme1n1": reading(EBS, 5, 0, 0, 9), "nvme2n1": reading(EBS, 7, 1, 0, 3)}
    assert since(before, after) == Provisioned(7, 1, 0, 9)


def test_counters_that_went_back_are_of_another_disk():
    before = {"nvme1n1": reading(EBS, 100, 0, 0, 0), "nvme2n1": reading(EBS, 1, 1, 1, 1)}
    after = {"nvme1n1": reading(EBS, 99, 5, 5, 5), "nvme2n1": reading(EBS, 3, 1, 1, 1)}
    assert since(before, after) == Provisioned(volume_iops_us=2)
    assert since(before, {"nvme1n1": after["nvme1n1"]}) is None


def test_a_disk_that_was_not_read_twice_tells_nothing():
    one = {"nvme1n1": reading(EBS, 1, 1, 1, 1)}
    assert since({}, one) is None
    assert since(one, {}) is None
    assert since(one, {"nvme1n1": reading(LOCAL, 5, 5, 5, 5)}) is None


@pytest.fixture
def ec2(tmp_path):
    """A volume of EBS and somebody else's drive; both nodes are plain files."""
    for name, model in (
        ("nvme3n1", "Amazon Elastic Block Store              "),
        ("nvme4n1", "Samsung SSD 970 EVO Plus 1TB"),
    ):
        (tmp_path / name / "device").mkdir(parents=True)
        (tmp_path / name / "device/model").write_text(f"{model}\n")
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / "dev" / name).write_bytes(page(EBS, 1, 2, 3, 4))
    return {"sys_block": tmp_path, "dev": tmp_path / "dev"}


def test_a_node_that_gives_no_log_page(ec2):
    # a plain file answers no ioctl
    assert log_page.read_exceeded(("nvme3n1", "nvme4n1", "nvme9n1", "sda"), **ec2) == {}


def test_the_command_that_is_sent_is_get_log_page_and_only_to_ec2s_disks(ec2, monkeypatch):
    sent = []

    def ioctl(_descriptor: int, request: int, argument: bytearray) -> int:
        assert request == 0xC0484E41
        sent.append(bytes(argument))
        (address,) = struct.unpack_from("<Q", argument, 24)
        ctypes.memmove(address, page(EBS, 1, 2, 3, 4), 4096)
        return 0

    monkeypatch.setattr(nvme.fcntl, "ioctl", ioctl)
    found = log_page.read_exceeded(("nvme3n1", "nvme4n1"), **ec2)
    assert {disk: one.limits for disk, one in found.items()} == {"nvme3n1": Provisioned(1, 2, 3, 4)}
    (command,) = sent
    assert len(command) == 72
    opcode, flags, _, namespace = struct.unpack_from("<BBHI", command)
    assert (opcode, flags, namespace) == (0x02, 0, 1)
    data_bytes, dword_10, dword_11 = struct.unpack_from("<III", command, 36)
    assert data_bytes == 4096
    assert dword_10 & 0xFF == 0xD0
    assert (dword_10 >> 16) + 1 == 4096 // 4
    assert dword_11 == 0


# ------------------------------------------------------------------------------ without root


@pytest.fixture
def unprivileged(ec2, monkeypatch, tmp_path):
    """A bench unit: no root, no nodes of disks; ``looks`` are what each look of root's leaves."""
    looks: list[object] = []
    asked: list[float] = []
    seen = tmp_path / "seen.json"

    def have_root_look() -> None:
        asked.append(time.monotonic())
        if not looks:
            raise Refused("not allowed to start stripewright-look.service", "")
        kept = looks.pop(0)
        if kept == "late":
            kept = {"at_monotonic_s": asked[0] - 1, "disks": {}}
        seen.write_text(json.dumps({"exceeded": kept}))

    monkeypatch.setattr(log_page.os, "geteuid", lambda: 986)
    monkeypatch.setattr(log_page.services, "have_root_look", have_root_look)
    return looks, asked, {"sys_block": ec2["sys_block"], "seen": seen}


def kept(*exceeded: int) -> dict[str, object]:
    disks = log_page.to_json(
        {"nvme3n1": reading(EBS, *exceeded), "nvme9n1": reading(EBS, 9, 9, 9, 9)}
    )
    return {"at_monotonic_s": time.monotonic() + 60, "disks": disks}


def test_a_unit_without_root_reads_what_root_has_left(unprivileged):
    looks, asked, where = unprivileged
    looks += [kept(1, 2, 3, 4), kept(5, 2, 3, 4)]
    before, after = (log_page.ask_exceeded(("nvme3n1", "nvme4n1"), **where) for _ in range(2))
    assert list(before) == ["nvme3n1"]
    assert since(before, after) == Provisioned(volume_iops_us=4)
    assert len(asked) == 2


def test_a_reading_from_before_it_was_asked_for_is_not_taken(unprivileged):
    looks, asked, where = unprivileged
    looks += ["late", kept(1, 2, 3, 4)]
    assert list(log_page.ask_exceeded(("nvme3n1",), **where)) == ["nvme3n1"]
    looks += ["late", "late", kept(1, 2, 3, 4)]
    assert log_page.ask_exceeded(("nvme3n1",), **where) == {}
    assert len(asked) == 4


@pytest.mark.parametrize("left", [None, [], {"at_monotonic_s": "x"}, {"disks": {}}])
def test_what_was_not_left_is_not_known(unprivileged, left):
    looks, _, where = unprivileged
    looks += [left, left]
    assert log_page.ask_exceeded(("nvme3n1",), **where) == {}


def test_where_root_may_not_be_asked_nothing_is_known(unprivileged):
    _, _, where = unprivileged
    assert log_page.ask_exceeded(("nvme3n1",), **where) == {}


def test_root_is_asked_for_ec2s_disks_only(unprivileged):
    _, asked, where = unprivileged
    assert log_page.ask_exceeded(("nvme4n1",), **where) == {}
    assert asked == []


def test_the_bench_user_may_start_that_look_and_nothing_else():
    rules = (ROOT / "units/polkit/50-stripewright.rules").read_text()
    (rule,) = re.findall(r"if \(measures &&(.*)\) \{", rules)
    assert rule.strip() == f'unit === "{LOOK_UNIT}" && verb === "start"'
    # systemd's own limit would else make the look fail, for drift as well.
    unit = (ROOT / "units/systemd" / LOOK_UNIT).read_text()
    assert "\nStartLimitIntervalSec=0\n" in unit
