"""state.json as a value: there and back, what another version may have left, and what it joins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance.errors import OperatorError
from appliance.model.plans import Decision, Plan, Tuning
from appliance.state import boot_state
from appliance.state.boot_state import (
    BootMember,
    BootMount,
    BootState,
    BootVolume,
    Surroundings,
    VolumeNote,
)
from tests.unit.disks import array, inventory, member

DISKS = tuple(member(slot) for slot in range(2))
UP = BootVolume(
    "scratch",
    device="/dev/md127",
    level="raid0",
    chunk_bytes=262144,
    size_bytes=2**40,
    filesystem="xfs",
    mount="/mnt/scratch",
    members=(BootMember("/dev/nvme2n1", "b", "B"), BootMember("/dev/nvme1n1", "a", "A")),
    outcome="mounted",
)
STATE = BootState(
    volumes=(UP, BootVolume("logs", mount="/mnt/logs", outcome="refused")),
    at=1.5,
    boot_id="boot",
    pid=7,
    outcome="mounted",
    surroundings=Surroundings(
        Tuning(scheduler="none"),
        {"kernel": "6.12"},
        {"md127": "stripewright:scratch"},
        {"scratch": VolumeNote("u", ("b", None, "a"), BootMount("xfs", "rw", "rw", 2**40))},
    ),
    inventory=inventory(*DISKS, arrays=(array(*DISKS),)),
    plan=Plan(Decision.NOTHING, "d", (), ()),
    mounted_at_monotonic_s=3.5,
)


def written(folder: Path, state: BootState, **changes: object) -> Path:
    file = folder / "state.json"
    file.write_text(json.dumps({**state.document(), **changes}))
    return file


def test_there_and_back(tmp_path: Path) -> None:
    found = boot_state.load(written(tmp_path, STATE))
    assert found.document() == STATE.document()
    assert (found.surroundings, found.inventory, found.plan) == (
        STATE.surroundings,
        STATE.inventory,
        STATE.plan,
    )


def test_the_entries_have_the_keys_that_scripts_read() -> None:
    up, refused = STATE.document()["volumes"]
    assert up["members"][0] == {"path": "/dev/nvme2n1", "id": "b", "serial": "B"}
    assert set(up) == set(refused)
    assert {"name", "mount", "stripe", "decision", "reason", "hint", "outcome"} <= set(up)
    assert (refused["device"], refused["level"], refused["filesystem"]) == (None, None, None)
    bare = BootState((), outcome="waiting").document()
    assert set(bare) == set(STATE.document()) - {"surroundings", "inventory", "plan"}
    assert bare["mounted_at_monotonic_s"] is None


def test_what_stands_elsewhere_is_joined(tmp_path: Path) -> None:
    state = boot_state.load(written(tmp_path, STATE))
    volume = state.volume("scratch")
    assert volume is not None
    assert [(one.id, one.slot) for one in volume.members] == [("b", 0), ("a", 2)]
    assert volume.slot_count == 3
    assert volume.mounted == BootMount("xfs", "rw", "rw", 2**40)
    logs = state.volume("logs")
    assert logs is not None
    assert (logs.slot_count, logs.mounted, logs.is_up) == (0, None, False)
    assert state.volume("other") is None


@pytest.mark.parametrize("part", ["surroundings", "inventory", "plan"])
def test_a_part_of_another_version_hides_nothing_else(tmp_path: Path, part: str) -> None:
    found = boot_state.load(written(tmp_path, STATE, **{part: {"disks": 5, "values": 5}}))
    assert getattr(found, part) is None
    assert [one.outcome for one in found.volumes] == ["mounted", "refused"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "the boot unit has not run on this machine"),
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a state document"),
        ("{}", "volumes: missing"),
        ('{"volumes": [3]}', r"volumes\[0\]: not an object"),
        ('{"volumes": [{"outcome": "up"}]}', r"volumes\[0\]\.name: missing"),
        ('{"volumes": [], "pid": "1"}', "pid: '1' is not a whole number"),
    ],
)
def test_what_is_no_state_is_said(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "state.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(OperatorError, match=said):
        boot_state.load(file)
    assert boot_state.find(file) is None


def test_a_disk_without_a_slot_has_none(tmp_path: Path) -> None:
    note = Surroundings(volumes={"scratch": VolumeNote("u", ("b", None))})
    one = BootState((UP,), surroundings=note)
    found = boot_state.load(written(tmp_path, one)).volume("scratch")
    assert found is not None
    assert [member.slot for member in found.members] == [0, -1]
