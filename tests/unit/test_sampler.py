"""Counters and their rates, from a sysfs made of files."""

import itertools
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.bench import idle_check, measure, sampler
from appliance.bench.block_devices import Devices, devices_of, disk_kinds
from appliance.model.disks import DiskKind
from appliance.model.runs import Counters

LINE = "  100  2  800  30  50  1  400  20  3  40  55  6 0 0 0 2 0\n"


def counters(device: str = "nvme0n1", **changes: int) -> Counters:
    fields = dict.fromkeys(
        ("read_ios", "read_bytes", "read_ms", "write_ios", "write_bytes", "write_ms"), 0
    ) | {"in_flight": 0, "io_ms": 0}
    return Counters(device=device, **(fields | changes))


def test_no_file_is_left_open(tmp_path):
    (tmp_path / "md0").mkdir()
    (tmp_path / "md0" / "stat").write_text(LINE)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        assert sampler.read_counters("md0", sys_block=tmp_path) is not None
        assert sampler.read_counters("gone", sys_block=tmp_path) is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_is_no_stat_line_is_nothing(tmp_path):
    (tmp_path / "md0").mkdir()
    for content in (b"", b"\xff\xfe 1 2 3 4 5 6 7 8 9 10 11", b"1 2 3"):
        (tmp_path / "md0" / "stat").write_bytes(content)
        assert sampler.read_counters("md0", sys_block=tmp_path) is None


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
        other_ios=8,
    )
    # A kernel before 5.5 counts no flushes, one before 4.18 no discards.
    assert sampler.parse_counters("md0", LINE.rpartition("6 0 0")[0]).other_ios == 0


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
    before, after = counters(read_ios=900, write_ios=5), counters(read_ios=40, write_ios=6)
    assert sampler.is_reset(before, after)
    assert sampler.delta(before, after) == after


@pytest.mark.parametrize("name", ["read_ios", "read_bytes", "write_ios", "write_bytes"])
def test_what_a_device_did_before_it_was_reset_is_not_known(name):
    before = {"a": counters("a", **{name: 10}), "b": counters("b")}
    after = {"a": counters("a", **{name: 9}), "b": counters("b", read_ios=1)}
    assert [change.device for change in sampler.deltas(before, after)] == ["b"]


@pytest.mark.parametrize("name", ["read_ms", "write_ms", "io_ms"])
def test_milliseconds_begin_again_at_2_to_the_32(name):
    before = counters(read_ios=100, read_bytes=4096, **{name: (1 << 32) - 30})
    after = counters(read_ios=110, read_bytes=8192, **{name: 20})
    assert not sampler.is_reset(before, after)
    passed = sampler.delta(before, after)
    assert getattr(passed, name) == 50
    assert (passed.read_ios, passed.read_bytes) == (10, 4096)
    # A step back by a little is the kernel's way of adding up, not 49 days.
    assert getattr(sampler.delta(counters(**{name: 30}), counters(**{name: 29})), name) == 0


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


class Clock:
    """Time that passes only while the sampler waits, and then by as much too long as told."""

    def __init__(self, late_by: list[float]) -> None:
        self.now, self._late_by = 100.0, late_by

    def monotonic(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return round(self.now * 1e9)

    def wait(self, seconds: float) -> bool:
        if not self._late_by:
            return True
        self.now += seconds + self._late_by.pop(0)
        return False


def sampled(late_by: list[float], monkeypatch) -> list[tuple[float, float]]:
    """Moments and rates of a device with 1000 reads a second."""
    clock = Clock(late_by)
    monkeypatch.setattr(sampler, "time", clock)
    running = sampler.Sampler(
        ("a",), read=lambda _: {"a": counters("a", read_ios=round(clock.now * 1000))}
    )
    monkeypatch.setattr(running, "_ended", SimpleNamespace(wait=clock.wait))
    running._work()
    return [(sample.at_ns / 1e9, sample.read_iops) for sample in running.drain()]


def test_a_steady_load_is_the_same_rate_in_every_sample(monkeypatch):
    assert sampled([0.0] * 4, monkeypatch) == [
        (moment, pytest.approx(1000)) for moment in (101, 102, 103, 104)
    ]


def test_a_late_wake_up_gives_one_longer_sample_and_none_over_nothing(monkeypatch):
    found = sampled([0.0, 5.2, 0.0, 0.7, 0.0, 0.0, 1e-6, 0.0], monkeypatch)
    assert [rate for _, rate in found] == pytest.approx([1000] * len(found), rel=0.002)
    moments = [100.0, *(moment for moment, _ in found)]
    spans = [after - before for before, after in itertools.pairwise(moments)]
    assert min(spans) >= 0.5
    assert len(found) == 7


def test_no_devices_no_thread():
    with sampler.Sampler(()) as running:
        assert running.drain() == []


def test_foreign_load_names_the_disk():
    before = {"a": counters("a"), "b": counters("b")}
    quiet_after = {"a": counters("a", io_ms=90), "b": counters("b")}
    assert idle_check.foreign_load(before, quiet_after, seconds=2) == ""
    busy = {"a": counters("a"), "b": counters("b", io_ms=400, write_ios=50)}
    reason = idle_check.foreign_load(before, busy, seconds=2)
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


def test_what_members_are_is_told_by_their_exact_model(tmp_path):
    for name, model in (
        ("nvme0n1", "Amazon EC2 NVMe Instance Storage        \n"),
        ("nvme1n1", "Amazon Elastic Block Store              \n"),
        ("nvme2n1", "Amazon EC2 NVMe Instance Storage Pro\n"),
        ("sda", "EphemeralDisk   \n"),
        ("vda", ""),
    ):
        disk = tmp_path / "devices" / name
        disk.mkdir(parents=True)
        (tmp_path / name).symlink_to(disk)
        (disk / "device").mkdir()
        (disk / "device" / "model").write_text(model)
        (disk / "device" / "vendor").write_text("Google  \n" if name == "sda" else "0x1d0f\n")
    (tmp_path / "scsi").mkdir()
    (tmp_path / "devices" / "sda" / "device" / "subsystem").symlink_to(tmp_path / "scsi")
    part = tmp_path / "devices" / "nvme0n1" / "nvme0n1p1"
    part.mkdir()
    (part / "partition").write_text("1\n")
    (tmp_path / "nvme0n1p1").symlink_to(part)
    members = ("nvme0n1", "nvme0n1p1", "sda", "nvme1n1", "nvme2n1", "vda", "gone")
    assert disk_kinds(members, sys_block=tmp_path) == (
        *(DiskKind.INSTANCE_STORE,) * 3,
        DiskKind.NETWORK,
        *(DiskKind.UNKNOWN,) * 3,
    )


def test_a_filesystem_without_device_says_so(tmp_path):
    found = devices_of(44, sys_root=tmp_path)
    assert found.members == ()
    assert found.all == ()
    assert "COVERAGE is not judged" in found.problem
    assert devices_of((8 << 8) | 1, sys_root=tmp_path).problem


# ------------------------------------------------------------------------ the host's CPU


def test_the_busy_share_of_all_processors():
    before, after = (
        measure.CpuTimes(busy=100.0, idle=900.0),
        measure.CpuTimes(busy=130.0, idle=970.0),
    )
    assert measure.busy_percent(before, after) == pytest.approx(30)
    assert measure.busy_percent(before, before) is None
    assert measure.busy_percent(before, measure.CpuTimes(busy=101.0, idle=899.9)) == 100


def test_waiting_for_the_disk_is_not_busy_and_guests_are_counted_once(monkeypatch):
    monkeypatch.setattr(
        measure.psutil,
        "cpu_times",
        lambda: SimpleNamespace(
            user=10.0,
            nice=1.0,
            system=2.0,
            idle=50.0,
            iowait=30.0,
            irq=0.5,
            softirq=0.5,
            steal=1.0,
            guest=5.0,
            guest_nice=1.0,
        ),
    )
    assert measure.cpu_times() == measure.CpuTimes(busy=15.0, idle=80.0)
