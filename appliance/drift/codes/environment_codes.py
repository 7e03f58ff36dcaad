"""Codes of the environment: kernel, fio, machine type, settings, disk health. Texts only."""

from __future__ import annotations

from appliance.model.findings import Area, Code, DriftSeverity

_AREA = Area.ENVIRONMENT
_CRITICAL, _WARNING = DriftSeverity.CRITICAL, DriftSeverity.WARNING
_NOTICE = DriftSeverity.NOTICE
_COMPARE = "compare the results of both: stripewright compare A B"
_UPDATED = (
    "Nothing, if the update was intended: acknowledge it. To see whether it made a difference: "
    "`stripewright compare epoch:A epoch:B`."
)
_TUNING = (
    "`stripewright drift show ID` has the disks and both values. Declare the value you want in "
    "`[tuning]`, and the boot unit sets it; or set it back, as root."
)
_UNTIL_BOOT = "When it is as expected, or after two boots in a row with the same value."

CODES = (
    Code(
        "ENV-KERNEL", _AREA, _NOTICE, "acf7820a028c4cc0810a21c170a99e13",
        title="another kernel",
        summary="the kernel is {observed}; {since} it was {expected}",
        next_step=_COMPARE,
        meaning="The kernel differs from that of the epoch before. A new epoch was opened, so that "
        "results are not compared across the change.",
        first=_UPDATED,
        avoid="Do not read a change of speed across it as a change of the disks.",
        closes="With the next epoch, or when the old kernel is back.",
    ),
    Code(
        "ENV-FIO", _AREA, _NOTICE, "86be398bad144b7d81f112106aac6f9c",
        title="another fio version",
        summary="fio is {observed}; {since} it was {expected}",
        next_step=_COMPARE,
        meaning="The version of fio differs from that of the epoch before. Its figures may differ "
        "though the disks do not.",
        first=_UPDATED,
        avoid="Do not compare figures of both versions without reading fio's release notes.",
        closes="With the next epoch.",
    ),
    Code(
        "ENV-MACHINE-TYPE", _AREA, _WARNING, "4429b23f1fe24fec8d100e3b609d5a8f",
        title="another machine type",
        summary="the machine type is {observed}; {since} it was {expected}",
        next_step=_COMPARE,
        meaning="The machine was started as another type: other disks, other limits.",
        first="Check that this was intended, and that the layout fits the disks: "
        "`stripewright inventory`, `stripewright plan`.",
        avoid="Do not apply limits or baselines of the old type to the new one.",
        closes="With the next epoch.",
    ),
    Code(
        "ENV-SCHEDULER", _AREA, _WARNING, "61c71b74d0e143aa959780c748ff5308",
        title="another I/O scheduler",
        summary="{who} {observed}, not {was} {since}",
        next_step="grep . /sys/block/*/queue/scheduler; {restore}",
        meaning="A disk of the volume has another I/O scheduler than declared, than when the "
        "volume came up, or than at the boot before. That changes latencies.",
        first=_TUNING,
        avoid="Do not change it while a suite runs.",
        closes=_UNTIL_BOOT,
    ),
    Code(
        "ENV-IO-TIMEOUT", _AREA, _WARNING, "1f70b79fab17418dbbc53e5e5a39fe4e",
        title="another I/O timeout",
        summary="{who} {observed}, not {was} {since}",
        next_step="grep . /sys/block/*/queue/io_timeout; {restore}",
        meaning="The kernel's I/O timeout of a disk has changed. Too short, and a slow cloud disk "
        "fails; too long, and a dead one hangs its users.",
        first=_TUNING,
        avoid="Do not shorten it on network volumes: their providers ask for the maximum.",
        closes=_UNTIL_BOOT,
    ),
    Code(
        "ENV-CSTATE", _AREA, _WARNING, "4f07cc03c7e04ec594bd9fe9a6dfcaab",
        title="other CPU idle states are allowed",
        summary="{what}: {now}, not {was} {since}",
        next_step="{look}",
        meaning="The processors may enter deeper or shallower idle states than before. Waking up "
        "takes longer than a fast disk: that changes latencies at low queue depth.",
        first="`stripewright drift show ID` names the setting. A kernel option, another machine "
        "type or a power-saving tool is the usual cause.",
        avoid="Do not blame the disks for a change of latency that began with it.",
        closes=_UNTIL_BOOT,
    ),
    Code(
        "ENV-FIRMWARE", _AREA, _WARNING, "0e35935096ee4246bf8bb420b4447cd0",
        title="a disk has another firmware",
        summary="{who} {observed}, not {was} {since}",
        next_step="compare the results before and after: stripewright results",
        meaning="A disk reports another firmware revision than at the boot before. On a cloud "
        "machine the provider has updated it, or it is another disk.",
        first="Note the date: it explains a change of speed from then on. Compare the results "
        "before and after.",
        avoid="Do not update the firmware of a single member to try it out.",
        closes="After two boots in a row with the same firmware.",
    ),
    Code(
        "DISK-HEALTH", _AREA, _CRITICAL, "631816fe5eae4cba85c38b87db2122a7",
        title="a disk reports a health problem",
        summary="disk {member} of volume {volume} warns: {warning}",
        next_step="{remedy}; what the disk reports, as root: nvme smart-log {device}",
        meaning="A disk reports a problem of its own (NVMe SMART log): too hot, spare blocks used "
        "up, read-only, new media errors, or beyond its rated life.",
        first="Save what matters from the volume; a RAID0 dies with its first disk. "
        "`stripewright drift show ID` has what the disk reports. On a cloud machine stop and start "
        "it for other disks, or report it to the provider; otherwise replace the disk. If it is "
        "only too hot, check the cooling.",
        avoid="Do not wait for the failure because the figures are still good.",
        closes="When the disk no longer reports it. Rated life that is used up stays until the "
        "disk is replaced: acknowledge it.",
    ),
)  # fmt: skip
