from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from appliance.model.disks import Disk, Inventory, Machine
from appliance.state.boot_state import BootState
from appliance.storage.execute import watch
from appliance.system import journal


@dataclass
class Event:
    action: str
    sys_name: str
    device_type: str = "disk"
    properties: Mapping[str, str] = field(default_factory=dict)


RESIZE = {"RESIZE": "1"}


class Over(Exception):
    """No more events: a monitor would wait for ever."""


class Events:
    def __init__(self, *events: Event | None) -> None:
        self.left = list(events)

    def poll(self, timeout: float | None = None) -> Event | None:
        if self.left:
            return self.left.pop(0)
        if timeout is None:
            raise Over
        return None


@pytest.mark.parametrize(
    ("event", "matters"),
    [
        (Event("add", "nvme5n1"), True),
        (Event("add", "sdb"), True),
        # Whoever closes a disk that he could write to has udev look at it.
        (Event("change", "nvme5n1"), False),
        (Event("change", "nvme5n1", properties=RESIZE), True),
        (Event("change", "nvme5n1", properties={"RESIZE": "0"}), False),
        (Event("change", "md127", properties=RESIZE), False),
        (Event("change", "dm-0", properties=RESIZE), False),
        (Event("change", "nvme5n1p1", "partition", properties=RESIZE), False),
        (Event("remove", "nvme5n1", properties=RESIZE), False),
        (Event("remove", "nvme5n1"), False),
        (Event("add", "nvme5n1p1", "partition"), False),
        (Event("add", "md127"), False),
        (Event("add", "dm-0"), False),
        (Event("add", "loop3"), False),
        (Event("add", "mdisk"), True),
    ],
)
def test_only_a_whole_disk_that_is_new_or_enlarged_matters(event: Event, matters: bool) -> None:
    assert watch.matters(event) is matters


def test_disks_that_arrive_together_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(journal, "event", lambda _, message, **__: told.append(message))
    looks: list[int] = []
    events = Events(
        Event("change", "sda"), Event("add", "nvme5n1"), Event("add", "nvme6n1"), None,
        Event("add", "md127"), Event("add", "nvme7n1"), Event("change", "nvme7n1", "disk", RESIZE),
        Event("change", "nvme1n1", "disk", RESIZE), None,
        Event("change", "nvme1n1", "disk", RESIZE),
    )  # fmt: skip
    with pytest.raises(Over):
        watch.follow(events, lambda: looks.append(1))
    assert len(looks) == 3
    assert told == [
        "new: nvme5n1, nvme6n1; the boot unit looks again",
        "new: nvme7n1; of another size: nvme1n1; the boot unit looks again",
        "of another size: nvme1n1; the boot unit looks again",
    ]


def test_a_disk_that_came_before_anybody_listened_is_not_missed() -> None:
    seen = Disk("/dev/nvme1n1", "id", "model", "serial", 10**9)
    state = BootState((), inventory=Inventory(Machine(), (seen,)))
    assert watch.unknown_disks(state, {"nvme1n1", "nvme2n1"}) == {"nvme2n1"}
    assert watch.unknown_disks(state, {"nvme1n1"}) == set()
    assert watch.unknown_disks(None, {"nvme1n1"}) == set(), "no look yet: one will come"
