"""Codes of the appliance itself: its disk, /run, the clock, the last boot. Texts only."""

from __future__ import annotations

from appliance.model.findings import Area, Code, DriftSeverity

_AREA = Area.HOST
_CRITICAL, _WARNING = DriftSeverity.CRITICAL, DriftSeverity.WARNING

CODES = (
    Code(
        "HOST-DISK-FULL", _AREA, _CRITICAL, "74f962b35672420e82e3ca8ef96628c8",
        title="the appliance's own disk is full",
        summary="{subject} has {observed}: {effect}",
        next_step="find what fills it: df {df} {subject}; as root: du {du} -d 3 {subject} |"
        " sort -n | tail; then free space, for example: journalctl --vacuum-size=50M",
        meaning="The root filesystem of the appliance, not that of a volume, is out of space or "
        "inodes. Runs, findings and the audit of plans are not kept, only logged in the journal. "
        "Below 64 MiB or 1024 inodes on `/`, or on `/var` if that is a filesystem of its own, it "
        "is a warning.",
        first="`df -h /` and `df -i /` (and `/var`, if it is separate) show which it is. As root: "
        "`du -x -d 3 / | sort -n | tail` (`--inodes` for inodes) shows what fills it; "
        "`journalctl --vacuum-size=50M` frees archived entries.",
        avoid="Do not remove `history.db` to free space: it is small and cannot be recreated.",
        closes="When there is space again. What was found meanwhile is kept from the next check "
        "on.",
    ),
    Code(
        "HOST-READ-ONLY", _AREA, _CRITICAL, "a8156b6b29e54e3aabc3addc026db92d",
        title="the appliance's own disk is read-only",
        summary="{subject} is read-only: nothing can be written",
        next_step="the first error: journalctl -k -b; save what can be read, then reboot, which"
        " checks the filesystem; if it was remounted by hand, as root: mount -o remount,rw"
        " {subject}",
        meaning="The root filesystem, or `/var` if that is one of its own, is read-only: it was "
        "remounted, or the kernel made it so after a disk error. Runs, findings and the audit of "
        "plans are not kept.",
        first="`journalctl -k -b` has the error. Save what can be read, then reboot, which checks "
        "the filesystem. If it was remounted by hand, as root: `mount -o remount,rw /`.",
        avoid="Do not remount it read-write while the kernel log shows errors on its disk.",
        closes="When it can be written again.",
    ),
    Code(
        "HOST-RUN", _AREA, _CRITICAL, "29c33cb0661849ac937457674c7d2b34",
        title="/run is full or read-only",
        summary="{subject} has {observed}: {effect}",
        next_step="find what fills it: df {df} {subject}; as root: du {du} -d 3 {subject} |"
        " sort -n | tail; then free space",
        meaning="`/run` is in memory; the boot unit, plans and each check leave their state there. "
        "When it is full or read-only, services do not start and `status` is out of date. Below "
        "4 MiB or 1024 inodes it is a warning.",
        first="`df -h /run` and `df -i /run`. As root: `du -x /run | sort -n | tail` shows what "
        "fills it. A reboot empties it.",
        avoid="Do not remove what is below `/run/stripewright` or `/run/systemd`.",
        closes="When there is space again; after a reboot in any case.",
    ),
    Code(
        "HOST-CLOCK", _AREA, _WARNING, "dcae15b5d40c4ae393cac859a81f7173",
        title="the clock was set, or dates lie in the future",
        summary="the clock was set {way} by {span} since boot: runs are now dated {now}",
        next_step="check the time, and whether a time server confirms it: timedatectl; if it is"
        " right, acknowledge this: it ends with the next boot",
        meaning="One of three, by its subject. `clock`: the clock was set by more than an hour "
        "since the first privileged scan of this boot. `timers`: timers fired while the clock was "
        "ahead, and may not fire until that time has come. `stripewright-clock.service` rewinds "
        "them when the clock is set back, and logs it, so this is seen only where it could not. "
        "`history`, a notice: runs are dated in the future. They count in the order in which they "
        "were measured.",
        first="`timedatectl` shows the time, and whether a time server was reached. "
        "`systemctl list-timers 'stripewright-*'` shows when suites run next.",
        avoid="Do not remove runs because of their date.",
        closes="`clock`: when it is set back, and at the next boot. `timers`: when their times "
        "have passed. `history`: when the dates have; acknowledge it.",
    ),
    Code(
        "HOST-CRASHED", _AREA, _WARNING, "342d9188a0974592b620064742aa5b37",
        title="the last boot ended without a shutdown",
        summary="the last boot{began} ended without a shutdown: {observed}",
        next_step="{look}",
        meaning="The kernel panicked and rebooted after ten seconds, the power was cut, or the "
        "machine was reset. The kernel saves a panic where the machine has a place for it (UEFI "
        "variables, ACPI ERST); `systemd-pstore` moves the record to `/var/lib/systemd/pstore`, "
        "where it stays for two weeks, and the finding has the panic line and the first error "
        "before it. Without a record a panic cannot be told from a power cut.",
        first="`stripewright drift show ID` has the messages and the boot's id for "
        "`journalctl -e -b ID`. Check whether the volumes came up: `stripewright status`.",
        avoid="Do not assume a power cut because nothing was recorded: not every machine has a "
        "place for a record.",
        closes="At the next boot, if this one ends with a shutdown.",
    ),
)  # fmt: skip
