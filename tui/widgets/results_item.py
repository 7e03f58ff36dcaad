"""One result of a run, or one report of an import, in the same form and in words; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.content import Content

from appliance.clouds.capability import percent_of_published
from appliance.figures import quantities
from appliance.figures.provisioned import in_words
from appliance.model.findings import SeriesKey
from appliance.model.measurement import (
    DeviceIo,
    Finding,
    JobResult,
    Measurement,
    Provisioned,
    Severity,
)
from appliance.model.runs import RunRecord
from appliance.text import bandwidth, count, duration, workload
from tui import marks
from tui.charts.bars import MemberBar
from tui.charts.histogram import percentile_rules
from tui.marks import Glyphs, Mark
from tui.widgets.panel import Line, clean, labelled, nanoseconds
from tui.widgets.results import change_cell, change_style, shown

if TYPE_CHECKING:
    from appliance.drift.series.run_figures import Change

_SHOWN_PERCENTILES = (1.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
_LABEL_CELLS = 14
_FINDING_ROWS = 6
_MIXED = {"rw", "randrw", "readwrite"}


@dataclass(frozen=True, slots=True)
class Item:
    """What is shown of a result. ``None`` is unknown; texts are as they came.

    ``published`` and ``limited`` say in words how it stands to what is published and how long
    a provisioned limit was exceeded, ``own`` how long the disks themselves took. ``members`` are
    the disks of this direction.
    """

    name: str
    workload: str
    mark: Mark
    findings: tuple[Finding, ...]
    iops: float | None
    bandwidth_bytes: float | None
    mean_ns: float | None
    corrected: float | None
    coverage: float | None
    published: str
    limited: str
    own: str
    percentiles_ns: dict[str, int]
    p99_ns: float | None
    bins: dict[int, int]
    members: tuple[MemberBar, ...]
    series: SeriesKey | None = None
    change: Change | None = None

    @property
    def gravity(self) -> tuple[int, float]:
        """Sort key: what is not valid first, then what is farthest below normal."""
        blocked = any(one.severity is Severity.BLOCK for one in self.findings)
        below = min(0.0, self.change.share) if self.change and self.change.side < 0 else 0.0
        return (0 if blocked else 1 if below else 2, below)


def of_result(
    result: JobResult, run: RunRecord, glyphs: Glyphs, changes: Sequence[Change] = ()
) -> Item:
    """A result of one of our runs; ``changes`` are how far its workloads are from normal."""
    name = result.job
    if result.rw in _MIXED:
        name += f" {result.direction}"
    if result.member:
        name += f" on {result.member}"
    if result.pass_index > 1:
        name += f" #{result.pass_index}"
    series = SeriesKey(run.suite, run.target, result.job, result.direction, result.member)
    # Of a single disk there is nothing to see.
    alone = len(result.device_io) == 1
    item = _item(result, name, "" if alone else run.device, glyphs, bins=result.bins)
    change = next((one for one in changes if one.key == series), None)
    return replace(item, series=series, change=change)


def of_report(report: Measurement, glyphs: Glyphs) -> Item:
    """An imported report."""
    name = f"line {report.line} {report.job} {report.direction}"
    return _item(report, name, report.device, glyphs)


def _item(
    of: Measurement, name: str, device: str, glyphs: Glyphs, *, bins: dict[int, int] | None = None
) -> Item:
    """``device`` is the one above the members."""
    return Item(
        name=name,
        workload=shown(
            workload(
                of.rw,
                block_size_bytes=of.block_size_bytes,
                iodepth=of.iodepth,
                jobs=of.jobs,
                direction=of.direction,
            ),
            glyphs,
        ),
        mark=marks.verdict(of, glyphs),
        findings=of.findings,
        iops=of.iops,
        bandwidth_bytes=of.bandwidth_bytes,
        mean_ns=of.latency_mean_ns,
        corrected=quantities.corrected_iops(of),
        coverage=quantities.coverage(of),
        published=published_words(of),
        limited=limited_words(of.provisioned, (of.runtime_ms or 0) / 1000),
        own=in_words(of.device_latencies),
        percentiles_ns=of.percentiles_ns or {},
        p99_ns=quantities.percentile_ns(of, 99.0),
        bins=bins or {},
        members=tuple(_bar(one, of.direction) for one in of.device_io if one.device != device),
    )


def published_words(of: Measurement) -> str:
    """How much of what is published was reached, where it was within reach."""
    share, iops = percent_of_published(of), of.published_iops
    by = f" ({of.capability.basis})" if of.capability and of.capability.basis else ""
    if share and of.iops:
        # What is published for this block size: the lesser of IOPS and bandwidth.
        return f"{share:.0f} % of the published {count(100 * of.iops / share)} IOPS{by}"
    if iops:
        return f"{count(iops)} IOPS{by}; beyond what this job asked for"
    return ""


def limited_words(limits: Provisioned | None, seconds: float) -> str:
    """For how long a provisioned limit was exceeded, by the disks' own counters."""
    if limits is None:
        return ""
    counted = (
        ("the volume's IOPS", limits.volume_iops_us),
        ("the volume's throughput", limits.volume_throughput_us),
        ("the machine's IOPS", limits.instance_iops_us),
        ("the machine's throughput", limits.instance_throughput_us),
    )
    parts = []
    for what, microseconds in counted:
        if microseconds:
            share = f" ({microseconds / seconds / 1e4:.0f} %)" if seconds else ""
            parts.append(f"{what} for {duration(microseconds / 1e6)}{share}")
    return "no provisioned limit was exceeded" if not parts else "exceeded: " + ", ".join(parts)


def _bar(io: DeviceIo, direction: str) -> MemberBar:
    # await as iostat has it: the time of all requests over their number.
    ios, spent_ms = quantities.ios(io, direction), quantities.ticks_ms(io, direction)
    mean_ns = None if spent_ms is None or not ios else spent_ms * 1e6 / ios
    return MemberBar(io.device, float(ios), mean_ns)


def item_lines(item: Item, width: int, glyphs: Glyphs) -> list[Line]:
    """Verdict and why, figures beside normal, what limits them, percentiles."""
    lines = [
        Content.assemble(
            (item.mark.text, f"bold {item.mark.style}"),
            "  ",
            (clean(item.name), "bold"),
            (f"  {item.workload}", marks.MUTED),
        ),
        *finding_lines(item, width, glyphs),
        *fact_lines([("measured", figures(item, glyphs))], width, glyphs),
    ]
    if item.change is not None:
        one = item.change
        way = {-1: "below normal", 0: "against normal, within it", 1: "above normal"}[one.side]
        text, style = f"{change_cell(one, glyphs)} {way}", change_style(one) if one.side else ""
        lines += labelled("change", text, width, style, cells=_LABEL_CELLS)
    corrected = "" if item.corrected is None else f"~{count(item.corrected)} IOPS is probably true"
    done = item.coverage
    coverage = "" if done is None else f"the disks did {100 * done:.1f} % of fio's bytes"
    facts = (
        ("corrected", corrected),
        ("published", item.published),
        ("provisioned", item.limited),
        ("by the disks", item.own),
        ("coverage", coverage),
        ("percentiles", percentiles(item, glyphs)),
    )
    return lines + fact_lines(facts, width, glyphs)


def figures(item: Item, glyphs: Glyphs) -> str:
    """IOPS, bandwidth and mean latency in one line."""
    parts = []
    if item.iops is not None:
        parts.append(f"{count(item.iops)} IOPS")
    if item.bandwidth_bytes is not None:
        parts.append(bandwidth(item.bandwidth_bytes))
    if item.mean_ns is not None:
        parts.append(f"mean {nanoseconds(item.mean_ns, glyphs)}")
    return ", ".join(parts) or "no figure could be read"


def percentiles(item: Item, glyphs: Glyphs) -> str:
    """The percentiles that people ask for, as far as they were reported."""
    known = percentile_rules(item.percentiles_ns, _SHOWN_PERCENTILES)
    return ", ".join(f"{one.label} {nanoseconds(one.value_ns, glyphs)}" for one in known)


def finding_lines(item: Item, width: int, glyphs: Glyphs) -> list[Line]:
    """Every finding, wrapped under its code."""
    lines: list[Line] = []
    for finding in item.findings:
        lead = (clean(finding.code), f"bold {marks.severity(finding.severity, glyphs)[1]}")
        text = shown(finding.message, glyphs)
        lines += labelled(lead, text, width, cells=_LABEL_CELLS, rows=_FINDING_ROWS)
    return lines


def fact_lines(
    facts: Iterable[tuple[str, str]], width: int, glyphs: Glyphs, *, cells: int = _LABEL_CELLS
) -> list[Line]:
    """Labels with what there is to say of each, wrapped below itself."""
    return [
        line
        for label, text in facts
        if text
        for line in labelled(label, shown(text, glyphs), width, cells=cells, rows=2)
    ]
