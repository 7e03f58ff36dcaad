"""Everything about one disk, or about the results of one run, in words; pure."""

from __future__ import annotations

from textual.content import Content

from appliance.bench.capability import percent_of_published
from appliance.model import Disk, JobResult, RunRecord
from appliance.status import Status, VolumeStatus
from appliance.text import bandwidth, count, duration, moment, size
from tui import marks
from tui.marks import Glyphs, Mark
from tui.widgets.panel import clean, nanoseconds

_LABEL_CELLS = 14


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
        return disk.reason or "the boot unit gave no reason"
    place = volume.members.index(disk.path) + 1 if disk.path in volume.members else 0
    which = f"member {place} of {len(volume.members)}" if place else "a member"
    return f"{which} of volume {volume.name}: {disk.reason or 'no reason recorded'}"


def disk_sheet(disk: Disk, status: Status | None, glyphs: Glyphs) -> Content:
    """All that the boot unit recorded about ``disk``."""
    mark = disk_use(disk, status, glyphs)
    signatures = ", ".join(
        f"{signature.kind}"
        + (f" at {signature.offset_bytes:#x}" if signature.offset_bytes is not None else "")
        + (f" label {signature.label}" if signature.label else "")
        for signature in disk.signatures
    )
    facts = [
        ("path", disk.path),
        ("id", disk.id),
        ("model", f"{disk.vendor} {disk.model}".strip()),
        ("serial", disk.serial),
        ("size", f"{size(disk.size_bytes)} ({disk.size_bytes} bytes)"),
        ("kind", disk.kind.value),
        ("transport", disk.transport),
        ("role", disk.role),
        ("blank", {True: "yes", False: "no", None: "not read"}[disk.blank]),
        ("signatures", signatures or "none"),
        ("partitions", ", ".join(disk.partitions)),
        ("holders", ", ".join(disk.holders)),
        ("mounted at", ", ".join(disk.mountpoints)),
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
    lines = [
        Content.assemble((mark.text, f"bold {mark.style}"), "  ", clean(disk_reason(disk, status))),
        Content(""),
    ]
    lines += [_fact(label, clean(value)) for label, value in facts if value]
    if status is not None:
        lines += [Content(""), _fact("as seen at", moment(status.decided_at))]
    return Content("\n").join(lines)


def results_sheet(run: RunRecord, results: tuple[JobResult, ...], glyphs: Glyphs) -> Content:
    """Every result of ``run`` with its verdict, and each finding with what it means."""
    mark = marks.run_state(run.state, glyphs)
    lines = [
        Content.assemble(
            (mark.text, f"bold {mark.style}"),
            f"  started {moment(run.started_at)}"
            + ("" if run.ended_at is None else f", took {duration(run.ended_at - run.started_at)}"),
        ),
        _fact("target", clean(run.target)),
        _fact("engine", clean(f"{run.engine}, {run.fio_version}")),
    ]
    if run.scaled:
        lines.append(_fact("scaled", run.scaled))
    if run.reason:
        lines.append(_fact("reason", clean(run.reason)))
    lines += [_fact("note", clean(note)) for note in run.notes]
    for result in results:
        lines += [Content(""), *_result(result, glyphs)]
    return Content("\n").join(lines)


def _result(result: JobResult, glyphs: Glyphs) -> list[Content]:
    mark = marks.verdict(result, glyphs)
    depth = f"QD {result.iodepth}" + (f" {glyphs.times} {result.jobs}" if result.jobs > 1 else "")
    published = ""
    share = percent_of_published(result)
    if share:
        # What is published for this block size: the lesser of IOPS and bandwidth.
        published = f", {share:.0f} % of the published {count(100 * result.iops / share)} IOPS"
    lines = [
        Content.assemble(
            (mark.text, f"bold {mark.style}"),
            "  ",
            (clean(f"{result.job} {result.direction}"), "bold"),
            (f"  {size(result.block_size_bytes)} {depth}", marks.MUTED),
        ),
        Content(
            f"  {count(result.iops)} IOPS, {bandwidth(result.bandwidth_bytes)}, "
            f"mean {nanoseconds(result.latency_mean_ns, glyphs)}{published}"
        ),
    ]
    tail = [
        f"p{float(name):g} {nanoseconds(value, glyphs)}"
        for name, value in sorted(result.percentiles_ns.items(), key=lambda pair: float(pair[0]))
        if float(name) in {1.0, 50.0, 99.0, 99.9, 99.99}
    ]
    if tail:
        lines.append(Content.styled("  " + ", ".join(tail), marks.MUTED))
    for finding in result.findings:
        style = {"block": marks.BAD, "warn": marks.WARN, "label": marks.BUSY}[finding.severity]
        lines.append(
            Content.assemble(
                "  ", (f"{clean(finding.code)} ", f"bold {style}"), clean(finding.message)
            )
        )
    return lines


def _fact(label: str, value: str) -> Content:
    return Content.assemble((label.ljust(_LABEL_CELLS), marks.MUTED), value)
