"""Layout drift: what was declared, and came up, against what is there now. Pure.

One cause, one fact: of a volume whose stripe is gone or was recreated nothing more is told, and
the machine's disks are not counted again where a member that is missing says it.
"""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterable, Mapping, Sequence

from appliance.drift import stripe_rules
from appliance.drift.codes import fact
from appliance.drift.observation import Observation, name_of
from appliance.model.disks import DiskKind
from appliance.model.findings import DriftSeverity, Fact
from appliance.model.plans import Volume
from appliance.state.boot_state import BootVolume
from appliance.storage.formats import filesystem, lvm, md
from appliance.storage.formats.mount_unit import unit_name
from appliance.system.kernel import Mount
from appliance.text import size

# Stripes that cannot do without any of their members.
_NO_MIRROR = frozenset({"", "raid0", "lvm-stripe", "hw-raid0"})
_SECTOR_BYTES = 512
# What ext4 (and XFS, where it says so) shows after it has stopped by itself.
_STOPPED = frozenset({"emergency_ro", "shutdown"})
# What a filesystem that has shut down, or found itself damaged, says to stat(2) and statfs(2).
_FAILED = {errno.EIO: "EIO", errno.EUCLEAN: "EUCLEAN", errno.ESHUTDOWN: "ESHUTDOWN"}
# Options that say how the filesystem lies, which is compared by itself.
_GEOMETRY = ("sunit", "swidth")
# Not the mount unit: that mounts only what the boot unit has just proved.
_MOUNT_AGAIN = "systemctl reload-or-restart stripewright-assemble.service"


def judge(seen: Observation) -> tuple[Fact, ...]:
    """Everything that is not as it should be. Volumes that could not be looked at are left out
    (:attr:`Observation.blind`).
    """
    facts: list[Fact] = []
    replaced = []
    for volume in seen.volumes:
        stripe = stripe_rules.judge(seen, volume)
        facts += stripe.facts
        if stripe.array is not None:
            replaced.append(stripe.array.kernel_name)
        if not stripe.recreated and stripe.number:
            codes = {one.code for one in stripe.facts}
            lost = "ARRAY-BROKEN" in codes or (
                "MEMBER-MISSING" in codes and volume.level in _NO_MIRROR
            )
            facts += _of_mount(seen, volume, stripe.number, lost_a_disk=lost)
    counted = _disk_count(seen, facts)
    facts += counted
    if not counted:
        facts += _declared_count(seen, {one.volume for one in facts if one.code == "MEMBER-COUNT"})
    facts += _appeared(seen, replaced)
    return tuple(facts)


def _disk_count(seen: Observation, facts: Sequence[Fact]) -> list[Fact]:
    """The local disks that the machine's type is sold with."""
    expected = seen.machine.expected_disks
    if expected is None or ("DISK-COUNT", "") in seen.blind:
        return []
    local = [name_of(disk) for disk in seen.disks if disk.kind is DiskKind.INSTANCE_STORE]
    gone = {one.member for one in facts if one.code == "MEMBER-MISSING"} - set(local)
    if expected in {len(local), len(local) + len(gone)}:
        return []
    return [
        fact(
            "DISK-COUNT",
            seen.machine.machine_type,
            expected=f"{expected} local disks",
            observed=f"{len(local)} local disks",
            # More of them do no harm.
            severity=DriftSeverity.NOTICE if len(local) > expected else None,
            evidence={"serials": ", ".join(local)},
            count=len(local),
        )
    ]


def _declared_count(seen: Observation, told: Iterable[str]) -> list[Fact]:
    """The members that the layout counts or names. A controller's drives are no disks here."""
    facts = []
    for volume in seen.volumes:
        wanted = seen.declared(volume)
        if wanted is None or wanted.stripe == "hw-raid0" or volume.name in told:
            continue
        count = wanted.select.count or len(wanted.select.serials)
        members = volume.slot_count
        if count and members and count != members:
            facts.append(
                fact(
                    "MEMBER-COUNT",
                    volume.name,
                    expected=f"{count} members",
                    observed=f"{members} members",
                    volume=volume.name,
                    why=" as the layout declares",
                )
            )
    return facts


def _appeared(seen: Observation, replaced: Sequence[str]) -> list[Fact]:
    """Arrays and groups that are neither declared nor were there when the volumes came up."""
    if seen.built_then is None:
        return []
    now = {_key(key): name for key, name in seen.built_now.items()}
    if seen.seen is not None and seen.seen.groups is not None:
        now |= {_key(f"vg:{one.uuid}"): one.name for one in seen.seen.groups}
    known = {_key(one) for one in seen.built_then}
    known |= {_key(f"vg:{one.uuid}") for one in seen.groups_then}
    known |= {_key(f"{kind}:{one.uuid}") for one in seen.volumes for kind in ("md", "vg")}
    for array in seen.arrays:
        # Without udev's word it went by its kernel name.
        if array.kernel_name in replaced or _key(f"md:{array.kernel_name}") in known:
            known |= {_key(f"md:{array.uuid}"), _key(f"md:{array.kernel_name}")}
    ours = {md.array_name(name) for name in seen.layout.volume_names}
    ours |= {lvm.group_name(name) for name in seen.layout.volume_names}
    facts = []
    for key, name in now.items():
        if key in known or name in ours:
            continue
        kind, _, uuid = key.partition(":")
        what, evidence = "volume group", {}
        look = f"stripewright inventory; as root: vgs -o +devices {shlex.quote(name)}"
        if kind == "md":
            what, evidence = "md array", {"disks": _disks_of(seen, key)}
            look = "cat /proc/mdstat; as root: mdadm --detail --scan"
        facts.append(
            fact(
                "ARRAY-APPEARED",
                name or uuid,
                expected=f"no {what} but those of the declared volumes",
                observed=f"{what} {name} {uuid}",
                identity=key,
                evidence=evidence,
                what=what,
                look=look,
            )
        )
    return facts


def _key(key: str) -> str:
    """``md:UUID`` or ``vg:UUID`` in one form: udev, md and LVM group the digits as they like."""
    kind, _, uuid = key.partition(":")
    return f"{kind}:{uuid.replace(':', '').replace('-', '')}"


def _disks_of(seen: Observation, key: str) -> str:
    """The disks of the array with ``key`` (:func:`_key`)."""
    held = (
        one.holds
        for one in seen.arrays
        if key in {_key(f"md:{one.uuid}"), _key(f"md:{one.kernel_name}")}
    )
    return ", ".join(name_of(disk) for disks in held for disk in disks)


# ----------------------------------------------------------- mounts, filesystems, links


def _of_mount(
    seen: Observation, volume: BootVolume, number: str, *, lost_a_disk: bool
) -> tuple[Fact, ...]:
    """Mount, options, filesystem and link of a volume whose device is ``number``.

    ``lost_a_disk``: its stripe cannot give all data, so that the filesystem has stopped, too, is
    no news.
    """
    declared = seen.declared(volume)
    facts = _link(seen, volume, number)
    if not volume.mount:
        return tuple(facts)
    here = [one for one in seen.mounts if one.mountpoint == volume.mount]
    own = [one for one in here if one.device == number and one.root == "/"]
    if not own:
        return (*facts, _absent(volume, here))
    mount = own[-1]
    cover = _cover(seen.mounts, mount)
    if cover is not None:
        facts.append(
            fact(
                "MOUNT-COVERED",
                volume.name,
                expected=f"{volume.device} on top at {volume.mount}",
                observed=f"{cover.fstype} of {cover.source} at {cover.mountpoint}",
                volume=volume.name,
                cover=cover.mountpoint,
            )
        )
    stopped = _stopped(seen, volume, mount, covered=cover is not None)
    if stopped and not lost_a_disk:
        facts.append(
            fact(
                "FS-FAILED",
                volume.name,
                expected=f"a {volume.filesystem} that answers and can be written",
                observed=stopped,
                volume=volume.name,
                filesystem=volume.filesystem,
                mount=volume.mount,
            )
        )
    facts += _target(volume, declared)
    facts += _options(volume, mount, declared)
    facts += _geometry(seen, volume, mount, answers=cover is None)
    return tuple(facts)


# ------------------------------------------------------------------------------- the mount


def _absent(volume: BootVolume, here: Sequence[Mount]) -> Fact:
    return fact(
        "MOUNT-SOURCE" if here else "MOUNT-MISSING",
        volume.name,
        expected=f"{volume.device} mounted at {volume.mount}",
        observed=f"{here[-1].fstype} of {here[-1].source}"
        if here
        else f"nothing is mounted at {volume.mount}",
        volume=volume.name,
        mount=volume.mount,
        unit=unit_name(volume.mount),
    )


def _target(volume: BootVolume, declared: Volume | None) -> list[Fact]:
    """Whether the layout now mounts it elsewhere, and that was not applied."""
    if declared is None or declared.mount == volume.mount:
        return []
    return [
        fact(
            "MOUNT-MISSING",
            volume.name,
            expected=f"mounted at {declared.mount or 'no mount point'}",
            observed=f"mounted at {volume.mount}",
            volume=volume.name,
            summary="volume {volume} is declared to be {expected}, but it is {observed}",
            next_step="stripewright plan",
        )
    ]


def _cover(mounts: Sequence[Mount], own: Mount) -> Mount | None:
    """What hides ``own``: a mount at its place, or above it, that it does not stand on.

    What it stands on are its parents, up to the root (proc_pid_mountinfo(5)).
    """
    by_id: Mapping[int, Mount] = {one.mount_id: one for one in mounts}
    chain, at = {own.mount_id}, own
    while (parent := by_id.get(at.parent_id)) is not None and parent.mount_id not in chain:
        chain.add(parent.mount_id)
        at = parent
    hiding = [
        one
        for one in mounts
        if one.mount_id not in chain and _is_over(one.mountpoint, own.mountpoint)
    ]
    return hiding[-1] if hiding and own.mount_id else None


def _is_over(upper: str, lower: str) -> bool:
    return upper == lower or lower.startswith(upper.rstrip("/") + "/")


def _options(volume: BootVolume, mount: Mount, declared: Volume | None) -> list[Fact]:
    """Options as sets: the kernel's order is its own. A filesystem that made itself read-only
    has failed, which is another fact.
    """
    now = _words(mount.options, mount.super_options)
    then = now
    if volume.mounted is not None:
        then = _words(volume.mounted.options, volume.mounted.super_options)
    if declared is not None and declared.filesystem != "none":
        then = then | set(filesystem.mount_options(declared))
    apart = _STOPPED | ({"ro", "rw"} if _made_itself_read_only(mount) else set())
    lost, new = (",".join(sorted(one - apart)) for one in (then - now, now - then))
    if not lost and not new:
        return []
    change = [f"{word} {which}" for word, which in (("without", lost), ("with", new)) if which]
    return [
        fact(
            "MOUNT-OPTIONS",
            volume.name,
            expected=",".join(sorted(then)),
            observed=",".join(sorted(now)),
            volume=volume.name,
            evidence={"lost": lost, "new": new},
            mount=volume.mount,
            change=" and ".join(change),
            restore=f"mount -o remount,{lost} {volume.mount}"
            if lost
            else f"umount {volume.mount}; {_MOUNT_AGAIN}",
        )
    ]


def _words(*options: str) -> set[str]:
    words = ",".join(options).split(",")
    return {one for one in words if one and not one.startswith(_GEOMETRY)}


# -------------------------------------------------------------------------- the filesystem


def _made_itself_read_only(mount: Mount) -> bool:
    """``mount -o remount,ro`` makes both read-only; a filesystem after an error only itself."""
    return "ro" in mount.super_options.split(",") and "rw" in mount.options.split(",")


def _stopped(seen: Observation, volume: BootVolume, mount: Mount, *, covered: bool) -> str:
    """How it shows that the filesystem does not work any more, empty if it does."""
    words = _STOPPED & set(mount.super_options.split(","))
    was_read_only = volume.mounted is not None and "ro" in volume.mounted.super_options.split(",")
    if words:
        return f"it says {', '.join(sorted(words))}"
    if _made_itself_read_only(mount) and not was_read_only:
        return "it made itself read-only"
    answer = None if covered else seen.answers.get(volume.mount)
    if answer is None or answer.size_bytes is not None:
        return ""
    if answer.errno is None:
        return "it does not answer"
    return f"it answers {_FAILED[answer.errno]}" if answer.errno in _FAILED else ""


def _geometry(seen: Observation, volume: BootVolume, mount: Mount, *, answers: bool) -> list[Fact]:
    """Alignment, size and identity of the filesystem, from the kernel and from root's look."""
    expected, observed = [], []
    align = (volume.sunit_bytes or 0, volume.swidth_bytes or 0)
    root = seen.seen.filesystems.get(volume.name) if seen.seen else None
    found = None
    kind = filesystem.KINDS.get(volume.filesystem)
    if kind is not None and kind.alignment_in_mount and mount.fstype == kind.name:
        found = _alignment(mount.super_options)
    elif root is not None:
        found = (root.sunit_bytes or 0, root.swidth_bytes or 0)
    if found is not None and volume.sunit_bytes is not None and found != align:
        expected.append(_aligned(align))
        observed.append(_aligned(found))
    if root is not None and volume.filesystem_uuid and root.uuid != volume.filesystem_uuid:
        expected.append(f"{volume.filesystem} {volume.filesystem_uuid}")
        observed.append(f"{root.kind} {root.uuid}")
    answer = seen.answers.get(volume.mount) if answers else None
    then = volume.mounted.size_bytes if volume.mounted else None
    now = answer.size_bytes if answer else None
    if then is not None and now is not None and then != now:
        expected.append(f"{size(then)} ({then} bytes)")
        observed.append(f"{size(now)} ({now} bytes)")
    if not expected:
        return []
    return [
        fact(
            "FS-GEOMETRY",
            volume.name,
            expected=", ".join(expected),
            observed=", ".join(observed),
            volume=volume.name,
            info=" ".join(filesystem.info_argv(volume.filesystem, volume.device, volume.mount)),
        )
    ]


def _alignment(options: str) -> tuple[int, int]:
    """XFS shows sunit and swidth in sectors of 512 bytes, and neither where there is none."""
    values = dict(one.split("=", 1) for one in options.split(",") if "=" in one)
    unit, width = (values.get(key, "0") for key in _GEOMETRY)
    numbers = [int(one) if one.isdecimal() else 0 for one in (unit, width)]
    return numbers[0] * _SECTOR_BYTES, numbers[1] * _SECTOR_BYTES


def _aligned(align: tuple[int, int]) -> str:
    return f"sunit {size(align[0])} and swidth {size(align[1])}"


# -------------------------------------------------------------------------------- the link


def _link(seen: Observation, volume: BootVolume, number: str) -> list[Fact]:
    """The link that mount units and suites use, where there was one when the volume came up."""
    found = seen.nodes.get(volume.name, "")
    if not volume.device.startswith("/dev/stripewright/") or found == number:
        return []
    return [
        fact(
            "LINK-WRONG",
            volume.name,
            expected=f"{volume.device} leads to device {number}",
            observed=f"it leads to device {found}" if found else "there is no such link",
            volume=volume.name,
            link=volume.device,
        )
    ]
