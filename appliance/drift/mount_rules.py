"""Is the volume still mounted as it was, and does its filesystem answer. Pure."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence

from appliance.drift.facts import fact
from appliance.drift.observation import Observation
from appliance.model import Fact, Volume
from appliance.state.boot_state import BootMount, BootVolume
from appliance.storage.formats import filesystem
from appliance.storage.formats.mount_unit import unit_name
from appliance.system.kernel import Mount
from appliance.text import size

_SECTOR_BYTES = 512
# What ext4 (and XFS, where it says so) shows after it has stopped by itself.
_STOPPED = frozenset({"emergency_ro", "shutdown"})
# What a filesystem that has shut down, or found itself damaged, says to stat(2) and statfs(2).
_FAILED = {errno.EIO: "EIO", errno.EUCLEAN: "EUCLEAN", errno.ESHUTDOWN: "ESHUTDOWN"}
# Options that say how the filesystem lies, which is compared by itself.
_GEOMETRY = ("sunit", "swidth")
# Not the mount unit: that mounts only what the boot unit has just proved.
_MOUNT_AGAIN = "systemctl reload-or-restart stripewright-assemble.service"


def judge(
    seen: Observation, volume: BootVolume, number: str, *, lost_a_disk: bool
) -> tuple[Fact, ...]:
    """Mount, options, filesystem and link of a volume whose device is ``number``.

    ``lost_a_disk``: its stripe cannot give all data, so nobody needs to hear that the filesystem
    has stopped, too.
    """
    declared = next((one for one in seen.layout.volumes if one.name == volume.name), None)
    facts = list(_link(seen, volume, number))
    if not volume.mount:
        return tuple(facts)
    here = [one for one in seen.mounts if one.mountpoint == volume.mount]
    own = [one for one in here if one.device == number and one.root == "/"]
    if not own:
        return (*facts, _absent(volume, here))
    mount = own[-1]
    cover = _cover(seen.mounts, mount)
    if cover is not None:
        facts.append(_covered(volume, cover))
    stopped = _stopped(seen, volume, mount, covered=cover is not None)
    if stopped and not lost_a_disk:
        facts.append(_failed(volume, stopped))
    facts += _target(volume, declared)
    facts += _options(volume, mount, declared)
    facts += _geometry(seen, volume, mount, answers=cover is None)
    return tuple(facts)


# ------------------------------------------------------------------------------- the mount


def _absent(volume: BootVolume, here: Sequence[Mount]) -> Fact:
    expected = f"{volume.device} mounted at {volume.mount}"
    if here:
        what = f"{here[-1].fstype} of {here[-1].source}"
        return fact(
            "MOUNT-SOURCE",
            volume.name,
            f"at {volume.mount} is {what}, not volume {volume.name}",
            expected=expected,
            observed=what,
            next_step=f"findmnt {volume.mount}",
            volume=volume.name,
        )
    return fact(
        "MOUNT-MISSING",
        volume.name,
        f"volume {volume.name} is not mounted at {volume.mount}",
        expected=expected,
        observed=f"nothing is mounted at {volume.mount}",
        next_step=f"stop what writes to {volume.mount}; journalctl -b -u"
        f" '{unit_name(volume.mount)}'; as root: {_MOUNT_AGAIN}",
        volume=volume.name,
    )


def _target(volume: BootVolume, declared: Volume | None) -> list[Fact]:
    """Whether the layout has been changed to mount it elsewhere, and nobody has applied that."""
    if declared is None or declared.mount == volume.mount:
        return []
    return [
        fact(
            "MOUNT-MISSING",
            volume.name,
            f"volume {volume.name} is declared at {declared.mount or 'no mount point'}"
            f" and mounted at {volume.mount}",
            expected=f"mounted at {declared.mount or 'no mount point'}",
            observed=f"mounted at {volume.mount}",
            next_step="stripewright plan",
            volume=volume.name,
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


def _covered(volume: BootVolume, cover: Mount) -> Fact:
    what = f"{cover.fstype} of {cover.source} at {cover.mountpoint}"
    return fact(
        "MOUNT-COVERED",
        volume.name,
        f"{what} hides volume {volume.name}",
        expected=f"{volume.device} on top at {volume.mount}",
        observed=what,
        next_step=f"findmnt --submounts {cover.mountpoint}; as root: umount {cover.mountpoint}",
        volume=volume.name,
    )


def _options(volume: BootVolume, mount: Mount, declared: Volume | None) -> list[Fact]:
    """Options as sets: the kernel's order is its own. A filesystem that made itself read-only
    has failed, which is another fact.
    """
    now = _words(mount.options) | _words(mount.super_options)
    then = now if volume.mounted is None else _all(volume.mounted)
    if declared is not None and declared.filesystem != "none":
        then = then | set(filesystem.mount_options(declared))
    apart = _STOPPED | ({"ro", "rw"} if _made_itself_read_only(mount) else set())
    lost, new = sorted(then - now - apart), sorted(now - then - apart)
    if not lost and not new:
        return []
    said = [f"without {','.join(lost)}"] if lost else []
    said += [f"with {','.join(new)}"] if new else []
    remount = ",".join(["remount", *lost])
    return [
        fact(
            "MOUNT-OPTIONS",
            volume.name,
            f"volume {volume.name} is mounted {' and '.join(said)}",
            expected=",".join(sorted(then)),
            observed=",".join(sorted(now)),
            next_step=f"findmnt {volume.mount}; as root: mount -o {remount} {volume.mount}"
            if lost
            else f"findmnt {volume.mount}; as root: umount {volume.mount}; {_MOUNT_AGAIN}",
            volume=volume.name,
            evidence={"lost": ",".join(lost), "new": ",".join(new)},
        )
    ]


def _words(options: str) -> set[str]:
    return {one for one in options.split(",") if one and not one.startswith(_GEOMETRY)}


def _all(mounted: BootMount) -> set[str]:
    return _words(mounted.options) | _words(mounted.super_options)


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


def _failed(volume: BootVolume, how: str) -> Fact:
    return fact(
        "FS-FAILED",
        volume.name,
        f"the {volume.filesystem} of volume {volume.name} has stopped: {how}",
        expected=f"a {volume.filesystem} that answers and can be written",
        observed=how,
        next_step=f"journalctl -k -b | grep -i {volume.filesystem}; stop what uses {volume.mount}"
        " and save what can be read",
        volume=volume.name,
    )


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
        found = (root.sunit_bytes, root.swidth_bytes)
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
            f"the filesystem of volume {volume.name} has {', '.join(observed)},"
            f" not {', '.join(expected)}",
            expected=", ".join(expected),
            observed=", ".join(observed),
            next_step=f"stripewright plan; as root: {_info(volume)}",
            volume=volume.name,
        )
    ]


def _info(volume: BootVolume) -> str:
    return " ".join(filesystem.info_argv(volume.filesystem, volume.device, volume.mount))


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
    leads = f"it leads to device {found}" if found else "there is no such link"
    return [
        fact(
            "LINK-WRONG",
            volume.name,
            f"{volume.device} does not lead to volume {volume.name}: {leads}",
            expected=f"{volume.device} leads to device {number}",
            observed=leads,
            next_step="stripewright inventory; as root: udevadm trigger --subsystem-match=block"
            " --action=change; udevadm settle",
            volume=volume.name,
        )
    ]
