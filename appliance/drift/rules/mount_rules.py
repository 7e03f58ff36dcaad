"""Is a volume mounted where it belongs, does its filesystem work and lie as it did. Pure."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence

from appliance.drift.codes import fact
from appliance.drift.looks.observation import Observation
from appliance.model.findings import Fact
from appliance.model.plans import Volume
from appliance.state.boot_state import BootVolume
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
) -> Iterator[Fact]:
    """Mount, options, filesystem and link of a volume whose device is ``number``.

    ``lost_a_disk``: its stripe cannot give all data, so that the filesystem has stopped, too, is
    no news.
    """
    yield from _link(seen, volume, number)
    if not volume.mount:
        return
    here = [one for one in seen.mounts if one.mountpoint == volume.mount]
    own = [one for one in here if one.device == number and one.root == "/"]
    if not own:
        yield _absent(volume, here)
        return
    mount, declared = own[-1], seen.declared(volume)
    cover = _cover(seen.mounts, mount)
    if cover is not None:
        yield fact(
            "MOUNT-COVERED",
            f"{volume.device} on top at {volume.mount}",
            f"{cover.fstype} of {cover.source} at {cover.mountpoint}",
            volume=volume.name,
            cover=cover.mountpoint,
        )
    stopped = _stopped(seen, volume, mount, covered=cover is not None)
    if stopped and not lost_a_disk:
        yield fact(
            "FS-FAILED",
            f"a {volume.filesystem} that answers and can be written",
            stopped,
            volume=volume.name,
            filesystem=volume.filesystem,
            mount=volume.mount,
        )
    if declared is not None and declared.mount != volume.mount:
        # The layout now mounts it elsewhere, and that was not applied.
        yield fact(
            "MOUNT-MISSING",
            f"mounted at {declared.mount or 'no mount point'}",
            f"mounted at {volume.mount}",
            volume=volume.name,
            summary="volume {volume} is declared to be {expected}, but it is {observed}",
            next_step="stripewright plan",
        )
    yield from _options(volume, mount, declared)
    yield from _geometry(seen, volume, mount, answers=cover is None)


def _link(seen: Observation, volume: BootVolume, number: str) -> Iterator[Fact]:
    """The link that mount units and suites use, where there was one when the volume came up."""
    found = seen.nodes.get(volume.name, "")
    if volume.device.startswith("/dev/stripewright/") and found != number:
        yield fact(
            "LINK-WRONG",
            f"{volume.device} leads to device {number}",
            f"it leads to device {found}" if found else "there is no such link",
            volume=volume.name,
            link=volume.device,
        )


def _absent(volume: BootVolume, here: Sequence[Mount]) -> Fact:
    nothing = f"nothing is mounted at {volume.mount}"
    return fact(
        "MOUNT-SOURCE" if here else "MOUNT-MISSING",
        f"{volume.device} mounted at {volume.mount}",
        f"{here[-1].fstype} of {here[-1].source}" if here else nothing,
        volume=volume.name,
        mount=volume.mount,
        unit=unit_name(volume.mount),
    )


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


def _options(volume: BootVolume, mount: Mount, declared: Volume | None) -> Iterator[Fact]:
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
    if lost or new:
        change = [f"{word} {which}" for word, which in (("without", lost), ("with", new)) if which]
        remount = f"mount -o remount,{lost} {volume.mount}"
        if "discard" in lost.split(","):
            remount += (
                "; if discard stays off, the disks do not support it: take it out of the layout"
            )
        yield fact(
            "MOUNT-OPTIONS",
            ",".join(sorted(then)),
            ",".join(sorted(now)),
            volume=volume.name,
            evidence={"lost": lost, "new": new},
            mount=volume.mount,
            change=" and ".join(change),
            restore=remount if lost else f"umount {volume.mount}; {_MOUNT_AGAIN}",
        )


def _words(*options: str) -> set[str]:
    words = ",".join(options).split(",")
    return {one for one in words if one and not one.startswith(_GEOMETRY)}


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


def _geometry(
    seen: Observation, volume: BootVolume, mount: Mount, *, answers: bool
) -> Iterator[Fact]:
    """Alignment, size and identity of the filesystem, from the kernel and from root's look."""
    changed: list[tuple[str, str]] = []
    align = (volume.sunit_bytes or 0, volume.swidth_bytes or 0)
    root = seen.seen.filesystems.get(volume.name) if seen.seen else None
    found = None
    kind = filesystem.KINDS.get(volume.filesystem)
    if kind is not None and kind.alignment_in_mount and mount.fstype == kind.name:
        found = _alignment(mount.super_options)
    elif root is not None:
        found = (root.sunit_bytes or 0, root.swidth_bytes or 0)
    if found is not None and volume.sunit_bytes is not None and found != align:
        changed.append((_aligned(*align), _aligned(*found)))
    if root is not None and volume.filesystem_uuid and root.uuid != volume.filesystem_uuid:
        before = f"{volume.filesystem} {volume.filesystem_uuid}"
        changed.append((before, f"{root.kind} {root.uuid}"))
    answer = seen.answers.get(volume.mount) if answers else None
    then = volume.mounted.size_bytes if volume.mounted else None
    now = answer.size_bytes if answer else None
    if then is not None and now is not None and then != now:
        changed.append((f"{size(then)} ({then} bytes)", f"{size(now)} ({now} bytes)"))
    if changed:
        info = " ".join(kind.info_argv(volume.device, volume.mount)) if kind else ""
        expected, observed = (", ".join(words) for words in zip(*changed, strict=True))
        yield fact("FS-GEOMETRY", expected, observed, volume=volume.name, info=info)


def _alignment(options: str) -> tuple[int, int]:
    """XFS shows sunit and swidth in sectors of 512 bytes, and neither where there is none."""
    values = dict(one.split("=", 1) for one in options.split(",") if "=" in one)
    unit, width = (values.get(key, "0") for key in _GEOMETRY)
    numbers = [int(one) if one.isdecimal() else 0 for one in (unit, width)]
    return numbers[0] * _SECTOR_BYTES, numbers[1] * _SECTOR_BYTES


def _aligned(sunit_bytes: int, swidth_bytes: int) -> str:
    return f"sunit {size(sunit_bytes)} and swidth {size(swidth_bytes)}"
