"""Codes of the layout: arrays, members, filesystems, mounts. Texts only."""

from __future__ import annotations

from appliance.model.findings import Area, Code, DriftSeverity

_AREA = Area.LAYOUT
_CRITICAL, _WARNING = DriftSeverity.CRITICAL, DriftSeverity.WARNING
_OF_ARRAY = "cat /proc/mdstat; stripewright plan; as root: mdadm --detail /dev/{array}"

CODES = (
    Code(
        "ARRAY-BROKEN", _AREA, _CRITICAL, "71c3cf3ee32f4fe6bfa3994d8122188a",
        title="the array has lost a member and fails I/O",
        summary="volume {volume}: array {array} is {array_state}, I/O to it fails{lost_members}",
        next_step="stop what uses {place}; journalctl -k -b; stripewright plan",
        meaning="A RAID0, linear or similar array has lost a member and the kernel has stopped it: "
        "`array_state` is `broken`. I/O to the lost member fails; the rest may still answer for a "
        "while. RAID0 has no redundancy: the data must be recreated or restored.",
        first="Stop what writes to the volume. `stripewright drift show ID` names the lost disk, "
        "`journalctl -k -b` shows how it failed. If the disk only dropped off the bus (pulled, "
        "reset), reconnect it and reboot: the boot unit assembles the array if all members are "
        "intact.",
        avoid="Do not create an array or a filesystem over the remaining disks while there is a "
        "chance to recover the lost one.",
        closes="When the array runs again with all members, or the volume has been recreated by a "
        "confirmed plan or at a boot with `on_loss = \"recreate\"`.",
    ),
    Code(
        "ARRAY-DEGRADED", _AREA, _CRITICAL, "4e2ad1d7809441068aab343a8bd918d0",
        title="a mirrored array runs without a member",
        summary="volume {volume} lacks {degraded} of {slots} members{lost_members}{syncing}",
        next_step="cat /proc/mdstat; stripewright plan",
        meaning="A mirrored array (RAID10) runs with a member missing. All data is still there; "
        "losing that member's mirror as well loses it.",
        first="Check whether a rebuild is running: `stripewright status`. If not, attach a blank "
        "disk of the same kind; it is added at the next boot, or by `plan` and `apply`.",
        avoid="Do not reboot or stop the machine during the rebuild unless you must, and do not "
        "pull a disk to test it.",
        closes="When every member is in sync again.",
    ),
    Code(
        "ARRAY-READONLY", _AREA, _WARNING, "097e348348f94414bbe920bd29f1860f",
        title="the array is read-only",
        summary="volume {volume}: array {array} is read-only, writes to it fail",
        next_step="cat /proc/mdstat; journalctl -k -b; if it was set by hand, as root:"
        " mdadm --readwrite /dev/{array}",
        meaning="The array can be read but not written: `array_state` is `readonly`. Usually it "
        "was set by hand (`mdadm --readonly`). Its filesystem may fail at the next write, which is "
        "FS-FAILED.",
        first="`journalctl -k -b` shows whether a disk failed. If none did, find out who set it; "
        "as root: `mdadm --readwrite /dev/mdN`, with the array that `stripewright drift show ID` "
        "names.",
        avoid="Do not make it writable while the kernel log shows errors on its disks.",
        closes="When the array accepts writes again.",
    ),
    Code(
        "ARRAY-MISSING", _AREA, _CRITICAL, "b73afb7633854047ae8bf443d5475d13",
        title="a volume that was up is gone",
        summary="volume {volume} was up and is gone: {observed}",
        next_step="stripewright plan",
        meaning="A volume that was up no longer exists: its array, logical volume, virtual drive "
        "or disk is gone, stopped, or was recreated with another identity.",
        first="Find out who did it: `journalctl -b -t stripewright` shows our own steps, "
        "`journalctl -b` everyone else's. `stripewright plan` shows what would be done now, and "
        "why.",
        avoid="Do not run `mdadm --create` to get it back: it overwrites the old superblocks.",
        closes="When the volume is up again, or a confirmed plan has removed it.",
    ),
    Code(
        "ARRAY-APPEARED", _AREA, _WARNING, "d498c1c17f4b481385922fa972101d86",
        title="an undeclared array or volume group",
        summary="undeclared {what} {subject} has appeared",
        next_step="{look}",
        meaning="There is an md array or a volume group that no layout declares and that did not "
        "exist when the volumes came up. Often a disk of another machine was attached, or an old "
        "array was assembled by hand.",
        first="See which disks it is made of (`stripewright drift show ID`) and who assembled it. "
        "Detach what does not belong to this machine.",
        avoid="Do not remove it before you know whose data it holds.",
        closes="When it is stopped or detached, or after the next boot if the boot unit leaves it "
        "alone.",
    ),
    Code(
        "STRIPE-LEVEL", _AREA, _CRITICAL, "fbd42fc4ce3046d0a46d43072c7c2d65",
        title="the array has another RAID level",
        summary="the stripe of volume {volume} has {observed}, not {expected}",
        next_step="stripewright plan",
        meaning="The array in the volume's place has another RAID level than the one that came "
        "up. An array never changes its level by itself: it was reshaped or recreated.",
        first="Stop what uses the volume, and find out who did it. If the array was recreated, the "
        "old data is gone.",
        avoid="Do not change it back by hand.",
        closes="When the level is as declared again, or a confirmed plan declares the new one.",
    ),
    Code(
        "STRIPE-CHUNK", _AREA, _WARNING, "5dd971245c1449eaad63cf2c05e1daf6",
        title="the stripe has another chunk size",
        summary="the stripe of volume {volume} has {observed}, not {expected}",
        next_step="stripewright plan",
        meaning="The chunk size of the stripe has changed. The filesystem is no longer aligned to "
        "it, and results from before and after are not comparable.",
        first="`stripewright plan` shows the declared and the actual chunk. Decide which is right: "
        "change the layout, or recreate the volume in a maintenance window.",
        avoid="Do not judge the disks by results from both sides of the change.",
        closes="When the chunk is as declared again, or a confirmed plan declares the new one.",
    ),
    Code(
        "MEMBER-MISSING", _AREA, _CRITICAL, "dc1c23a6ed7349f0af36b5e9a56e1046",
        title="a member is gone",
        summary="disk {member} of volume {volume} ({where}, {kernel_name}) is gone{late}",
        next_step="lsblk -o NAME,SERIAL; journalctl -k -b | grep {kernel_name}; stripewright plan",
        meaning="A disk of the volume is no longer on this machine. A RAID0 may not have noticed "
        "yet: the next I/O to that disk fails, and then it is ARRAY-BROKEN as well. (A disk that "
        "is present but that a mirrored array has failed is ARRAY-DEGRADED.)",
        first="`journalctl -k -b` and `stripewright inventory`: when and how did the disk drop off "
        "the bus? On a cloud machine, save what can still be read, then stop and start it: the new "
        "host has other disks.",
        avoid="Do not put another disk in its place by hand: on a RAID0 that restores nothing and "
        "destroys what might still be recovered.",
        closes="When the disk is back in its place, or the volume has been recreated without it.",
    ),
    Code(
        "MEMBER-SWAPPED", _AREA, _CRITICAL, "e258ab35a7274d9eb027b4dc723676cb",
        title="another disk is in a member's place",
        summary="slot {slot} of volume {volume} holds disk {member}, not {was}",
        next_step=_OF_ARRAY,
        meaning="A member's slot holds another disk. Unless the array is mirrored and has been "
        "rebuilt, the data of the missing disk is not on it.",
        first="Compare the serials in `stripewright drift show ID` with what was changed on the "
        "machine. If a mirrored array was repaired, confirm the new member with `plan` and "
        "`apply`.",
        avoid="Do not trust a RAID0 that came up with a foreign disk: check the data before use.",
        closes="When the original member is back, or a confirmed plan has accepted the new one.",
    ),
    Code(
        "MEMBER-ORDER", _AREA, _CRITICAL, "dcf5d1e7466f4c939000c5e957f5d1c0",
        title="the members are in another order",
        summary="the members of volume {volume} are in another order: {observed}",
        next_step=_OF_ARRAY,
        meaning="The array has the same disks in another order. A stripe assembled in the wrong "
        "order reads back garbage.",
        first="Stop what uses the volume at once and unmount it. Find out who assembled or created "
        "the array.",
        avoid="Do not let a filesystem check repair anything: it would overwrite good data.",
        closes="When the order is restored.",
    ),
    Code(
        "MEMBER-COUNT", _AREA, _WARNING, "06bc07809fba4b728f83d4e7e6815b36",
        title="the array has more or fewer members than expected",
        summary="volume {volume} has {observed}, not {expected}{why}",
        next_step="stripewright plan",
        meaning="The array has more or fewer members than when it came up, or than the layout "
        "declares.",
        first="`stripewright plan` shows what is declared and what is there. If the change was "
        "intended, update the layout.",
        avoid="Do not grow or shrink an array without changing the layout.",
        closes="When the number is as declared.",
    ),
    Code(
        "DISK-COUNT", _AREA, _WARNING, "cb6121add26d41ad91063df024c5c5e0",
        title="more or fewer local disks than the machine type has",
        summary="{subject} has {expected}, but {count} are here",
        next_step="stripewright inventory; journalctl -k -b",
        meaning="The machine type comes with another number of local disks than are here. A disk "
        "did not come up, or one that belongs to no volume is gone.",
        first="`stripewright inventory` lists what is here, `journalctl -k -b` what the kernel "
        "found. Stop and start the machine to get a host with all disks, or resize it to the "
        "type that you meant.",
        avoid="Do not build a short stripe because of it unless the layout allows it (`on_short`).",
        closes="When as many disks are here as the type has.",
    ),
    Code(
        "LVM-SEGMENTS", _AREA, _WARNING, "f65f79468215468bbc618de57c2af1a2",
        title="the logical volume's stripes have changed",
        summary="the stripes of volume {volume} have changed: {observed}",
        next_step="stripewright plan; as root: lvs --segments -o +devices {group}",
        meaning="The stripes of the logical volume are on other devices, or differ in number or "
        "size from when it came up: it was moved, extended or converted.",
        first="`journalctl -b` for who did it; as root: `lvs --segments -o +devices`. A part of "
        "the volume that is not striped is as slow as one disk.",
        avoid="Do not extend the volume again before the stripes are as you want them.",
        closes="When the segments are restored, or a confirmed plan has declared the new ones. "
        "Only the privileged scan sees it, within five minutes.",
    ),
    Code(
        "HWRAID-STATE", _AREA, _CRITICAL, "c69e4a7c4f864dbb81abda5bcba0d2f3",
        title="the RAID controller reports a drive that is not optimal",
        summary="virtual drive {where} of volume {volume} is {state}{bad_drives}",
        next_step="stripewright plan; as root: storcli64 {where} show all",
        meaning="The RAID controller reports that a virtual drive is not optimal, or that a "
        "physical drive is not online.",
        first="`stripewright drift show ID` names the drive; replace it. As root the controller "
        "tells more: `storcli64 /call show`.",
        avoid="Do not clear a foreign configuration on the controller before you know what it is.",
        closes="When the controller reports everything optimal again.",
    ),
    Code(
        "FS-GEOMETRY", _AREA, _WARNING, "702ad9cfca3b4a52a19c78eb721077e2",
        title="the filesystem's alignment, size or UUID has changed",
        summary="the filesystem of volume {volume} has {observed}, not {expected}",
        next_step="stripewright plan; as root: {info}",
        meaning="The filesystem's alignment (XFS sunit and swidth, ext4 stride and stripe-width), "
        "UUID or size is not what was verified when the volume came up. The filesystem was "
        "recreated, or the device below it changed.",
        first="`stripewright drift show ID` has both values. If the filesystem was recreated, its "
        "data is gone; if only the size differs, check whether a growth was interrupted: "
        "`stripewright plan`.",
        avoid="Do not rerun mkfs to fix the alignment while there is data on the volume.",
        closes="When the geometry is restored, or a confirmed plan has changed it.",
    ),
    Code(
        "FS-FAILED", _AREA, _CRITICAL, "ff2bd7a7e4f34ead84e882239c226047",
        title="the filesystem has shut down because of errors",
        summary="the {filesystem} filesystem of volume {volume} has failed: {observed}",
        next_step="journalctl -k -b | grep -i {filesystem}; stop what uses {mount} and save what"
        " can be read",
        meaning="The filesystem has stopped because of errors: XFS has shut down, or ext4 has gone "
        "read-only. Programs get I/O errors.",
        first="`journalctl -k -b` has the first error; it usually follows a failed disk, so check "
        "the other findings. Stop the programs and save what can be read; then, as root, unmount "
        "and check the filesystem.",
        avoid="Do not remount it read-write, and do not run a repair before what matters has been "
        "copied.",
        closes="When the filesystem responds again.",
    ),
    Code(
        "MOUNT-MISSING", _AREA, _CRITICAL, "bedb38573b024e5ea75f79cdb3ef33e9",
        title="the volume is not mounted",
        summary="volume {volume} is not mounted at {mount}",
        next_step="stop what writes to {mount}; journalctl -b -u '{unit}'; as root:"
        " systemctl reload-or-restart stripewright-assemble.service",
        meaning="The volume is up but not mounted where it belongs. Programs that write to the "
        "mount point now write to the root disk.",
        first="Stop those programs. Find out who unmounted it (`journalctl -b`). A reboot mounts "
        "it again, and so does, as root, `systemctl reload-or-restart "
        "stripewright-assemble.service`.",
        avoid="Do not mount it over files that were written to the empty directory meanwhile: move "
        "them away first.",
        closes="When the volume is mounted there.",
    ),
    Code(
        "MOUNT-SOURCE", _AREA, _CRITICAL, "bd8b42114e624ec0b5267849c984a24c",
        title="something else is mounted in the volume's place",
        summary="{observed} is mounted at {mount}, not volume {volume}",
        next_step="findmnt {mount}",
        meaning="Something else is mounted where the volume belongs. Programs write to the wrong "
        "device.",
        first="Stop them. `findmnt MOUNTPOINT` shows what is there; find out who mounted it.",
        avoid="Do not copy data over it before you know which of the two is the right one.",
        closes="When the volume itself is mounted there.",
    ),
    Code(
        "MOUNT-COVERED", _AREA, _CRITICAL, "8d7c41beecd849759c27308f8958b39b",
        title="something is mounted on top of the volume",
        summary="{observed} hides volume {volume}",
        next_step="findmnt --submounts {cover}; as root: umount {cover}",
        meaning="The volume is mounted, but something else is mounted on top of it: its files are "
        "hidden, and writes go elsewhere.",
        first="`findmnt --submounts MOUNTPOINT`. Stop the programs; as root, unmount the upper "
        "one.",
        avoid="Do not remove the volume because it looks empty.",
        closes="When nothing is mounted on top of it.",
    ),
    Code(
        "MOUNT-OPTIONS", _AREA, _WARNING, "4b7e1714dcd4451bb09caed5b10c6ae4",
        title="the volume is mounted with other options",
        summary="volume {volume} is mounted {change}",
        next_step="findmnt {mount}; as root: {restore}",
        meaning="The mount options differ from those with which the volume came up: it was "
        "remounted. `ro` stops writers; others change performance and what survives a crash.",
        first="`stripewright drift show ID` names the options. Reboot, or, as root, remount with "
        "those of the layout. If the new ones are wanted, put them into `mount_options`. XFS "
        "drops `discard` on disks that do not support it: take it out of the layout.",
        avoid="Do not compare measurements from both sides of the change.",
        closes="When the options are restored, or a confirmed plan has changed them.",
    ),
    Code(
        "LINK-WRONG", _AREA, _WARNING, "429546ec4aee44c381fdbeaf77a9ccb6",
        title="the link in /dev/stripewright is missing or points elsewhere",
        summary="{link} does not point to volume {volume}: {observed}",
        next_step="stripewright inventory; as root: udevadm trigger --subsystem-match=block"
        " --action=change; udevadm settle",
        meaning="The link `/dev/stripewright/NAME` is missing or points to another device. What "
        "uses it (mount units, scripts) fails or, worse, finds the wrong disk.",
        first="`stripewright inventory`. As root, `udevadm trigger --subsystem-match=block` "
        "recreates the links; if it then points elsewhere, two devices claim the name.",
        avoid="Do not create the link by hand.",
        closes="When the link points to the volume.",
    ),
)  # fmt: skip
