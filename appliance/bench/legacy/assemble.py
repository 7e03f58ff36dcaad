"""A report with its surroundings -> :class:`Evidence`, one for each job and direction. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from appliance.bench import capability
from appliance.bench.legacy import devices as places
from appliance.bench.legacy import figures as exact
from appliance.bench.legacy import units
from appliance.bench.legacy.asked import Asked
from appliance.bench.legacy.context import Surroundings
from appliance.bench.legacy.devices import Devices, Expected, Places
from appliance.bench.legacy.drafts import Definition, Figures, Report, Section
from appliance.model import DeviceIo, Evidence, Source

_MIXED = frozenset({"rw", "readwrite", "randrw"})
# What a pattern's directions are: a report of another direction is not of that command.
_OPPOSITE = {"read": ("write", "randwrite"), "write": ("read", "randread")}
_MERGED_TOLERANCE = 1.05


@dataclass(frozen=True, slots=True)
class Item:
    """One report where it stands. ``options`` are fio's own words (JSON), if it said any.

    ``told_again``: the run was told in steps (``--status-interval``), and this is the latest.
    """

    report: Report
    surroundings: Surroundings
    options: Asked | None = None
    told_again: bool = False


def evidence_of(item: Item, known: Places, machine_type: str) -> Iterator[tuple[int, Evidence]]:
    """Line and evidence of every result. ``machine_type`` overrides what the text says."""
    report = item.report
    machine = machine_type or item.surroundings.machine_type
    sections = report.sections or _from_summaries(report)
    totals = places.totals(sections)
    groups = Counter(section.group for section in report.sections)
    for section in sections:
        options = _options(item, section)
        target = places.target_of(options)
        devices = places.devices_of(report, item.surroundings, target)
        line = report.line if len(sections) == 1 else section.line
        expected = known.expected(devices, item.surroundings, target, line)
        io = places.share(devices.io, section, sections, totals)
        alone = groups[section.group] == 1
        job = _Job(item, section, options, target, devices, io, expected, machine, alone)
        for figures in section.directions.values() or (_nothing_done(job),):
            yield line, _evidence(job, figures)


@dataclass(frozen=True, slots=True)
class _Job:
    item: Item
    section: Section
    options: Mapping[str, str]
    target: str
    devices: Devices
    io: tuple[DeviceIo, ...]
    expected: Expected
    machine_type: str
    alone: bool

    @property
    def definition(self) -> Definition | None:
        known = self.item.report.definitions
        return known.get(self.section.name) or (
            next(iter(known.values())) if len(known) == 1 and not self.section.name else None
        )

    @property
    def rw(self) -> str:
        definition = self.definition
        return definition.rw if definition else self.options.get("rw", "").split(":")[0]


def _evidence(job: _Job, figures: Figures) -> Evidence:
    report, section, direction = job.item.report, job.section, figures.direction
    total_ios = section.total_ios.get(direction)
    block = exact.block_size(figures, total_ios, job.definition, job.options)
    rates = exact.rates(figures, total_ios)
    if rates.iops is None and figures.bandwidth_bytes and block and not report.sections:
        rates = exact.Rates(figures.bandwidth_bytes / block, None)
    other = _other(section, direction)
    iodepth = exact.iodepth(section, job.definition, job.options)
    workers = _workers(job, iodepth)
    surroundings = job.item.surroundings
    return Evidence(
        source=Source.IMPORT,
        job=section.name,
        direction=direction,
        rw=job.rw,
        engine=(job.definition.engine if job.definition else "") or job.options.get("ioengine", ""),
        fio_version=report.version or surroundings.version,
        direct=exact.direct(job.options),
        block_size_bytes=block,
        jobs=workers,
        iodepth=iodepth,
        iops=rates.iops,
        printed_iops=rates.printed_iops,
        bandwidth_bytes=figures.bandwidth_bytes,
        printed_bandwidth_bytes=_summary_bandwidth(job, direction),
        io_bytes=exact.io_bytes(figures, total_ios, block),
        total_ios=total_ios,
        runtime_ms=figures.runtime_ms,
        runtime_asked_ms=exact.runtime_asked_ms(job.options, section, workers),
        ramp_ms=units.duration_ms(job.options.get("ramp_time", "")) or 0,
        think_time_ms=exact.think_time_ms(job.options),
        latency_mean_ns=exact.mean_latency_ns(figures),
        percentiles_ns=exact.percentiles_ns(figures),
        errors=section.errors,
        ended=report.ended,
        truncated=report.cut,
        cpu_percent=section.cpu_percent,
        sync_ios=section.sync_ios,
        device=job.devices.device,
        members=job.devices.members,
        device_io=() if direction == "mixed" else job.io,
        target=job.target,
        expected=job.expected.devices,
        expected_why=job.expected.why,
        other_direction_iops=None
        if other is None
        else exact.rates(other, section.total_ios.get(other.direction)).iops,
        other_direction_latency_mean_ns=None if other is None else exact.mean_latency_ns(other),
        machine_type=job.machine_type,
        capability=capability.published(
            job.machine_type,
            kind=places.kind_of(job.devices, surroundings, job.machine_type),
            member_count=len(job.devices.members) or surroundings.volume_count,
            direction=direction,
            block_size_bytes=block,
            rw=job.rw,
            volume=surroundings.volume,
        ),
    )


def _other(section: Section, direction: str) -> Figures | None:
    other = {"read": "write", "write": "read"}.get(direction, "")
    return section.directions.get(other)


def _workers(job: _Job, iodepth: int | None) -> int | None:
    """As the report counts them. JSON does not, where differently named jobs were merged."""
    workers = job.section.workers
    in_flight = _in_flight(job.section)
    if job.item.report.kind == "json" and workers in (None, 1) and in_flight and iodepth:
        return None if in_flight > iodepth * _MERGED_TOLERANCE else 1
    if workers is None and not job.item.report.sections:
        return None
    if workers is None and job.options:
        return units.whole(job.options.get("numjobs", "1"))
    return workers


def _in_flight(section: Section) -> float:
    """By Little's law, reads and writes together; 0 where nothing says it."""
    each = (
        (exact.rates(one, section.total_ios.get(one.direction)).iops, exact.mean_latency_ns(one))
        for one in section.directions.values()
    )
    return sum((iops or 0.0) * (latency_ns or 0.0) / 1e9 for iops, latency_ns in each)


def _summary_bandwidth(job: _Job, direction: str) -> float | None:
    """The group's bandwidth, where the group is this one section: the same figure twice."""
    said = job.item.report.summaries.get((job.section.group, direction))
    return said.bandwidth_bytes if job.alone and said is not None else None


# --------------------------------------------------------------------------- what was asked


def _options(item: Item, section: Section) -> dict[str, str]:
    """From fio's own words, else from the command line and job file before the report."""
    if item.options is not None:
        fio_says = item.options.of(section.name)
        if fio_says:
            return {**_from_text(item, section), **fio_says}
    return _from_text(item, section)


def _from_text(item: Item, section: Section) -> dict[str, str]:
    command, job_file = item.surroundings.command, item.surroundings.job_file
    options: dict[str, str] = {}
    from_file = command is None or bool(command.job_file)
    if from_file and job_file is not None and job_file.knows(section.name):
        options = job_file.of(section.name)
    if command is not None and command.knows(section.name):
        options |= command.of(section.name)
    return options if _fits(options, item.report, section) else {}


def _fits(options: Mapping[str, str], report: Report, section: Section) -> bool:
    """Whether the report can be of these options: pattern and block as fio read them."""
    rw = options.get("rw", "").split(":")[0]
    definition = report.definitions.get(section.name)
    if definition is not None and rw and {rw, definition.rw} not in ({rw}, {"rw", "readwrite"}):
        return False
    asked = units.option_size(options.get("bs", ""))
    printed = set(definition.block_size_bytes.values()) if definition is not None else set()
    if asked is not None and printed and asked not in printed:
        return False
    return not any(rw in _OPPOSITE.get(direction, ()) for direction in section.directions)


# --------------------------------------------------------------------------- odd reports


def _from_summaries(report: Report) -> list[Section]:
    """A report of which only the groups' lines are left: each group as one job."""
    names = list(report.definitions)
    sections: dict[int, Section] = {}
    for (group, direction), figures in report.summaries.items():
        name = names[0] if len(names) == 1 else ""
        section = sections.setdefault(group, Section(name, figures.line, group))
        section.directions[direction] = figures
    return list(sections.values())


def _nothing_done(job: _Job) -> Figures:
    """A job that ended without any I/O is told, too: in the direction that was asked for."""
    section = job.section
    direction = "read" if "read" in job.rw or job.rw in _MIXED else "write" if job.rw else ""
    if section.whole or section.errors or job.item.report.kind == "json":
        section.total_ios.setdefault(direction, 0)
    return Figures(direction, section.line)
