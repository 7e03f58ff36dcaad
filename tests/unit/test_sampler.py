"""Counters and their rates, from a sysfs made of files."""

import threading

import pytest

from appliance.bench import quiet, sampler
from appliance.bench.target import Devices, devices_of
from appliance.model import Counters

LINE = "  100  2  800  30  50  1  400  20  3  40  55  0 0 0 0 0 0\n"


def counters(device: str = "nvme0n1", **changes: int) -> Counters:
    fields = dict.fromkeys(
        ("read_ios", "read_bytes", "read_ms", "write_ios", "write_bytes", "write_ms"), 0
    ) | {"in_flight": 0, "io_ms": 0}
    return Counters(device=device, **(fields | changes))


def test_a_stat_line_in_bytes():
    assert sampler.parse_counters("md0", LINE) == Counters(
        device="md0",
        read_ios=100,
        read_bytes=800 * 512,
        read_ms=30,
        write_ios=50,
        write_bytes=400 * 512,
        write_ms=20,
        in_flight=3,
        io_ms=40,
    )


@pytest.mark.parametrize("text", ["", "1 2 3", "a b c d e f g h i j k"])
def test_what_is_no_stat_line_is_none(text):
    assert sampler.parse_counters("md0", text) is None


def test_reading_leaves_out_a_device_that_has_gone(tmp_path):
    (tmp_path / "sda").mkdir()
    (tmp_path / "sda" / "stat").write_text(LINE)
    assert set(sampler.read_all(("sda", "sdb"), sys_block=tmp_path)) == {"sda"}


def test_rates_over_two_seconds():
    before = counters(read_ios=10, read_ms=5, io_ms=100)
    after = counters(read_ios=1010, read_bytes=4_096_000, read_ms=505, write_ios=0, io_ms=1100)
    sample = sampler.rates(before, after, seconds=2.0, at_ns=7)
    assert sample.read_iops == 500
    assert sample.read_bytes_per_s == 2_048_000
    assert sample.await_ms == 0.5
    assert sample.util == 0.5
    assert sample.at_ns == 7


def test_an_idle_device_has_no_await_and_util_stays_below_one():
    assert sampler.rates(counters(), counters(), seconds=1, at_ns=0).await_ms == 0
    assert sampler.rates(counters(), counters(io_ms=1005), seconds=1, at_ns=0).util == 1


def test_a_counter_that_went_backwards_counts_from_zero():
    assert sampler.delta(counters(read_ios=900), counters(read_ios=40)).read_ios == 40


def test_the_thread_samples_until_it_is_left():
    readings = iter(range(0, 100_000, 100))
    enough = threading.Event()

    def read(devices):
        value = next(readings)
        if value >= 400:
            enough.set()
        return {device: counters(device, read_ios=value) for device in devices}

    with sampler.Sampler(("md0", "a"), interval_seconds=0.01, read=read) as running:
        assert enough.wait(10)
    samples = running.drain()
    assert {sample.device for sample in samples} == {"md0", "a"}
    assert all(sample.read_iops > 0 for sample in samples)
    assert [s.at_ns for s in samples] == sorted(s.at_ns for s in samples)
    assert running.drain() == []


def test_no_devices_no_thread():
    with sampler.Sampler(()) as running:
        assert running.drain() == []


def test_foreign_load_names_the_disk():
    before = {"a": counters("a"), "b": counters("b")}
    quiet_after = {"a": counters("a", io_ms=90), "b": counters("b")}
    assert quiet.foreign_load(before, quiet_after, seconds=2) == ""
    busy = {"a": counters("a"), "b": counters("b", io_ms=400, write_ios=50)}
    reason = quiet.foreign_load(before, busy, seconds=2)
    assert "b was busy 20 %" in reason
    assert "25 writes" in reason


# ------------------------------------------------------------------------------- target


def block_tree(tmp_path):
    """A sysfs with an md0 over two NVMe disks, listed out of slot order."""
    devices = tmp_path / "devices"
    for name in ("nvme0n1", "nvme1n1", "md0"):
        (devices / name).mkdir(parents=True)
    (devices / "md0" / "slaves").mkdir()
    for slot, name in enumerate(("nvme1n1", "nvme0n1")):
        (devices / "md0" / "slaves" / name).symlink_to(devices / name)
        (devices / "md0" / "md" / f"dev-{name}").mkdir(parents=True)
        (devices / "md0" / "md" / f"dev-{name}" / "slot").write_text(f"{slot}\n")
    by_number = tmp_path / "dev" / "block"
    by_number.mkdir(parents=True)
    (by_number / "9:0").symlink_to(devices / "md0")
    (by_number / "259:0").symlink_to(devices / "nvme0n1")
    return tmp_path


def test_a_stripe_is_its_members_in_slot_order(tmp_path):
    found = devices_of((9 << 8) | 0, sys_root=block_tree(tmp_path))
    assert found == Devices(device="md0", members=("nvme1n1", "nvme0n1"))
    assert found.all == ("md0", "nvme1n1", "nvme0n1")


def test_a_plain_disk_is_its_own_member(tmp_path):
    found = devices_of((259 << 8) | 0, sys_root=block_tree(tmp_path))
    assert found.members == ("nvme0n1",)
    assert found.all == ("nvme0n1",)


def test_a_filesystem_without_device_says_so(tmp_path):
    found = devices_of(44, sys_root=tmp_path)
    assert found.members == ()
    assert found.all == ()
    assert "COVERAGE is not judged" in found.problem
    assert devices_of((8 << 8) | 1, sys_root=tmp_path).problem
