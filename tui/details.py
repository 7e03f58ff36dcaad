"""Everything about one disk in words; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from appliance.text import count, moment, size
from tui import marks
from tui.marks import Glyphs, Mark
from tui.widgets.panel import ALL, clean, labelled

if TYPE_CHECKING:
    from appliance.client.machine_status import Status, VolumeStatus
    from appliance.model.disks import Disk

_LABEL_CELLS = 14
# From here on drift warns of it, too.
_WORN_PERCENT = 100


def member_of(disk: Disk, status: Status | None) -> VolumeStatus | None:
    """Find the volume that ``disk`` is a part of, by path or serial as probed."""
    for volume in () if status is None else status.volumes:
        if volume.is_up and (
            disk.path in volume.members
            or (disk.serial != "" and disk.serial in volume.member_serials)
        ):
            return volume
    return None


def disk_use(disk: Disk, status: Status | None, glyphs: Glyphs) -> Mark:
    """Whether ``disk`` is used by a volume, could be, or cannot."""
    if member_of(disk, status) is not None:
        return Mark(glyphs.good, "used", marks.GOOD)
    if disk.claimable:
        return Mark(glyphs.idle, "free", marks.BUSY)
    if disk.holds_root:
        return Mark(glyphs.dot, "system", marks.MUTED)
    return Mark(glyphs.bad, "no", marks.WARN)


def disk_reason(disk: Disk, status: Status | None) -> str:
    """Why ``disk`` is used or not, in one sentence."""
    volume = member_of(disk, status)
    if volume is None:
        waits = _waiting(disk, status)
        if waits is not None:
            return f"meant for volume {waits.name}, which is not up: {waits.reason}"
        if disk.claimable and status is not None and status.volumes:
            return f"could be used, but no volume takes it; {disk.reason}"
        return disk.reason or "the boot unit gave no reason"
    place = volume.members.index(disk.path) + 1 if disk.path in volume.members else 0
    which = f"member {place} of {len(volume.members)}" if place else "a member"
    return f"{which} of volume {volume.name}: {disk.reason or 'no reason recorded'}"


def disk_hint(disk: Disk, status: Status | None) -> str:
    """How to get ``disk`` used; empty if it is used or no way is known."""
    if member_of(disk, status) is not None:
        return ""
    waits = _waiting(disk, status)
    if waits is not None:
        return waits.hint
    if disk.claimable:
        return "add it to a volume, or make one of it, on the Layout screen (key 3)"
    return disk.hint


def _waiting(disk: Disk, status: Status | None) -> VolumeStatus | None:
    """The volume that was to have ``disk`` and is not there."""
    for volume in () if status is None else status.volumes:
        if not volume.is_up and disk.path in volume.members:
            return volume
    return None


def disk_health(disk: Disk, status: Status | None, glyphs: Glyphs) -> Mark:
    """What ``disk`` says of its health in a few words: a warning, its errors, else its wear."""
    log = None if status is None else status.smart.get(disk.id)
    if log is None:
        return Mark(glyphs.unknown, "unknown", marks.MUTED)
    if log.critical_warning:
        return Mark(glyphs.bad, "warning", marks.BAD)
    if log.media_errors:
        return Mark(glyphs.warn, f"{count(log.media_errors)} errors", marks.WARN)
    if log.percentage_used >= _WORN_PERCENT:
        return Mark(glyphs.warn, f"{log.percentage_used} % worn", marks.WARN)
    return Mark(glyphs.good, f"{log.percentage_used} % worn", marks.GOOD)


def temperature(disk: Disk, status: Status | None) -> tuple[str, str]:
    """Words and style; the disk itself says when it is too hot or too cold."""
    log = None if status is None else status.smart.get(disk.id)
    if log is None or log.temperature_celsius is None:
        return "?", ""
    style = marks.BAD if log.temperature_out_of_limits else ""
    return f"{log.temperature_celsius} °C", style


def health_words(disk: Disk, status: Status | None) -> str:
    """The SMART log of ``disk`` in one sentence, or why it is unknown."""
    log = None if status is None else status.smart.get(disk.id)
    if log is None:
        return f"unknown: {_why_unknown(disk, status)}"
    hot = "temperature not reported"
    if log.temperature_celsius is not None:
        hot = f"{log.temperature_celsius} °C"
    warning = "; ".join(log.warnings)
    return ", ".join((
        f"WARNING: {warning}" if warning else "no critical warning",
        f"{log.percentage_used} % of its rated life used",
        f"{log.media_errors} media errors",
        f"{log.available_spare} % spare (threshold {log.available_spare_threshold} %)",
        hot,
    ))  # fmt: skip


def _why_unknown(disk: Disk, status: Status | None) -> str:
    if status is None:
        return "the state of this machine has not been read yet"
    if status.smart_problem:
        return status.smart_problem
    if not _kernel_name(disk).startswith("nvme"):
        return "only NVMe disks are asked for their SMART log"
    if disk.id in status.smart:
        return "the disk did not answer the last privileged scan"
    if member_of(disk, status) is None:
        return "only the disks of volumes are asked"
    return "the disk gives no SMART log"


def _kernel_name(disk: Disk) -> str:
    return disk.path.removeprefix("/dev/")


def disk_sheet(
    disk: Disk, status: Status | None, glyphs: Glyphs, *, mark: Mark | None = None
) -> Content:
    """All that the boot unit recorded about ``disk``; ``mark`` stands for :func:`disk_use`."""
    mark = mark or disk_use(disk, status, glyphs)
    lines = [
        Content.assemble((mark.text, f"bold {mark.style}"), "  ", clean(disk_reason(disk, status)))
    ]
    if hint := disk_hint(disk, status):
        lines += labelled("next", hint, ALL, cells=_LABEL_CELLS)
    health = disk_health(disk, status, glyphs)
    words = health_words(disk, status)
    lines += labelled("health", words, ALL, health.style, cells=_LABEL_CELLS)
    lines.append(Content(""))
    lines += disk_facts(disk)
    if status is not None:
        lines.append(Content(""))
        lines += labelled("as seen at", moment(status.decided_at), ALL, cells=_LABEL_CELLS)
    return Content("\n").join(lines)


def disk_facts(disk: Disk) -> list[Content]:
    """A line for each thing that is known of ``disk`` itself."""
    return [
        line
        for label, value in _facts(disk)
        if value
        for line in labelled(label, value, ALL, cells=_LABEL_CELLS)
    ]


def _blank(disk: Disk) -> str:
    if disk.blank is False:
        return "no"
    words = "not known" if disk.blank is None else "yes"
    return f"{words}: {disk.scan.words(disk.size_bytes)}" if disk.scan else words


def _facts(disk: Disk) -> list[tuple[str, str]]:
    signatures = ", ".join(
        f"{signature.kind}"
        + (f" at {signature.offset_bytes:#x}" if signature.offset_bytes is not None else "")
        + (f" label {signature.label}" if signature.label else "")
        for signature in disk.signatures
    )
    notes = disk.holder_notes or ("",) * len(disk.holders)
    holders = [
        f"{holder} ({note})" if note else holder
        for holder, note in zip(disk.holders, notes, strict=False)
    ]
    # Of a member in a history hardly more is kept than its serial.
    seen = disk.size_bytes > 0
    facts = [
        ("path", disk.path),
        ("id", disk.id),
        ("model", f"{disk.vendor} {disk.model}".strip()),
        ("serial", disk.serial),
        ("size", f"{size(disk.size_bytes)} ({disk.size_bytes} bytes)" if seen else ""),
        ("kind", disk.kind.value if seen else ""),
        ("transport", disk.transport),
        ("cloud name", disk.cloud_name),
        ("role", disk.role),
        ("blank", _blank(disk) if seen else ""),
        ("signatures", signatures or ("none" if seen else "")),
        ("partitions", ", ".join(disk.partitions)),
        ("holders", ", ".join(holders)),
        ("mounted at", ", ".join(disk.mountpoints)),
        ("claimed by", disk.claimed_by),
        ("swap", "yes" if disk.swap else ""),
        ("read only", "yes" if disk.read_only else ""),
        ("busy", "yes" if disk.busy else ""),
    ]
    if disk.md_member is not None:
        member = disk.md_member
        slot = "spare" if member.slot is None else f"slot {member.slot}"
        facts.append(
            ("md member", f"{member.array_name} {member.level}, {slot} of {member.member_count}")
        )
        facts.append(("array uuid", member.array_uuid))
    if disk.lvm_member is not None:
        facts.append(("LVM group", disk.lvm_member.group or "none: an orphan"))
    if disk.mark is not None:
        facts.append(("our mark", f"{disk.mark.state.value}, volume {disk.mark.volume}"))
    return facts
