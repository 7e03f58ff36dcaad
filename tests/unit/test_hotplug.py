"""Waiting for udev: only for what it has not told of yet."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance.storage.probe import events
from appliance.system import process, stopping
from tests.unit.fakesysfs import three_disks


def test_waiting_for_disks_ends_when_the_process_is_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    polls: list[float] = []

    class Quiet:
        def poll(self, timeout: float) -> None:
            polls.append(timeout)
            assert len(polls) <= 4, "it goes on waiting"
            if len(polls) == 3:
                signal.raise_signal(signal.SIGTERM)

    arrivals = events.BlockEvents.__new__(events.BlockEvents)
    monkeypatch.setattr(arrivals, "_monitor", Quiet(), raising=False)
    with stopping.heeded():
        assert not arrivals.wait(600)
    assert len(polls) == 3
    assert max(polls) <= 1.0
    polls[:] = [0.0] * 3
    assert not arrivals.wait(0.0)


def test_udev_is_waited_for_until_it_has_told_of_every_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sysfs = three_disks(tmp_path)
    ran: list[str] = []

    def run(argv: Sequence[str], **_: object) -> process.Completed:
        ran.append(" ".join(argv[:2]))
        return process.Completed(tuple(argv), 0, "", "")

    monkeypatch.setattr(process, "run", run)

    def settled() -> bool:
        ran.clear()
        events.settle(sysfs.kernel)
        assert ran in ([], ["udevadm settle"])
        return not ran

    # A kernel without sequence numbers.
    assert not settled()
    for number in range(3):
        sysfs.put(f"block/nvme{number}n1/diskseq", str(number + 7))
    assert not settled()
    for number in range(3):
        links = ("/dev/disk/by-id/x", f"/dev/disk/by-diskseq/{number + 7}")
        sysfs.udev(f"nvme{number}n1", *links)
    assert settled()
    # Another disk came by that name, and udev has not seen it yet.
    sysfs.put("block/nvme2n1/diskseq", "10")
    assert not settled()


def test_what_the_kernel_tells_of_is_looked_at_when_udev_is_done_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel's events reach a unit with a network of its own, and udev's do not."""
    order: list[str] = []

    class Once:
        def poll(self, timeout: float) -> object:
            order.append("poll")
            return object() if len(order) == 1 else None

    def run(argv: Sequence[str], **_: object) -> process.Completed:
        order.append(" ".join(argv[:2]))
        return process.Completed(tuple(argv), 0, "", "")

    monkeypatch.setattr(process, "run", run)
    arrivals = events.BlockEvents.__new__(events.BlockEvents)
    monkeypatch.setattr(arrivals, "_monitor", Once(), raising=False)
    assert arrivals.wait(600)
    assert order == ["poll", "poll", "udevadm settle"]
    order.clear()
    events.refresh("/dev/md/data")
    # An answer of udev's, not an event: none is waited for.
    assert order == ["udevadm trigger", "udevadm settle"]


def test_a_disk_that_udev_is_not_done_with_fails_no_step_on_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(argv: Sequence[str], *, check: bool = True, **_: object) -> process.Completed:
        if argv[1] == "settle" and check:
            raise process.CommandFailed(tuple(argv), 1, "", "")
        return process.Completed(tuple(argv), 1, "", "")

    monkeypatch.setattr(process, "run", run)
    events.refresh("/dev/md/data")
