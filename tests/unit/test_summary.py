"""What is said of volumes of every kind, and what makes their results comparable."""

from __future__ import annotations

from appliance.errors import OperatorError, Refused
from appliance.model.disks import (
    Array,
    Disk,
    DiskKind,
    Filesystem,
    Inventory,
    LogicalVolume,
    LvmMember,
    Machine,
    Signature,
    VirtualDrive,
    VolumeGroup,
)
from appliance.model.plans import Decision, Layout, Plan, Volume, VolumePlan
from appliance.state.boot_state import Surroundings
from appliance.storage.execute import state_document

CHUNK = 262144


def _disk(number: int, **facts: object) -> Disk:
    return Disk(f"/dev/sd{number}", f"id{number}", "m", f"S{number}", 10**9, **facts)  # type: ignore[arg-type]


def _plain(number: int, label: str) -> Disk:
    return _disk(
        number,
        kind=DiskKind.NETWORK,
        signatures=(Signature("ext4", 0x438, label, "u"),),
        filesystem=Filesystem("ext4", label, "u", 0, 0),
        mountpoints=(f"/mnt/{label}",),
        mount_options="rw,noatime",
        blank=False,
    )


LVM = Volume("data", "/mnt/data", stripe="lvm-stripe", filesystem="ext4")
RAID10 = Volume("logs", "/mnt/logs", stripe="md-raid10")
PLAIN = Volume("vault", "/mnt/vault", stripe="single", filesystem="ext4")
RAW = Volume("raw", "", stripe="single", filesystem="none")
HARD = Volume("hard", "/mnt/hard", stripe="hw-raid0")
LAYOUT = Layout((LVM, RAID10, PLAIN, RAW, HARD))
GROUP = VolumeGroup(
    "stripewright-data", "gu", ("stripewright:data",), ("id1", "id2"), 2, 4194304, 0,
    (
        LogicalVolume(
            "data", "/dev/stripewright-data/data", 2 * 10**9, CHUNK, (("id2", "id1"),), True,
            Filesystem("ext4", "data", "u", CHUNK, 2 * CHUNK), "/mnt/data", "rw",
        ),
    ),
)  # fmt: skip
ARRAY = Array(
    "/dev/md127", "stripewright:logs", "au", "raid10", CHUNK, 4, ("id3", "id4", "id5", "id6"),
    "clean", 2 * 10**9, Filesystem("xfs", "logs", "u", CHUNK, 2 * CHUNK), "/mnt/logs", "rw",
    layout="near=2", degraded=1, sync_action="recover",
)  # fmt: skip
DISKS = (
    *(_disk(n, lvm_member=LvmMember(f"p{n}", "stripewright-data")) for n in (1, 2)),
    *(_disk(n) for n in (3, 4, 5, 6)),
    _plain(7, "vault"),
    _disk(8),
    _disk(9, filesystem=Filesystem("xfs", "hard", "u"), mountpoints=("/mnt/hard",)),
)
DRIVE = VirtualDrive(0, 1, "sw-hard", "raid0", CHUNK, 10**9, "Optl", "/dev/sd9", ("252:0",))
FOUND = Inventory(
    Machine(), DISKS, (ARRAY,), groups=(GROUP,), virtual_drives=(DRIVE,), privileged=True
)
PLAN = Plan(
    Decision.NOTHING,
    "",
    tuple(
        VolumePlan(v.name, Decision.NOTHING, "", ("/dev/sd8",) if v is RAW else ())
        for v in LAYOUT.volumes
    ),
    (),
)


def test_every_kind_of_volume_has_its_facts() -> None:
    facts = {one.name: one for one in state_document.volumes_up(FOUND, LAYOUT, PLAN)}
    assert list(facts) == ["data", "logs", "vault", "raw", "hard"]
    data, logs = facts["data"], facts["logs"]
    assert (data.level, data.chunk_bytes, data.uuid) == ("lvm-stripe", CHUNK, "gu")
    assert [one.serial for one in data.members] == ["S2", "S1"], "in stripe order"
    assert (logs.level, logs.data_disks, logs.degraded) == ("raid10", 2, 1)
    assert (facts["vault"].level, facts["vault"].filesystem) == ("", "ext4")
    assert (facts["raw"].device, facts["raw"].mount) == ("/dev/sd8", "")
    assert facts["hard"].level == "hw-raid0"


def test_the_fingerprint_names_every_volume() -> None:
    found = state_document.fingerprint(
        FOUND, state_document.volumes_up(FOUND, LAYOUT, PLAN), fio_version="fio-3.39"
    )
    assert found["serials"] == "S2,S1; S3,S4,S5,S6; S7; S8; S9"
    assert found["stripe"].startswith(
        "lvm-stripe chunk=262144 members=2; md-raid10 chunk=262144 members=4; single; single; "
    )
    assert found["filesystem"].split("; ")[3] == "none"


def test_what_is_mounted_elsewhere_is_not_up() -> None:
    moved = Layout((Volume("vault", "/mnt/other", stripe="single", filesystem="ext4"),))
    assert state_document.volumes_up(FOUND, moved, PLAN) == []


def test_the_state_has_each_volumes_own_outcome() -> None:
    facts = [one for one in state_document.volumes_up(FOUND, LAYOUT, PLAN) if one.name in
             {"data", "raw"}]  # fmt: skip
    failed = {"logs": Refused("holds ext4", "look"), "vault": OperatorError("mkfs failed", "x")}
    state = state_document.state_of(
        FOUND, PLAN, LAYOUT,
        outcome="refused", message="m", hint="h", up=facts, failed=failed,
        surroundings=Surroundings(),
    )  # fmt: skip
    assert {one.name: one.outcome for one in state.volumes} == {
        "data": "mounted", "logs": "refused", "vault": "failed", "raw": "up", "hard": "down",
    }  # fmt: skip
    logs = state.volumes[1]
    assert (logs.reason, logs.hint, logs.decision) == ("holds ext4", "look", "refuse")
